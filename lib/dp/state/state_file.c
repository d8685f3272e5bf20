// SPDX-License-Identifier: BSD-3-Clause
// The file that contains the state area. It contains keys, so it is never on a disk, and only our
// user can open it. A new process fills a file of its own and then renames it over the old one, so
// a process that dies in between leaves the old file intact.
#include "state/state_file.h"
#include "state/state_room.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define NAME_LEN (NAME_MAX + 1)

static const char *name_of(const char *path)
{
	return strrchr(path, '/') + 1;
}

// "NAME.suffix" in the directory of the file. False if that is too long.
static bool sibling_name(const struct state_file *f, const char *suffix, char out[NAME_LEN])
{
	return snprintf(out, NAME_LEN, "%s.%s", f->name, suffix) < NAME_LEN;
}

static int report_errno(const struct state_file *f, const char *suffix, char *error, size_t len)
{
	snprintf(error, len, "state.file: %s%s: %s", f->path, suffix, strerror(errno));
	return -1;
}

// Content of a state that should have been removed.
static const char emptied[] = "slipring: this state should have been removed\n";

// --- the directory -------------------------------------------------------------------------------

static bool is_memory(int dir)
{
	struct statfs s;

	if (fstatfs(dir, &s) != 0)
		return false;
	return s.f_type == TMPFS_MAGIC || s.f_type == RAMFS_MAGIC || s.f_type == HUGETLBFS_MAGIC;
}

static int dir_judge(int dir, const char *path, char *error, size_t len)
{
	struct stat st;

	if (fstat(dir, &st) != 0)
		snprintf(error, len, "%s: %s", path, strerror(errno));
	else if (st.st_uid != 0 && st.st_uid != geteuid())
		snprintf(error, len,
			"%s belongs to uid %u: name a directory of root or of uid %u, as slipring "
			"runs",
			path, st.st_uid, geteuid());
	else if ((st.st_mode & (S_IWGRP | S_IWOTH)) != 0)
		snprintf(error, len, "others may write to %s: chmod go-w %s", path, path);
	else if (!is_memory(dir))
		snprintf(error, len,
			"%s is on no file system in memory, and the file holds keys: name a "
			"directory on tmpfs or hugetlbfs, such as /run/slipring",
			path);
	else
		return 0;
	return -1;
}

// Opens the directory of a file. Returns a descriptor, or -1 with the reason in error.
static int dir_open(const char *path, char *error, size_t len)
{
	char dir[PATH_MAX];
	int fd;

	if (strlen(path) >= sizeof(dir) || strlen(name_of(path)) + sizeof(".refused") > NAME_MAX) {
		snprintf(error, len, "the name is too long");
		return -1;
	}
	memcpy(dir, path, strlen(path) + 1);
	dir[name_of(path) - path - (name_of(path) - path > 1)] = '\0';
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0) {
		snprintf(error, len,
			"%s: %s: make the directory first, or RuntimeDirectory= in the unit", dir,
			strerror(errno));
		return -1;
	}
	if (dir_judge(fd, dir, error, len) == 0)
		return fd;
	close(fd);
	return -1;
}

int state_file_look(struct state_file *f, const char *path, char *error, size_t len)
{
	*f = (struct state_file){.path = path, .name = name_of(path), .lock = -1};
	f->dir = dir_open(path, error, len);
	return f->dir >= 0 ? 0 : -1;
}

// --- the lock ------------------------------------------------------------------------------------

// Uses an fcntl lock, because the kernel then knows the holder, and child processes do not inherit
// it. Files on hugetlbfs cannot be written.
static int lock_file(struct state_file *f, char *error, size_t len)
{
	struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	char name[NAME_LEN];

	if (!sibling_name(f, "lock", name)) {
		errno = ENAMETOOLONG;
		return report_errno(f, ".lock", error, len);
	}
	f->lock = openat(f->dir, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (f->lock < 0)
		return report_errno(f, ".lock", error, len);
	if (fcntl(f->lock, F_SETLK, &l) == 0)
		return 0;
	if ((errno != EACCES && errno != EAGAIN) || fcntl(f->lock, F_GETLK, &l) != 0)
		return report_errno(f, ".lock", error, len);
	snprintf(error, len,
		"state.file: %s is in use by pid %d: stop that process, or give this one a file of "
		"its own",
		f->path, (int)l.l_pid);
	return -1;
}

int state_file_open(struct state_file *f, const char *path, char *error, size_t len)
{
	char reason[256];

	if (state_file_look(f, path, reason, sizeof(reason)) != 0) {
		snprintf(error, len, "state.file: %s", reason);
		return -1;
	}
	return lock_file(f, error, len);
}

// --- the old file --------------------------------------------------------------------------------

// The reason why an open file is not usable; NULL if it is usable.
static const char *file_judge(const struct stat *st)
{
	if (!S_ISREG(st->st_mode))
		return "it is no regular file";
	if (st->st_uid != geteuid())
		return "it belongs to another user";
	if ((st->st_mode & (S_IRWXG | S_IRWXO)) != 0)
		return "others may open it";
	if (st->st_nlink != 1)
		return "it has another name too";
	return st->st_size == 0 ? "it is empty" : NULL;
}

static int map_area(struct state_map *m, int fd, size_t size, int prot)
{
	void *mem = mmap(NULL, size, prot, MAP_SHARED | MAP_POPULATE, fd, 0);

	if (mem == MAP_FAILED)
		return -1;
	*m = (struct state_map){mem, size};
	// the file contains keys, and a child needs no keys
	madvise(mem, size, MADV_DONTDUMP);
	madvise(mem, size, MADV_DONTFORK);
	return 0;
}

static void unmap_area(struct state_map *m)
{
	if (m->mem != NULL)
		munmap(m->mem, m->size);
	*m = (struct state_map){0};
}

static bool is_emptied(const struct state_map *m)
{
	return m->size >= sizeof(emptied) && memcmp(m->mem, emptied, sizeof(emptied)) == 0;
}

int state_file_map(struct state_file *f, char *error, size_t len)
{
	const int fd = openat(f->dir, f->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	const char *reason = NULL;
	struct stat st;

	if (fd < 0 && errno == ENOENT)
		return -ENOENT;
	if (fd < 0)
		reason = errno == ELOOP ? "it is a symbolic link" : strerror(errno);
	else if (fstat(fd, &st) != 0)
		reason = strerror(errno);
	else
		reason = file_judge(&st);
	if (reason == NULL && map_area(&f->old, fd, (size_t)st.st_size, PROT_READ) != 0)
		reason = strerror(errno);
	if (fd >= 0)
		close(fd);
	if (reason == NULL && is_emptied(&f->old)) {
		unmap_area(&f->old);
		return -ENOENT;
	}
	if (reason == NULL)
		return 0;
	snprintf(error, len, "%s", reason);
	return -1;
}

void state_file_unmap(struct state_file *f)
{
	unmap_area(&f->old);
}

int state_file_aside(struct state_file *f, const char *suffix)
{
	char name[NAME_LEN];

	if (!sibling_name(f, suffix, name))
		return -ENAMETOOLONG;
	return renameat(f->dir, f->name, f->dir, name) == 0 ? 0 : -errno;
}

// --- a new file ----------------------------------------------------------------------------------

// Sizes on hugetlbfs are whole pages.
static size_t round_up(int fd, size_t size)
{
	struct statfs s;
	size_t page;

	if (fstatfs(fd, &s) != 0 || s.f_type != HUGETLBFS_MAGIC)
		return size;
	page = (size_t)s.f_bsize;
	return (size + page - 1) / page * page;
}

// Allocates all memory now: a page that is missing later would be a SIGBUS in a worker.
static int allocate_area(struct state_file *f, int fd, size_t size, char *error, size_t len)
{
	const size_t whole = round_up(fd, size);
	const int rc = posix_fallocate(fd, 0, (off_t)whole);

	if (rc == 0 && map_area(&f->fresh, fd, whole, PROT_READ | PROT_WRITE) == 0)
		return 0;
	snprintf(error, len,
		"state.file: %s: %zu MB cannot be allocated: %s: enlarge its file system (size= of "
		"tmpfs, hugepages), or take fewer relay.ports",
		f->path, whole >> 20, strerror(rc != 0 ? rc : errno));
	return -ENOSPC;
}

static int make_file(struct state_file *f, size_t size, char *error, size_t len)
{
	char name[NAME_LEN];
	int fd, rc;

	if (!sibling_name(f, "new", name)) {
		errno = ENAMETOOLONG;
		return report_errno(f, ".new", error, len);
	}
	// left by a process that died during its start
	if (unlinkat(f->dir, name, 0) != 0 && errno != ENOENT)
		return report_errno(f, ".new", error, len);
	fd = openat(f->dir, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return report_errno(f, ".new", error, len);
	rc = allocate_area(f, fd, size, error, len);
	close(fd);
	if (rc != 0)
		unlinkat(f->dir, name, 0);
	return rc;
}

int state_file_make(struct state_file *f, size_t size, char *error, size_t len)
{
	int rc = make_file(f, size, error, len);

	if (rc == -ENOSPC && state_room_spare(f))
		rc = make_file(f, size, error, len);
	if (rc != 0)
		return rc;
	if (mlock(f->fresh.mem, f->fresh.size) == 0)
		return 0;
	snprintf(error, len,
		"%s cannot be locked in memory: %s: keys may reach swap (LimitMEMLOCK=infinity in "
		"the unit, or ulimit -l)",
		f->path, strerror(errno));
	return 1;
}

void state_file_drop(struct state_file *f)
{
	unlinkat(f->dir, f->name, 0);
}

int state_file_settle(struct state_file *f, char *error, size_t len)
{
	char name[NAME_LEN];

	if (!sibling_name(f, "new", name) || renameat(f->dir, name, f->dir, f->name) != 0)
		return report_errno(f, "", error, len);
	f->settled = true;
	return 0;
}

// A process that has changed its user may be unable to remove the file. Only a mark remains in it.
static void empty_area(struct state_map *m)
{
	memset(m->mem, 0, m->size);
	memcpy(m->mem, emptied, sizeof(emptied));
}

void state_file_close(struct state_file *f, bool remove)
{
	char name[NAME_LEN];

	if (f->fresh.mem != NULL && !f->settled && sibling_name(f, "new", name))
		unlinkat(f->dir, name, 0);
	if (f->settled && remove && unlinkat(f->dir, f->name, 0) != 0)
		empty_area(&f->fresh);
	unmap_area(&f->old);
	unmap_area(&f->fresh);
	// the lock is released last
	if (f->dir >= 0)
		close(f->dir);
	if (f->lock >= 0)
		close(f->lock);
	f->dir = f->lock = -1;
}
