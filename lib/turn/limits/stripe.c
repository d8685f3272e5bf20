// SPDX-License-Identifier: BSD-3-Clause
// Counts by keyed hashes in a small table with linear probing.
#include "limits/stripe.h"
#include "invariant.h"

// An entry is a count and 40 bits of the hash, which distinguish its key from others of the stripe;
// one of the bits marks a network. With the bits that select the stripe, that makes 48 bits in a
// table for a million allocations. The probability that any two of all users and sources then share
// a count is one in 150, and that is harmless.
#define COUNT_BITS 24
#define COUNT_MAX ((UINT64_C(1) << COUNT_BITS) - 1)
#define TAG_BITS 40
_Static_assert(STRIPE_NETWORK >> TAG_BITS == 0, "a bit of the tag");

static uint32_t count_of(uint64_t entry)
{
	return (uint32_t)(entry & COUNT_MAX);
}

static uint64_t tag_of(uint64_t entry)
{
	return entry >> COUNT_BITS;
}

// The entry of a key, or the free entry where it would be inserted. One entry always stays free, so
// that searches end.
static uint64_t *entry_of(struct stripe *s, uint64_t hash)
{
	const uint64_t tag = hash & ((UINT64_C(1) << TAG_BITS) - 1);
	uint32_t i = (uint32_t)tag % STRIPED_ENTRIES;

	while (count_of(s->entry[i]) != 0 && tag_of(s->entry[i]) != tag)
		i = (i + 1) % STRIPED_ENTRIES;
	if (count_of(s->entry[i]) == 0)
		s->entry[i] = tag << COUNT_BITS;
	return &s->entry[i];
}

// Closes the gap at i: a later entry that a search could no longer reach across the gap moves into
// it.
static void close_gap(struct stripe *s, uint32_t i)
{
	uint32_t next = (i + 1) % STRIPED_ENTRIES;

	while (count_of(s->entry[next]) != 0) {
		const uint32_t home = (uint32_t)tag_of(s->entry[next]) % STRIPED_ENTRIES;

		if ((next - home) % STRIPED_ENTRIES >= (next - i) % STRIPED_ENTRIES) {
			s->entry[i] = s->entry[next];
			i = next;
		}
		next = (next + 1) % STRIPED_ENTRIES;
	}
	s->entry[i] = 0;
}

// Makes room in a full stripe by dropping a network. A stripe only fills up if nearly all users
// have a /64 and a /48 of their own. False if the stripe has no network.
static bool forget_network(struct stripe *s, uint32_t first)
{
	for (uint32_t i = first; i != first + STRIPED_ENTRIES; i++) {
		const uint64_t e = s->entry[i % STRIPED_ENTRIES];

		if (count_of(e) != 0 && (tag_of(e) & STRIPE_NETWORK) != 0) {
			ASSERT(s->used == STRIPED_ENTRIES - 1);
			s->used--;
			close_gap(s, i % STRIPED_ENTRIES);
			return true;
		}
	}
	return false;
}

bool stripe_up(struct stripe *s, uint64_t hash, uint32_t limit)
{
	uint64_t *e = entry_of(s, hash);
	const uint32_t count = count_of(*e);

	if (count == 0 && s->used == STRIPED_ENTRIES - 1) {
		if ((hash & STRIPE_NETWORK) != 0)
			return true; // not counted
		if (!forget_network(s, (uint32_t)(e - s->entry)))
			return false;
		e = entry_of(s, hash);
	}
	if (count == 0)
		s->used++;
	else if ((limit != 0 && count >= limit) || count == COUNT_MAX)
		return false;
	++*e;
	ASSERT(s->used < STRIPED_ENTRIES && count_of(*e) > 0); // one entry stays free
	return true;
}

void stripe_down(struct stripe *s, uint64_t hash)
{
	uint64_t *e = entry_of(s, hash);

	if (count_of(*e) == 0) {
		ASSERT((hash & STRIPE_NETWORK) != 0); // only networks are forgotten
		return;
	}
	ASSERT(s->used > 0 && s->used < STRIPED_ENTRIES);
	--*e;
	if (count_of(*e) == 0) {
		s->used--;
		close_gap(s, (uint32_t)(e - s->entry));
	}
}

uint32_t stripe_count(struct stripe *s, uint64_t hash)
{
	return count_of(*entry_of(s, hash));
}
