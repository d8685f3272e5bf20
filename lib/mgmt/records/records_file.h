// SPDX-License-Identifier: BSD-3-Clause
// A file of lines that is rotated by size. What cannot be written is counted, and told once. One
// thread at a time. Private to lib/mgmt.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define RECORDS_FILE_BUFFER 65536

struct records_file {
	const char *path; // the caller's
	uint64_t rotate; // bytes; 0 = never
	uint32_t keep; // files beside the present one
	bool later; // what may pass (no directory, a full disk) is no error of records_file_open
	// write(2), unless a test has put something else here.
	ssize_t (*write)(int fd, const void *data, size_t len);
	int fd; // -1 = not open
	uint64_t size; // bytes of whole lines in it
	bool torn; // it ends in the middle of a line
	uint64_t checked_ms, stuck_ms; // when path was looked at, and a rotation failed
	int failed; // errno of what was told last; 0 = it works
	uint64_t lost_before; // lines lost when it last worked
	uint64_t written, lost; // lines; written by the thread, read by any
	size_t used; // bytes in buffer
	char buffer[RECORDS_FILE_BUFFER];
};

// Opens f->path, a regular file and no link to one, to write behind what it has; makes it with mode
// 0640. path, rotate and keep are set, all else is zero. 0, or -1 with the reason in error.
int records_file_open(struct records_file *f, char *error, size_t len);
// Takes a line with its newline, shorter than the buffer.
void records_file_put(struct records_file *f, const char *line, size_t len);
// Writes what the buffer has.
void records_file_flush(struct records_file *f);
// Closes the file and opens path again. It is told when that fails; later calls of
// records_file_tick try again.
void records_file_reopen(struct records_file *f);
// Once a second or so, whose time is now_ms: opens path again where somebody has moved or removed
// the file, or where it could not be opened.
void records_file_tick(struct records_file *f, uint64_t now_ms);
// Writes what there is and closes the file.
void records_file_close(struct records_file *f);
