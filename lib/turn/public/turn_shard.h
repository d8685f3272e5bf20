// SPDX-License-Identifier: BSD-3-Clause
// All TURN state of one worker: creation and end, its clock, expiry, statistics and listing. Only
// the worker's own lcore may call these functions, unless a comment says otherwise. They are
// grouped by file.
#pragma once

#include "feature_names.h"
#include "turn.h"
#include "turn_config.h"
#include "turn_counters.h"
#include "turn_drop.h"
#include "turn_event.h"
#include "turn_refusal.h"
#include "turn_usage.h"

struct csprng;
struct stun_crypto;
struct turn_line;
struct turn_policy;
struct turn_quota;
struct turn_relay_map;
struct turn_state;
struct turn_tids;

// Which new allocations a shard refuses, whatever the client asks for. Zero: it makes them.
struct turn_intake {
	bool drains; // all: 508
#define X(type, field, free) type *field;
	TURN_CONFIG_INTAKE(X)
#undef X
};

// --- shard.c -------------------------------------------------------------------------------------

struct turn_shard_params {
	const struct turn_policy *policy;
	const struct turn_config *config; // sizes and listeners; only turn_shard_create reads it
	const struct turn_relay_map *map;
	struct turn_quota *quota;
#define X(type, field) type field;
	TURN_CONFIG_SHARD_PARAMS(X)
#undef X
	struct stun_crypto *crypto; // of this worker
	struct csprng *rng; // of this worker
	uint8_t worker;
	// Key of the hash of clients, equal for all shards over which they are distributed. NULL: a
	// random one.
	const struct hash_key *client_key;
	// Capacity for allocations that requests make on other workers; 0 = 1024.
	uint32_t redirects;
	// Where the shard writes the records that survive the process (turn_state.h), or NULL.
	struct turn_state *state;
	// Called for a line that is new or has got a copy, changed or not, and will soon be used;
	// or NULL.
	void (*line_made)(void *ctx, uint32_t slot);
	// Called when the client of an allocation has moved to another 5-tuple; stream is that of
	// the client's views; or NULL.
	void (*moved)(void *ctx, uint32_t slot, uint64_t stream);
	// Called for each event, which is valid during the call only; or NULL.
	void (*event)(void *ctx, const struct turn_event *e);
	void *ctx;
};

struct turn_stats {
	TURN_ALLOCATION_COUNTERS(COUNTER_FIELD)
	TURN_CLIENT_COUNTERS(COUNTER_FIELD)
	TURN_RELAY_COUNTERS(COUNTER_FIELD, COUNTER_NO_FIELD)
	uint64_t ports[2],
		ports_free[2]; // relay ports, by [is_v4]; resting ones count as free; 0: shared
	uint64_t over[TURN_OVER_DTLS + 1]; // live allocations, by enum turn_transport
	// Requests, including retransmissions; by enum turn_refusal.
	uint64_t refused[TURN_REFUSAL_END];
	struct turn_sums sums; // of the first realm, and a part of those of others (dp_realms.h)
};

// turn_shard_pools: sizes of the pools of a worker. TURN_RECORD_BYTES is the memory of a
// permission, TURN_CHANNEL_BYTES that of a channel: one byte more, for the form in which its client
// wrote the peer (ports[].addresses[].external, relay.pools).
#define TURN_RECORD_BYTES 32
#define TURN_CHANNEL_BYTES (TURN_RECORD_BYTES + 1)
struct turn_pools turn_shard_pools(const struct turn_shard_params *p);
// Bytes of memory (64-byte aligned, zeroed) of a shard; turn_shard_create makes the shard in it.
// The memory belongs to the caller and outlives the shard.
size_t turn_shard_size(const struct turn_shard_params *p);
struct turn_shard *turn_shard_create(void *mem, const struct turn_shard_params *p, uint64_t now_ms);
// Looks up a view's client again: the slot of its live allocation, with its remaining milliseconds
// in *left_ms; else TURN_NONE. For a dual allocation, returns a live half and the time of the half
// that lives longer.
uint32_t turn_shard_client(
	const struct turn_shard *s, const struct turn_view *v, uint32_t *left_ms);
// Remaining milliseconds of the allocation to which the client of a view is about to move; 0 if
// there is no such move.
uint32_t turn_shard_path(const struct turn_shard *s, const struct turn_view *v);
// The connection or session v->stream of a view's client has ended. slot: the client's allocation,
// as returned by turn_shard_client, if it uses that connection; else TURN_NONE. An allocation that
// may move (relay.mobility) outlives it for a while, any other ends. Call turn_redirect_notes
// afterwards.
void turn_shard_lost(struct turn_shard *s, const struct turn_view *v, uint32_t slot);
// Slot of the other half of a dual allocation; TURN_NONE if the live allocation of a slot is not
// dual.
uint32_t turn_shard_sibling(const struct turn_shard *s, uint32_t slot);
// Ends every allocation and reservation, releases their quota and reports it in events. The caller
// frees the memory.
void turn_shard_close(struct turn_shard *s);
// Checks all state of a shard, for models and fuzz tests. Does nothing in builds without ASSERT
// (lib/base/invariant.h).
#ifdef SLIPRING_ASSERTS
void turn_shard_check(struct turn_shard *s);
#else
static inline void turn_shard_check(struct turn_shard *s)
{
}
#endif
// True if datagrams between an allocation and one of our addresses may stay inside this machine: to
// and from relay ports, or local programs.
bool turn_shard_inside(
	const struct turn_shard *s, uint32_t slot, const struct addr *local, enum turn_inside kind);
// The lines of all slots; the pointer is valid as long as the shard.
struct turn_line *turn_shard_lines(struct turn_shard *s);
// True if a live allocation has moved, as far as is known after a restart. The TTL of datagrams to
// its client falls by more than one, and no line vouches for them.
#ifdef FEATURE_MOBILITY
bool turn_has_roamed(const struct turn_shard *s, uint32_t slot);
#else
static inline bool turn_has_roamed(const struct turn_shard *s, uint32_t slot)
{
	return false;
}
#endif
// The generator of transaction IDs for its Data indications; valid as long as the shard.
struct turn_tids *turn_shard_tids(struct turn_shard *s);

// Opens a round: sets the clocks and makes the records that earlier rounds freed reusable. now_ms
// is monotonic; wall_s is the time of day, for REST expiry and nonces.
void turn_shard_round(struct turn_shard *s, uint64_t now_ms, uint64_t wall_s);
// Ends expired records; true if more are due. A call does bounded work: about 64 allocations,
// permissions and channels, or one allocation with all its permissions and channels.
bool turn_shard_expire(struct turn_shard *s);
// The time until which turn_shard_expire has nothing to do, as far as is known now; UINT64_MAX:
// nothing expires.
uint64_t turn_shard_next_ms(const struct turn_shard *s);
// TURN_OK if clients at this address are served, or the reason why they are not: policy or blocks.
enum turn_drop turn_shard_refuses(const struct turn_shard *s, const struct addr *client);
// Makes the shard use another policy, which must live until it is replaced.
void turn_shard_set_policy(struct turn_shard *s, const struct turn_policy *p);
// Adopts the addresses of the listeners of *c, which otherwise equals the shard's configuration.
void turn_shard_move(struct turn_shard *s, const struct turn_config *c);
// Makes the shard refuse new allocations as i says. Objects that i points to must live until it is
// called again.
void turn_shard_set_intake(struct turn_shard *s, const struct turn_intake *i);

// Reports a connection or session without an allocation that the worker has refused: an event
// TURN_EVENT_CONNECTION, folded by source and reason as refused requests are. refusal is below
// TURN_CONNECTION_REASONS; proved: the client has proved that it owns its address.
void turn_shard_refused(struct turn_shard *s, const struct endpoint *client, uint8_t listener,
	unsigned int refusal, bool proved);
// Copies the statistics to *out.
void turn_shard_stats(const struct turn_shard *s, struct turn_stats *out);

// --- listing.c: see also turn_listing.h ----------------------------------------------------------

// One row of a listing.
struct turn_info {
	uint64_t id; // unique in the life of the process
	uint64_t sibling; // ID of the other half of a dual allocation; 0 = not dual
	struct endpoint client, relay;
	struct endpoint told; // relay as the client was told it: with the external address
	char user[TURN_NAME_LEN + 1];
	uint32_t expires_s; // from now
	struct turn_usage usage;
	uint32_t permissions, channels;
	uint64_t quota_user; // equal for all allocations of a user, as quota counts
	uint32_t age_s; // since it was made
	uint8_t listener, transport; // of its client: listener, and enum turn_transport
	bool rest; // user is a REST name
	bool is_tcp; // peers are reached over TCP (RFC 6062)
	uint32_t connections; // connections to peers if is_tcp
	uint8_t realm; // number of the user's realm
};

// --- redirect.c ----------------------------------------------------------------------------------

// A note from a worker to the worker that holds a redirect to one of its allocations: a redirect
// lives as long as the allocation it leads to.
struct turn_redirect_note {
	struct endpoint client;
	uint8_t listener;
	uint8_t alloc_worker; // the worker that has the allocation
	uint8_t redirect_worker; // the worker that has the redirect, to which the note goes
	uint64_t until_ms; // 0 = the allocation has ended
	uint64_t user; // of the allocation: the user half of a quota_ref
};

// True if notes are waiting.
bool turn_redirect_noted(const struct turn_shard *s);
// Moves up to max waiting notes to out and returns their number. Call it after each burst and each
// turn_shard_expire.
unsigned int turn_redirect_notes(
	struct turn_shard *s, struct turn_redirect_note *out, unsigned int max);
// Applies a note that came from another worker. Notes of one worker are applied in order. A note
// about an allocation to which the redirect does not lead changes nothing; a note about a live
// allocation that has no redirect any more makes it again: requests, notes and timers may cross.
void turn_redirect_apply(struct turn_shard *s, const struct turn_redirect_note *note);
// Worker to which the client of a view is redirected; TURN_NO_WORKER if it is not.
uint8_t turn_redirect_to(const struct turn_shard *s, const struct turn_view *v);
