// SPDX-License-Identifier: BSD-3-Clause
// Blocked addresses and users, each with its end: a list that can be kept in a text file. Pure, one
// thread at a time. Private to lib/mgmt.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "addr.h"
#include "turn_listing.h"

#define BLOCK_SET_MAX 65536 // addresses and users; of these TURN_BLOCKED_USERS_MAX users
#define BLOCK_REASON_LEN 81 // with the NUL
#define BLOCK_TEXT_LEN (ADDR_TEXT_LEN + 4)

struct turn_blocks;

// The prefix of an address that is blocked, or a user, if user is not NULL.
struct block {
	struct prefix prefix; // without host bits
	const char *user, *realm;
	struct turn_filter filter; // of the user: turn_listing_user
	const char *reason; // "" = unknown
	uint64_t until_s; // Unix time; 0 = until it is removed
};

struct block_entry;

struct block_set {
	struct block_entry *list; // sorted
	uint32_t nb, room, nb_users;
	uint64_t next_s; // no block ends earlier
};

enum block_put { BLOCK_NEW, BLOCK_RENEWED, BLOCK_FULL, BLOCK_NO_MEMORY };

// Reads an address or prefix. A single IPv6 address stands for its /64, the network of one
// customer. False if the text is neither.
bool block_prefix_read(const char *text, struct prefix *out);
char *block_prefix_text(const struct prefix *p, char buf[BLOCK_TEXT_LEN]);

void block_set_init(struct block_set *s);
void block_set_free(struct block_set *s);
// Adds a block, or replaces the end and the reason of the same one. Copies the texts.
enum block_put block_set_put(struct block_set *s, const struct block *b);
// Removes a block. False if it is not in the set.
bool block_set_remove(struct block_set *s, const struct block *b);
// Removes the blocks that have ended. Returns their number.
uint32_t block_set_expire(struct block_set *s, uint64_t now_s);
// The block with an index below nb; its texts live until the set changes.
struct block block_set_at(const struct block_set *s, uint32_t i);
// The set for workers; NULL without memory.
struct turn_blocks *block_set_make(const struct block_set *s);
// Writes all blocks, a line each: block_set_read reads such a line and changes it. False
// otherwise. *b points into the line; its filter is zero.
void block_set_write(const struct block_set *s, FILE *f);
bool block_set_read(char *line, struct block *b);
