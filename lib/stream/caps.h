// SPDX-License-Identifier: BSD-3-Clause
// How many connections there are, in all and of each source: exact over all stream threads, which
// ask once per connection. Pure, but for a lock.
#pragma once

#include <pthread.h>

#include "addr.h"
#include "hash.h"
#include "table.h"

struct caps_source {
	struct addr addr; // of IPv6 the /64
	uint32_t count; // 0: not in use
	uint32_t next; // of the free ones
};

struct caps {
	pthread_mutex_t lock;
	struct hash_key key;
	struct table table; // of sources
	void *mem;
	struct caps_source *source; // max of them: there are no more sources than connections
	uint32_t free; // first free source
	uint32_t max, per_source; // per_source 0: no limit
	uint32_t total;
};

enum caps_answer { CAPS_OK, CAPS_TOTAL, CAPS_SOURCE };

// For up to max connections at a time. 0 or -ENOMEM.
int caps_init(struct caps *c, uint32_t max, uint32_t per_source);
void caps_fini(struct caps *c);
// Counts a connection of a source, unless a limit says no.
enum caps_answer caps_take(struct caps *c, const struct addr *source);
void caps_give(struct caps *c, const struct addr *source);
