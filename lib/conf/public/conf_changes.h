// SPDX-License-Identifier: BSD-3-Clause
// Compares two configurations key by key, to report the differences, and to decide if a running
// server can apply them.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hash.h"

struct conf;
struct conf_report;

// A key whose value differs between the files, or an entry of a list that one of them lacks.
struct conf_change {
	const char *key; // "auth.users[ivan].password", "auth.users[ivan]"
	// As the files spell them, shortened if long. For a list, the elements that the other file
	// lacks. NULL if there is no value, and for secrets.
	const char *before, *after;
	bool entry; // a whole list entry: before is NULL if it was added, after if removed
	bool secret; // the value is never shown
	bool hot; // needs no restart
};

// Reports the differences between before and after, in the order of keys, and returns their number.
// Both must come from conf_load_and_report. For an added or removed entry only the entry itself is
// reported.
unsigned int conf_changes(const struct conf *before, const struct conf *after,
	void (*tell)(void *ctx, const struct conf_change *c), void *ctx);

// The parts of a configuration that conf_show writes.
struct conf_show {
	bool effective; // also keys that the files leave out
	bool origin; // behind each key its file and line
	bool hashes; // digits of the SHA-256 of secrets, which confirm a guess of a weak one
	size_t max; // stops behind the key with which the lines have this number of bytes
};

// Writes a configuration from conf_load_and_report as lines of YAML, without newlines. Secrets are
// comments. Other lines are a file of the same values: included files are merged, and spellings are
// those of conf_changes. first: 0, or what the call for the lines before returned. Returns 0 after
// the last line.
uint32_t conf_show(const struct conf *c, const struct conf_show *how, uint32_t first,
	void (*tell)(void *ctx, const char *line), void *ctx);

// Loads the file of a running configuration again, like conf_load_and_report. Where the network
// gives addresses, the new configuration gets those that running has.
struct conf *conf_load_again(const struct conf *running, struct conf_report *r);
// Returns the key for hashes that conf_load_and_report was given for c, or made itself.
struct hash_key conf_said_key(const struct conf *c);
// Second half of conf_load_again, for a configuration that conf_load_and_report has loaded with
// the path and the key of running. Takes ownership of c: returns it, or NULL after an error.
struct conf *conf_learn_again(const struct conf *running, struct conf *c, struct conf_report *r);
// Merges two configurations: hot keys from fresh, all others from running, in whatever order the
// two files have their entries. The result points into both, which must outlive it. conf_merge_free
// frees it. NULL without memory.
struct conf *conf_merge(const struct conf *running, const struct conf *fresh);
void conf_merge_free(struct conf *merged); // NULL is fine
// Swaps the hot values of running and fresh. merged comes from conf_merge with these two;
// afterwards it may only be freed, before them. It cannot fail. Other threads that read these
// members of running must cope with changing numbers.
void conf_adopt(struct conf *running, struct conf *fresh, struct conf *merged);

// --- move.c: other addresses that the network gives ----------------------------------------------

struct conf_learned;

// Returns running with nb addresses of the network replaced, and their routers if the file has no
// gateway. An entry of the list may repeat the present address. The result points into running, as
// with conf_merge. conf_moved_free frees it. NULL with the reason in error (CONF_ERROR_LEN bytes):
// out of memory, or addresses that a box cannot have.
struct conf *conf_move(
	const struct conf *running, const struct conf_learned *list, uint32_t nb, char *error);
void conf_moved_free(struct conf *moved); // NULL is fine
// Gives running the addresses and routers of moved, which may only be freed afterwards. Threads: as
// with conf_adopt.
void conf_moved_adopt(struct conf *running, struct conf *moved);
