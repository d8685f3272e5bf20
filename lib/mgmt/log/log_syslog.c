// SPDX-License-Identifier: BSD-3-Clause
// Writes datagrams for syslog. doc/decisions/0024-log.md says why syslog(3) is not used.
#include "log/log_syslog.h"

#include <stdio.h>
#include <unistd.h>

size_t log_syslog_form(
	char buf[LOG_SYSLOG_LEN], const struct log_record *r, enum conf_log_format format)
{
	char when[32];
	struct tm tm;
	int n;

	localtime_r(&r->wall.tv_sec, &tm);
	strftime(when, sizeof(when), "%b %e %H:%M:%S", &tm);
	n = snprintf(buf, LOG_SYSLOG_HEAD, "<%d>%s slipring[%d]: ", LOG_DAEMON | (r->level & 7),
		when, (int)getpid());
	return (size_t)n + log_form(buf + n, r, format, LOG_HEAD_NONE);
}
