// SPDX-License-Identifier: BSD-3-Clause
// What differs between two configurations, key by key: to be told, and to decide whether a running
// server can take it up.
#pragma once

#include <stdbool.h>

#include "hash.h"

struct conf;
struct conf_report;

// A key of which the files say different things, or an entry of a list that one of them lacks.
struct conf_change {
	const char *key; // "auth.users[ivan].password", "auth.users[ivan]"
	// As the files spell them; of a list what the other one lacks. Cut where they are long.
	// NULL where there is nothing, and for secrets.
	const char *before, *after;
	bool entry; // of a list, as a whole: from is NULL when it is new, to when it is gone
	bool secret; // whatever it is, it is not told
	bool hot; // takes no restart
};

// Tells what is different in after, in the order of keys; returns how many. Both have to be of
// conf_load_said. Of entries that are new or gone only the entry is told.
unsigned int conf_changes(const struct conf *before, const struct conf *after,
	void (*tell)(void *ctx, const struct conf_change *c), void *ctx);

// Loads the file of a running configuration again, as conf_load_said. Where the network gives
// addresses the file gets those that running has.
struct conf *conf_load_again(const struct conf *running, struct conf_report *r);
// The key that conf_load_said was given for c, or has made.
struct hash_key conf_said_key(const struct conf *c);
// The second half of conf_load_again, for what conf_load_said has loaded by the path and the key of
// running. Takes c: returns it, or NULL after an error.
struct conf *conf_learn_again(const struct conf *running, struct conf *c, struct conf_report *r);
// The configuration as it is to be: of fresh what is hot, all else of running, whatever the order
// of entries in the two files. It needs both, which own nearly all it points to. conf_merge_free
// frees it. NULL without memory.
struct conf *conf_merge(const struct conf *running, const struct conf *fresh);
void conf_merge_free(struct conf *merged); // NULL is fine
// Gives running what is hot in fresh, and fresh what running had of it. merged is conf_merge's of
// these two, and only to be freed afterwards, before them. It cannot fail. Whoever reads these
// members of running in another thread has to bear that numbers change.
void conf_adopt(struct conf *running, struct conf *fresh, struct conf *merged);

// --- move.c: other addresses that the network gives ----------------------------------------------

struct conf_learned;

// Running with other addresses, and routers where the file names none, in the place of nb of those
// that the network has given; an entry may name what it has. It needs running, as conf_merge.
// conf_moved_free frees it. NULL with the reason in error (CONF_ERROR_LEN bytes): out of memory, or
// a box cannot have these.
struct conf *conf_move(
	const struct conf *running, const struct conf_learned *list, uint32_t nb, char *error);
void conf_moved_free(struct conf *moved); // NULL is fine
// Gives running the addresses and routers of moved, which is only to be freed afterwards. As
// conf_adopt.
void conf_moved_adopt(struct conf *running, struct conf *moved);
