// SPDX-License-Identifier: BSD-3-Clause
// How many connections there are: in all, of each source and of each network of IPv6. The counts
// are exact over all stream threads, which ask once per connection. Pure; has a lock.
#pragma once

#include <pthread.h>

#include "addr.h"
#include "hash.h"
#include "table.h"

struct conn_limits_source {
	struct addr addr; // its first bits
	uint32_t count; // 0: not in use
	uint32_t next; // of the free ones
};

// Counts by the first bits of an address.
struct conn_limits_level {
	struct table table; // of sources
	void *mem;
	struct conn_limits_source
		*source; // max of them: there are no more sources than connections
	uint32_t free; // first free source
	uint32_t most; // of one, 0: no limit
};

enum { CONN_LIMITS_BY_SOURCE, CONN_LIMITS_BY_NETWORK, CONN_LIMITS_LEVELS };

struct conn_limits {
	pthread_mutex_t lock;
	struct hash_key key;
	struct conn_limits_level level[CONN_LIMITS_LEVELS];
	uint32_t max, total;
};

enum conn_limits_answer {
	CONN_LIMITS_OK,
	CONN_LIMITS_TOTAL,
	CONN_LIMITS_SOURCE,
	CONN_LIMITS_NETWORK
};

// For up to max connections at a time; per_source (IPv4 address, IPv6 /64) and per_network (IPv6
// /48): 0 = no limit. 0 or -ENOMEM.
int conn_limits_init(
	struct conn_limits *c, uint32_t max, uint32_t per_source, uint32_t per_network);
void conn_limits_fini(struct conn_limits *c);
// Counts a connection of a source, unless a limit says no.
enum conn_limits_answer conn_limits_take(struct conn_limits *c, const struct addr *source);
void conn_limits_give(struct conn_limits *c, const struct addr *source);
