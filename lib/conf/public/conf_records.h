// SPDX-License-Identifier: BSD-3-Clause
// Configuration of records: their destinations.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define CONF_RECORDS_PATH 1088 // maximum path length of their files, with the NUL

struct conf_records {
	char *file; // records of sessions; NULL = no file
	uint32_t rotate; // maximum size of each file in bytes; 0 = never rotated
	uint32_t keep; // number of rotated files kept for each file
	bool journal, syslog;
	bool refusals;
};

// Writes the path of the file of refusals to buf: that of file (an absolute path), with "-refusals"
// before the last dot.
static inline void conf_records_refusals(const char *file, char buf[CONF_RECORDS_PATH])
{
	const char *name = strrchr(file, '/') + 1, *dot = strrchr(name, '.');
	const size_t stem = dot != NULL && dot != name ? (size_t)(dot - file) : strlen(file);

	snprintf(buf, CONF_RECORDS_PATH, "%.*s-refusals%s", (int)stem, file, file + stem);
}
