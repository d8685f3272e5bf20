// SPDX-License-Identifier: BSD-3-Clause
// Shared by the files of lib/dp only: one worker's world and the steps of the packet pipeline.
// worker.c puts them together and is the file to read first.
#pragma once

#include <pthread.h>

#include <rte_mbuf.h>
#include <rte_ring.h>

#include "backlog.h"
#include "bucket.h"
#include "csprng.h"
#include "dp.h"
#include "exception/exception.h"
#include "hash.h"
#include "local_addrs.h"
#include "mbuf_meta.h"
#include "steering/steering.h"
#include "udp.h"

#define DP_BURST TURN_BURST
#define DP_RX_QUEUES_MAX (CONF_PORTS_MAX * 4)
#define DP_MESSAGE_RATE 1000 // neighbour facts a worker tells the others, per second
#define DP_NOTES_MAX 256
#define DP_SUPER_MAX 128 // most datagrams in one that is received: Linux's UDP_MAX_SEGMENTS

// --- reasons ------------------------------------------------------------------------------------

#define DP_SENT DP_DROP_END // "no drop reason", where a reason is returned

static inline unsigned int drop_of_net(enum net_drop r)
{
	return DP_DROP_NET + (unsigned int)r - 1;
}

static inline unsigned int drop_of_turn(unsigned int r)
{
	return DP_DROP_TURN + r - 1;
}

// --- the data path as a whole -------------------------------------------------------------------

// A port and what workers need to know of it. Immutable while they run, but for announce.
struct dp_port {
	struct port *port;
	const struct conf_port *conf;
	const struct conf_driver *profile; // of its driver, NULL = purely probed
	struct net_rx rx[4]; // by what the port has verified: bit 0 IPv4 header, bit 1 UDP
	struct net_udp_rules udp;
	uint64_t verified; // of an mbuf's flags those that are to be believed
	struct net_l2 l2; // our MAC and tag; the destination is zero and filled in last
	struct addr link_local; // answers ND and ping, never relays
	struct addr gateway[2]; // [is_v4]
	bool has_gateway[2];
	bool rss_home; // the NIC's own hash says where a client lives
	uint16_t home_mask;
	uint8_t home[PORT_RETA_MAX]; // worker, by the hash under the mask
	uint32_t rss_key[PORT_RSS_KEY_MAX / 4]; // in the form rte_softrss_be takes
	uint32_t announce; // grows when the link comes up; mgmt writes, worker 0 reads
	// Written by the mgmt lcore while workers read what is above.
	bool link_up __rte_cache_aligned; // mgmt lcore only
	struct steering steering[2]; // [is_v4]
} __rte_cache_aligned;

struct worker;

// Immutable while the workers run, but for the fields that name their writer.
struct dp {
	const struct conf *conf;
	struct dp_port port[CONF_PORTS_MAX];
	struct worker *worker[TURN_WORKERS_MAX];
	unsigned int nb_ports, nb_workers;
	unsigned int nb_started, nb_made, nb_launched; // ports and workers so far; mgmt lcore only
	struct local_addrs *local;
	struct turn_relay_map *map;
	struct turn_policy *policy;
	struct turn_quota *quota; // atomic inside; written by all workers
	struct stun_crypto *crypto; // mgmt lcore only
	struct rte_mempool *pool;
	int socket; // NUMA node of the pool, and of ports that do not say theirs
	struct hash_key client_key; // of steer_client_home and of the shards
	struct source *source[2]; // see worker.source
	struct streams *streams; // NULL: not running, or nobody listens
	struct stream_way *stream_way; // between each stream thread and each worker
	unsigned int nb_streams; // threads
	uint64_t tsc_start, tsc_per_ms; // one clock for all workers: notes carry times
	bool stopping; // mgmt writes, workers read
	struct exception *exception[CONF_PORTS_MAX]; // by port, NULL = none
	unsigned int nb_exceptions;
	pthread_t exception_thread; // mgmt lcore only, as the next one
	bool exception_running;
	bool exception_stop; // mgmt writes, the thread reads
};

typedef struct port *dp_port_opener(const struct port_config *c, char *error, size_t len);

// dp_start and dp_stop in steps, so that a test brings its own ports and runs the rounds itself.
struct dp *dp_create(const struct conf *c, const unsigned int *lcores, dp_port_opener *open,
	char *error, size_t len);
int dp_launch(struct dp *d);
// Returns when no worker runs any more.
void dp_halt(struct dp *d);
// Workers are no longer running: takes back every packet and closes the ports.
void dp_quiesce(struct dp *d);
void dp_destroy(struct dp *d);

// --- worker.c: one lcore ------------------------------------------------------------------------

// An address datagrams are sent from, for headers.
struct source {
	struct addr addr;
	uint16_t port; // of a listener, as it lies in memory
	// Of a view that can be sent on from here: DP_PLAIN, and DP_IPV4 or not. SOURCE_STREAM,
	// which no view has: to its clients no line sends.
	uint8_t flags;
};

#define SOURCE_STREAM 0xff
#define SOURCE_DTLS 0xfe // likewise, of a DTLS listener

struct burst {
	unsigned int n;
	struct rte_mbuf *m[DP_BURST];
	struct turn_burst turn; // turn.view[i] is m[i]
};

// Packets on their way to a port or to a worker, flushed when full and at the end of the round.
struct outbox {
	unsigned int n;
	struct rte_mbuf *m[DP_BURST];
	uint64_t tail[2]; // of a port's: source MAC and ethertype of frames, [is_v4]
} __attribute__((aligned(512))); // a power of two: indexed for every packet

// What gso_rx.c has still to give out of a burst. Empty between bursts.
struct pieces {
	struct rte_mbuf *in[DP_BURST]; // as received
	unsigned int in_at, nb_in;
	struct rte_mbuf *cut[DP_SUPER_MAX]; // out of the last one of them
	unsigned int cut_at, nb_cut;
};

struct rx_queue {
	uint8_t port;
	uint16_t queue;
};

// Sends an address of a port three times, a second apart. Worker 0 only.
struct announcement {
	uint32_t seen; // value of dp_port.announce served last
	uint32_t next; // address to tell next
	uint8_t left; // rounds to go
	uint64_t at_ms;
};

// A page asked of a worker and its answer. state: the requester stores number << 32 | page to ask,
// the worker stores the same in answered when rows and nb hold the answer. Rows live here, so an
// answer that comes late is written to memory that is still there, and the next one overwrites it.
struct mailbox {
	uint64_t asked; // written by the requester that holds lock
	pthread_mutex_t lock; // one requester at a time
	uint64_t answered __rte_cache_aligned; // written by the worker
	int nb; // by the worker, before answered
	struct turn_info rows[32]; // likewise
};

// Snapshot of the counters: sequence lock. Written by the worker only, read by any thread.
struct stats_page {
	uint32_t sequence; // odd while it is being written
	struct dp_stats stats;
} __rte_cache_aligned;

struct worker {
	// Set at start, read only.
	struct dp *dp;
	unsigned int lcore;
	uint8_t id;
	unsigned int nb_rx;
	struct rx_queue rx[DP_RX_QUEUES_MAX];
	struct rte_ring *in[TURN_WORKERS_MAX]; // from each worker, itself included (hairpin)
	struct rte_ring *out[TURN_WORKERS_MAX]; // the same rings from the other side
	// Of this worker alone.
	struct turn_shard *shard;
	struct turn_line *lines; // of the shard
	const struct neigh_hop *hops; // of neigh
	// What datagrams of a leg are sent from, by the upper half of the mark of the line's other
	// end: relay addresses, and listeners.
	const struct source *source[2];
	// Longest plain frame: with a ChannelData header it still fits every port. 0: there are
	// ports to which no frame may go by the short way.
	uint16_t plain_max;
	struct neigh_table *neigh;
	void *shard_mem, *neigh_mem;
	struct stun_crypto *crypto;
	struct csprng rng;
	uint64_t now_ms, wall_s;
	uint64_t ticked_ms, gateways_ms, wall_ms; // when each was last done
	uint32_t since_publish; // rounds and ticks that counted something
	bool more_due; // expiry stopped at its budget
	uint16_t ip_id, ip_id_key[3];
	struct bucket echo, facts;
	struct announcement announce[CONF_PORTS_MAX];
	unsigned int nb_notes;
	struct turn_redirect_note note[DP_NOTES_MAX]; // waiting for room in a ring
	struct outbox tx[CONF_PORTS_MAX];
	struct outbox hand[TURN_WORKERS_MAX];
	struct burst burst;
	struct pieces pieces;
	struct backlog backlog;
	uint64_t
		*stream_at; // by slot: connection of the client, where it has one; NULL: nobody has
	uint32_t stream_wake; // threads for which there is something new, as bits
	unsigned int nb_ended;
	struct turn_view ended[DP_BURST]; // connections of the burst under way
	struct sessions *sessions; // of DTLS clients; NULL: there is no such listener
	struct dp_stats live; // counters as they stand; published at round ends
	// Shared with other threads.
	struct steer_counts steer[CONF_PORTS_MAX] __rte_cache_aligned; // they only read
	struct stats_page page;
	struct mailbox mailbox __rte_cache_aligned;
} __rte_cache_aligned;

// A STUN request (RFC 8489 5): the class bits of the message type are zero.
static inline bool view_is_request(const struct turn_view *v)
{
	return v->len >= 2 && (v->data[0] & 0xfd) == 0 && (v->data[1] & 0x10) == 0;
}

// Whether backlog_take has to look at a datagram; hardly ever.
static inline bool backlog_concerns(const struct worker *w, const struct turn_view *v)
{
	return v->leg == TURN_FROM_CLIENT && (w->backlog.n > 0 || view_is_request(v));
}

int worker_run(void *worker);
// One turn of the loop at time tsc. True when there was something to do.
bool worker_round(struct worker *w, uint64_t tsc);
// The only way to free a packet that was not sent: counts it under its reason.
void worker_drop(struct worker *w, struct rte_mbuf *m, unsigned int reason);

#include "stages.h"
