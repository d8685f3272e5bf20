// SPDX-License-Identifier: BSD-3-Clause
// Taking up an old area: what its parts share. adopt_read.c reads records, adopt.c takes up
// allocations and reservations, adopt_peers.c their permissions, channels and peers on shared
// addresses.
#pragma once

#include "state/area.h"
#include "turn.h"

// Where an allocation of the old area lives now.
struct adopt_place {
	uint32_t made; // of the old area
	uint32_t slot;
	uint8_t worker;
	bool is_taken_up;
};

struct adopt {
	const struct turn_state_adoption *a;
	struct turn_state_adopted *out;
	const struct state_header *h; // of the old area
	const struct state_part *part; // of the old worker whose records are gone through
	unsigned int worker; // that one
	uint32_t tag[TURN_REALMS_MAX]; // of the realms beside the first, in the area's key
	int *listener, *relay; // by index in the old area: index in the new configuration, or -1
	struct adopt_place *place; // by slot of the old worker
};

enum adopt_word { ADOPT_NONE, ADOPT_GOOD, ADOPT_ENDED };

// What a word says of its record, whose body has this digest. *time gets the word's time.
// Half-written and damaged records are counted and none.
enum adopt_word adopt_word(struct adopt *d, uint64_t word, uint64_t digest, uint64_t place);
// Milliseconds that are left of a word's time, `most` at most; 0 when it has passed.
uint32_t adopt_left(const struct adopt *d, uint64_t word, uint64_t most_ms);
// Counts a loss.
void adopt_lost(struct adopt *d, enum turn_state_loss loss);
// Where a relayed transport address of the old area belongs now.
struct adopt_home {
	unsigned int worker; // that owns it
	uint32_t place; // slot, or number of the shared address
};

// Opens the tables of *d, whose a, out and h are set. False without memory; call adopt_close then,
// too.
bool adopt_open(struct adopt *d);
void adopt_close(struct adopt *d);
// Gets to know the realms of the shards; they have their policy.
void adopt_realms(struct adopt *d);
// Turns to the records of an old worker.
void adopt_worker(struct adopt *d, unsigned int worker);
// The record of a slot of the old worker, as what adopt_word says; *r gets a copy.
enum adopt_word adopt_read(struct adopt *d, uint32_t slot, struct state_alloc *r);
// Where the relayed transport address of a record belongs. False when it is configured no longer.
bool adopt_home(const struct adopt *d, const struct state_alloc *r, struct adopt_home *out);
// The policy of the realm of a record; NULL when that is configured no longer.
const struct turn_policy *adopt_policy(const struct adopt *d, const struct state_alloc *r);

// Takes an allocation that was taken up back, and tells of its end.
void adopt_end(struct adopt *d, struct adopt_place *p, enum turn_end reason);

// Takes up what belongs to the allocations of the old worker: permissions, then peers on shared
// addresses, then channels.
void adopt_peers(struct adopt *d);
