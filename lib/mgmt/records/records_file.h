// SPDX-License-Identifier: BSD-3-Clause
// A file of lines that is rotated by size. Lines that cannot be written are counted, and the
// failure is logged once. One thread at a time. Private to lib/mgmt.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define RECORDS_FILE_BUFFER 65536

struct records_file {
	const char *path; // owned by the caller
	uint64_t rotate; // bytes; 0 = never
	uint32_t keep; // rotated files to keep besides the current one
	uint32_t max_age_s; // limit of the age of a line; 0 = no limit
	bool later; // records_file_open ignores errors that may disappear (no directory, a full
		// disk)
	// write(2), unless a test has replaced it.
	ssize_t (*write)(int fd, const void *data, size_t len);
	// Time at which a file was made, in seconds of the time of day; 0 if it is unknown. A test
	// may replace it.
	uint64_t (*born)(const char *path);
	int fd; // -1 = not open
	uint64_t size; // bytes of whole lines in it
	bool torn; // the file ends in the middle of a line
	uint64_t checked_ms, stuck_ms; // last check of path, and last failed rotation
	int failed; // errno that was logged last; 0 = the file works
	int kept; // errno of the last old file that could not be removed
	uint64_t lost_before; // lines lost when it last worked
	uint64_t written, lost; // lines; changed by the thread, read by any
	size_t used; // bytes in buffer
	char buffer[RECORDS_FILE_BUFFER];
};

// Opens f->path to append, and creates it with mode 0640. It must be a regular file and not a link.
// path, rotate and keep are set, all other fields are zero. 0, or -1 with the reason in error.
int records_file_open(struct records_file *f, char *error, size_t len);
// Takes a line with its newline, shorter than the buffer.
void records_file_put(struct records_file *f, const char *line, size_t len);
// Writes the buffered lines.
void records_file_flush(struct records_file *f);
// Closes the file and opens path again. A failure is logged, and later calls of records_file_tick
// try again.
void records_file_reopen(struct records_file *f);
// Opens path again if the file was moved or removed, or could not be opened. Rotates and removes
// files that are too old. Call it about once a second; now_ms is the time.
void records_file_tick(struct records_file *f, uint64_t now_ms);
// Writes the buffered lines and closes the file.
void records_file_close(struct records_file *f);
