// SPDX-License-Identifier: BSD-3-Clause
// The log, to standard error, syslog or the journal. Each line has a level and an area, and each
// area has its own rate limit. Any thread except workers may call it.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>
#include <time.h>

#include "conf.h"

// LOG(PORTS, INFO, "format", ...) with the areas of conf.h and the levels of syslog: ERR, WARNING,
// NOTICE, INFO, DEBUG.
#define LOG(area, level, ...) mgmt_log(CONF_AREA_##area, LOG_##level, __VA_ARGS__)

// A fact of a line, for programs. Names consist of lower case letters and '_', and are not time,
// level, area or text. In the journal the name is SLIPRING_NAME.
struct mgmt_log_field {
	const char *name;
	const char *text; // any bytes; NULL = use number
	size_t len; // of text
	uint64_t number;
};

static inline struct mgmt_log_field mgmt_log_text(const char *name, const char *text)
{
	return (struct mgmt_log_field){.name = name, .text = text, .len = strlen(text)};
}

// Untrusted bytes. JSON has them escaped like telemetry (escape.h), the journal has them unchanged.
static inline struct mgmt_log_field mgmt_log_bytes(const char *name, const char *bytes, size_t len)
{
	return (struct mgmt_log_field){.name = name, .text = bytes, .len = len};
}

static inline struct mgmt_log_field mgmt_log_number(const char *name, uint64_t number)
{
	return (struct mgmt_log_field){.name = name, .number = number};
}

// True if lines of that area and level are written, as far as levels decide. The call is cheap.
bool mgmt_log_on(enum conf_area area, int level);
// Logs one line of text, without newline. Call it through LOG. Untrusted bytes in the text must be
// escaped (escape.h), so that they cannot forge a quote or a line.
__attribute__((format(printf, 3, 4))) void mgmt_log(
	enum conf_area area, int level, const char *fmt, ...);
// Like mgmt_log(), with nb facts for programs. The text must contain these facts, too, because the
// formats for people show the text alone.
__attribute__((format(printf, 5, 6))) void mgmt_log_fields(enum conf_area area, int level,
	const struct mgmt_log_field *fields, unsigned int nb, const char *fmt, ...);

// Opens and closes the log. Before it is opened and after it is closed, lines go to standard error
// at level info. While it is open, DPDK's own log comes here, too. c may be freed after the call.
void mgmt_log_open(const struct conf_log *c);
void mgmt_log_close(void);
// Changes the open log from one configuration to another. Levels that only mgmt_log_set has changed
// remain. Both may be freed after the call.
void mgmt_log_change(const struct conf_log *before, const struct conf_log *after);
// The prefix of a line on standard error that tells journald its level: "<3>" for LOG_ERR; ""
// unless standard error is the journal.
const char *mgmt_log_prefix(int level);
// Logs how many lines were suppressed, once a flood is over. Call it about every 100 ms.
void mgmt_log_tick(void);

// Changes the level of an area while the log is open, and logs the change. At level debug, DPDK
// logs more in the areas dpdk and ports. 0, or -EINVAL for an unknown area or level
// (conf_level_name).
int mgmt_log_set(unsigned int area, int level);

struct mgmt_log_area {
	int level;
	uint64_t lines, suppressed; // since the log was opened
};

// Reads the level and counters of an area. False for an unknown area.
bool mgmt_log_area(unsigned int area, struct mgmt_log_area *out);
// Lines lost since the log was opened, because standard error, journald or syslog did not read.
uint64_t mgmt_log_lost(void);

// --- the parts, for tests ------------------------------------------------------------------------

#define MGMT_LOG_LINE_LEN 1024 // bytes of a text

// Sets the socket of syslog for the next mgmt_log_open. The caller keeps `path` valid.
void mgmt_log_syslog_at(const char *path);

// True if a descriptor is the journal's stream. systemd names it in JOURNAL_STREAM as
// "DEVICE:INODE"; stream is that text, or NULL.
bool mgmt_log_is_journal(int fd, const char *stream);

struct mgmt_log_limit {
	uint64_t second; // the second that the counters belong to
	uint32_t rate; // lines per second; the excess is counted and left out; 0 = no limit
	uint32_t lines, suppressed;
};

// True if one more line may be written at now_ms (milliseconds). *suppressed becomes the number of
// suppressed lines that the caller should report now.
bool mgmt_log_allow(struct mgmt_log_limit *l, uint64_t now_ms, uint32_t *suppressed);
