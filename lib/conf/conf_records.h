// SPDX-License-Identifier: BSD-3-Clause
// What the configuration says of records: where they go.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define CONF_RECORDS_PATH 1088 // bytes of the path of any of their files, with its NUL

struct conf_records {
	char *file; // of sessions; NULL = to no file
	uint32_t rotate; // bytes of each file; 0 = never
	uint32_t keep; // files beside each present one
	bool journal, syslog;
	bool refusals;
};

// Writes the path of the file of refusals to buf: beside file (one from '/' on), with "-refusals"
// before the last dot of its name.
static inline void conf_records_refusals(const char *file, char buf[CONF_RECORDS_PATH])
{
	const char *name = strrchr(file, '/') + 1, *dot = strrchr(name, '.');
	const size_t stem = dot != NULL && dot != name ? (size_t)(dot - file) : strlen(file);

	snprintf(buf, CONF_RECORDS_PATH, "%.*s-refusals%s", (int)stem, file, file + stem);
}
