// SPDX-License-Identifier: BSD-3-Clause
// Addresses and users that the operator has shut out for a while. The set is immutable: management
// makes it, workers and stream threads read it, and it is replaced as a whole.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "addr.h"

struct turn_blocks;
struct turn_filter;
struct turn_shard;

// Blocked users: a worker compares the allocation of an access token with each of them.
#define TURN_BLOCKED_USERS_MAX 1024

// Makes the set of nb_addrs prefixes and nb_users users, by filters that turn_listing_user has made
// (up to TURN_BLOCKED_USERS_MAX). The caller frees it with turn_blocks_free; NULL without memory.
struct turn_blocks *turn_blocks_make(const struct prefix *addrs, uint32_t nb_addrs,
	const struct turn_filter *users, uint32_t nb_users);
void turn_blocks_free(struct turn_blocks *b); // NULL is fine
// True if a set contains an address; a set may be NULL. Any thread.
bool turn_blocks_addr(const struct turn_blocks *b, const struct addr *client);
// Makes the shard refuse a set, or NULL, which must live until it is called again. Worker's lcore.
void turn_shard_set_blocks(struct turn_shard *s, const struct turn_blocks *b);
