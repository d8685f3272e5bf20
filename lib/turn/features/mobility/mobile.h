// SPDX-License-Identifier: BSD-3-Clause
// Allocations that may move to another 5-tuple (RFC 8016), and the 5-tuple to which one is about to
// move: its path. The old 5-tuple stays valid until the client has used the path.
#pragma once

#include "limits/quota.h"
#include "turn.h"

struct state_alloc;

// Time for which a path waits for its client, and the previous ticket is accepted. RFC 8016 names
// no time.
#define MOBILE_PATH_MS (30 * 1000)

// Record of an allocation that may move, by slot, if relay.mobility is on. A dual allocation has
// one for both halves.
struct mobile {
	uint64_t handle; // of its tickets (ticket.h); 0 = the allocation may not move
	// Source half of its first quota_ref; does not change when the client moves.
	uint64_t source;
	uint64_t until_ms; // `before` is accepted until then
	uint64_t lost_ms; // when its client's connection was closed; 0 = it was not
	uint32_t serial; // of the last ticket
	// Serial of the ticket that was exchanged for the last one; that answer may be lost.
	uint32_t before;
	uint32_t path; // index of its path; TURN_NONE = no path
	// A record moves to the other slot of a dual allocation when the slot of its handle ends,
	// and a restart may place it in another slot. All records whose handle names a slot other
	// than their own form a chain at that slot. Entries are slot + 1; 0 = the end.
	uint32_t heirs; // head of the chain of this slot's handles
	uint32_t next; // next record in the chain that this record is in
	bool roamed; // the allocation has moved, as far as is known after a restart
};
_Static_assert(sizeof(struct mobile) == 56, "memory per relay port");

// The record of an allocation, or NULL if it may not move.
struct mobile *mobile_of(const struct turn_shard *s, uint32_t slot);
// Allows the allocation of a slot, which is new or restored, to move. source: the source half of
// its quota_ref.
void mobile_begin(struct turn_shard *s, uint32_t slot, uint64_t source);
// Writes the tickets of an allocation to its record in the state area.
void mobile_write(const struct turn_shard *s, uint32_t slot, struct state_alloc *record);
// Sets *ref to the quota_ref of a restored allocation that may move: it counts for its first
// source.
void mobile_count_record(
	const struct turn_shard *s, const struct state_alloc *record, struct quota_ref *ref);
// mobile_begin() for a restored allocation with the tickets of its record, if it may move, unless
// its sibling has them already. *ref: its quota_ref.
void mobile_restore(struct turn_shard *s, uint32_t slot, const struct state_alloc *record,
	const struct quota_ref *ref);
// Call it when an allocation ends, while its sibling, if any, is still linked.
void mobile_end(struct turn_shard *s, uint32_t slot);
// Makes *ref the quota_ref under which an allocation is counted, if it may move.
void mobile_count(const struct turn_shard *s, uint32_t slot, struct quota_ref *ref);
// Slot of the live allocation with the tickets of a handle; TURN_NONE if there is no such
// allocation.
uint32_t mobile_find(const struct turn_shard *s, uint64_t handle);
// Milliseconds for which an allocation still waits for its client, whose connection was closed;
// UINT32_MAX if it is not waiting.
uint32_t mobile_grace(const struct turn_shard *s, uint32_t slot);
// True if an allocation waits for its client: no 5-tuple has it. Checks its path.
bool mobile_is_away(const struct turn_shard *s, uint32_t slot);
// The connection of the client was closed. False: the allocation must end with it.
bool mobile_lost(struct turn_shard *s, uint32_t slot);

// The connection v->stream of a client without an allocation was closed: ends the path that leads
// from there.
void mobile_path_lost(struct turn_shard *s, const struct turn_view *v);
// Remaining milliseconds of the allocation to which the client of a view is about to move; 0 if
// there is no such move.
uint32_t mobile_path_left(const struct turn_shard *s, const struct turn_view *v);

// Makes v's 5-tuple the path of an allocation, and replaces an older path. False if there is no
// room; the older path is removed anyway.
bool mobile_path_make(struct turn_shard *s, uint32_t slot, const struct turn_view *v);
// Removes the path of an allocation, if there is one, and ends the redirect that leads there.
void mobile_path_drop(struct turn_shard *s, struct mobile *m);
// Moves the allocation to its path.
void mobile_move(struct turn_shard *s, uint32_t slot, uint64_t stream);
// True if v came by the path of an allocation.
bool mobile_on_path(const struct turn_shard *s, const struct mobile *m, const struct turn_view *v);
// The client of an allocation has used v's 5-tuple, for data or for a signed request other than a
// Refresh with its ticket: the allocation moves there if that is its path.
void mobile_used(struct turn_shard *s, uint32_t slot, const struct turn_view *v);
// True if an allocation has a path.
bool mobile_moves(const struct turn_shard *s, uint32_t slot);
// A request at v's 5-tuple, which is that of the slot's allocation, asks for another allocation. If
// the client has shown its ticket elsewhere, it has left: the allocation moves to its path, and the
// 5-tuple becomes free. False if it does not move: it has no path, or v came by that path.
bool mobile_leave(struct turn_shard *s, uint32_t slot, const struct turn_view *v);
// Slot of the allocation of a path; TURN_NONE if the path has expired, which ends it.
uint32_t mobile_path_slot(struct turn_shard *s, uint32_t path);
// Called when the timer of a path fires.
void mobile_path_due(struct turn_shard *s, uint32_t index);
