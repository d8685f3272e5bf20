// SPDX-License-Identifier: BSD-3-Clause
// hot.c: what lib/dp reads of the configuration while workers run, and a reload may change. What
// lib/turn reads is the policy; a worker gets both at once.
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

// Immutable once made; read by all workers. Rates are a worker's part of them.
struct hot {
	struct local_addrs *local; // with the external addresses
	struct route *routes; // nb_routes, sorted (routes.h)
	uint32_t nb_routes;
	uint32_t apart; // ports, by bit, that have nothing to do with others (turn_config.h)
	struct source *source[2]; // worker.source, with the DSCP of listeners
	bool marks; // worker.marks
	uint32_t echoes; // icmp.rate
	uint32_t errors_in, errors_out; // icmp.errors-in, icmp.errors-out
	uint32_t errors_each; // icmp.errors-out-each; 0 = no limit
	bool unreachable; // icmp.unreachable
	uint32_t requests; // limits.requests
	struct limit handshakes; // limits.handshakes, of DTLS
	uint32_t dtls_handshake_s, dtls_idle_s;
	enum conf_idle idle;
	uint32_t idle_sleep_us; // 0 = the default in idle.h
};

// Makes one; c->workers is resolved, and c may go once this returns. NULL with errno set. Any
// thread.
struct hot *hot_create(const struct conf *c, const struct turn_relay_map *map);
// NULL is fine.
void hot_free(struct hot *h);
// Makes it the worker's, in place of the one that it has had, which may be freed afterwards. The
// worker, between two rounds, or whoever makes the worker.
void hot_take(struct worker *w, const struct hot *h);
