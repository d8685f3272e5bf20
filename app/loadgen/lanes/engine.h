// SPDX-License-Identifier: BSD-3-Clause
// Shared by the files that move packets: the engine (what all lanes share), the lane (what one
// lcore owns) and the steps of a round. lane.c puts them together and is the file to read first.
//
// The main lcore gives orders (run.c) and reads counters; it never touches a packet. A lane is a
// worker lcore that is a sender, a receiver, or both. Client i belongs to sender i % senders (its
// state machine, its pace), what arrived of flow i to receiver i % receivers. Between lanes there
// are rings only.
#pragma once

#include <rte_mbuf.h>
#include <rte_ring.h>
#include <rte_spinlock.h>

#include "client/client.h"
#include "options/config.h"
#include "measure/hist.h"
#include "net.h"
#include "measure/pacer.h"
#include "port.h"
#include "measure/stamp.h"
#include "measure/track.h"

#define LANE_BURST 32
#define HOPS_MAX 1024
#define SUPER_MAX 128 // datagrams of a received super-frame: Linux makes none with more
#define SLACK_S 0.01 // a datagram that is later than this is given up, and said so

enum { SIDE_CLIENT, SIDE_PEER, SIDE_NB };

// --- hop.c: where a destination is on layer 2 ----------------------------------------------------

// Next hop on one side. Entries are only ever added, under the lock; mac is read and written whole.
struct hop {
	struct addr target; // on-link destination, or the side's gateway
	uint8_t side;
	uint64_t mac; // 1 << 48 | MAC, in the order of its bytes from the lowest; 0 = not known
	uint64_t asked_ms; // lane 0 only
};

#define HOP_KNOWN (UINT64_C(1) << 48)
#define HOP_NONE UINT16_MAX

// --- the engine ----------------------------------------------------------------------------------

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

// --- counters ------------------------------------------------------------------------------------

// Of one lane: written by it alone, read by the main lcore (each word by itself).
struct lane_stats {
	uint64_t sent[DIRECTION_NB], sent_bytes[DIRECTION_NB]; // taken by the port
	uint64_t received[DIRECTION_NB], received_bytes[DIRECTION_NB];
	uint64_t unique[DIRECTION_NB], duplicated[DIRECTION_NB], reordered[DIRECTION_NB];
	uint64_t corrupted[DIRECTION_NB];
	uint64_t stray; // nobody's, or of an earlier trial
	uint64_t answered, errors; // probes
	uint64_t due, missed, tx_full, no_mbuf; // due: missed, tx_full and held_back are part of it
	uint64_t reflect_full; // reflected, but not taken by the port
	uint64_t unstarted; // MODE_ALLOC: were due when every client was busy
	uint64_t bad_frames; // that no host would have sent to us
	struct {
		uint64_t frames, datagrams;
	} super_sent, super_received; // super-frames, and what they stand for
	uint64_t control_lost; // answers that found the ring to their sender full
	// connections: begun, up, failed before they were up, ended by the server while in use; and
	// media that one had no room for
	struct {
		uint64_t opened, up, failed, broken, held_back;
	} link;
	uint64_t injected[4]; // by the reflector: lost, duplicated, reordered, corrupted
	uint64_t rounds, busy_rounds;
	uint64_t max_gap; // ticks between two rounds, since the trial began
};

// --- a lane --------------------------------------------------------------------------------------

// Why a frame is sent: what becomes of the counters when the port does not take it.
enum frame_kind { FRAME_CONTROL, FRAME_UP, FRAME_DOWN, FRAME_ECHO, FRAME_REFLECTED };

struct outbox {
	unsigned int n;
	struct rte_mbuf *m[LANE_BURST];
	uint8_t kind[LANE_BURST];
	uint16_t len[LANE_BURST]; // of the payload
};

// One way of a datagram: what its headers are made of.
struct path {
	struct endpoint src, dst;
	uint32_t sum; // of both addresses and ports, for the UDP checksum
	uint16_t hop; // to dst
};

// What a sender keeps of each of its clients.
struct flow {
	struct path up; // client to server (MODE_DIRECT: to the peer)
	struct path down; // peer to relayed transport address (MODE_DIRECT: to the client)
	struct endpoint peer;
	uint32_t seq_up, seq_down; // next numbers
	uint16_t channel;
};

struct sender {
	uint32_t number, first, step, nb_flows; // flow k is client first + k * step
	struct clients *clients; // NULL in modes without a server's state
	struct flow *flow;
	uint32_t *ready; // flows that take part in this trial
	uint32_t nb_ready;
	uint32_t turn; // index into ready: whose turn it is
	uint32_t run; // datagrams left of its turn
	uint32_t cursor; // where the search for a client to start or release goes on
	uint8_t size; // index of the payload size in use
	uint8_t way; // enum direction in use
	struct pacer pacer; // of the phase
	double rate; // of the engine, as last seen in traffic
	uint64_t missed; // of the pacer's, what is counted already
	uint64_t ticked_ms;
	uint32_t trial, phase; // as last seen
};

// From the receiver that polled a datagram to the one that keeps its flow.
struct arrival {
	uint32_t flow, seq, trial, direction;
};

struct receiver {
	uint32_t number;
	uint32_t trial;
	struct track *track[2]; // of the flows kept here: up, and down or echo
	struct hist *latency[DIRECTION_NB];
	struct rte_ring *from[CONFIG_LANES_MAX]; // struct arrival, of each other receiver
	struct rte_ring *control[CONFIG_LANES_MAX]; // mbufs, to each sender
	struct reflector *reflector;
};

struct lane {
	struct engine *engine;
	unsigned int lcore, number; // number: its queue on every port
	struct sender *sender; // NULL when it is none
	struct receiver *receiver;
	struct links *links; // NULL: clients are addresses on a port
	struct csprng rng;
	uint32_t phase; // of this round
	uint32_t followed; // of the last that has ended; the main lcore reads it
	uint64_t now, now_ms; // of this round: TSC, and milliseconds since the start
	uint64_t asked_ms; // lane 0: next hops
	struct outbox out[SIDE_NB];
	struct lane_stats stats;
} __rte_cache_aligned;

// --- lane.c --------------------------------------------------------------------------------------

struct lane *lane_create(struct engine *e, unsigned int lcore);
void lane_free(struct lane *l);
int lane_run(void *lane);
// A buffer, or NULL (counted).
struct rte_mbuf *lane_alloc(struct lane *l);
// Takes the buffer. len is that of the measured payload.
void lane_put(
	struct lane *l, unsigned int side, struct rte_mbuf *m, enum frame_kind kind, uint16_t len);
// Makes room for so many (at most LANE_BURST) that are to leave together.
void lane_reserve(struct lane *l, unsigned int side, unsigned int n);
void lane_flush(struct lane *l);
// Whether all lanes have ended a round in the phase that was ordered last: they have begun what it
// asks for, and what rounds of the phase before have counted can be read. Main lcore.
bool lanes_follow(const struct engine *e);

// --- frame.c -------------------------------------------------------------------------------------

// Fills a path from its ends; false when dst cannot be reached from the side.
bool headers_path(struct engine *e, unsigned int side, struct path *p, const struct endpoint *src,
	const struct endpoint *dst);
// Puts the headers in front of the UDP payload that m holds; sum is that of the payload in
// big-endian words. False when the next hop is not known yet (m is the caller's still).
bool headers_write(const struct engine *e, unsigned int side, struct rte_mbuf *m,
	const struct path *p, uint32_t sum);

// --- super.c -------------------------------------------------------------------------------------

// Makes super-frames of the runs in the outbox of a side, where its port takes them. Returns how
// many frames are left; frame_of: the frame that each of its datagrams is in.
unsigned int gso_make(struct lane *l, unsigned int side, uint8_t frame_of[LANE_BURST]);
// Counts those among the first `sent` frames that n datagrams became.
void gso_sent(
	struct lane *l, const uint8_t frame_of[LANE_BURST], unsigned int n, unsigned int sent);
// Cuts a received super-frame into out and frees it. Returns how many datagrams; 0: none, counted.
unsigned int gso_cut(
	struct lane *l, unsigned int side, struct rte_mbuf *m, struct rte_mbuf *out[SUPER_MAX]);

// --- links.c: clients that are connections -------------------------------------------------------

// Lets this process have a descriptor for every client, and makes e->tls. 0, or -1 with a reason.
int links_prepare(struct engine *e, char *error, size_t len);
// Of a lane that is a sender and a receiver. NULL when memory ran out.
struct links *links_create(struct lane *l);
void links_free(struct lane *l);
// Gives client k's connection the message that m holds, and consumes m; a request opens one first.
// len is that of the measured payload. What finds no room is counted: media as held back.
void links_send(struct lane *l, uint32_t k, struct rte_mbuf *m, enum frame_kind kind, uint16_t len);
// Whether client k has a connection, or is about to.
bool links_open(const struct lane *l, uint32_t k);
// What has come, and what waited for room; true when there was something.
bool links_round(struct lane *l);
// Name of the cipher of the first connection that was up, "" = none yet. Main lcore.
const char *links_cipher(const struct engine *e);

// --- hop.c ---------------------------------------------------------------------------------------

// Next hop to dst on a side, made when there is none; HOP_NONE when it cannot be reached or the
// table is full. Any lane.
uint16_t hop_to(struct engine *e, unsigned int side, const struct addr *dst);
void hop_learn(struct engine *e, unsigned int side, const struct addr *who, const uint8_t mac[6]);
bool hop_known(const struct engine *e, uint16_t hop);
// Asks for the next hops that do not answer yet, and now and then for the others. Lane 0.
void hop_tick(struct lane *l);
// First next hop without an answer, as text for a message; false when all are known.
bool hop_missing(const struct engine *e, char *text, size_t len);

// --- host.c --------------------------------------------------------------------------------------

// ARP, ND, echo requests: consumes m.
void link_host_input(
	struct lane *l, unsigned int side, struct rte_mbuf *m, const struct net_frame *f);

// --- sender.c ------------------------------------------------------------------------------------

struct sender *sender_create(struct lane *l, unsigned int number);
void sender_free(struct sender *s);
// One round; true when there was something to do.
bool sender_round(struct lane *l);

// --- media.c, probe.c: what senders send ---------------------------------------------------------

// A trial begins: numbers start anew, and the flows that are ready take part.
void media_begin(struct lane *l);
// Makes n datagrams.
void media_send(struct lane *l, uint32_t n);
void probe_begin(struct lane *l);
void probe_send(struct lane *l, uint32_t n);
// What the transaction id of an answer to a probe says; false when it is none of ours. The number
// has 24 bits.
bool probe_read(const struct lane *l, const uint8_t *tid, struct stamp *out);

// MODE_HANDSHAKE: up to n clients that have no connection make one. Returns how many there were
// not.
uint32_t probe_knock(struct lane *l, uint32_t n);

// --- receiver.c ----------------------------------------------------------------------------------

struct receiver *receiver_create(struct lane *l, unsigned int number);
int receiver_connect(struct receiver *r, struct engine *e);
void receiver_free(struct receiver *r);
bool receiver_round(struct lane *l);
// A message of the server to client i. Consumes m, which is nothing but the message.
void receiver_message(struct lane *l, uint32_t i, struct rte_mbuf *m);

// --- reflect.c -----------------------------------------------------------------------------------

struct reflector *reflector_create(const struct config *c);
void reflector_free(struct reflector *r);
// Sends a datagram back to where it came from, with what it is told to do to it. Consumes m.
void reflect_input(struct lane *l, struct rte_mbuf *m, const struct net_frame *f);
// What the delay line lets go, and what it held back to reorder.
void reflect_tick(struct lane *l);
