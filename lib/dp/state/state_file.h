// SPDX-License-Identifier: BSD-3-Clause
// state_file.c: the file that the state area lies in. Linux alone, no DPDK. Management lcore.
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct state_map {
	void *mem; // NULL = none
	size_t size; // bytes of the file, all of them mapped
};

// The files of one process: FILE, which the last one has left, and FILE.new, which becomes FILE
// once everything is in it. FILE.lock is held from first to last.
struct state_file {
	const char *path; // stays the caller's
	const char *name; // in its directory
	int dir, lock; // descriptors; -1 = none
	struct state_map old, fresh;
	bool settled; // FILE is ours
};

// Whether a file may lie there: a directory that nobody but root and our user can write, on a file
// system in memory. 0, or -1 with the reason and what to do in error. *f gets the directory, open,
// and nothing else; the caller closes that.
int state_file_look(struct state_file *f, const char *path, char *error, size_t len);
// Opens the directory, which state_file_look judges, and takes the lock. 0, or -1 with the reason
// in error: for a lock, the process that has it. state_file_close has to follow either way.
int state_file_open(struct state_file *f, const char *path, char *error, size_t len);
// Maps FILE, to be read. 0; -ENOENT: there is none; -1: it is not used, and error says why: no
// regular file, of another user, open to others, empty.
int state_file_map(struct state_file *f, char *error, size_t len);
// Unmaps FILE, which stays.
void state_file_unmap(struct state_file *f);
// Renames FILE to FILE.what ("refused", "crashed"), in place of what lies there. 0 or -errno.
int state_file_aside(struct state_file *f, const char *suffix);
// Makes FILE.new of size bytes or more, all zero, mapped, locked in memory, and left out of core
// dumps and of child processes. What was put aside makes room for it. 0; 1: it cannot be locked in
// memory, and error says so; -ENOSPC: there is no room, or -1: each with the reason in error.
int state_file_make(struct state_file *f, size_t size, char *error, size_t len);
// Removes FILE, which is not this process's. What is mapped stays.
void state_file_drop(struct state_file *f);
// FILE.new becomes FILE, whose memory is given back unless it is still mapped. 0, or -1 with the
// reason in error.
int state_file_settle(struct state_file *f, char *error, size_t len);
// Ends it. A file that was never settled is removed. remove: FILE as well, if it is ours.
// Where it cannot be removed it is emptied, and nobody finds it any more.
void state_file_close(struct state_file *f, bool remove);
