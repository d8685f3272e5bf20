// SPDX-License-Identifier: BSD-3-Clause
// An allocation: the record that lies beside its line; how it is made, refreshed and ended (RFC
// 8656 6, 7, 8).
#pragma once

#include "auth/cred.h"
#include "limits/quota.h"
#include "relayed/relay_ports.h"
#include "relayed/reservation.h"
#include "trie.h"
#include "turn.h"
#include "turn_event.h"

// What an allocation needs beside its line (turn_line.h). made stays when the allocation ends.
// While the port rests, relay_ports uses the union. Times of 32 bits are the low half of the
// clock's milliseconds: see ms_left().
struct turn_cold {
	uint32_t made; // number of its last allocation: see alloc_number()
	uint8_t via; // worker that holds a redirect to this allocation, or TURN_NO_WORKER
	uint8_t name_len : 5;
	bool is_dual : 1; // one of the two of a dual allocation: see alloc_sibling()
	bool is_second : 1; // of those the one that the table of clients does not have
	bool rfc8489 : 1; // the Allocate had PASSWORD-ALGORITHMS
	uint8_t stale_s; // second (low 8 bits) in which stale_answers were counted
	uint8_t stale_answers : 4; // 438s sent for a stale nonce, see stranger.c
	uint8_t alg : 2; // enum stun_algorithm of the key; CRED_TOKEN: its key is in mac and name
	bool rest : 1; // the user has a REST name: mac is set
	bool has_token : 1; // a RESERVATION-TOKEN was given with it
	union {
		struct {
			uint64_t quota_user; // of its quota_ref; the client tells the source half
			uint32_t expires;
			union {
				uint32_t tid; // keyed hash of a tid: see alloc_tid()
				uint32_t sibling; // is_dual: slot of the other one
			};
			// Keyed hash of an ident: see alloc_tid(). is_second: that of the tid of
			// both; the first has the user's.
			uint32_t ident_hash;
			uint32_t permissions, channels; // roots of trees
			uint16_t nb_permissions, nb_channels;
			uint8_t mac[STUN_REST_MAC_LEN];
			char name[TURN_NAME_LEN];
		};
		struct { // ALLOC_RESERVED
			struct quota_ref quota;
			uint32_t until;
			uint32_t next; // next slot in its chain of shard.reserved
			uint8_t token[TURN_TOKEN_LEN];
		} reserved;
		struct relay_ports_rest resting;
		struct trie_links unused; // shared ports: chains the slots that nobody has
	};
};
_Static_assert(sizeof(struct turn_cold) == 80, "what an allocation costs beside its line");
_Static_assert(TURN_NAME_LEN < 1 << 5, "name_len has five bits");

// Milliseconds until a time of which only the low half is kept; 0 when it has passed. Every record
// with such a time is looked at within minutes of it, long before the 24 days after which the time
// would seem to lie ahead again.
static inline uint32_t ms_left(uint32_t until, uint64_t now_ms)
{
	const int32_t left = (int32_t)(until - (uint32_t)now_ms);

	return left > 0 ? (uint32_t)left : 0;
}

// Index of the allocation or redirect of a client, or TURN_NONE. v->hash, src and mark say which
// client. Does not look at expiry.
uint32_t alloc_lookup(const struct turn_shard *s, const struct turn_view *v);

// What alloc_make needs to make an allocation.
struct alloc_new {
	uint32_t slot; // taken by the caller
	uint32_t lifetime_ms, age_s; // age_s: it was made so long ago; 0 for a request
	uint32_t number; // 0 = alloc_number(); else that which it had
	const uint8_t *tid;
	const struct turn_cred *cred;
	struct quota_ref quota;
	bool has_token; // a RESERVATION-TOKEN was given with it
	bool is_tcp; // of TCP (RFC 6062), with the relay port of tcp_place
	uint32_t tcp_place;
	bool may_move; // its client has asked for a ticket
};

// Makes the allocation of v's client. False when the client table has no room; then nothing is
// changed, and the caller still has the slot and the quota.
bool alloc_make(struct turn_shard *s, const struct turn_view *v, const struct alloc_new *n);
// Makes the allocation expire lifetime_s seconds from now, and says so to the worker that holds a
// redirect to it.
void alloc_refresh(struct turn_shard *s, uint32_t slot, uint32_t lifetime_s);
// Ends an allocation with its permissions and channels, and tells why; gives back its quota and its
// relay port. Of a dual allocation the other one goes on, and is the client's only one.
void alloc_end(struct turn_shard *s, uint32_t slot, enum turn_end reason);
// What that costs in the budget of a walk, in which a look at an allocation costs 1.
unsigned int alloc_end_cost(const struct turn_shard *s, uint32_t slot);

// A dual allocation (RFC 8656 5, 7.2 (9)) is two allocations of one 5-tuple with relayed transport
// addresses of both families. Each has a slot with all that belongs to an allocation. The table of
// clients has the first, and each names the other (alloc_sibling). What both would know is kept
// once, in the place that the other has free for it: so an allocation that is not dual has no byte
// more (doc/decisions/0038-dual-allocations.md).

// Makes a second allocation for the client of `first`, which is live and has no sibling; n->slot is
// of the other family. n->tid and n->cred are those of the first.
void alloc_join(struct turn_shard *s, uint32_t first, const struct alloc_new *n);
// Ends an allocation, and its sibling with it.
void alloc_end_client(struct turn_shard *s, uint32_t slot, enum turn_end reason);
// Ends what has expired of a client's allocations. Returns the one that the table of clients has
// then, or TURN_NONE.
uint32_t alloc_sweep(struct turn_shard *s, uint32_t slot);
// Makes this one of a dual allocation the one that the table of clients has: what the client sends
// finds its line.
void alloc_put_first(struct turn_shard *s, uint32_t slot);

// Takes a client's allocations out of the table of clients, so that no 5-tuple finds them, and ends
// the redirect that leads there. Nothing happens if they are not in it.
void alloc_unlist(struct turn_shard *s, uint32_t slot);
// Gives a client's allocations another 5-tuple, that of v, which has come by v->via and has just
// left the table of clients: so there is room for it.
void alloc_move(struct turn_shard *s, uint32_t slot, const struct turn_view *v);

// Sees to it that the timer of a slot fires no later than at_ms.
void alloc_timer(struct turn_shard *s, uint32_t slot, uint64_t at_ms);
// What an allocation keeps of a transaction id and of an ident: 32 bits of a keyed hash. Both are
// only compared with what the same 5-tuple sends, signed with valid credentials. One comparison in
// 2^32 matches wrongly: a user of this server on that very 5-tuple is then taken for the user who
// made the allocation. Nobody can work towards such a match without the hash's key.
uint32_t alloc_tid(const struct turn_shard *s, const uint8_t tid[STUN_TID_LEN]);
uint32_t alloc_who(const struct turn_shard *s, const uint8_t ident[TURN_IDENT_LEN]);
// Copies to *out the REST credentials that made the allocation, or the key of its access token, as
// far as cred_verify needs them. False when neither made it, or those of another ident did.
bool alloc_cred(const struct turn_shard *s, uint32_t slot, const uint8_t ident[TURN_IDENT_LEN],
	struct turn_cred *out);
// Whether an access token has made the allocation.
bool alloc_by_token(const struct turn_shard *s, uint32_t slot);
// Whether credentials are of the user and the realm that have made an allocation. On its 5-tuple
// any access token that is good is as good as its own: keys have to change while sessions live.
bool alloc_is_of(
	const struct turn_shard *s, uint32_t slot, const struct turn_cred *cred, uint8_t realm);
// The same from another 5-tuple: of access tokens only the one that the allocation has.
bool alloc_is_of_far(
	const struct turn_shard *s, uint32_t slot, const struct turn_cred *cred, uint8_t realm);
// What alloc_who says of the user of the client of an allocation.
uint32_t alloc_client_who(const struct turn_shard *s, uint32_t slot);
// Makes an access token the one that an allocation, and its sibling, has from now on. It was made
// by one, and goes on counting for that.
void alloc_rekey(struct turn_shard *s, uint32_t slot, const struct turn_cred *cred);
// The number that the next allocation of a slot gets: one more than the last, or than all that
// processes before have given, where they have left a state area.
uint32_t alloc_number(const struct turn_shard *s, uint32_t slot);
// Names an allocation: its worker, slot and number. Unique for the life of the process, and over
// restarts by a state area: until a slot has had 2^20 allocations in one process, or the area 2^12
// processes.
uint64_t alloc_id(const struct turn_shard *s, uint32_t slot);

// The worker and slot of an id.
static inline uint8_t alloc_id_worker(uint64_t id)
{
	return (uint8_t)(id >> 58);
}

static inline uint32_t alloc_id_slot(uint64_t id)
{
	return (uint32_t)(id >> 32) & ((UINT32_C(1) << 26) - 1);
}

// Adds the client of v with this index to the client table and starts the index's line anew. False
// when the table has no room.
bool alloc_client_insert(struct turn_shard *s, const struct turn_view *v, uint32_t index);
// The client that an allocation or redirect belongs to, with the fields that tables and notes need.
struct turn_view alloc_client_view(const struct turn_shard *s, uint32_t index);
