// SPDX-License-Identifier: BSD-3-Clause
// The engine: the data that all lanes share. Read lane.c first.
//
// The main lcore gives orders (run.c) and reads counters; it never touches a packet. A lane is a
// worker lcore that is a sender, a receiver, or both. Sender i % senders has client i: its state
// machine and its pace. Receiver i % receivers counts the datagrams that arrived for client i.
// Lanes pass packets to each other through rings only.
#pragma once

#include <stddef.h>

#include <rte_mempool.h>
#include <rte_spinlock.h>

#include "lanes/hop.h"
#include "net.h"
#include "options/config.h"
#include "port.h"

enum { SIDE_CLIENT, SIDE_PEER, SIDE_NB };

enum phase {
	PHASE_WAIT, // answer requests, refresh, send no media
	PHASE_SETUP, // start clients
	PHASE_TRAFFIC,
	PHASE_RELEASE,
	PHASE_END, // lanes return
};

struct lane;

struct engine {
	// set before the lanes start, read-only afterwards
	const struct config *config;
	struct port *port[SIDE_NB]; // one pointer twice when both sides share a port
	struct net_l2 l2[SIDE_NB]; // our MAC; headers_write fills in the destination
	struct net_rx rx[SIDE_NB][4]; // index: checksums verified by the port, see lib/dp
	struct rte_mempool *pool;
	struct lane *lane[CONFIG_LANES_MAX];
	struct lane *sender[CONFIG_LANES_MAX], *receiver[CONFIG_LANES_MAX]; // by their numbers
	unsigned int nb_lanes;
	uint32_t tag; // in the stamps of this process
	struct ssl_ctx_st *tls; // shared by all TLS or DTLS connections; NULL without TLS
	uint64_t hz, tsc_start;
	uint32_t pattern_sum[CONFIG_SIZES_MAX]; // checksum of the pattern, for each payload size
	// Orders: the main lcore writes them, the phase last (release); lanes read them
	uint32_t phase; // enum phase
	uint32_t trial; // incremented at every PHASE_TRAFFIC
	uint32_t mode; // enum mode of this trial: the configured mode, or a probe after it
	double rate; // of all senders together, or PACER_FLOOD; may change during the trial
	uint64_t since; // TSC when the phase was ordered
	// next hops
	rte_spinlock_t hop_lock;
	uint32_t nb_hops; // stored with release, after the entry is complete
	struct hop hop[HOPS_MAX];
};

// Opens the ports and makes the lanes on EAL's worker lcores. No lane runs yet. The configuration
// must outlive the engine. On failure it undoes everything and returns NULL with the reason in
// error. Here and below: main lcore.
struct engine *engine_create(const struct config *c, char *error, size_t len);
// Starts lane_run on every lane's lcore. Returns 0, or -1 when an lcore could not be launched.
int engine_launch(struct engine *e);
// Ends the lanes and waits for them, stops and closes the ports, and frees all packets and e.
void engine_destroy(struct engine *e);
