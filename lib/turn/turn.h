// SPDX-License-Identifier: BSD-3-Clause
// One datagram and what to do with it: views go in, plans come out (RFC 8656). lib/turn knows
// nothing of IP headers, mbufs, sockets or clocks; the data path executes the plans.
#pragma once

#include "addr.h"
#include "hash.h"
#include "turn_mark.h"

#define TURN_BURST 32
#define TURN_NONE UINT32_MAX
#define TURN_NO_WORKER 0xff

struct turn_shard;

enum turn_leg { TURN_FROM_CLIENT, TURN_FROM_PEER };

// One datagram as the shard sees it. The data path fills the first part.
struct turn_view {
	struct addr src;
	union {
		struct {
			uint16_t src_port;
			uint8_t listener; // client leg: index of the listener
			uint8_t state; // left zero; turn_route_begin's
		};
		uint32_t mark; // all three, to be compared with a line's (turn_mark.h)
	};
	uint16_t len;
	uint8_t leg; // enum turn_leg
	uint8_t flags; // the data path's
	const uint8_t *data;
	// Peer leg: what turn_relay_map_home says of the destination; of a shared address
	// turn_route_begin makes it the allocation's, or TURN_NONE. Client leg: written by
	// turn_route_begin and turn_route_finish, the allocation or redirect, or TURN_NONE.
	uint32_t slot;
	union {
		struct {
			uint8_t via; // client leg: worker of the redirect to here, TURN_NO_WORKER
			bool hairpin; // peer leg: in process from an own allocation
			uint8_t port; // the data path's
		};
		uint32_t origin; // all three
	};
	uint64_t hash; // of what is looked up: written by turn_route_begin
	uint32_t shared; // number of the shared address: likewise
	uint32_t spare; // a power of two in all
	uint64_t stream; // the data path's: connection of a client over a stream
};
_Static_assert(sizeof(struct turn_view) == 64, "one cache line");

enum turn_verdict {
	TURN_DROP, // reason says why
	TURN_REPLY, // send side->front[0..front_len) back, from the address the request came to
	TURN_RELAY, // send front + payload[off..off+len) on `flow`
	TURN_SEND, // send payload[off..off+len) from side->src to side->dst
	TURN_HANDOVER, // give the datagram to worker `flow` (a redirect)
};

#define TURN_PLAN_DF 1 // set DF where the outgoing packet is IPv4, whatever it was before

// What to do with one datagram: 16 bytes.
struct turn_plan {
	uint8_t verdict, flags;
	uint16_t reason; // enum turn_drop
	uint16_t channel; // RELAY with front_len 4: ChannelData header (channel, len) goes in front
	uint16_t front_len; // 0, 4, or the length of side->front
	uint16_t off, len; // payload kept
	uint32_t flow; // names the two ends: turn_flow_path
};
_Static_assert(sizeof(struct turn_plan) == 16, "the plan is 16 bytes");

#define TURN_SIDE_LEN 1280

// What does not fit a plan: an answer, the front of a Data indication, addresses of a single send.
struct turn_side {
	struct endpoint src, dst;
	uint8_t front[TURN_SIDE_LEN];
};

struct turn_burst {
	unsigned int n;
	uint32_t epoch; // turn_route_begin's, as are the next two: views by leg
	uint8_t of[2][TURN_BURST + 1];
	unsigned int nb[2];
	struct turn_view view[TURN_BURST];
	struct turn_plan plan; // the last one made
	struct turn_side side; // of the last plan made
	// Shards that clients are dealt over by turn_client_home; 0 = all are ours. Those of others
	// are then in elsewhere and not in of.
	unsigned int homes;
	unsigned int nb_elsewhere;
	uint8_t elsewhere[TURN_BURST + 1];
};

// Both ends of a flow: what the data path builds a header from. hop is its note on the way there,
// in the line of the allocation; NULL when there is no place for one.
struct turn_path {
	struct endpoint src, dst;
	uint32_t *hop;
};

// A client's 5-tuple, hashed: mark is that of its views, state left zero.
static inline uint64_t turn_client_hash(
	const struct hash_key *key, const struct addr *client, uint32_t mark)
{
	return hash_addr(key, client, mark);
}

// Which of a number of shards a client is dealt to by its hash: by bits that neither its first
// bucket nor its tag in the table of clients comes from. No more than these can be seen from
// outside, by the relay port that a client gets.
static inline unsigned int turn_client_home(uint64_t hash, unsigned int homes)
{
	return (unsigned int)((hash >> 32 & 0xffff) * homes >> 16);
}

// 2^16 or more when turn_client_home(hash, homes) is not home, for a test of several at a time.
static inline uint32_t turn_client_away(uint64_t hash, unsigned int homes, unsigned int home)
{
	return (uint32_t)(hash >> 32 & 0xffff) * homes - (home << 16);
}

// Looks up b->view[0..b->n) and prefetches. Of a client that is dealt to another shard only the
// hash is made.
void turn_route_begin(struct turn_shard *s, struct turn_burst *b);
// Whether the client of a view that turn_route_begin has looked up has an allocation, here or, by a
// redirect, on another worker: by its 5-tuple, so whoever can send from that is taken for it.
bool turn_route_knows(const struct turn_shard *s, const struct turn_view *v);
// Makes b->plan, and what of b->side it needs, for view i. Views are taken in order, and each plan
// is executed before the next is made: any operations in one burst then have the same outcome as
// in bursts of one.
void turn_route_finish(struct turn_shard *s, struct turn_burst *b, unsigned int i);
// Both for one datagram: view in b->view[0].
void turn_route_one(struct turn_shard *s, struct turn_burst *b);

// Ends of a flow that a plan of this round named.
void turn_flow_path(struct turn_shard *s, uint32_t flow, struct turn_path *out);
