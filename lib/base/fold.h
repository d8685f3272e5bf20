// SPDX-License-Identifier: BSD-3-Clause
// Folds events by a key: the first is told at once, then in FOLD_MS one that says how many more
// there were. Entries are found in sets of a few, and those in use form a queue by their beginning.
// What the last event of an entry was its user keeps, by number of the entry. PURE; one thread at a
// time.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define FOLD_MS (10 * 1000)

struct fold_entry {
	uint64_t key;
	uint64_t since_ms;
	uint32_t more; // events since the one that was told
	uint16_t older, newer;
	bool used;
};

struct fold {
	struct fold_entry *entry;
	uint16_t oldest, newest;
	// Tells what an entry has counted, above 0; its last event is still the user's.
	void (*tell)(void *ctx, uint16_t entry, uint32_t more);
	void *ctx;
};

// Sets a fold up over zeroed entries, at most UINT16_MAX - 1, that outlive it; the user sets tell
// and ctx.
void fold_init(struct fold *f, struct fold_entry *entry);
// The entry of a key, a keyed hash, among `ways` from first on, else a free one, else the oldest.
uint16_t fold_find(const struct fold *f, uint16_t first, uint16_t ways, uint64_t key);
// True if an entry is the key's, is free or is past its time.
bool fold_has_room(const struct fold *f, uint16_t i, uint64_t key, uint64_t now_ms);
// Counts an event in an entry, which ends first if it is another key's or past its time. True: it
// is the first one, and the caller tells it.
bool fold_count(struct fold *f, uint16_t i, uint64_t key, uint64_t now_ms);
// Ends what is older than FOLD_MS, a few entries a call. True when more is due.
bool fold_expire(struct fold *f, uint64_t now_ms);
// When fold_expire has something to end next; UINT64_MAX: never, as it is now.
uint64_t fold_next_ms(const struct fold *f);
// Ends all.
void fold_flush(struct fold *f);
