// SPDX-License-Identifier: BSD-3-Clause
// How many connections there are, in all, of each source and of each network of IPv6: exact over
// all stream threads, which ask once per connection. Pure, but for a lock.
#pragma once

#include <pthread.h>

#include "addr.h"
#include "hash.h"
#include "table.h"

struct caps_source {
	struct addr addr; // its first bits
	uint32_t count; // 0: not in use
	uint32_t next; // of the free ones
};

// Counts by the first bits of an address.
struct caps_level {
	struct table table; // of sources
	void *mem;
	struct caps_source *source; // max of them: there are no more sources than connections
	uint32_t free; // first free source
	uint32_t most; // of one, 0: no limit
};

enum { CAPS_BY_SOURCE, CAPS_BY_NETWORK, CAPS_LEVELS };

struct caps {
	pthread_mutex_t lock;
	struct hash_key key;
	struct caps_level level[CAPS_LEVELS];
	uint32_t max, total;
};

enum caps_answer { CAPS_OK, CAPS_TOTAL, CAPS_SOURCE, CAPS_NETWORK };

// For up to max connections at a time; per_source (IPv4 address, IPv6 /64) and per_network (IPv6
// /48): 0 = no limit. 0 or -ENOMEM.
int caps_init(struct caps *c, uint32_t max, uint32_t per_source, uint32_t per_network);
void caps_fini(struct caps *c);
// Counts a connection of a source, unless a limit says no.
enum caps_answer caps_take(struct caps *c, const struct addr *source);
void caps_give(struct caps *c, const struct addr *source);
