// SPDX-License-Identifier: BSD-3-Clause
// The state of one worker lcore. worker.c runs its rounds; read that file first.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <rte_common.h>

#include "path/backlog.h"
#include "rates/bucket.h"
#include "conf.h"
#include "ask/fault.h"
#include "see/losses.h"
#include "ask/mailbox.h"
#include "see/progress.h"
#include "see/stats.h"
#include "see/timing.h"
#include "csprng.h"
#include "dp.h"
#include "dp_burst.h"
#include "dp_features.h"
#include "hash.h"
#include "path/idle.h"
#include "ip/path_mtu.h"
#include "rates/limiter.h"
#include "link/gso_rx.h"
#include "link/host.h"
#include "link/mld.h"
#include "link/vlans.h"
#include "pmtu.h"
#include "link/conflicts.h"
#include "steering/steer_counts.h"
#include "turn.h"
#include "turn_config.h"
#include "turn_line.h"
#include "turn_shard.h"
#include "workers/waiter.h"

struct capture;
struct dp;
struct fragments;
struct hot;
struct local_addrs;
struct neigh_hop;
struct neigh_table;
struct rte_mbuf;
struct rte_ring;
struct sessions;
struct source;
struct stream_share;
struct stun_crypto;
struct turn_tids;

#define DP_RX_QUEUES_MAX (CONF_PORTS_MAX * 4)
#define DP_NOTES_MAX 256

// Packets waiting to be sent to a port or worker. Flushed when full and at the end of the round.
struct outbox {
	unsigned int n;
	struct rte_mbuf *m[DP_BURST];
	uint64_t tail[2]; // port only: source MAC and ethertype of its frames, [is_v4]
} __attribute__((aligned(512))); // a power of two: indexed for every packet

struct rx_queue {
	uint8_t port;
	uint16_t queue;
};

struct worker {
	// Set at start, read only.
	struct dp *dp;
	unsigned int lcore;
	uint8_t id;
	unsigned int nb_rx;
	struct rx_queue rx[DP_RX_QUEUES_MAX];
	struct rte_ring *in[TURN_WORKERS_MAX]; // from each worker, itself included (hairpin)
	struct rte_ring *out[TURN_WORKERS_MAX]; // the other ends of such rings
	// Only this worker uses these.
	struct turn_shard *shard;
	struct turn_line *lines; // of the shard
	struct turn_tids *tids; // of the shard
	const struct neigh_hop *hops; // of neigh
	// Replaced between two rounds (ask/hot.h), with copies of its most used pointers.
	const struct hot *hot;
	const struct local_addrs *local;
	// The addresses that datagrams are sent from: by leg, and then by the upper half of the
	// mark of the line's other end. Clients' datagrams leave from relay addresses, peers'
	// datagrams from listeners.
	const struct source *source[2];
	// Length of the longest plain frame: it fits every port with a ChannelData header added. 0:
	// on some port no frame may take the fast path.
	uint16_t plain_max;
	bool marks; // a listener has a DSCP for its clients' traffic (ip/dscp.h)
	bool special; // marks, or a rate is limited: bursts take the longer path
#define X(type, field, of_each, in_each, make, take, close) of_each in_each;
	DP_WORKER(X)
#undef X
	struct capture *capture; // NULL: no capture (capture/capture.h)
	struct neigh_table *neigh;
	void *shard_mem, *neigh_mem;
	struct stun_crypto *crypto;
	struct csprng rng;
	uint64_t now_ms, wall_s;
	struct progress progress; // other threads read it
	uint32_t wires; // the value of dp.wires for which tails and plain_max were made
	// time of the last tick, of the last check of gateways, of the last reading of wall_s
	uint64_t ticked_ms, gateways_ms, wall_ms;
	uint32_t since_publish; // rounds and ticks since the counters were published
	bool more_due; // expiry stopped at its budget
	bool asked; // a question of management is partly answered
	// routes have changed: notes of neighbours from index renounced on must be cleared
	bool renounces;
	uint16_t renounced;
	uint16_t ip_id, ip_id_key[3];
	struct timing timing;
	struct idle idle;
	struct bucket echo, errors_in, errors_out, unproved;
	struct bucket learns[PATH_MTU_BUCKETS]; // by user
	struct announcement announce[CONF_PORTS_MAX];
	struct mld mld[CONF_PORTS_MAX];
	unsigned int nb_notes;
	struct turn_redirect_note note[DP_NOTES_MAX]; // waiting for room in a ring
	struct outbox tx[CONF_PORTS_MAX];
	struct outbox hand[TURN_WORKERS_MAX];
	struct burst burst;
	struct losses losses;
	struct pieces pieces;
	struct sorting sorting;
	struct fragments *fragments; // NULL: fragments.flows is 0
	struct backlog backlog;
	uint64_t *stream_at; // by slot: connection of the client, if it has one; NULL: no streams
	// by slot: its share of the ring to its thread; NULL like stream_at
	struct stream_share *stream_share;
	uint64_t kicks; // bit mask: workers that have new entries in their rings from this round
	unsigned int streamed; // messages from and to clients over streams in this round
	uint64_t sealed; // DTLS records up to this round
	uint32_t stream_wake; // bit mask: threads that have something new to read
	unsigned int nb_ended;
	struct turn_view ended[DP_BURST]; // closed connections of the current burst
	struct limiter errors_each; // ICMP errors that we send, by destination
	struct bucket errors_due[1024];
	struct pmtu pmtu; // known path MTUs
	void *pmtu_mem;
	// for the identifications of datagrams that leave in fragments
	struct hash_key fragment_key;
	uint32_t fragment_id; // a counter for them
	struct sessions *sessions; // DTLS clients; NULL: no listener has DTLS
	struct rte_ring *events; // to management (see/event_rings.h)
	struct fault fault;
	struct dp_stats live; // current counters; stats_publish makes them visible
	// Shared with other threads.
	struct steer_counts steer[CONF_PORTS_MAX] __rte_cache_aligned; // other threads only read it
	struct stats_page page;
	struct conflicts conflicts;
	struct mailbox mailbox __rte_cache_aligned;
	struct waiter waiter;
} __rte_cache_aligned;

int worker_run(void *worker);
// One round of the loop at time tsc. True if there was something to do.
bool worker_round(struct worker *w, uint64_t tsc);
// The only function that frees a packet which was not sent: counts it under its reason.
void worker_drop(struct worker *w, struct rte_mbuf *m, unsigned int reason);
