// SPDX-License-Identifier: BSD-3-Clause
// What the files of lib/dp do for each other, by file, in the order in which a packet meets them.
// dp_int.h has it too.
#pragma once

#include "dp_int.h"

// --- steer.c: who owns a client -----------------------------------------------------------------

// Worker of a client's 5-tuple. Fixed for the life of the process. m as received on the port.
unsigned int steer_client_home(const struct dp *d, const struct dp_port *p,
	const struct rte_mbuf *m, const struct net_frame *f, uint8_t listener);
// Likewise, on a port whose NIC says it (rss_home).
unsigned int steer_nic_home(
	const struct dp_port *p, const struct rte_mbuf *m, const struct net_frame *f);
// Sets rss_home, home and rss_key of a port that is started.
void steer_port_init(struct dp_port *p, unsigned int workers);
// Worker of a client of a listener where no NIC says it: by our own keyed hash, for a stranger who
// could predict it would choose source ports that all meet on one worker.
static inline unsigned int steer_keyed_home(
	const struct dp *d, const struct addr *client, uint16_t port, uint8_t listener)
{
	const uint32_t mark = turn_mark_client(port, listener);

	return turn_client_home(turn_client_hash(&d->client_key, client, mark), d->nb_workers);
}

// Counts datagrams from peers. These counters take no part in the balance, so they are seen at once
// and not published.
static inline void steer_count(uint64_t n[2], bool is_v4, uint64_t more)
{
	__atomic_store_n(&n[is_v4], n[is_v4] + more, __ATOMIC_RELEASE);
}

// --- flow_ladder.c: rules in the NIC ------------------------------------------------------------

// Climbs down the ladder for both families of a started port until a step's rules are all in the
// NIC; T4 needs none.
void flow_ladder_install(struct dp *d, unsigned int port);
void flow_ladder_remove(struct dp *d, unsigned int port);
// Judges by the workers' counters whether the rules do what they should. Mgmt lcore.
void flow_ladder_watch(struct dp *d, uint64_t now_ms);

// --- handover.c: between workers ----------------------------------------------------------------

int handover_create(struct dp *d, int socket);
// A ring for one producer and one consumer, of count - 1 entries (count is a power of two), to be
// freed with rte_free; NULL without memory.
struct rte_ring *handover_ring(unsigned int count, int socket);
void handover_free(struct dp *d);
// Takes the packet.
void handover_datagram(
	struct worker *w, unsigned int to, struct rte_mbuf *m, const struct turn_view *v);
// Likewise the clients of the burst whom turn_route_begin found to be elsewhere.
void handover_clients(struct worker *w);
void handover_frame(struct worker *w, unsigned int to, struct rte_mbuf *m, uint8_t port);
// Of what mbuf_meta_of(m)->seal says.
void handover_seal(struct worker *w, unsigned int to, struct rte_mbuf *m);
void handover_flush(struct worker *w);
// Up to DP_BURST packets from a worker. Messages among them are not datagrams and not counted.
unsigned int handover_take(struct worker *w, unsigned int from, struct rte_mbuf **m);
// Tells every other worker what an ARP or ND packet said.
void message_neighbour(
	struct worker *w, uint8_t port, const struct net_neigh_msg *msg, bool from_ask);
// Tells a worker that the session v->stream of a DTLS client has ended. False: not now.
bool message_client_ended(struct worker *w, unsigned int to, const struct turn_view *v);
// Sends the redirect notes of the shard; what finds no room waits for the next call.
void message_notes(struct worker *w);
// Does what a message says and frees it.
void message_apply(struct worker *w, struct rte_mbuf *m);

// --- nexthop.c: from a destination to a MAC -----------------------------------------------------

// Port by which our address src reaches dst and the neighbour on the way. False: no route.
bool nexthop_find(const struct dp *d, const struct addr *src, const struct addr *dst, uint8_t *port,
	struct addr *via);
// From one of our addresses to a destination, on account of a client (who may be that himself):
// whose share it is if the neighbour has to be asked for.
struct nexthop_way {
	const struct addr *src, *dst, *client;
};
// Entry of the neighbour on the way, and the port. DP_SENT or a reason.
unsigned int nexthop_resolve(
	struct worker *w, const struct nexthop_way *to, uint8_t *port, uint16_t *neigh);
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

// --- fastpath.c: the datagram that nearly every one is ------------------------------------------

// Fills dp.source and the tails of worker.tx.
int fastpath_sources_create(struct dp *d);
void fastpath_sources_free(struct dp *d);
void fastpath_wires_init(struct worker *w);
const struct source *fastpath_listener_source(const struct worker *w, uint8_t listener);
// turn_shard_params.line_made.
void fastpath_line_made(void *worker, uint32_t slot);
// Relays what is in the burst, after turn_route_begin, and answers requests, which go to the
// backlog if they may. Returns how many datagrams were relayed.
unsigned int fastpath_burst(struct worker *w, bool may_wait);

// --- indication.c: likewise ---------------------------------------------------------------------

// Relays a datagram that turn_route_begin has found a line without a channel for, if the line
// vouches: a Send indication to its peer, or the peer's datagram as a Data indication. False: it
// does not, or something about the datagram or its way is unusual, and nothing has been touched.
bool indication_relay(
	struct worker *w, struct rte_mbuf *m, const struct turn_view *v, uint32_t tick);

// --- fast_headers.c -----------------------------------------------------------------------------

// rewrite_frame and sending in one, for a plain datagram to a neighbour that can be used at once.
// False: it is not so, and nothing has been touched.
struct rewrite;
bool fast_headers_relay(struct worker *w, struct rte_mbuf *m, const struct turn_view *v,
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

// Sends what m holds from REWRITE_ANSWER_AT on, of len bytes, to a client from a listener. Takes
// the packet.
#define REWRITE_ANSWER_AT (RTE_PKTMBUF_HEADROOM + NET_HEADERS_MAX)
void rewrite_answer(struct worker *w, struct rte_mbuf *m, uint8_t listener,
	const struct endpoint *client, uint16_t len);
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

// --- streams.c: clients over TCP and TLS, the way to their threads ------------------------------

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
// A request of a stream client has left the backlog: its thread may ask for another.
void streams_asked(struct worker *w, const struct turn_view *v);
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
// Notes that a view's client, whose connection or DTLS session is v->stream, has the allocation it
// is found to have, and tells how long that lives in seconds; 0: there is none. Not alive: one that
// there is ends at once.
uint32_t streams_lease(struct worker *w, const struct turn_view *v, bool alive);
// Ends the allocation of a view's client, if it is that of v->stream.
void streams_end(struct worker *w, const struct turn_view *v);
// Gives a packet of kind MBUF_META_DTLS or MBUF_META_DTLS_NOTE to a thread; false: there is only
// the room left on the ring that is for answers to TCP and TLS clients, and the packet is the
// caller's.
bool streams_give(struct worker *w, unsigned int thread, struct rte_mbuf *m);
// Wakes the threads that this round has left something for.
void streams_wake(struct worker *w);

// --- host.c: being a host on the link -----------------------------------------------------------

// Takes every ARP, ICMP and ICMPv6 packet.
void host_input(struct worker *w, uint8_t port, struct rte_mbuf *m, const struct net_frame *f);
// Announces addresses where a link has come up. Worker 0 only.
void host_announce_tick(struct worker *w);
// Asks for a neighbour.
void host_ask(struct worker *w, const struct neigh_ask *ask);

// --- tx.c ---------------------------------------------------------------------------------------

// Takes a finished frame; hands it to the worker that owns a queue when this one has none.
void tx_put(struct worker *w, uint8_t port, struct rte_mbuf *m);
// The same with a super-frame of TCP, by a worker that has a queue of its own. Behind all that was
// put before it, so that a flow stays in order.
void tx_put_super(
	struct worker *w, uint8_t port, struct rte_mbuf *m, const struct exception_note *note);
void tx_flush(struct worker *w);

// --- gso_rx.c: super-frames received ------------------------------------------------------------

// Takes w->burst.m[0, n), received on a port that may receive super-frames, and puts the first
// plain frames of it in its place, counted but for their bytes, which accept_burst counts. Returns
// how many; gso_rx_next has the others.
unsigned int gso_rx_begin(struct worker *w, uint8_t port, unsigned int n);
// The next ones into w->burst.m; 0: there are no more, of any.
unsigned int gso_rx_next(struct worker *w, uint8_t port);

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
