// SPDX-License-Identifier: BSD-3-Clause
// Restoring an old area: definitions that its parts share. adopt_read.c reads records, adopt.c
// restores allocations and reservations, adopt_peers.c their permissions, channels and peers on
// shared addresses.
#pragma once

#include "state/area.h"
#include "turn.h"

// Where the allocation of an old slot is now.
struct adopt_alloc {
	uint32_t made; // as in the old area
	uint32_t slot;
	uint8_t worker;
	bool is_restored;
};

struct adopt {
	const struct turn_state_adoption *a;
	struct turn_state_adopted *out;
	const struct state_header *h; // of the old area
	const struct state_part *part; // of the old worker whose records are being processed
	unsigned int worker; // the number of that worker
	uint32_t tag[TURN_REALM_NUMBERS]; // of the realms, by index, in the area's key
	int *listener, *relay; // by index in the old area: index in the new configuration, or -1
	struct adopt_alloc *alloc; // by slot of the old worker
};

enum adopt_word { ADOPT_NONE, ADOPT_GOOD, ADOPT_ENDED };

// State of a record whose body has this digest, according to its word. Half-written and damaged
// records are counted, and give ADOPT_NONE.
enum adopt_word adopt_word(struct adopt *d, uint64_t word, uint64_t digest, uint64_t index);
// Milliseconds left until a word's time, at most most_ms; 0 if it has passed.
uint32_t adopt_left(const struct adopt *d, uint64_t word, uint64_t most_ms);
// Counts a loss.
void adopt_lost(struct adopt *d, enum turn_state_loss loss);
// The worker and index of a relayed transport address of the old area.
struct adopt_home {
	unsigned int worker; // the worker that owns it
	uint32_t index; // slot, or number of the shared address
};

// Opens the tables of *d, whose a, out and h are set. False without memory; call adopt_close even
// then.
bool adopt_open(struct adopt *d);
void adopt_close(struct adopt *d);
// Reads the realms of the shards; their policy is set.
void adopt_realms(struct adopt *d);
// Selects the records of an old worker.
void adopt_worker(struct adopt *d, unsigned int worker);
// Reads the record of a slot of the old worker; *r gets a copy. Returns its state, like adopt_word.
enum adopt_word adopt_read(struct adopt *d, uint32_t slot, struct state_alloc *r);
// Finds the worker and index of a record's relayed transport address. False if the address is no
// longer configured.
bool adopt_home(const struct adopt *d, const struct state_alloc *r, struct adopt_home *out);
// The policy of the realm of a record; NULL if it is no longer configured.
const struct turn_policy *adopt_policy(const struct adopt *d, const struct state_alloc *r);

// Ends a restored allocation again, and reports it.
void adopt_end(struct adopt *d, struct adopt_alloc *p, enum turn_end reason);

// Restores the records of the old worker's allocations: permissions, then peers on shared
// addresses, then channels.
void adopt_peers(struct adopt *d);
