// SPDX-License-Identifier: BSD-3-Clause
// The engine: what all lanes share. lane.c is the file to read first.
//
// The main lcore gives orders (run.c) and reads counters; it never touches a packet. A lane is a
// worker lcore that is a sender, a receiver, or both. Client i belongs to sender i % senders (its
// state machine, its pace), what arrived of flow i to receiver i % receivers. Between lanes there
// are rings only.
#pragma once

#include <rte_mempool.h>
#include <rte_spinlock.h>

#include "lanes/hop.h"
#include "net.h"
#include "options/config.h"
#include "port.h"

enum { SIDE_CLIENT, SIDE_PEER, SIDE_NB };

enum phase {
	PHASE_WAIT, // answer what comes, refresh, send no media
	PHASE_SETUP, // start clients
	PHASE_TRAFFIC,
	PHASE_RELEASE,
	PHASE_END, // lanes return
};

struct lane;

struct engine {
	// set before the lanes start, read only
	const struct config *config;
	struct port *port[SIDE_NB]; // the same twice when shared
	struct net_l2 l2[SIDE_NB]; // own MAC; the destination is filled in last
	struct net_rx rx[SIDE_NB][4]; // by what the port has verified, as in lib/dp
	struct rte_mempool *pool;
	struct lane *lane[CONFIG_LANES_MAX];
	struct lane *sender[CONFIG_LANES_MAX], *receiver[CONFIG_LANES_MAX]; // by their numbers
	unsigned int nb_lanes;
	uint32_t tag; // of our stamps
	struct ssl_ctx_st *tls; // of all connections, NULL = plain
	uint64_t hz, tsc_start;
	uint32_t pattern_sum[CONFIG_SIZES_MAX]; // of the payload behind the stamp, by size
	// orders: written by the main lcore, the phase last (release); read by lanes
	uint32_t phase; // enum phase
	uint32_t trial; // grows with every PHASE_TRAFFIC
	uint32_t mode; // enum mode of this trial: the configured one, or a probe after it
	double rate; // of this trial, all senders together, or PACER_FLOOD; may change in it
	uint64_t since; // TSC when the phase was ordered
	// next hops
	rte_spinlock_t hop_lock;
	uint32_t nb_hops; // release after the entry is complete
	struct hop hop[HOPS_MAX];
};
