// SPDX-License-Identifier: BSD-3-Clause
// Folds refusals of requests and connections by source and reason (fold.h). Memory and the number
// of events are bounded, however many requests arrive.
//
// Who can exhaust this memory, from which addresses, and which clients suffer?
// * Senders who have not proved their address (enum proof) have separate entries, so a flood of
//   spoofed addresses takes nothing from honest senders. An unproved entry is not replaced before
//   its time. A sender that finds no room is counted in one entry per reason: in FOLD_MS there are
//   at most two events for each unproved entry. Other unproved senders suffer: their own address
//   is then not named.
// * Senders who have proved their address replace the oldest entry of their set. An event then
//   reports its count. A sender with many addresses (many /64 of IPv6) can cause an event for each
//   refused request. That is at most one for each nonce that it has returned to us. No sender's
//   count is lost.
// * Later attempts overwrite older ones, proved and unproved separately. If an attempt is lost, its
//   retransmission is not recognised, and is counted once more: that is the only effect.
#pragma once

#include "tables/fold.h"
#include "hash.h"
#include "turn_event.h"

// A transaction is over for its client 39.5 s after its first request (RFC 8489 6.2.1), and its
// longest pause is 16 s.
#define REFUSALS_ATTEMPT_S 40

struct refusals;

// Bytes of memory (64-byte aligned, zeroed) that refusals_create sets up. It reports each event by
// calling tell, which may be NULL.
size_t refusals_size(void);
struct refusals *refusals_create(void *mem, const struct hash_key *key,
	void (*tell)(void *ctx, const struct turn_event *e), void *ctx);
// The fold; callers expire and flush it.
struct fold *refusals_fold(struct refusals *r);
// True if an attempt, a keyed hash of everything that identifies it, was seen within
// REFUSALS_ATTEMPT_S; remembers it now.
bool refusals_again(struct refusals *r, uint64_t attempt, bool proved, uint64_t now_ms);
// Reports or counts a refusal. e->at_ms is the current time, e->more is 0.
void refusals_take(struct refusals *r, const struct turn_event *e);
