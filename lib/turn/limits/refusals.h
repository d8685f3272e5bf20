// SPDX-License-Identifier: BSD-3-Clause
// Folds refusals of requests and connections by source and reason (fold.h). Memory and events are
// bounded, whoever asks however much.
//
// Who can exhaust it, with whose address, and who suffers?
// * Senders who have not proved their address (enum proof) have entries of their own, so a flood of
//   spoofed addresses takes nothing from those who are what they say. An entry of theirs does not
//   give way before its time. Who finds no room is counted in one entry for each reason: in FOLD_MS
//   there are at most two events for each unproved entry. Other unproved senders suffer, whose own
//   address is then not named.
// * Senders who have proved their address push out the entry of their set that is oldest. An event
//   then says what it had counted. Who has many addresses (many /64 of IPv6) can make an event of
//   each request that is refused. That is no more than one for each nonce that they have taken back
//   to us. Nobody's count is lost.
// * The memory of attempts is overwritten by later ones, proved and unproved apart. What is lost is
//   only that a retransmission is not recognised and is counted once more.
#pragma once

#include "fold.h"
#include "hash.h"
#include "turn_event.h"

// A transaction is over for its client 39.5 s after its first request (RFC 8489 6.2.1), and the
// longest pause in it is 16 s.
#define REFUSALS_ATTEMPT_S 40

struct refusals;

// Bytes of memory (64-byte aligned, zeroed) that refusals_create sets up. It tells each event by a
// call of tell, which may be NULL.
size_t refusals_size(void);
struct refusals *refusals_create(void *mem, const struct hash_key *key,
	void (*tell)(void *ctx, const struct turn_event *e), void *ctx);
// The fold, to be expired and flushed.
struct fold *refusals_fold(struct refusals *r);
// Whether an attempt, a keyed hash of whatever makes it up, has been seen within
// REFUSALS_ATTEMPT_S; from now on it has.
bool refusals_again(struct refusals *r, uint64_t attempt, bool proved, uint64_t now_ms);
// Tells or counts a refusal. e->at_ms is now, e->more is 0.
void refusals_take(struct refusals *r, const struct turn_event *e);
