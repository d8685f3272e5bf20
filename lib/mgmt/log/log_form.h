// SPDX-License-Identifier: BSD-3-Clause
// A line of the log, and its two formats: text for people and JSON for programs. Private to
// lib/mgmt.
#pragma once

#include <time.h>

#include "log/log.h"

// Maximum bytes of a line in any format. A pipe takes a line of this length in one write, so that
// lines never mix.
#define LOG_FORM_LEN 4096

struct log_record {
	struct timespec wall; // time of day
	enum conf_area area;
	int level;
	unsigned int nb; // of fields
	const char *text; // printable text without newline, up to MGMT_LOG_LINE_LEN
	const struct mgmt_log_field *fields;
};

// The start of a line, before the text or the object.
enum log_head {
	LOG_HEAD_TIME, // time and level
	LOG_HEAD_PRIORITY, // "<6>": for journald, which removes it and adds the time itself
	LOG_HEAD_NONE, // no start and no newline: for syslog, which has its own start
};

// Writes a line: "2026-01-02T03:04:05.678Z info  ports: text\n", or a JSON object with the same
// facts, which is always complete. Only JSON has the fields, as the text contains them for people.
// A field that does not fit is left out. Returns the length.
size_t log_form(char buf[LOG_FORM_LEN], const struct log_record *r, enum conf_log_format format,
	enum log_head head);
// Writes text to buf as UTF-8 on one line. '?' replaces bytes that are not UTF-8, and characters
// that move the cursor, start a line or change the direction of writing. Text that does not fit is
// cut, never inside a character. Returns the length.
size_t log_form_clean(char *buf, size_t len, const char *text);
