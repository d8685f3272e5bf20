// SPDX-License-Identifier: BSD-3-Clause
// The cold record of an allocation, in addition to its line, and the functions that make, refresh
// and end allocations (RFC 8656 6, 7, 8).
#pragma once

#include "auth/cred.h"
#include "limits/quota.h"
#include "relayed/relay_ports.h"
#include "turn.h"
#include "turn_event.h"
#include "turn_features.h"

// Data of an allocation that is not in its line (turn_line.h). `made` keeps its value when the
// allocation ends. While the relay port rests, relay_ports uses the union. 32-bit times are the low
// half of the clock's milliseconds: see ms_left().
struct turn_cold {
	uint32_t made; // number of the slot's last allocation: see alloc_number()
	uint8_t via; // worker that holds a redirect to this allocation, or TURN_NO_WORKER
	uint8_t name_len : 5;
	bool is_dual : 1; // half of a dual allocation: see alloc_sibling()
	bool is_second : 1; // the half that is not in the table of clients
	bool rfc8489 : 1; // the Allocate had PASSWORD-ALGORITHMS
	uint8_t stale_s; // second (low 8 bits) to which stale_answers belongs
	uint8_t stale_answers : 4; // 438s sent for a stale nonce, see stranger.c
	// Enum stun_algorithm of the key; CRED_KEY: mac holds it; CRED_TOKEN: mac and name do.
	uint8_t alg : 2;
	bool rest : 1; // the user has a REST name: mac is valid
	bool has_token : 1; // its answer carried a RESERVATION-TOKEN
	union { // by the kind of slot; the line tells if it is an allocation
		struct { // an allocation
			// User half of its quota_ref; the source half follows from the client.
			uint64_t quota_user;
			uint32_t expires;
			union {
				// if not is_dual: keyed hash of a transaction ID, see alloc_tid()
				uint32_t tid;
				uint32_t sibling; // if is_dual: slot of the sibling
			};
			// Keyed hash of an ident: see alloc_tid(). If is_second, it is the hash of
			// the transaction ID of both; the first half holds that of the user.
			uint32_t ident_hash;
			uint32_t permissions, channels; // roots of trees
			uint16_t nb_permissions, nb_channels;
			uint8_t mac[STUN_REST_MAC_LEN];
			char name[TURN_NAME_LEN];
		};
#define X(state, type, field, due) type field;
		TURN_SLOTS(X)
#undef X
		struct relay_ports_rest resting; // a relay port that rests
	};
};
_Static_assert(sizeof(struct turn_cold) == 80, "memory of an allocation besides its line");
_Static_assert(TURN_NAME_LEN < 1 << 5, "name_len has five bits");

// Milliseconds until a time of which only the low half is kept; 0 if it has passed. Every record
// with such a time is checked within minutes of it, long before the 24 days after which the time
// would seem to be in the future again.
static inline uint32_t ms_left(uint32_t until, uint64_t now_ms)
{
	const int32_t left = (int32_t)(until - (uint32_t)now_ms);

	return left > 0 ? (uint32_t)left : 0;
}

// The enum turn_transport of the listener of an allocation's client.
uint8_t alloc_transport(const struct turn_shard *s, uint32_t slot);
// Index of the allocation or redirect of a client, or TURN_NONE. v->hash, src and mark identify the
// client. Expiry is not checked.
uint32_t alloc_lookup(const struct turn_shard *s, const struct turn_view *v);

// Arguments of alloc_make().
struct alloc_new {
	uint32_t slot; // allocated by the caller
	uint32_t lifetime_ms, age_s; // age_s: how long ago it was made; 0 for a request
	uint32_t number; // 0 = alloc_number(); else its old number
	const uint8_t *tid;
	const struct turn_cred *cred;
	struct quota_ref quota;
	uint8_t kind; // 0 = relays datagrams; else the state of its line (lib/features/meson.build)
	uint32_t port_index; // of an allocation of such a kind: its relay port, for the feature
};

// Makes the allocation of v's client. False if the client table is full; nothing has then changed,
// and the caller still owns slot and quota.
bool alloc_make(struct turn_shard *s, const struct turn_view *v, const struct alloc_new *n);
// Sets the expiry lifetime_s seconds from now, and notifies the worker that holds a redirect to the
// allocation.
void alloc_refresh(struct turn_shard *s, uint32_t slot, uint32_t lifetime_s);
// Ends an allocation with its permissions and channels, and reports the reason in an event;
// releases its quota and relay port. The other half of a dual allocation lives on as the client's
// only allocation.
void alloc_end(struct turn_shard *s, uint32_t slot, enum turn_end reason);
// Cost of alloc_end() in the budget of a walk, where looking at an allocation costs 1.
unsigned int alloc_end_cost(const struct turn_shard *s, uint32_t slot);

// A dual allocation (RFC 8656 5, 7.2 (9)) is two allocations of one 5-tuple with relayed transport
// addresses of both families. Each has a slot and everything else that an allocation has. The table
// of clients has the first, and each refers to the other (alloc_sibling). Data that both need is
// stored once, in a field that the other half does not use: an ordinary allocation takes no extra
// memory (doc/decisions/0038-dual-allocations.md).

// Makes a second allocation for the client of `first`, which is live and has no sibling; n->slot
// has a relay address of the other family. n->tid and n->cred are those of the first.
void alloc_join(struct turn_shard *s, uint32_t first, const struct alloc_new *n);
// Ends an allocation and its sibling.
void alloc_end_client(struct turn_shard *s, uint32_t slot, enum turn_end reason);
// Ends those of a client's allocations that have expired. Returns the one that is in the table of
// clients afterwards, or TURN_NONE.
uint32_t alloc_sweep(struct turn_shard *s, uint32_t slot);
// Puts this half of a dual allocation into the table of clients, so that the client's datagrams
// find its line.
void alloc_put_first(struct turn_shard *s, uint32_t slot);

// Removes a client's allocations from the table of clients, so that no 5-tuple finds them, and ends
// the redirect that leads there. Does nothing if they are not in the table.
void alloc_unlist(struct turn_shard *s, uint32_t slot);
// Moves a client's allocations to another 5-tuple, that of v, which came by v->via and has just
// been removed from the table of clients: so there is room for it.
void alloc_move(struct turn_shard *s, uint32_t slot, const struct turn_view *v);

// The reference under which an allocation is counted in the quota.
struct quota_ref alloc_quota(const struct turn_shard *s, uint32_t slot);
// Makes the timer of a slot fire at at_ms or earlier.
void alloc_timer(struct turn_shard *s, uint32_t slot, uint64_t at_ms);
// An allocation keeps 32 bits of a keyed hash of a transaction ID and of an ident. Both are only
// compared with those of requests from the same 5-tuple that are signed with valid credentials. One
// comparison in 2^32 matches wrongly: another user of this server on that very 5-tuple then passes
// for the user who made the allocation. Without the hash's key nobody can search for such a match.
uint32_t alloc_tid(const struct turn_shard *s, const uint8_t tid[STUN_TID_LEN]);
uint32_t alloc_who(const struct turn_shard *s, const uint8_t ident[TURN_IDENT_LEN]);
// Copies to *out what the allocation stores of its credentials (turn_cred.mac), as far as
// cred_verify needs them. False if it was made by other credentials or by another ident.
bool alloc_cred(const struct turn_shard *s, uint32_t slot, const uint8_t ident[TURN_IDENT_LEN],
	struct turn_cred *out);
// True if it stores REST credentials, or a key (CRED_KEY).
bool alloc_has_key(const struct turn_shard *s, uint32_t slot);
// True if an access token made the allocation.
bool alloc_by_token(const struct turn_shard *s, uint32_t slot);
// True if the credentials belong to the user and the realm that made an allocation. On its 5-tuple
// every valid access token counts as its own: keys must be able to change while sessions live.
bool alloc_is_of(
	const struct turn_shard *s, uint32_t slot, const struct turn_cred *cred, uint8_t realm);
// Like alloc_is_of(), for another 5-tuple: the only valid access token is that of the allocation.
bool alloc_is_of_far(
	const struct turn_shard *s, uint32_t slot, const struct turn_cred *cred, uint8_t realm);
// alloc_who() of the user who owns the client's allocations.
uint32_t alloc_client_who(const struct turn_shard *s, uint32_t slot);
// The number that the next allocation of a slot gets: one more than the last one, also after a
// restart with a state area.
uint32_t alloc_number(const struct turn_shard *s, uint32_t slot);
// Identifies an allocation by worker, slot and number. Unique for the life of the process, and with
// a state area over restarts: until a slot has had 2^20 allocations in one process, or 2^12
// processes have used the area.
uint64_t alloc_id(const struct turn_shard *s, uint32_t slot);

// The worker and the slot in an ID.
static inline uint8_t alloc_id_worker(uint64_t id)
{
	return (uint8_t)(id >> 58);
}

static inline uint32_t alloc_id_slot(uint64_t id)
{
	return (uint32_t)(id >> 32) & ((UINT32_C(1) << 26) - 1);
}

// Adds the client of v with this index to the client table and resets the index's line. False if
// the table is full.
bool alloc_client_insert(struct turn_shard *s, const struct turn_view *v, uint32_t index);
// The client of an allocation or redirect, with the view's fields that tables and notes need.
struct turn_view alloc_client_view(const struct turn_shard *s, uint32_t index);
