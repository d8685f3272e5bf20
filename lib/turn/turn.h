// SPDX-License-Identifier: BSD-3-Clause
// Datagrams and what to do with them: views go in, plans come out (RFC 8656). lib/turn knows
// nothing of IP headers, mbufs, sockets or clocks; the data path executes the plans. The functions
// are route.c's.
#pragma once

#include "addr.h"
#include "hash.h"
#include "turn_mark.h"
#include "turn_order.h"

#define TURN_BURST 32
#define TURN_NONE UINT32_MAX
#define TURN_NO_WORKER 0xff
#define TURN_HASHED UINT32_MAX

struct turn_shard;

enum turn_leg { TURN_FROM_CLIENT, TURN_FROM_PEER };

// One datagram as the shard sees it. The data path fills the first part.
// Where a peer's datagram came from if not from the network: by what lets it in, or a client's out.
enum turn_inside {
	TURN_INSIDE_NO,
	TURN_INSIDE_RELAYED, // in process, from an allocation of ours
	TURN_INSIDE_PROGRAM, // by the loopback, from a program of this machine at an own address
};

struct turn_view {
	struct addr src;
	union {
		struct {
			uint16_t src_port;
			union {
				struct {
					uint8_t listener; // client leg: index of the listener
					// The data path leaves it 0; turn_route_begin sets it.
					uint8_t state;
				};
				// Peer leg: which of our addresses it came to, as in the mark of a
				// line. A datagram between allocations needs none.
				uint16_t source;
			};
		};
		uint32_t mark; // all three in one word, compared with a line's mark (turn_mark.h)
	};
	uint16_t len;
	uint8_t leg; // enum turn_leg
	uint8_t flags; // the data path's
	const uint8_t *data;
	// Peer leg: the data path writes what turn_relay_map_home says about the destination. If
	// that is a shared address, turn_route_begin replaces its number by the allocation's slot,
	// or TURN_NONE. Client leg: turn_route_begin and turn_route_finish write the index of the
	// allocation or redirect, or TURN_NONE.
	union {
		struct {
			uint32_t slot;
			uint8_t via; // client leg: worker whose redirect led here, TURN_NO_WORKER
			uint8_t inside; // peer leg: enum turn_inside
			uint8_t port; // the data path's
			// Client leg: 1 + the worker that was to make an allocation, had no relay
			// port left and has given the request back to its home; 0 = none has.
			uint8_t tried;
		};
		uint64_t place; // all five
	};
	uint64_t hash; // hash of the key that is looked up; turn_route_begin writes it
	uint32_t shared; // number of the shared address; turn_route_begin writes it
	// For the data path: of a message over a stream, the DSCP of the connection as it stands in
	// TOS.
	uint8_t tos;
	uint8_t spare[3]; // unused: makes the size a power of two
	uint64_t stream; // for the data path: connection of a client over a stream
};
_Static_assert(sizeof(struct turn_view) == 64, "one cache line");

// Whether a datagram of a client has come from a worker that has given it back.
static inline bool turn_view_is_back(const struct turn_view *v)
{
	return v->tried != 0 && v->via == v->tried - 1;
}

enum turn_verdict {
	TURN_DROP, // reason says why
	TURN_REPLY, // send side->front[0..front_len) back, from the address the request came to
	TURN_RELAY, // send front + payload[off..off+len) on `flow`
	TURN_SEND, // send payload[off..off+len) from side->src to side->dst
	TURN_HANDOVER, // give the datagram to worker `flow` (a redirect, or back to where it was)
};

#define TURN_PLAN_DF 1 // set DF where the outgoing packet is IPv4, whatever it was before
// REPLY over UDP: from the listener `flow` and to port `channel` of the client, and not as the
// request came (RFC 5780).
#define TURN_PLAN_ASIDE 2
// REPLY over a stream: side->order says what is to be done first, and by what comes of it which of
// the answers in side->front is sent (RFC 6062).
#define TURN_PLAN_ORDER 4

// What to do with one datagram: 16 bytes.
struct turn_plan {
	uint8_t verdict, flags;
	uint16_t reason; // enum turn_drop
	uint16_t channel; // RELAY with front_len 4: number for the ChannelData header in front
	uint16_t front_len; // 0, 4, or the length of side->front
	uint16_t off, len; // the part of the datagram that is sent on
	uint32_t flow; // names the two ends: turn_route_path
};
_Static_assert(sizeof(struct turn_plan) == 16, "the plan is 16 bytes");

#define TURN_SIDE_LEN 1664 // longest is an answer with PADDING (RFC 5780)

// What does not fit a plan: an answer, the front of a Data indication, the addresses of TURN_SEND,
// an order.
struct turn_side {
	struct endpoint src, dst;
	uint8_t front[TURN_SIDE_LEN];
	struct turn_order order;
};

struct turn_burst {
	unsigned int n;
	uint32_t epoch; // these three are for lib/turn: it lists the views by leg
	uint8_t by_leg[2][TURN_BURST + 1];
	unsigned int nb[2];
	struct turn_view view[TURN_BURST];
	struct turn_plan plan; // the plan that was made last
	struct turn_side side; // what that plan needs beside it
	// How many shards turn_client_home deals clients over; 0 = all clients are ours;
	// TURN_HASHED = and their views have their hashes. Views of clients of other shards are
	// then listed in elsewhere and not in of.
	unsigned int homes;
	unsigned int nb_elsewhere;
	uint8_t elsewhere[TURN_BURST + 1];
};

// Both ends of a flow: what the data path builds a header from. hop is where the line of the
// allocation has room for the data path's note about the way to dst; NULL when there is no such
// place.
struct turn_path {
	struct endpoint src, dst;
	uint32_t *hop;
};

// Hash of a client's 5-tuple. mark is the mark of the client's views with state 0.
static inline uint64_t turn_client_hash(
	const struct hash_key *key, const struct addr *client, uint32_t mark)
{
	return hash_addr(key, client, mark);
}

// Which of `homes` shards a client belongs to by its hash. The bits used here choose neither the
// client's first bucket nor its tag in the table of clients. From outside, the relay port that a
// client gets shows no more than these bits.
static inline unsigned int turn_client_home(uint64_t hash, unsigned int homes)
{
	return (unsigned int)((hash >> 32 & 0xffff) * homes >> 16);
}

// 2^16 or more when turn_client_home(hash, homes) is not home. The results of several clients can
// be ORed and tested at once.
static inline uint32_t turn_client_away(uint64_t hash, unsigned int homes, unsigned int home)
{
	return (uint32_t)(hash >> 32 & 0xffff) * homes - (home << 16);
}

// Looks up b->view[0..b->n) and prefetches what plans will need. For a client of another shard
// (homes) it only computes the hash.
void turn_route_begin(struct turn_shard *s, struct turn_burst *b);
// Whether the client of a view has an allocation, here or, by a redirect, on another worker.
// turn_route_begin has looked up the view. The 5-tuple decides, so anyone who can send from it is
// taken for that client.
bool turn_route_knows(const struct turn_shard *s, const struct turn_view *v);
// Makes b->plan, and what it needs of b->side, for view i. Views are taken in order, and each plan
// is executed before the next is made. So the operations of one burst have the same outcome as in
// bursts of one.
void turn_route_finish(struct turn_shard *s, struct turn_burst *b, unsigned int i);

// Writes to *out the two ends of a flow that a plan of this round named.
void turn_route_path(struct turn_shard *s, uint32_t flow, struct turn_path *out);
