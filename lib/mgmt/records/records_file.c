// SPDX-License-Identifier: BSD-3-Clause
// Appends lines to a file, each whole or not at all.
#include "records/records_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "counter.h"
#include "log/log.h"

#define CHECK_MS 1000
#define STUCK_MS 60000 // interval of attempts to rotate after a failure
#define SUFFIX_LEN 12

// --- opening -------------------------------------------------------------------------------------

static const char *why_not(int error)
{
	switch (error) {
	case ELOOP:
		return "is a symbolic link: configure the file itself";
	case EISDIR:
	case ENXIO:
	case EINVAL:
		return "is not a regular file";
	case ENOENT:
		return "there is no such directory: create it";
	case EACCES:
		return "is not writable for this user";
	default:
		return strerror(error);
	}
}

// 0 or an errno value.
static int open_path(struct records_file *f)
{
	// without O_NONBLOCK the open of a FIFO would wait for a reader
	const int flags =
		O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY;
	const int fd = open(f->path, flags, 0640);
	struct stat st;

	if (fd < 0)
		return errno;
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
		close(fd);
		return EINVAL;
	}
	f->fd = fd;
	f->size = (uint64_t)st.st_size;
	f->torn = false;
	return 0;
}

static uint64_t file_born(const char *path)
{
	struct statx st;

	if (statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_BTIME, &st) != 0 ||
		(st.stx_mask & STATX_BTIME) == 0)
		return 0;
	return (uint64_t)st.stx_btime.tv_sec;
}

static void note_failure(struct records_file *f, int error)
{
	if (f->failed == error)
		return;
	if (f->failed == 0)
		f->lost_before = f->lost;
	f->failed = error;
	LOG(SESSIONS, ERR, "records: %s: %s: records are lost until that is fixed", f->path,
		why_not(error));
}

// True if the error may disappear without a change of the configuration.
static bool may_pass(int error)
{
	return error != ELOOP && error != EISDIR && error != ENXIO && error != EINVAL;
}

int records_file_open(struct records_file *f, char *error, size_t len)
{
	int rc;

	f->fd = -1;
	if (f->write == NULL)
		f->write = write;
	if (f->born == NULL)
		f->born = file_born;
	rc = open_path(f);
	if (rc != 0 && f->later && may_pass(rc)) {
		note_failure(f, rc);
		return 0;
	}
	if (rc != 0)
		snprintf(error, len, "%s: %s", f->path, why_not(rc));
	return rc == 0 ? 0 : -1;
}

static void note_recovery(struct records_file *f)
{
	if (f->failed == 0)
		return;
	f->failed = 0;
	LOG(SESSIONS, NOTICE, "records: %s is written again, %" PRIu64 " records were lost",
		f->path, f->lost - f->lost_before);
}

void records_file_reopen(struct records_file *f)
{
	int rc;

	records_file_flush(f);
	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
	rc = open_path(f);
	if (rc != 0)
		note_failure(f, rc);
}

// --- rotation ------------------------------------------------------------------------------------

static int shift_file(const struct records_file *f, uint32_t src, uint32_t dst)
{
	char a[4096], b[4096];

	if (strlen(f->path) + SUFFIX_LEN > sizeof(a))
		return ENAMETOOLONG;
	snprintf(a, sizeof(a), src > 0 ? "%s.%u" : "%s", f->path, src);
	snprintf(b, sizeof(b), "%s.%u", f->path, dst);
	return rename(a, b) == 0 || (errno == ENOENT && src > 0) ? 0 : errno;
}

// Renames the files by one step and removes the oldest. If that fails, the current file grows on.
static void rotate_files(struct records_file *f)
{
	int rc = 0;

	if (f->stuck_ms != 0 && f->checked_ms < f->stuck_ms + STUCK_MS)
		return;
	for (uint32_t i = f->keep; i-- > 0 && rc == 0;)
		rc = shift_file(f, i, i + 1);
	if (rc == 0) {
		f->stuck_ms = 0;
		records_file_reopen(f);
		return;
	}
	f->stuck_ms = f->checked_ms > 0 ? f->checked_ms : 1;
	LOG(SESSIONS, WARNING, "records: %s cannot be rotated: %s: it keeps growing", f->path,
		strerror(rc));
}

static void remove_old(struct records_file *f, uint64_t now_s)
{
	char path[4096];
	uint64_t born;

	for (uint32_t i = 1; i <= f->keep && strlen(f->path) + SUFFIX_LEN <= sizeof(path); i++) {
		snprintf(path, sizeof(path), "%s.%u", f->path, i);
		born = f->born(path);
		if (born == 0 || now_s < born + f->max_age_s || unlink(path) == 0)
			continue;
		if (f->kept != errno)
			LOG(SESSIONS, ERR, "records: %s is too old and cannot be removed: %s", path,
				strerror(errno));
		f->kept = errno;
	}
}

// A file is as old as its first line. Rotated by time, the files together have the allowed age.
static void limit_age(struct records_file *f)
{
	const uint64_t now_s = clock_wall_ms() / 1000;
	uint64_t born;

	records_file_flush(f);
	born = f->fd >= 0 && f->size > 0 ? f->born(f->path) : 0;
	if (born != 0 && now_s >= born + f->max_age_s / (f->keep + 1))
		rotate_files(f);
	remove_old(f, now_s);
}

void records_file_tick(struct records_file *f, uint64_t now_ms)
{
	struct stat there, opened;

	if (now_ms < f->checked_ms + CHECK_MS)
		return;
	f->checked_ms = now_ms;
	if (f->fd < 0 || lstat(f->path, &there) != 0 || fstat(f->fd, &opened) != 0 ||
		there.st_ino != opened.st_ino || there.st_dev != opened.st_dev)
		records_file_reopen(f);
	if (f->max_age_s > 0)
		limit_age(f);
}

// --- writing -------------------------------------------------------------------------------------

static uint64_t lines_in(const char *data, size_t len)
{
	uint64_t n = 0;

	for (size_t i = 0; i < len; i++)
		n += data[i] == '\n';
	return n;
}

// Returns the number of bytes written; errno has the reason if not all were.
static size_t write_all(const struct records_file *f, const char *data, size_t len)
{
	size_t written = 0;

	while (written < len) {
		const ssize_t n = f->write(f->fd, data + written, len - written);

		if (n > 0)
			written += (size_t)n;
		else if (n == 0 || errno != EINTR)
			break;
	}
	return written;
}

// Removes the beginning of a line that did not fit as a whole.
static void cut_line(struct records_file *f)
{
	f->torn = ftruncate(f->fd, (off_t)f->size) != 0;
}

// The file may have been shortened (logrotate with copytruncate).
static void check_size(struct records_file *f)
{
	struct stat st;

	if (f->fd < 0 || fstat(f->fd, &st) != 0 || (uint64_t)st.st_size >= f->size)
		return;
	f->size = (uint64_t)st.st_size;
	f->torn &= f->size > 0;
}

void records_file_flush(struct records_file *f)
{
	const uint64_t lines = lines_in(f->buffer, f->used);
	size_t done = 0, whole;
	uint64_t written;
	int error = ENOSPC;

	check_size(f);
	if (f->used == 0)
		return;
	errno = 0;
	if (f->fd >= 0 && (!f->torn || write_all(f, "\n", 1) == 1)) {
		f->size += f->torn;
		f->torn = false;
		done = write_all(f, f->buffer, f->used);
	}
	if (errno != 0)
		error = errno;
	for (whole = done; whole > 0 && f->buffer[whole - 1] != '\n'; whole--)
		;
	written = lines_in(f->buffer, whole);
	f->size += whole;
	if (done > whole)
		cut_line(f);
	counter_add(&f->written, written);
	if (done == f->used)
		note_recovery(f);
	else if (f->fd >= 0)
		note_failure(f, error);
	counter_add(&f->lost, lines - written);
	f->used = 0;
}

void records_file_put(struct records_file *f, const char *line, size_t len)
{
	if (f->rotate > 0 && f->size + f->used > 0 && f->size + f->used + len > f->rotate) {
		records_file_flush(f);
		if (f->fd >= 0 && f->size > 0 && f->size + len > f->rotate)
			rotate_files(f);
	}
	if (f->used + len > sizeof(f->buffer))
		records_file_flush(f);
	memcpy(f->buffer + f->used, line, len);
	f->used += len;
}

void records_file_close(struct records_file *f)
{
	if (f->fd < 0 && f->used == 0)
		return;
	records_file_flush(f);
	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
}
