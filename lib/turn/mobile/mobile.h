// SPDX-License-Identifier: BSD-3-Clause
// Allocations that may move to another 5-tuple (RFC 8016), and the 5-tuple that one of them is
// about to move to: its path. The old 5-tuple stays until the client has used the path.
#pragma once

#include "limits/quota.h"
#include "turn.h"

// So long a path waits for its client, and the ticket before the last one is taken. RFC 8016 names
// no time.
#define MOBILE_PATH_MS (30 * 1000)

// What an allocation that may move has beside its records, by slot, where relay.mobility is on. Of
// a dual allocation one has it for both.
struct mobile {
	uint64_t handle; // of its tickets (ticket.h); 0 = the allocation may not move
	uint64_t source; // as quota has counted its client at first, wherever that goes
	uint64_t until_ms; // until then `before` is taken, too
	uint64_t lost_ms; // when its client's connection has ended; 0 = it has not
	uint32_t serial; // of the ticket given last
	uint32_t before; // of the one that it was given for, whose answer may be lost
	uint32_t path; // index of its path; TURN_NONE = it has none
	// A record goes to the other slot of a dual allocation when the one of its handle ends, and
	// a restart may bring it elsewhere. All that have a handle of one slot and are not there
	// are in a chain. Slots and 1; 0 = the end.
	uint32_t heirs; // the chain of this slot's handles
	uint32_t next; // in the chain that this record is in
	bool roamed; // it has moved, as far as is known after a restart
};
_Static_assert(sizeof(struct mobile) == 56, "one for each relay port");

// The record of an allocation; NULL when that may not move.
struct mobile *mobile_of(const struct turn_shard *s, uint32_t slot);
// Makes the allocation of a slot, which is new or taken up, one that may move. source: the half of
// its quota_ref.
void mobile_begin(struct turn_shard *s, uint32_t slot, uint64_t source);
// The same for one that a restart has taken up and that has these tickets, unless its sibling has
// them already.
void mobile_take_up(
	struct turn_shard *s, uint32_t slot, uint64_t handle, uint32_t serial, uint64_t source);
// To be called when one ends, while its sibling, if it has one, still is that.
void mobile_end(struct turn_shard *s, uint32_t slot);
// What an allocation counts as.
struct quota_ref mobile_quota(const struct turn_shard *s, uint32_t slot);
// Slot of the live allocation that has tickets of a handle; TURN_NONE when there is none.
uint32_t mobile_find(const struct turn_shard *s, uint64_t handle);
// Milliseconds that an allocation whose client's connection has ended still waits for it;
// UINT32_MAX when it does not wait.
uint32_t mobile_grace(const struct turn_shard *s, uint32_t slot);
// The connection of the client has ended. False: the allocation does not outlive that.
bool mobile_lost(struct turn_shard *s, uint32_t slot);

// Makes v's 5-tuple the path of an allocation, in the place of one that it may have. False: there
// is no room, and the old one is gone.
bool mobile_path_make(struct turn_shard *s, uint32_t slot, const struct turn_view *v);
// Forgets the path of an allocation, if it has one, and ends the redirect that leads there.
void mobile_path_drop(struct turn_shard *s, struct mobile *m);
// The allocation moves to its path.
void mobile_move(struct turn_shard *s, uint32_t slot, uint64_t stream);
// Whether v came by the path of an allocation.
bool mobile_on_path(const struct turn_shard *s, const struct mobile *m, const struct turn_view *v);
// The client of an allocation has used v's 5-tuple, by media or by a signed request other than a
// Refresh with its ticket: the allocation moves there if that is its path.
void mobile_used(struct turn_shard *s, uint32_t slot, const struct turn_view *v);
// Whether an allocation has a path.
bool mobile_moves(const struct turn_shard *s, uint32_t slot);
// Somebody at v's 5-tuple, which is that of a slot's allocation, asks for another one. A client
// that has shown its ticket elsewhere has left: the allocation moves to its path, and the 5-tuple
// is nobody's. False: it stays, as the allocation has no path, or that is what v came by.
bool mobile_leave(struct turn_shard *s, uint32_t slot, const struct turn_view *v);
// Slot of the allocation of a path; TURN_NONE when the path's time is over, which ends it.
uint32_t mobile_path_slot(struct turn_shard *s, uint32_t path);
// Called when the timer of a path fires.
void mobile_path_due(struct turn_shard *s, uint32_t index);
