// SPDX-License-Identifier: BSD-3-Clause
// Crash report files: an empty one, open for the next crash, and the reports of earlier crashes.
// Private to lib/mgmt.
#pragma once

#include <stdint.h>

struct conf_crash;

#define CRASH_FILES_DIRECTORY "/var/log/slipring"
#define CRASH_NAME_LEN 128
#define CRASH_PATH_LEN 1280

struct crash_files {
	int fd; // file for the next report; -1: no file, so the report goes to standard error
	char directory[1024];
	char prefix[65]; // eal.file-prefix
	char waiting[CRASH_PATH_LEN]; // path of the file for the next report
	unsigned int kept; // number of reports in the directory
	char newest[CRASH_NAME_LEN]; // report of a crash just before this start; "" = no crash
};

struct crash_file {
	char name[CRASH_NAME_LEN];
	uint64_t bytes;
	int64_t at_s; // when it was written, in seconds since 1970
};

// Opens the file for the next crash. If the last process wrote a report into it, that report is
// renamed first, and kept. Returns 0, or -1 with the reason in error if the configured directory is
// unusable.
int crash_files_open(struct crash_files *f, const struct conf_crash *c, const char *prefix,
	char *error, unsigned int len);
// Closes and removes the unused file.
void crash_files_close(struct crash_files *f);
// Lists the reports with this prefix, the newest first. Returns how many, at most max, or -errno.
int crash_files_list(const struct crash_files *f, struct crash_file *out, unsigned int max);
// Reads the report with a name from crash_files_list, and adds a NUL. Returns its length, at most
// len - 1, or -errno; -EINVAL if no report can have this name.
int crash_files_read(const struct crash_files *f, const char *name, char *buf, unsigned int len);
