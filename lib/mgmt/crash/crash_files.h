// SPDX-License-Identifier: BSD-3-Clause
// The files of crash reports: the one that is ready for a crash, and those of earlier crashes.
// Private to lib/mgmt.
#pragma once

#include <stdint.h>

struct conf_crash;

#define CRASH_FILES_DIRECTORY "/var/log/slipring"
#define CRASH_NAME_LEN 128
#define CRASH_PATH_LEN 1280

struct crash_files {
	int fd; // of the file that is ready; -1: there is no directory, and reports go to standard
		// error
	char directory[1024];
	char prefix[65]; // eal.file-prefix
	char waiting[CRASH_PATH_LEN]; // path of the file that is ready
	unsigned int kept; // number of reports
	char newest[CRASH_NAME_LEN]; // written by a crash before this start; "" = no crash
};

struct crash_file {
	char name[CRASH_NAME_LEN];
	uint64_t bytes;
	int64_t at_s; // when it was written, in seconds since 1970
};

// Opens the file for the next crash, and keeps the report of the last one under its own name. 0, or
// -1 with the reason in error: the configured directory is unusable.
int crash_files_open(struct crash_files *f, const struct conf_crash *c, const char *prefix,
	char *error, unsigned int len);
// Removes the file that was ready for a crash.
void crash_files_close(struct crash_files *f);
// Lists the reports with this prefix, the newest first. Returns how many, at most max, or -errno.
int crash_files_list(const struct crash_files *f, struct crash_file *out, unsigned int max);
// Reads a report by the name in its row, and terminates it with a NUL. Returns its length, at most
// len - 1, or -errno; -EINVAL if the name is not that of a report.
int crash_files_read(const struct crash_files *f, const char *name, char *buf, unsigned int len);
