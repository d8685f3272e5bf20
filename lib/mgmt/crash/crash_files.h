// SPDX-License-Identifier: BSD-3-Clause
// The files of crash reports: the one that waits for a crash, and those that crashes have left.
// Private to lib/mgmt.
#pragma once

#include <stdint.h>

struct conf_crash;

#define CRASH_FILES_DIRECTORY "/var/log/slipring"
#define CRASH_NAME_LEN 128
#define CRASH_PATH_LEN 1280

struct crash_files {
	int fd; // of the file that waits; -1: there is no directory, reports go to standard error
	char directory[1024];
	char prefix[65]; // eal.file-prefix
	char waiting[CRASH_PATH_LEN]; // path of that file
	unsigned int kept; // reports that are there
	char newest[CRASH_NAME_LEN]; // one that a crash before this start has left; "" = none
};

struct crash_file {
	char name[CRASH_NAME_LEN];
	uint64_t bytes;
	int64_t at_s; // when it was written, seconds since 1970
};

// Opens the file for the next crash, and keeps what the last one has left in it. 0, or -1 with the
// reason in error: the directory that the configuration names is of no use.
int crash_files_open(struct crash_files *f, const struct conf_crash *c, const char *prefix,
	char *error, unsigned int len);
// Removes the file that waits.
void crash_files_close(struct crash_files *f);
// The reports of this prefix, the newest first. Returns how many, at most max; -errno.
int crash_files_list(const struct crash_files *f, struct crash_file *out, unsigned int max);
// Reads a report, whose name is that of a row. Returns its length, at most len - 1, and a NUL
// behind it; -errno, -EINVAL for what is the name of no report.
int crash_files_read(const struct crash_files *f, const char *name, char *buf, unsigned int len);
