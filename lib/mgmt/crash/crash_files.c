// SPDX-License-Identifier: BSD-3-Clause
// Keeps crash reports. A crashing process can open no file, so the start creates the file for its
// report. The next start renames it to a name with the time of the crash.
#include "crash/crash_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "conf_watch.h"

#define LISTED 1024 // limit of the reports that a listing reads

// True for the name of a report with this prefix: crash-PREFIX-20261123T180429Z.txt, or with a
// number after the time.
static bool is_report(const struct crash_files *f, const char *name)
{
	char begin[80];
	const int n = snprintf(begin, sizeof(begin), "crash-%s-", f->prefix);
	const size_t len = strlen(name);

	return len < CRASH_NAME_LEN && len > (size_t)n + 4 &&
		strncmp(name, begin, (size_t)n) == 0 && strcmp(name + len - 4, ".txt") == 0 &&
		strspn(name + n, "0123456789TZ.") == len - (size_t)n - 3;
}

static void path_of(const struct crash_files *f, const char *name, char path[CRASH_PATH_LEN])
{
	snprintf(path, CRASH_PATH_LEN, "%s/%s", f->directory, name);
}

static int newest_first(const void *a, const void *b)
{
	return strcmp(((const struct crash_file *)b)->name, ((const struct crash_file *)a)->name);
}

int crash_files_list(const struct crash_files *f, struct crash_file *out, unsigned int max)
{
	struct crash_file *all = calloc(LISTED, sizeof(*all));
	DIR *d = f->fd >= 0 && all != NULL ? opendir(f->directory) : NULL;
	const struct dirent *e;
	unsigned int n = 0;

	while (d != NULL && n < LISTED && (e = readdir(d)) != NULL) {
		struct stat st;

		if (!is_report(f, e->d_name) || fstatat(dirfd(d), e->d_name, &st, 0) != 0)
			continue;
		snprintf(all[n].name, CRASH_NAME_LEN, "%.127s", e->d_name);
		all[n].bytes = (uint64_t)st.st_size;
		all[n++].at_s = st.st_mtime;
	}
	if (d != NULL)
		closedir(d);
	if (n > 0)
		qsort(all, n, sizeof(*all), newest_first);
	n = n < max ? n : max;
	if (n > 0)
		memcpy(out, all, n * sizeof(*out));
	free(all);
	return (int)n;
}

int crash_files_read(const struct crash_files *f, const char *name, char *buf, unsigned int len)
{
	char path[CRASH_PATH_LEN];
	ssize_t n;
	int fd;

	if (f->fd < 0 || !is_report(f, name))
		return -EINVAL;
	path_of(f, name, path);
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = read(fd, buf, len - 1);
	close(fd);
	if (n < 0)
		return -errno;
	buf[n] = '\0';
	return (int)n;
}

// Renames the report of a crash to its final name.
static void keep_report(struct crash_files *f, const struct stat *st)
{
	char time[32], path[CRASH_PATH_LEN];
	struct tm utc;

	gmtime_r(&st->st_mtime, &utc);
	strftime(time, sizeof(time), "%Y%m%dT%H%M%SZ", &utc);
	for (unsigned int i = 0; i < 100; i++) {
		char number[8] = "";

		if (i > 0)
			snprintf(number, sizeof(number), ".%02u", i);
		snprintf(
			f->newest, sizeof(f->newest), "crash-%s-%s%s.txt", f->prefix, time, number);
		path_of(f, f->newest, path);
		if (access(path, F_OK) != 0)
			break;
	}
	if (rename(f->waiting, path) != 0)
		f->newest[0] = '\0';
}

// Removes the oldest reports, so that at most `most` remain.
static void remove_oldest(struct crash_files *f, unsigned int most)
{
	struct crash_file *all = calloc(LISTED, sizeof(*all));
	const int n = all != NULL ? crash_files_list(f, all, LISTED) : 0;

	for (int i = (int)most; i < n; i++) {
		char path[CRASH_PATH_LEN];

		path_of(f, all[i].name, path);
		unlink(path);
	}
	f->kept = n < (int)most ? (unsigned int)n : most;
	free(all);
}

static int open_waiting(const struct crash_files *f)
{
	return open(f->waiting, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
}

int crash_files_open(struct crash_files *f, const struct conf_crash *c, const char *prefix,
	char *error, unsigned int len)
{
	const char *directory = c->directory != NULL ? c->directory : CRASH_FILES_DIRECTORY;
	struct stat st;

	*f = (struct crash_files){.fd = -1};
	if (directory[0] == '\0')
		return 0;
	snprintf(f->directory, sizeof(f->directory), "%s", directory);
	snprintf(f->prefix, sizeof(f->prefix), "%s", prefix);
	snprintf(f->waiting, sizeof(f->waiting), "%s/crash-%s.waiting", directory, prefix);
	f->fd = open_waiting(f);
	if (f->fd >= 0 && fstat(f->fd, &st) == 0 && st.st_size > 0) {
		close(f->fd);
		keep_report(f, &st);
		f->fd = open_waiting(f);
	}
	if (f->fd >= 0) {
		remove_oldest(f, c->keep);
		return 0;
	}
	snprintf(error, len, "%s: %s", f->waiting, strerror(errno));
	return c->directory == NULL ? 0 : -1;
}

void crash_files_close(struct crash_files *f)
{
	if (f->fd < 0)
		return;
	close(f->fd);
	unlink(f->waiting);
	f->fd = -1;
}
