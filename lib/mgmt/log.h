// SPDX-License-Identifier: BSD-3-Clause
// The log of the appliance: to standard error or syslog, rate limited. Any thread except workers
// may call it.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <syslog.h>
#include <time.h>

#include "conf.h"

// LOG(INFO, "format", ...) with the levels of syslog: ERR, WARNING, NOTICE, INFO, DEBUG.
#define LOG(level, ...) mgmt_log(LOG_##level, __VA_ARGS__)

// Logs one line of text, without newline. Use LOG.
__attribute__((format(printf, 2, 3))) void mgmt_log(int level, const char *fmt, ...);

// Opens and closes the log. Before it is opened and after it is closed, lines go to standard error
// at level info. While it is open, DPDK's own log comes here too.
void mgmt_log_open(enum conf_log_to to, int level);
void mgmt_log_close(void);
// The prefix of a line on standard error that tells journald its level: "<3>" for LOG_ERR; "" where
// standard error is not the journal.
const char *mgmt_log_prefix(int level);
// Tells how many lines were suppressed, once the flood is over. Call it every 100 ms or so.
void mgmt_log_tick(void);

// --- the parts, for tests ------------------------------------------------------------------------

#define MGMT_LOG_LINES 200 // lines in a second; more are counted and left out
#define MGMT_LOG_LINE_LEN 1024

// True when a descriptor is the journal's stream, which systemd names in JOURNAL_STREAM as
// "DEVICE:INODE". stream is that text and may be NULL.
bool mgmt_log_is_journal(int fd, const char *stream);

struct mgmt_log_limit {
	uint64_t second; // the second that the counters belong to
	uint32_t lines, suppressed;
};

// True when one more line may be written at now_ms (milliseconds). *suppressed becomes the number
// of lines that were left out before and are to be told now.
bool mgmt_log_allow(struct mgmt_log_limit *l, uint64_t now_ms, uint32_t *suppressed);
// Formats "2026-01-02T03:04:05.678Z info  text\n". Control characters become '?', an overlong text
// is cut. wall NULL takes journald's form "<6>text\n", because journald has the time itself.
// Returns the length.
size_t mgmt_log_format(
	char buf[MGMT_LOG_LINE_LEN], const struct timespec *wall, int level, const char *text);
