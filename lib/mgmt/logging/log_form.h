// SPDX-License-Identifier: BSD-3-Clause
// A line of the log, and the forms that it takes: text and JSON, for people and programs.
// Private to lib/mgmt.
#pragma once

#include <time.h>

#include "log.h"

// Bytes of a line in any form. A pipe takes so many at once, so that lines never mix.
#define LOG_FORM_LEN 4096

struct log_record {
	struct timespec wall; // time of day
	enum conf_area area;
	int level;
	unsigned int nb; // of fields
	const char *text; // cleaned, without newline, up to MGMT_LOG_LINE_LEN
	const struct mgmt_log_field *fields;
};

// What comes before the text, or the object.
enum log_head {
	LOG_HEAD_TIME, // time and level
	LOG_HEAD_PRIORITY, // "<6>": for journald, which takes it off and knows the time itself
	LOG_HEAD_NONE, // and no newline: for syslog, which has its own
};

// Writes a line: "2026-01-02T03:04:05.678Z info  ports: text\n", or the same as an object of JSON,
// which is complete whatever the line holds. Fields are told by JSON alone: the text says the same
// to people. A field that finds no room is left out. Returns the length.
size_t log_form(char buf[LOG_FORM_LEN], const struct log_record *r, enum conf_log_format format,
	enum log_head head);
// Writes text to buf as UTF-8 on one line: what is no UTF-8, moves the cursor, starts a line or
// changes the direction of writing becomes '?'. What finds no room is cut, never inside of a
// character. Returns the length.
size_t log_form_clean(char *buf, size_t len, const char *text);
