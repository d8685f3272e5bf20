// SPDX-License-Identifier: BSD-3-Clause
// The log of the appliance: to standard error, syslog or the journal, each line with a level and an
// area, each area with a limit of its own. Any thread except workers may call it.
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

// A fact of a line, for programs. Names are lower case letters and '_', and none of time, level,
// area, text. In the journal the name is SLIPRING_NAME.
struct mgmt_log_field {
	const char *name;
	const char *text; // any bytes; NULL = number counts
	size_t len; // of text
	uint64_t number;
};

static inline struct mgmt_log_field mgmt_log_text(const char *name, const char *text)
{
	return (struct mgmt_log_field){.name = name, .text = text, .len = strlen(text)};
}

// Strangers' bytes. JSON has them escaped as telemetry has (escape.h), the journal as they are.
static inline struct mgmt_log_field mgmt_log_bytes(const char *name, const char *bytes, size_t len)
{
	return (struct mgmt_log_field){.name = name, .text = bytes, .len = len};
}

static inline struct mgmt_log_field mgmt_log_number(const char *name, uint64_t number)
{
	return (struct mgmt_log_field){.name = name, .number = number};
}

// True when lines of that area and level are written, as far as levels say. Asking is cheap.
bool mgmt_log_on(enum conf_area area, int level);
// Logs one line of text, without newline. Use LOG. Strangers' bytes have to be escaped before they
// get into the text (escape.h): what may be a quote of ours stays one.
__attribute__((format(printf, 3, 4))) void mgmt_log(
	enum conf_area area, int level, const char *fmt, ...);
// The same with nb facts for programs. The text has to say the same to people, because the forms
// for them have the text alone.
__attribute__((format(printf, 5, 6))) void mgmt_log_fields(enum conf_area area, int level,
	const struct mgmt_log_field *fields, unsigned int nb, const char *fmt, ...);

// Opens and closes the log. Before it is opened and after it is closed, lines go to standard error
// at level info. While it is open, DPDK's own log comes here too. The configuration may go once
// this returns.
void mgmt_log_open(const struct conf_log *c);
void mgmt_log_close(void);
// Changes from one configuration of the open log to another. Levels that only mgmt_log_set has
// changed stay. Both may go once this returns.
void mgmt_log_change(const struct conf_log *before, const struct conf_log *after);
// The prefix of a line on standard error that tells journald its level: "<3>" for LOG_ERR; "" where
// standard error is not the journal.
const char *mgmt_log_prefix(int level);
// Tells how many lines were suppressed, once a flood is over. Call it every 100 ms or so.
void mgmt_log_tick(void);

// Changes the level of an area while the log is open, and logs that. From debug DPDK tells more, in
// the areas dpdk and ports. 0, or -EINVAL for what is no area or no level (conf_level_name).
int mgmt_log_set(unsigned int area, int level);

struct mgmt_log_area {
	int level;
	uint64_t lines, suppressed; // since the log was opened
};

// What an area is set to and has written. False for a number that is none.
bool mgmt_log_area(unsigned int area, struct mgmt_log_area *out);
// Lines that nobody took in time, since the log was opened: of standard error, journald or syslog.
uint64_t mgmt_log_lost(void);

// --- the parts, for tests ------------------------------------------------------------------------

#define MGMT_LOG_LINE_LEN 1024 // bytes of a text

// The socket of syslog for the next mgmt_log_open; the caller's.
void mgmt_log_syslog_at(const char *path);

// True when a descriptor is the journal's stream, which systemd names in JOURNAL_STREAM as
// "DEVICE:INODE". stream is that text and may be NULL.
bool mgmt_log_is_journal(int fd, const char *stream);

struct mgmt_log_limit {
	uint64_t second; // the second that the counters belong to
	uint32_t rate; // lines in a second; more are counted and left out; 0 = no limit
	uint32_t lines, suppressed;
};

// True when one more line may be written at now_ms (milliseconds). *suppressed becomes the number
// of lines that were left out before and are to be told now.
bool mgmt_log_allow(struct mgmt_log_limit *l, uint64_t now_ms, uint32_t *suppressed);
