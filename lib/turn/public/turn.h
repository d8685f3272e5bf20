// SPDX-License-Identifier: BSD-3-Clause
// Datagrams and what to do with them: views go in, plans come out (RFC 8656). lib/turn knows
// nothing of IP headers, mbufs, sockets or clocks; the data path executes the plans. The functions
// are those of route.c.
#pragma once

#include "addr.h"
#include "turn_config_features.h"
#include "hash.h"
#include "turn_mark.h"
#include "turn_config_features.h"

#define TURN_BURST 32
#define TURN_NONE UINT32_MAX
#define TURN_NO_WORKER 0xff
#define TURN_HASHED UINT32_MAX

struct turn_shard;

enum turn_leg { TURN_FROM_CLIENT, TURN_FROM_PEER };

// Origin of a peer's datagram that did not come from the network: it came in, or a client's
// datagram goes out, inside this machine.
enum turn_inside {
	TURN_INSIDE_NO,
	TURN_INSIDE_RELAYED, // within the process, from an allocation of this server
	TURN_INSIDE_PROGRAM, // over loopback, from a local program with one of our addresses
};

struct turn_view {
	struct addr src;
	union {
		struct {
			uint16_t src_port;
			union {
				struct {
					uint8_t listener; // client leg: index of the listener
					// The data path sets it to 0, turn_route_begin to the
					// line's state.
					uint8_t state;
				};
				// Peer leg: index of the local address that it came to, as in a
				// line's mark. Not used between allocations.
				uint16_t source;
			};
		};
		uint32_t mark; // all three in one word, compared with a line's mark (turn_mark.h)
	};
	uint16_t len;
	uint8_t leg; // enum turn_leg
	uint8_t flags; // the data path's, and TURN_VIEW_WAITED
	const uint8_t *data;
	// Peer leg: the data path writes the result of turn_relay_map_home for the destination. If
	// that is a shared address, turn_route_begin replaces its number by the allocation's slot,
	// or TURN_NONE. Client leg: turn_route_begin and turn_route_finish write the index of the
	// allocation or redirect, or TURN_NONE.
	union {
		struct {
			uint32_t slot;
			uint8_t via; // client leg: worker whose redirect led here, TURN_NO_WORKER
			uint8_t inside; // peer leg: enum turn_inside
			uint8_t port; // the data path's
			// Client leg: 1 + the worker that should have made an allocation, had no
			// relay port left and returned the request to its home; 0 = no such worker.
			uint8_t tried;
		};
		uint64_t lookup; // all five in one word
	};
	uint64_t hash; // hash of the lookup key; turn_route_begin writes it
#define X(type, field) type field;
	TURN_CONFIG_VIEW(X)
#undef X
	// For the data path: DSCP of a stream's connection, as in the TOS byte. Only for messages
	// over a stream.
	uint8_t tos;
	uint8_t spare[3]; // unused: makes the size a power of two
	uint64_t stream; // for the data path: connection of a client over a stream
};
_Static_assert(sizeof(struct turn_view) == 64, "one cache line");

// The datagram has waited for an answer (TURN_WAIT), and is now routed again.
#define TURN_VIEW_WAITED 128

// True if another worker has returned this client's datagram to its home.
static inline bool turn_view_is_back(const struct turn_view *v)
{
	return v->tried != 0 && v->via == v->tried - 1;
}

enum turn_verdict {
	TURN_DROP, // for the reason in `reason`
	TURN_REPLY, // send side->front[0..front_len) back, from the address the request came to
	TURN_RELAY, // send front + payload[off..off+len) on `flow`
	TURN_SEND, // send payload[off..off+len) from side->src to side->dst
	TURN_WAIT, // keep the datagram until the question `flow` is answered (turn_lookup.h)
	TURN_HANDOVER, // give the datagram to worker `flow` (of a redirect, or the client's home)
};

#define TURN_PLAN_DF 1 // set DF if the outgoing packet is IPv4, whatever it was before
// REPLY over UDP: from listener `flow` and to port `channel` of the client, not along the path of
// the request (RFC 5780).
#define TURN_PLAN_ASIDE 2
// REPLY over a stream: carry out side->order (turn_order.h) first; its outcome selects one of the
// answers in side->front (RFC 6062).
#define TURN_PLAN_ORDER 4

// The action for one datagram, in 16 bytes.
struct turn_plan {
	uint8_t verdict, flags;
	uint16_t reason; // enum turn_drop
	// RELAY with front_len 4: number in the ChannelData header that precedes the data.
	uint16_t channel;
	uint16_t front_len; // 0, 4, or the length of side->front
	uint16_t off, len; // the part of the datagram that is sent
	uint32_t flow; // identifies the two ends: turn_route_path
};
_Static_assert(sizeof(struct turn_plan) == 16, "the plan is 16 bytes");

#define TURN_SIDE_LEN 1664 // the longest is an answer with PADDING (RFC 5780)

// Data that does not fit a plan: an answer, the front of a Data indication, the addresses of
// TURN_SEND, and what features add.
struct turn_side {
	struct endpoint src, dst;
	uint8_t front[TURN_SIDE_LEN];
#define X(type, field) type field;
	TURN_CONFIG_SIDE(X)
#undef X
};

struct turn_burst {
	unsigned int n;
	uint32_t epoch; // these three are lib/turn's: it lists the views by leg
	uint8_t by_leg[2][TURN_BURST + 1];
	unsigned int nb[2];
	struct turn_view view[TURN_BURST];
	struct turn_plan plan; // the plan that was made last
	struct turn_side side; // data of that plan
	// Number of shards over which turn_client_home distributes clients; 0 = all clients belong
	// to this shard; TURN_HASHED = they do, and their views have their hashes. Views of clients
	// of other shards are listed in elsewhere and not in by_leg.
	unsigned int homes;
	unsigned int nb_elsewhere;
	uint8_t elsewhere[TURN_BURST + 1];
};

// Both ends of a flow, from which the data path builds a header. hop points to the field of the
// allocation's line where the data path notes the next hop to dst; NULL if there is no such field.
struct turn_path {
	struct endpoint src, dst;
	uint32_t *hop;
};

// Hash of a client's 5-tuple. mark is that of the client's views with state 0.
static inline uint64_t turn_client_hash(
	const struct hash_key *key, const struct addr *client, uint32_t mark)
{
	return hash_addr(key, client, mark);
}

// The shard, out of `homes` shards, to which a client with this hash belongs. The bits used here
// select neither the client's first bucket nor its tag in the table of clients. The relay port that
// a client gets reveals no more than these bits.
static inline unsigned int turn_client_home(uint64_t hash, unsigned int homes)
{
	return (unsigned int)((hash >> 32 & 0xffff) * homes >> 16);
}

// 2^16 or more if turn_client_home(hash, homes) is not home. The results of several clients can be
// ORed and tested at once.
static inline uint32_t turn_client_away(uint64_t hash, unsigned int homes, unsigned int home)
{
	return (uint32_t)(hash >> 32 & 0xffff) * homes - (home << 16);
}

// Looks up b->view[0..b->n) and prefetches the memory that plans will need. For a client of another
// shard (homes) it only computes the hash.
void turn_route_begin(struct turn_shard *s, struct turn_burst *b);
// True if the client of a view has an allocation, here or, by a redirect, on another worker.
// turn_route_begin has looked up the view. Only the 5-tuple is checked, so anyone who can send from
// it passes for that client.
bool turn_route_knows(const struct turn_shard *s, const struct turn_view *v);
// Makes b->plan, and the parts of b->side that it needs, for view i. The caller takes the views in
// order, and executes each plan before it asks for the next one. So the result is the same as with
// bursts of one.
void turn_route_finish(struct turn_shard *s, struct turn_burst *b, unsigned int i);

// Writes to *out the two ends of a flow of a plan made in this round.
void turn_route_path(struct turn_shard *s, uint32_t flow, struct turn_path *out);
