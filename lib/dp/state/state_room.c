// SPDX-License-Identifier: BSD-3-Clause
// Room on the file system of the state area. During a start there are two files, and files that
// were put aside may be as large as each of them.
#include "state/state_room.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "state/state_file.h"

#define ASIDE 2 // in the following list, files from this index on were put aside
static const char *const ends[] = {"", ".new", ".refused", ".crashed"};
#define ENDS (sizeof(ends) / sizeof(ends[0]))

uint64_t state_room(int dir, const char *name)
{
	char path[NAME_MAX + 16];
	struct statvfs v;
	struct stat st;
	uint64_t room;

	if (fstatvfs(dir, &v) != 0 || v.f_blocks == 0)
		return UINT64_MAX;
	room = (uint64_t)v.f_bavail * v.f_frsize;
	for (unsigned int i = 0; i < ENDS; i++) {
		snprintf(path, sizeof(path), "%s%s", name, ends[i]);
		if (fstatat(dir, path, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode))
			room += (uint64_t)st.st_blocks * 512;
	}
	return room;
}

bool state_room_spare(const struct state_file *f)
{
	char path[NAME_MAX + 16];
	bool any = false;

	for (unsigned int i = ASIDE; i < ENDS; i++) {
		snprintf(path, sizeof(path), "%s%s", f->name, ends[i]);
		any |= unlinkat(f->dir, path, 0) == 0;
	}
	return any;
}
