// SPDX-License-Identifier: BSD-3-Clause
// Settings that lib/dp reads while workers run, and that a reload can change. The policy is the
// counterpart for lib/turn; a worker gets both at once.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "conf.h"
#include "turn_config.h"

struct local_addrs;
struct route;
struct source;
struct turn_relay_map;
struct worker;

// Immutable after it was made; read by all workers. Rates are the share of one worker.
struct hot {
	struct local_addrs *local; // including external addresses
	struct route *routes; // nb_routes, sorted (routes.h)
	uint32_t nb_routes;
	uint32_t apart; // bit mask of ports without routes to others (turn_config.h)
	struct source *source[2]; // worker.source, with the DSCP of listeners
	bool marks; // worker.marks
	uint32_t echoes; // icmp.rate
	uint32_t errors_in, errors_out; // icmp.errors-in, icmp.errors-out
	uint32_t errors_each; // icmp.errors-out-each; 0 = no limit
	bool unreachable; // icmp.unreachable
	uint32_t requests; // limits.requests
	struct limit handshakes; // limits.handshakes, for DTLS
	uint32_t dtls_handshake_s, dtls_idle_s;
	enum conf_idle idle;
	uint32_t idle_sleep_us; // 0 = the default in idle.h
};

// Makes the settings; c->workers is resolved, and c may be freed afterwards. NULL with errno set on
// failure. Any thread.
struct hot *hot_create(const struct conf *c, const struct turn_relay_map *map);
// h may be NULL.
void hot_free(struct hot *h);
// Replaces the worker's settings; the old ones may be freed afterwards. Called by the worker
// between two rounds, or by the thread that makes the worker.
void hot_take(struct worker *w, const struct hot *h);
