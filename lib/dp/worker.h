// SPDX-License-Identifier: BSD-3-Clause
// All that one worker lcore has. worker.c makes its rounds and is the file to read first.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <rte_common.h>

#include "backlog.h"
#include "bucket.h"
#include "conf.h"
#include "control/fault.h"
#include "control/losses.h"
#include "control/mailbox.h"
#include "control/progress.h"
#include "control/stats.h"
#include "control/timing.h"
#include "csprng.h"
#include "dp.h"
#include "dp_burst.h"
#include "hash.h"
#include "idle.h"
#include "ip/path_mtu.h"
#include "limiter.h"
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

// Packets on their way to a port or to a worker, flushed when full and at the end of the round.
struct outbox {
	unsigned int n;
	struct rte_mbuf *m[DP_BURST];
	uint64_t tail[2]; // to a port: source MAC and ethertype of its frames, [is_v4]
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
	struct rte_ring *out[TURN_WORKERS_MAX]; // the same rings from the other side
	// For this worker alone.
	struct turn_shard *shard;
	struct turn_line *lines; // the shard's
	struct turn_tids *tids; // the shard's
	const struct neigh_hop *hops; // neigh's
	// Replaced between two rounds (control/hot.h), and what of it is met most.
	const struct hot *hot;
	const struct local_addrs *local;
	// The addresses that datagrams are sent from: by leg, and then by the upper half of the
	// mark of the line's other end. Clients' datagrams leave from relay addresses, peers' from
	// listeners.
	const struct source *source[2];
	// The longest plain frame: one that fits every port with a ChannelData header more. 0:
	// there is a port that no frame may take the fast path to.
	uint16_t plain_max;
	bool marks; // some listener has a DSCP for its clients' traffic (ip/dscp.h)
	bool special; // marks, or there are meters: bursts then go the longer way
	struct turn_meters *meters; // NULL: no rate is limited (turn_meter.h)
	struct capture *capture; // NULL: nobody captures (capture/capture.h)
	struct neigh_table *neigh;
	void *shard_mem, *neigh_mem;
	struct stun_crypto *crypto;
	struct csprng rng;
	uint64_t now_ms, wall_s;
	struct progress progress; // others read it
	uint32_t wires; // the value of dp.wires that tails and plain_max are made for
	uint64_t ticked_ms, gateways_ms, wall_ms; // when each was last done
	uint32_t since_publish; // rounds and ticks that counted something
	bool more_due; // expiry stopped at its budget
	bool asked; // a question of management's is half answered
	bool renounces; // routes have changed, and notes of neighbours from renounced on are to go
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
	uint64_t
		*stream_at; // by slot: connection of the client, where it has one; NULL: nobody has
	struct stream_share *stream_share; // by slot: of the way to its thread; with stream_at
	uint64_t kicks; // workers to whose rings the round has put something, as bits
	unsigned int streamed; // messages from and to clients over streams in this round
	uint64_t sealed; // records of DTLS up to this round
	uint32_t stream_wake; // threads for which there is something new, as bits
	unsigned int nb_ended;
	struct turn_view ended[DP_BURST]; // connections of the burst under way
	struct limiter errors_each; // ICMP errors of ours, by destination
	struct bucket errors_due[1024];
	struct pmtu pmtu; // path MTUs that are known
	void *pmtu_mem;
	struct hash_key fragment_key; // for the identifications of what leaves in fragments
	uint32_t fragment_id; // counts them
	struct sessions *sessions; // DTLS clients; NULL: there is no such listener
	struct rte_ring *events; // to management (control/events.h)
	struct fault fault;
	struct dp_stats live; // counters as they stand; stats_publish makes them visible
	// Shared with other threads.
	struct steer_counts steer[CONF_PORTS_MAX] __rte_cache_aligned; // they only read
	struct stats_page page;
	struct conflicts conflicts;
	struct mailbox mailbox __rte_cache_aligned;
	struct waiter waiter;
} __rte_cache_aligned;

int worker_run(void *worker);
// One turn of the loop at time tsc. True when there was something to do.
bool worker_round(struct worker *w, uint64_t tsc);
// The only way to free a packet that was not sent: counts it under its reason.
void worker_drop(struct worker *w, struct rte_mbuf *m, unsigned int reason);
