// SPDX-License-Identifier: BSD-3-Clause
// The log of the appliance: to standard error or syslog, rate limited. Any thread but workers.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <syslog.h>
#include <time.h>

#include "conf.h"

// LOG(INFO, "format", ...) with the levels of syslog: ERR, WARNING, NOTICE, INFO, DEBUG.
#define LOG(level, ...) mgmt_log(LOG_##level, __VA_ARGS__)

__attribute__((format(printf, 2, 3))) void mgmt_log(int level, const char *fmt, ...);

// Before it is opened, and after it is closed, lines go to standard error at level info. Between
// the two DPDK's own log comes here too.
void mgmt_log_open(enum conf_log_to to, int level);
void mgmt_log_close(void);
// What a line for standard error begins with, so that journald knows its level: "<3>" for LOG_ERR;
// "" where standard error is not the journal.
const char *mgmt_log_prefix(int level);
// Tells how many lines were suppressed, once the flood is over. Called every 100 ms or so.
void mgmt_log_tick(void);

// --- the parts, for tests ------------------------------------------------------------------------

#define MGMT_LOG_LINES 200 // a second; more are counted and left out
#define MGMT_LOG_LINE_LEN 1024

// Whether a descriptor is the stream to the journal that systemd names in JOURNAL_STREAM, as
// "DEVICE:INODE". stream may be NULL.
bool mgmt_log_is_journal(int fd, const char *stream);

struct mgmt_log_limit {
	uint64_t second; // the window the counters are of
	uint32_t lines, suppressed;
};

// True when one more line may be written. *suppressed: lines left out before and to be told of now.
bool mgmt_log_allow(struct mgmt_log_limit *l, uint64_t now_ms, uint32_t *suppressed);
// "2026-01-02T03:04:05.678Z info  text\n"; control characters become '?', an overlong text is cut.
// Without wall the form of journald, which has the time itself: "<6>text\n". Returns the length.
size_t mgmt_log_format(
	char buf[MGMT_LOG_LINE_LEN], const struct timespec *wall, int level, const char *text);
