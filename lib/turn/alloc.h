// SPDX-License-Identifier: BSD-3-Clause
// An allocation: the record beside its line, making, refreshing and ending it (RFC 8656 6, 7, 8).
#pragma once

#include "auth/cred.h"
#include "limits/quota.h"
#include "relayed/relay_ports.h"
#include "relayed/reservation.h"
#include "trie.h"
#include "turn.h"

// The rest of an allocation. made outlives it. Once the port rests, the union is the ports'.
// Times of 32 bits are the low half of the clock's milliseconds: see ms_left().
struct turn_cold {
	uint32_t made; // allocations that the slot has had
	uint8_t via; // worker that holds a redirect to it, or TURN_NO_WORKER
	uint8_t name_len;
	uint8_t stale_s; // second of the clock (its low 8 bits) in which these were counted:
	uint8_t stale_answers : 4; // 438s to a stale nonce, see stranger.c
	uint8_t alg : 2; // of the key, enum stun_algorithm
	bool rest : 1; // a REST name: mac is set
	bool has_token : 1; // one was given with it
	union {
		struct {
			uint64_t quota_user; // of its quota_ref; the source is the client's
			uint32_t expires;
			uint32_t tid, who; // keyed hashes of tid and ident: see alloc_tid()
			uint32_t permissions, channels; // roots of trees
			uint16_t nb_permissions, nb_channels;
			uint32_t rx_spills, tx_spills; // of the hot line's counters
			uint8_t mac[STUN_REST_MAC_LEN];
			char name[TURN_NAME_LEN];
		};
		struct { // ALLOC_RESERVED
			struct quota_ref quota;
			uint32_t until;
			uint32_t next; // in its chain of shard.reserved
			uint8_t token[TURN_TOKEN_LEN];
		} reserved;
		struct relay_ports_rest resting;
		struct trie_links unused; // of a slot that is no address, when nobody has it
	};
};
_Static_assert(sizeof(struct turn_cold) == 88, "what an allocation costs beside its line");

// Milliseconds until a time of which the low half is kept; 0 when it has passed. Everything that
// has such a time is looked at within minutes of it, long before the 24 days after which it would
// seem to lie ahead again.
static inline uint32_t ms_left(uint32_t until, uint64_t now_ms)
{
	const int32_t left = (int32_t)(until - (uint32_t)now_ms);

	return left > 0 ? (uint32_t)left : 0;
}

// Slot or redirect of a client, or TURN_NONE. Does not look at expiry.
uint32_t alloc_lookup(const struct turn_shard *s, const struct turn_view *v);

// What makes an allocation.
struct alloc_new {
	uint32_t slot; // taken by the caller
	uint32_t lifetime_s;
	const uint8_t *tid;
	const struct turn_cred *cred;
	struct quota_ref quota;
	bool has_token; // one was given with it
};

// Makes the allocation of v's client. False when the client table has no room (nothing is changed).
bool alloc_make(struct turn_shard *s, const struct turn_view *v, const struct alloc_new *n);
// Sets a new expiry.
void alloc_refresh(struct turn_shard *s, uint32_t slot, uint32_t lifetime_s);
// Ends an allocation with all that hangs on it.
void alloc_end(struct turn_shard *s, uint32_t slot);

// The timer of a slot fires no later than at_ms.
void alloc_timer(struct turn_shard *s, uint32_t slot, uint64_t at_ms);
// What is kept of a transaction id and of an ident: 32 bits of a keyed hash. Both are only compared
// with what the same 5-tuple sends, signed with valid credentials: a wrong match, one in 2^32,
// takes a user of this server who sits on that very 5-tuple for the one who made the allocation
// there, and nobody can work towards one without the hash's key.
uint32_t alloc_tid(const struct turn_shard *s, const uint8_t tid[STUN_TID_LEN]);
uint32_t alloc_who(const struct turn_shard *s, const uint8_t ident[TURN_IDENT_LEN]);
// The REST credentials that made the allocation, as far as cred_verify asks for them. False when it
// was not made with any, or not by the ident given.
bool alloc_cred(const struct turn_shard *s, uint32_t slot, const uint8_t ident[TURN_IDENT_LEN],
	struct turn_cred *out);
// Number of an allocation, unique in the life of the process.
uint64_t alloc_id(const struct turn_shard *s, uint32_t slot);

// Adds an index to the client table and makes its hot line anew; false when there is no room.
bool alloc_client_insert(struct turn_shard *s, const struct turn_view *v, uint32_t index);
// The client an allocation or redirect belongs to, as far as tables and notes need it.
struct turn_view alloc_client_view(const struct turn_shard *s, uint32_t index);
