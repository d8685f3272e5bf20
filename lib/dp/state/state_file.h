// SPDX-License-Identifier: BSD-3-Clause
// The file that contains the state area. Linux only, no DPDK. Management lcore.
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct state_map {
	void *mem; // NULL = not mapped
	size_t size; // size of the file, which is mapped completely
};

// The files of one process: FILE, left by the last process, and FILE.new, which becomes FILE once
// it is complete. FILE.lock is held from start to end.
struct state_file {
	const char *path; // owned by the caller
	const char *name; // file name without the directory
	int dir, lock; // descriptors; -1 = none
	struct state_map old, fresh;
	bool settled; // FILE belongs to this process
};

// Checks that a path may be used: its directory must be writable only for root and our user, and on
// a file system in memory. Returns 0, or -1 with the reason and a remedy in error. It only opens
// the directory in *f; the caller closes that.
int state_file_look(struct state_file *f, const char *path, char *error, size_t len);
// Opens the directory, which state_file_look checks, and takes the lock. Returns 0, or -1 with the
// reason in error; for a lock that includes the process that holds it. The caller must call
// state_file_close in both cases.
int state_file_open(struct state_file *f, const char *path, char *error, size_t len);
// Maps FILE read-only. Returns 0; -ENOENT if there is no file; -1 if it is not usable, with the
// reason in error: not a regular file, another owner, accessible by others, empty.
int state_file_map(struct state_file *f, char *error, size_t len);
// Unmaps FILE, and does not remove it.
void state_file_unmap(struct state_file *f);
// Renames FILE to FILE.suffix ("refused", "crashed"), and replaces an existing file. Returns 0 or
// -errno.
int state_file_aside(struct state_file *f, const char *suffix);
// Makes FILE.new of at least size bytes, all zero, mapped, locked in memory, and excluded from core
// dumps and child processes. Removes files that were put aside if it needs their room. Returns 0; 1
// if it cannot be locked in memory; -ENOSPC if there is no room; or -1. Except for 0, error has the
// reason.
int state_file_make(struct state_file *f, size_t size, char *error, size_t len);
// Removes FILE of the last process. Its mapping stays.
void state_file_drop(struct state_file *f);
// Renames FILE.new to FILE. The memory of the old file is freed unless it is still mapped. Returns
// 0, or -1 with the reason in error.
int state_file_settle(struct state_file *f, char *error, size_t len);
// Closes everything. A file that was never settled is removed. remove: also removes FILE, if it
// belongs to this process. If it cannot be removed it is emptied, and no process adopts it.
void state_file_close(struct state_file *f, bool remove);
