// SPDX-License-Identifier: BSD-3-Clause
// Folds events by a key: reports the first one at once, and after FOLD_MS the number of later ones.
// The entry of a key is in a set of a few entries. Entries in use form a queue by their start time.
// The user keeps the last event of each entry, by index. PURE; one thread at a time.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ilist.h"

#define FOLD_MS (10 * 1000)

struct fold_entry {
	uint64_t key;
	uint64_t since_ms;
	uint32_t more; // events since the reported one
	struct ilist_link by_age;
	bool used;
};

struct fold {
	struct fold_entry *entry;
	struct ilist by_age; // entries in use, oldest first
	// Reports the count of an entry, above 0. The user still has its last event.
	void (*tell)(void *ctx, uint16_t entry, uint32_t more);
	void *ctx;
};

// Sets up a fold over zeroed entries, at most UINT16_MAX - 1, which must outlive it. The user sets
// tell and ctx.
void fold_init(struct fold *f, struct fold_entry *entry);
// Returns the entry of a key, a keyed hash, among `ways` entries from first on, else a free one,
// else the oldest.
uint16_t fold_find(const struct fold *f, uint16_t first, uint16_t ways, uint64_t key);
// True if an entry belongs to the key, is free or has expired.
bool fold_has_room(const struct fold *f, uint16_t i, uint64_t key, uint64_t now_ms);
// Counts an event in an entry. First ends the entry if it belongs to another key or has expired.
// True if the event is the first one: the caller reports it.
bool fold_count(struct fold *f, uint16_t i, uint64_t key, uint64_t now_ms);
// Ends entries older than FOLD_MS, a few per call. True if more are due.
bool fold_expire(struct fold *f, uint64_t now_ms);
// Returns the time at which the next entry expires; UINT64_MAX if no entry is in use.
uint64_t fold_next_ms(const struct fold *f);
// Ends all entries.
void fold_flush(struct fold *f);
