// SPDX-License-Identifier: BSD-3-Clause
// All TURN state of one worker: making and ending it, its clock, expiry, statistics and listing.
// Only the worker's own lcore may call these functions, unless a comment says otherwise. They are
// grouped by file.
#pragma once

#include "turn.h"
#include "turn_config.h"
#include "turn_event.h"
#include "turn_refusal.h"
#include "turn_usage.h"

struct csprng;
struct stun_crypto;
struct turn_line;
struct turn_alternates;
struct turn_policy;
struct turn_quota;
struct turn_relay_map;
struct turn_state;
struct turn_tallies;
struct turn_tids;

// --- shard.c -------------------------------------------------------------------------------------

struct turn_shard_params {
	const struct turn_policy *policy;
	const struct turn_config *config; // sizes and listeners; only turn_shard_create reads it
	const struct turn_relay_map *map;
	struct turn_quota *quota;
	struct turn_tallies *tallies; // NULL: there is one realm, and no reload brings another
	struct stun_crypto *crypto; // of this worker
	struct csprng *rng; // of this worker
	uint8_t worker;
	// Key that clients are hashed with, the same for all shards that they are dealt over. NULL:
	// a random one.
	const struct hash_key *client_key;
	uint32_t redirects; // to allocations of other workers that requests make; 0 = 1024
	// Where the shard writes what is to survive the process (turn_state.h). NULL = nothing is.
	struct turn_state *state;
	// Called for a line that is new, or has another copy (or the same again), and will soon be
	// used. NULL = nobody wants to know.
	void (*line_made)(void *ctx, uint32_t slot);
	// Called when the client of an allocation has moved to another 5-tuple; stream is what the
	// views of it have. NULL = nobody wants to know.
	void (*moved)(void *ctx, uint32_t slot, uint64_t stream);
	// Called for each event, which is the shard's again afterwards. NULL = nobody wants to
	// know.
	void (*event)(void *ctx, const struct turn_event *e);
	void *ctx;
};

struct turn_stats {
	uint64_t allocations, permissions, channels, redirects; // live
	uint64_t endpoints; // registered on shared addresses
	uint64_t ports[2],
		ports_free[2]; // for relaying, by [is_v4]; resting ones are free; 0: shared
	uint64_t allocations_total, port_reused_early;
	// Attempts whose credentials were wrong. A request that comes again, on the same 5-tuple
	// with the same transaction id, is the same attempt.
	uint64_t auth_failures;
	// Allocates that have asked for both families and were given one: there is no relay address
	// of the other, or no room for it.
	uint64_t half_family, half_capacity;
	// Clients that have moved, moves that no client has completed, and allocations that have
	// outlived their client's connection (relay.mobility).
	uint64_t moves, moves_lapsed, outlived;
	uint64_t pool_refused; // permissions, channels, peers, moves refused: no room
	uint64_t refused[TURN_REFUSAL_END]; // requests, repeated ones too; by enum turn_refusal
	struct turn_sums sums; // of the first realm; those of others are in turn_tallies.h
};

// turn_shard_pools: the sizes that the pools of a worker will have. TURN_RECORD_BYTES is what a
// permission takes, TURN_CHANNEL_BYTES a channel: one more, for the form in which its client names
// the peer (ports[].addresses[].external, relay.pools). TURN_PEER_BYTES is what a peer on a shared
// address takes, with its places in tables.
#define TURN_RECORD_BYTES 32
#define TURN_CHANNEL_BYTES (TURN_RECORD_BYTES + 1)
#define TURN_PEER_BYTES 78
struct turn_pools turn_shard_pools(const struct turn_shard_params *p);
// Bytes of memory (64-byte aligned, zeroed) that a shard takes; turn_shard_create makes the shard
// in them. The memory stays the caller's and outlives the shard.
size_t turn_shard_size(const struct turn_shard_params *p);
struct turn_shard *turn_shard_create(void *mem, const struct turn_shard_params *p, uint64_t now_ms);
// Looks up a view's client anew: the slot of its live allocation, with the milliseconds that it has
// left in *left_ms; else TURN_NONE. Of a dual allocation one that is live, and the time that the
// one has which lives longer.
uint32_t turn_shard_client(
	const struct turn_shard *s, const struct turn_view *v, uint32_t *left_ms);
// Milliseconds that the allocation has left which the client of a view is about to move to; 0 when
// there is none.
uint32_t turn_shard_path(const struct turn_shard *s, const struct turn_view *v);
// The connection or session v->stream of a view's client has ended. slot: the client's allocation,
// as turn_shard_client has it, if it is of that connection; else TURN_NONE. An allocation that may
// move outlives it for relay.mobility.grace, any other ends. Call turn_redirect_notes afterwards.
void turn_shard_lost(struct turn_shard *s, const struct turn_view *v, uint32_t slot);
// Slot of the other one of a dual allocation; TURN_NONE when the live allocation of a slot is none.
uint32_t turn_shard_sibling(const struct turn_shard *s, uint32_t slot);
// Ends every allocation and reservation, and gives their quota back. All of it is told by events.
// The memory is the caller's to free.
void turn_shard_close(struct turn_shard *s);
// Whether what an allocation sends to an own address, or gets from it, may go that way: to relay
// ports, or to programs of this machine.
bool turn_shard_inside(
	const struct turn_shard *s, uint32_t slot, const struct addr *local, enum turn_inside kind);
// The lines of all slots; the pointer is good as long as the shard.
struct turn_line *turn_shard_lines(struct turn_shard *s);
// Whether a live allocation has moved (relay.mobility), as far as is known after a restart. What
// goes to its client loses more hops than one, and no line vouches for it.
bool turn_has_roamed(const struct turn_shard *s, uint32_t slot);
// What makes the transaction ids of its Data indications; good for as long.
struct turn_tids *turn_shard_tids(struct turn_shard *s);

// Opens a round: sets the clocks and makes reusable what was freed in earlier rounds. now_ms is
// monotonic; wall_s is the time of day, for REST expiry and nonces.
void turn_shard_round(struct turn_shard *s, uint64_t now_ms, uint64_t wall_s);
// Ends what has expired; true when more is due. A call does bounded work: about 64 allocations,
// permissions and channels, or one allocation with all its own.
bool turn_shard_expire(struct turn_shard *s);
// The time until which turn_shard_expire has nothing to do, as things are now; UINT64_MAX: there is
// nothing that expires.
uint64_t turn_shard_next_ms(const struct turn_shard *s);
// Makes the shard use another policy, which must stay alive until it is replaced in turn.
void turn_shard_set_policy(struct turn_shard *s, const struct turn_policy *p);
// Takes the addresses of listeners of *c, which are else those of the shard.
void turn_shard_move(struct turn_shard *s, const struct turn_config *c);
// Makes the shard refuse new allocations with what a tells; NULL, as at first: it makes them. a
// must stay alive until it is replaced.
void turn_shard_set_alternates(struct turn_shard *s, const struct turn_alternates *a);

// Tells of a connection or session that the worker has refused, one that has no allocation: an
// event TURN_EVENT_CONNECTION, folded by source and reason as refused requests are. why is below
// TURN_CONNECTION_REASONS; proved: the client has shown that its address is its own.
void turn_shard_refused(struct turn_shard *s, const struct endpoint *client, uint8_t listener,
	unsigned int refusal, bool proved);
// Copies the statistics to *out.
void turn_shard_stats(const struct turn_shard *s, struct turn_stats *out);

// --- listing.c: see also turn_listing.h ----------------------------------------------------------

// One row of a listing.
struct turn_info {
	uint64_t id; // unique in the life of the process
	uint64_t sibling; // id of the other one of a dual allocation; 0 = it is none
	struct endpoint client, relay;
	struct endpoint told; // relay as the client was told it: with the external address
	char user[TURN_NAME_LEN + 1];
	uint32_t expires_s; // from now
	struct turn_usage usage;
	uint32_t permissions, channels;
	uint64_t quota_user; // the same for all allocations of a user, as quota counts
	uint32_t age_s; // since it was made
	uint8_t listener, transport; // that its client came to; enum turn_transport
	bool rest; // user is a REST name
	bool is_tcp; // peers are reached by TCP (RFC 6062)
	uint32_t connections; // with peers, where they are
	uint8_t realm; // number of the realm that user is of
};

// --- redirect.c ----------------------------------------------------------------------------------

// What a worker tells the worker that holds a redirect to one of its allocations: a redirect lasts
// as long as the allocation it leads to.
struct turn_redirect_note {
	struct endpoint client;
	uint8_t listener;
	uint8_t alloc_worker; // the worker of the allocation
	uint8_t redirect_worker; // the worker with the redirect, to which the note goes
	uint64_t until_ms; // 0 = gone
	uint64_t user; // of the allocation: the half of a quota_ref
};

// Whether notes wait.
bool turn_redirect_noted(const struct turn_shard *s);
// Moves up to max waiting notes to out and returns how many. Call it after each burst and each
// turn_shard_expire.
unsigned int turn_redirect_notes(
	struct turn_shard *s, struct turn_redirect_note *out, unsigned int max);
// Applies a note that came from another worker. Notes of one worker are applied in their order. One
// about an allocation to which the redirect does not lead changes nothing; one about an allocation
// that lives and has no redirect any more makes it anew: requests, words and timers cross.
void turn_redirect_apply(struct turn_shard *s, const struct turn_redirect_note *note);
// Worker to which the client of a view has been redirected; TURN_NO_WORKER when it has not been.
uint8_t turn_redirect_to(const struct turn_shard *s, const struct turn_view *v);
