// SPDX-License-Identifier: BSD-3-Clause
// Configuration of records: their destinations.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define CONF_RECORDS_PATH 1088 // maximum path length of their files, with the NUL

enum conf_detail { // of an address in records
	CONF_DETAIL_FULL,
	CONF_DETAIL_NETWORK, // the /24 or /48 that it belongs to
	CONF_DETAIL_NONE, // no address
};

// Files of records besides that of sessions: what their names have in front of the last dot.
#define CONF_RECORDS_REFUSALS "-refusals"
#define CONF_RECORDS_PEERS "-peers"

struct conf_records {
	char *file; // records of sessions; NULL = no file
	uint32_t rotate; // maximum size of each file in bytes; 0 = never rotated
	uint32_t keep; // number of rotated files kept for each file
	uint32_t max_age_s; // of a record in a file; 0 = no limit
	bool journal, syslog;
	bool refusals;
	uint8_t peers, clients; // enum conf_detail
};

// Writes the path of a second file to buf: that of file (an absolute path), with the suffix before
// the last dot.
static inline void conf_records_beside(
	const char *file, const char *suffix, char buf[CONF_RECORDS_PATH])
{
	const char *name = strrchr(file, '/') + 1, *dot = strrchr(name, '.');
	const size_t stem = dot != NULL && dot != name ? (size_t)(dot - file) : strlen(file);

	snprintf(buf, CONF_RECORDS_PATH, "%.*s%s%s", (int)stem, file, suffix, file + stem);
}
