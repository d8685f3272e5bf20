// SPDX-License-Identifier: BSD-3-Clause
// The syslog format of a line (RFC 3164), for the socket of the host's daemon. Private to lib/mgmt.
#pragma once

#include "log/log_form.h"

#define LOG_SYSLOG_PATH "/dev/log"
#define LOG_SYSLOG_HEAD 64 // bytes before a line
#define LOG_SYSLOG_LEN (LOG_SYSLOG_HEAD + LOG_FORM_LEN)

// Writes the datagram of a line: facility daemon and the line's level, time, name and process id,
// and the line as text or JSON. Returns the length.
size_t log_syslog_form(
	char buf[LOG_SYSLOG_LEN], const struct log_record *r, enum conf_log_format format);
