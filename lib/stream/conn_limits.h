// SPDX-License-Identifier: BSD-3-Clause
// Counts connections: in all, of each source and of each IPv6 network. The counts are exact over
// all stream threads, which ask once per connection. Pure; a lock makes it safe on any thread.
#pragma once

#include <pthread.h>

#include "addr.h"
#include "hash.h"
#include "stream.h"
#include "tables/table.h"

struct conn_limits_source {
	struct addr addr; // the counted leading bits; the others are zero
	uint32_t count; // connections; 0: entry not in use
	uint32_t next; // in the list of free sources
};

// Counts by the leading bits of an address.
struct conn_limits_level {
	struct table table; // of sources
	void *mem;
	// max entries: there are no more sources than connections
	struct conn_limits_source *source;
	uint32_t free; // the first free source
	uint32_t most; // limit of connections of one source; 0: no limit
};

enum { CONN_LIMITS_BY_SOURCE, CONN_LIMITS_BY_NETWORK, CONN_LIMITS_LEVELS };

struct conn_limits {
	pthread_mutex_t lock;
	struct prefix trusted[STREAM_TRUSTED_MAX]; // their connections count only in the total
	unsigned int nb_trusted;
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

// Prepares for up to max simultaneous connections. per_source limits an IPv4 address or IPv6 /64,
// per_network an IPv6 /48; 0 = no limit. Returns 0 or -ENOMEM.
int conn_limits_init(
	struct conn_limits *c, uint32_t max, uint32_t per_source, uint32_t per_network);
void conn_limits_fini(struct conn_limits *c);
// Changes the limits of a source and of a network. Connections above a new limit stay open.
void conn_limits_set(struct conn_limits *c, uint32_t per_source, uint32_t per_network);
// Sets the sources whose connections count only in the total: the first STREAM_TRUSTED_MAX of n
// prefixes.
void conn_limits_trust(struct conn_limits *c, const struct prefix *trusted, unsigned int n);
// True if a source is in one of these prefixes.
bool conn_limits_trusts(struct conn_limits *c, const struct addr *source);
// Counts a connection in the total only (false if the limit is reached), and uncounts it.
bool conn_limits_take_total(struct conn_limits *c);
void conn_limits_give_total(struct conn_limits *c);
// Counts a connection of a source, unless a limit forbids it.
enum conn_limits_answer conn_limits_take(struct conn_limits *c, const struct addr *source);
// Uncounts one connection of a source.
void conn_limits_give(struct conn_limits *c, const struct addr *source);
// Stops counting a connection by its source and network (spared), or counts it there again, even
// above the limits. It stays in the total.
void conn_limits_spare(struct conn_limits *c, const struct addr *source, bool spared);
