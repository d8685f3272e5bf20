// SPDX-License-Identifier: BSD-3-Clause
// Shared by the files of lib/dp only: one worker's world and the steps of the packet pipeline.
// worker.c puts them together and is the file to read first.
#pragma once

#include <pthread.h>

#include <rte_mbuf.h>
#include <rte_ring.h>

#include "csprng.h"
#include "backlog.h"
#include "dp.h"
#include "exception.h"
#include "hash.h"
#include "steering.h"
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

// --- local.c: which addresses are ours ----------------------------------------------------------

enum local_kind { LOCAL_FREE, LOCAL_OWN, LOCAL_BROADCAST };

// An own address, or the broadcast address of an on-link subnet.
struct local {
	struct addr addr;
	int32_t relay; // index of a relay address, -1 = none
	uint16_t listener_from; // its listeners: [from, from + nb) of local_table.listener
	uint8_t nb_listeners;
	uint8_t port;
	uint8_t kind; // enum local_kind
	// What nearly all packets are to: a relay address all of whose ports are slots of one
	// worker (else run.nb is 0), and the first listener.
	struct turn_relay_run run;
	uint32_t plain_mark; // the listener's part of a view's mark
	uint32_t plain_listener; // its UDP port; UINT32_MAX, which is none, without a listener
	// port, by [is_v4] of the packet. UINT16_MAX when not OWN, and for packets of the other
	// version: an IPv4-mapped address in IPv6 looks the same.
	uint16_t plain_port[2];
	uint64_t plain_seed; // of steer_keyed_home for the first listener
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct local) == 64, "one cache line");

struct local_listener {
	uint16_t port;
	uint8_t index; // of the configuration
};

// Immutable once made; read by all workers. Open addressing at a quarter full or less, with an
// unkeyed hash: what is in it comes from the configuration, so nobody can make the chains long.
struct local_table {
	struct local *slot; // 1 << (64 - shift)
	struct local_listener *listener;
	uint32_t mask;
	uint8_t shift;
};

// NULL with errno set.
struct local_table *local_create(const struct conf *c, const struct turn_relay_map *map);
void local_free(struct local_table *t);

static inline uint32_t local_hash(const struct local_table *t, const struct addr *a)
{
	return (uint32_t)(((a->d[0] ^ (a->d[1] << 1)) * UINT64_C(0x9e3779b97f4a7c15)) >> t->shift);
}

// The only place where an address is likely to be, whether or not it is there.
static inline const struct local *local_guess(const struct local_table *t, const struct addr *a)
{
	return &t->slot[local_hash(t, a)];
}

static inline const struct local *local_find(const struct local_table *t, const struct addr *a)
{
	uint32_t i = local_hash(t, a);

	while (t->slot[i].kind != LOCAL_FREE) {
		if (addr_eq(&t->slot[i].addr, a))
			return &t->slot[i];
		i = (i + 1) & t->mask;
	}
	return NULL;
}

// Index of the listener on a port of an own address, or -1.
static inline int local_listener(const struct local_table *t, const struct local *l, uint16_t port)
{
	for (unsigned int i = 0; i < l->nb_listeners; i++)
		if (t->listener[l->listener_from + i].port == port)
			return t->listener[l->listener_from + i].index;
	return -1;
}

// --- what a packet carries ----------------------------------------------------------------------

// Flags of a view.
// An untagged frame without options, extension headers and padding, its UDP checksum and hops left
// over, not too long for any port with a ChannelData header more.
#define DP_PLAIN 1
#define DP_IPV4 2
// Nobody has looked at the datagram's source yet: whether it is one that a host can have, and not
// one of ours. An allocation's line is proof enough, as those who made it have been judged.
#define DP_UNJUDGED 4
// From a client over a stream, of connection v->stream, which of other views means nothing.
#define DP_STREAM 8

enum parcel_kind {
	PARCEL_DATAGRAM, // as if just received and found to belong to the other worker
	PARCEL_FRAME, // finished: to be sent on a port whose queue the other worker owns
	PARCEL_NEIGHBOUR, // message: what an ARP or ND packet told
	PARCEL_REDIRECT, // message: a redirect lives longer or ends
	// On the rings of stream threads only.
	PARCEL_STREAM, // from or to a client over a stream: the message alone
	PARCEL_STREAM_ENDED, // message: its connection has ended
	PARCEL_BUFFER, // an empty buffer comes back
};

// What goes along with a packet from worker to worker, in the private area of its mbuf: nothing is
// parsed or judged twice. Written by the worker that hands over, read by the one that receives.
struct parcel {
	uint8_t kind; // enum parcel_kind
	uint8_t port; // FRAME, NEIGHBOUR, and packets a neighbour entry holds
	bool from_ask; // NEIGHBOUR
	union {
		struct turn_view datagram;
		struct net_neigh_msg neighbour;
		struct turn_redirect_note redirect;
		struct exception_note exception; // on the way to or from the kernel
		struct {
			uint64_t conn;
			uint32_t lease_s;
			bool media;
		} to_stream; // STREAM on its way down: as in struct stream_message
	};
};

#define DP_PRIV_SIZE RTE_ALIGN_CEIL(sizeof(struct parcel), RTE_MBUF_PRIV_ALIGN)

static inline struct parcel *parcel_of(struct rte_mbuf *m)
{
	return rte_mbuf_to_priv(m);
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
	struct local_table *local;
	struct turn_relay_map *map;
	struct turn_policy *policy;
	struct turn_quota *quota; // atomic inside; written by all workers
	struct stun_crypto *crypto; // mgmt lcore only
	struct rte_mempool *pool;
	int socket; // NUMA node of the pool, and of ports that do not say theirs
	struct hash_key home_key; // of steer_client_home
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

// What super.c has still to give out of a burst. Empty between bursts.
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

struct bucket {
	uint32_t tokens;
	uint64_t filled_ms;
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

// --- steer.c: who owns a client -----------------------------------------------------------------

// Worker of a client's 5-tuple. Fixed for the life of the process. m as received on the port.
unsigned int steer_client_home(const struct dp *d, const struct dp_port *p,
	const struct rte_mbuf *m, const struct net_frame *f);
// Sets rss_home, home and rss_key of a port that is started.
void steer_port_init(struct dp_port *p, unsigned int workers);
// Sets plain_seed of every address.
void steer_local_init(const struct dp *d, struct local_table *t);

// Our own keyed hash: a stranger who could predict it would choose source ports that all meet on
// one worker. seed: that of the server's end.
static inline uint64_t steer_seed(const struct dp *d, const struct addr *a, uint16_t port)
{
	return hash_addr(&d->home_key, a, port);
}

// What it takes of dp.
struct steer_keyed {
	struct hash_key key;
	uint64_t nb_workers;
};

static inline struct steer_keyed steer_keyed(const struct dp *d)
{
	return (struct steer_keyed){d->home_key, d->nb_workers};
}

static inline unsigned int steer_keyed_home(
	const struct steer_keyed *k, uint64_t seed, const struct addr *client, uint16_t port)
{
	const uint64_t h = hash_addr(&k->key, client, seed ^ port);

	return (unsigned int)(((h >> 32) * k->nb_workers) >> 32);
}

// Counts datagrams from peers. These counters take no part in the balance, so they are seen at once
// and not published.
static inline void steer_count(uint64_t n[2], bool is_v4, uint64_t more)
{
	__atomic_store_n(&n[is_v4], n[is_v4] + more, __ATOMIC_RELEASE);
}

// --- ladder.c: rules in the NIC ------------------------------------------------------------------

// Climbs down the ladder for both families of a started port until a step's rules are all in the
// NIC; T4 needs none.
void ladder_install(struct dp *d, unsigned int port);
void ladder_remove(struct dp *d, unsigned int port);
// Judges by the workers' counters whether the rules do what they should. Mgmt lcore.
void ladder_watch(struct dp *d, uint64_t now_ms);

// --- handover.c: between workers ----------------------------------------------------------------

int handover_create(struct dp *d, int socket);
// A ring for one producer and one consumer, of count - 1 entries (count is a power of two), to be
// freed with rte_free; NULL without memory.
struct rte_ring *handover_ring(unsigned int count, int socket);
void handover_free(struct dp *d);
// Takes the packet.
void handover_datagram(
	struct worker *w, unsigned int to, struct rte_mbuf *m, const struct turn_view *v);
void handover_frame(struct worker *w, unsigned int to, struct rte_mbuf *m, uint8_t port);
void handover_flush(struct worker *w);
// Up to DP_BURST packets from a worker. Messages among them are not datagrams and not counted.
unsigned int handover_take(struct worker *w, unsigned int from, struct rte_mbuf **m);
// Tells every other worker what an ARP or ND packet said.
void message_neighbour(
	struct worker *w, uint8_t port, const struct net_neigh_msg *msg, bool from_ask);
// Sends the redirect notes of the shard; what finds no room waits for the next call.
void message_notes(struct worker *w);
// Does what a message says and frees it.
void message_apply(struct worker *w, struct rte_mbuf *m);

// --- nexthop.c: from a destination to a MAC -----------------------------------------------------

// Port by which our address src reaches dst and the neighbour on the way. False: no route.
bool nexthop_find(const struct dp *d, const struct addr *src, const struct addr *dst, uint8_t *port,
	struct addr *via);
// Entry of the neighbour on the way, and the port. DP_SENT or a reason.
unsigned int nexthop_resolve(struct worker *w, const struct addr *src, const struct addr *dst,
	uint8_t *port, uint16_t *neigh);
// Fills in the destination MAC and sends, or holds until there is one. Takes the packet.
void nexthop_send(struct worker *w, struct rte_mbuf *m, uint8_t port, uint16_t neigh);
// What an ARP or ND packet told, received here or by another worker. True when it changed anything.
bool nexthop_learn(struct worker *w, uint8_t port, const struct net_neigh_msg *msg, bool from_ask);
// Ages, asks, gives up; keeps the gateways known. Once a millisecond at most.
void nexthop_tick(struct worker *w);
// Drops what is held; the worker is no longer running.
void nexthop_drain(struct worker *w);

// --- accept.c: from frames to datagrams for the shard -------------------------------------------

// Of the n received packets in the burst, those that are datagrams for this worker's shard stay,
// moved together, with their views; all others are dealt with.
void accept_burst(struct worker *w, uint8_t port, unsigned int n);
// Judges packet i of the burst, for which no line vouches. False: it has been dealt with.
bool accept_again(struct worker *w, unsigned int i);

// --- relay.c: the datagram that nearly every one is ---------------------------------------------

// Fills dp.source and the tails of worker.tx.
int relay_sources_create(struct dp *d);
void relay_sources_free(struct dp *d);
void relay_wires_init(struct worker *w);
const struct source *relay_listener_source(const struct worker *w, uint8_t listener);
// turn_shard_params.line_made.
void relay_line_made(void *worker, uint32_t slot);
// Relays what is in the burst, after turn_route_begin, and answers requests, which go to the
// backlog if they may. Returns how many datagrams were relayed.
unsigned int relay_burst(struct worker *w, bool may_wait);

// --- indication.c: likewise ---------------------------------------------------------------------

// Relays a datagram that turn_route_begin has found a line without a channel for, if the line
// vouches: a Send indication to its peer, or the peer's datagram as a Data indication. False: it
// does not, or something about the datagram or its way is unusual, and nothing has been touched.
bool indication_relay(
	struct worker *w, struct rte_mbuf *m, const struct turn_view *v, uint32_t tick);

// --- plain.c ------------------------------------------------------------------------------------

// rewrite_frame and sending in one, for a plain datagram to a neighbour that can be used at once.
// False: it is not so, and nothing has been touched.
struct rewrite;
bool plain_relay(struct worker *w, struct rte_mbuf *m, const struct turn_view *v,
	const struct rewrite *r, uint16_t neigh);

// --- rewrite.c: executing plans -----------------------------------------------------------------

// A datagram to make of a received one, in place.
struct rewrite {
	const struct endpoint *src, *dst;
	const struct net_l2 *l2;
	const uint8_t *front; // goes in front of what is kept
	uint16_t front_len;
	uint16_t off, len; // what is kept of the payload
	uint16_t pad; // zero bytes behind it
	uint16_t csum; // sum of src and dst with their ports
	uint16_t ip_id;
	uint16_t mtu;
	bool df;
	bool fresh; // there is no old checksum to go by
};

// Rewrites m, of which f is the parse; f then describes the new frame. DP_SENT or a reason, and
// then nothing has been changed.
unsigned int rewrite_frame(struct rte_mbuf *m, struct net_frame *f, const struct rewrite *r);

// Length and start of what m holds now; what its port said of the old headers is forgotten.
static inline void rewrite_set_frame(struct rte_mbuf *m, const uint8_t *frame, uint32_t len)
{
	m->data_off = (uint16_t)(frame - (uint8_t *)m->buf_addr);
	m->data_len = (uint16_t)len;
	m->pkt_len = len;
	m->ol_flags &= RTE_MBUF_F_EXTERNAL | RTE_MBUF_F_INDIRECT;
}

// Executes a plan of any kind for packet m with its view.
void rewrite_plan(struct worker *w, struct rte_mbuf *m, struct turn_view *v,
	const struct turn_plan *plan, const struct turn_side *side);
// A bijection of 16 bits under a secret of the worker: no identification comes back before 65536
// others have been used (RFC 6864), and the next is not told by the last ones.
static inline uint16_t rewrite_ip_id(struct worker *w)
{
	uint32_t x = w->ip_id++;

	x = (uint16_t)(x * w->ip_id_key[0]);
	x ^= x >> 7;
	x = (uint16_t)(x * w->ip_id_key[1]);
	x ^= x >> 9;
	return (uint16_t)(x ^ w->ip_id_key[2]);
}

// --- streams.c: clients over TCP and TLS ---------------------------------------------------------

// Rings and tables, once there are workers; nothing when there are no such listeners. 0 or -ENOMEM.
int streams_create(struct dp *d, int socket);
// Opens the listeners and runs the threads. 0, or -1 with the reason in error.
int streams_start(struct dp *d, char *error, size_t len);
// Ends the threads; workers may run on.
void streams_stop(struct dp *d);
// Frees what is on the rings; neither threads nor workers run any more.
void streams_drain(struct dp *d);
void streams_free(struct dp *d);
// Bytes of memory that streams_create asks for, but for the tables by slot.
size_t streams_size(const struct conf *c);
extern const struct stream_ops streams_ops; // ctx is the struct dp

// Up to DP_BURST messages of clients from a thread, counted as received. *taken: of all that was on
// the ring. The connections of which it said that they have ended wait for streams_settle, which is
// to be called when the burst has been routed: their last messages come first.
unsigned int streams_take(
	struct worker *w, unsigned int thread, struct rte_mbuf **m, unsigned int *taken);
void streams_settle(struct worker *w);
// Whether the client of a live allocation is one over a stream.
bool streams_has(const struct worker *w, uint32_t slot);
// Each takes the packet. An answer to the client of v, whose request m was.
void streams_reply(struct worker *w, struct rte_mbuf *m, const struct turn_view *v,
	const uint8_t *answer, uint16_t len);
// What a peer has sent to slot v->slot: of r front, off and len count.
struct rewrite;
void streams_forward(
	struct worker *w, struct rte_mbuf *m, const struct turn_view *v, const struct rewrite *r);
// A client's message as if it had come in a datagram, for rewrite_frame.
void streams_describe(const struct rte_mbuf *m, const struct turn_view *v, struct net_frame *f);
// Wakes the threads that this round has left something for.
void streams_wake(struct worker *w);

// --- host.c: being a host on the link -----------------------------------------------------------

// Takes every ARP, ICMP and ICMPv6 packet.
void host_input(struct worker *w, uint8_t port, struct rte_mbuf *m, const struct net_frame *f);
// Announces addresses where a link has come up. Worker 0 only.
void host_announce_tick(struct worker *w);
// Asks for a neighbour.
void host_ask(struct worker *w, const struct neigh_ask *ask);
// Takes a token; a bucket holds up to burst and is refilled at rate per second. Rate 0: never.
bool bucket_take(struct bucket *b, uint32_t rate, uint32_t burst, uint64_t now_ms);

// --- tx.c ---------------------------------------------------------------------------------------

// Takes a finished frame; hands it to the worker that owns a queue when this one has none.
void tx_put(struct worker *w, uint8_t port, struct rte_mbuf *m);
// The same with a super-frame of TCP, by a worker that has a queue of its own. Behind all that was
// put before it, so that a flow stays in order.
void tx_put_super(
	struct worker *w, uint8_t port, struct rte_mbuf *m, const struct exception_note *note);
void tx_flush(struct worker *w);

// --- super.c: super-frames received -------------------------------------------------------------

// Takes w->burst.m[0, n), received on a port that may receive super-frames, and puts the first
// plain frames of it in its place, counted but for their bytes, which accept_burst counts. Returns
// how many; super_next has the others.
unsigned int super_begin(struct worker *w, uint8_t port, unsigned int n);
// The next ones into w->burst.m; 0: there are no more, of any.
unsigned int super_next(struct worker *w, uint8_t port);

// --- stats.c ------------------------------------------------------------------------------------

// Class of a burst of n, 1..DP_BURST: the logarithm, rounded up.
static inline unsigned int stats_class(unsigned int n)
{
	return 31 - (unsigned int)__builtin_clz(2 * n - 1);
}

// Makes the counters as they stand visible. At a round boundary.
void stats_publish(struct worker *w);

// --- dp.c ---------------------------------------------------------------------------------------

// Bytes of a packet buffer behind the private area, headroom included.
uint16_t dp_data_room(const struct conf *c);
struct neigh_config dp_neigh_config(const struct conf *c);

// --- mailbox.c ----------------------------------------------------------------------------------

int mailbox_init(struct mailbox *b);
void mailbox_fini(struct mailbox *b);
void mailbox_serve(struct worker *w);
