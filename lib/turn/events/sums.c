// SPDX-License-Identifier: BSD-3-Clause
// Sums over all allocations of a shard, and histograms of ended allocations.
#include "events/sums.h"
#include "invariant.h"
#include "shard.h"
#include "usage.h"

#define SIZE_FIRST 10 // the first class of sizes ends at 2^SIZE_FIRST bytes
#define SIZE_STEP 2 // each later class ends at 2^SIZE_STEP times the end of the class before it

// The least n for which v <= 2^n.
static unsigned int log2_up(uint64_t v)
{
	return v <= 1 ? 0 : 64 - (unsigned int)__builtin_clzll(v - 1);
}

static unsigned int min_uint(unsigned int a, unsigned int b)
{
	return a < b ? a : b;
}

static unsigned int lifetime_class(uint32_t seconds)
{
	return min_uint(log2_up(seconds), TURN_LIFETIME_CLASSES - 1);
}

static unsigned int size_class(uint64_t bytes)
{
	const unsigned int bits = log2_up(bytes);

	if (bits <= SIZE_FIRST)
		return 0;
	return min_uint((bits - SIZE_FIRST + SIZE_STEP - 1) / SIZE_STEP, TURN_SIZE_CLASSES - 1);
}

uint64_t turn_lifetime_bound(unsigned int class)
{
	return class < TURN_LIFETIME_CLASSES - 1 ? UINT64_C(1) << class : UINT64_MAX;
}

uint64_t turn_size_bound(unsigned int class)
{
	return class < TURN_SIZE_CLASSES - 1 ? UINT64_C(1) << (SIZE_FIRST + class * SIZE_STEP)
					     : UINT64_MAX;
}

static void add_uncounted(uint64_t *sum, uint64_t *ahead, uint64_t n)
{
	const uint64_t known = *ahead < n ? *ahead : n;

	*ahead -= known;
	*sum += n - known;
}

// The tally in which an allocation counts; NULL if the sums of the shard do.
static struct tally *tally_of(const struct turn_shard *s, uint32_t slot)
{
#define X(find) return find(s, slot);
	TURN_TALLIES(X)
#undef X
	return NULL;
}

struct turn_sums *sums_of(struct turn_shard *s, uint32_t slot)
{
	struct tally *t = tally_of(s, slot);

	return t != NULL ? &t->shown.sums : &s->stats.sums;
}

struct sums_ahead *sums_ahead_of(struct turn_shard *s, uint32_t slot)
{
	struct tally *t = tally_of(s, slot);

	return t != NULL ? &t->ahead : &s->ahead;
}

void sums_bytes(struct turn_shard *s, uint32_t slot, unsigned int leg, uint64_t n)
{
	struct tally *t = tally_of(s, slot);

	if (__builtin_expect(t == NULL, 1))
		add_uncounted(&s->stats.sums.bytes[leg], &s->ahead.bytes[leg], n);
	else
		add_uncounted(&t->shown.sums.bytes[leg], &t->ahead.bytes[leg], n);
}

void sums_datagrams(struct turn_shard *s, uint32_t slot, unsigned int leg, uint32_t n)
{
	struct tally *t = tally_of(s, slot);

	if (__builtin_expect(t == NULL, 1))
		add_uncounted(&s->stats.sums.datagrams[leg], &s->ahead.datagrams[leg], n);
	else
		add_uncounted(&t->shown.sums.datagrams[leg], &t->ahead.datagrams[leg], n);
}

void sums_made(struct turn_shard *s, uint32_t slot)
{
	struct tally *t = tally_of(s, slot);

	if (t != NULL)
		t->shown.allocations++;
}

void sums_ended(struct turn_shard *s, uint32_t slot, uint32_t lifetime_s)
{
	struct turn_sums *sums = sums_of(s, slot);
	struct tally *t = tally_of(s, slot);
	struct turn_usage u;
	uint64_t bytes;

	for (unsigned int leg = 0; leg < 2; leg++) {
		const struct line_count c = line_count(alloc_at(s, slot), leg);

		sums_bytes(s, slot, leg, c.bytes);
		sums_datagrams(s, slot, leg, c.datagrams);
	}
	usage_of(s, slot, &u);
	bytes = u.leg[TURN_FROM_CLIENT].bytes + u.leg[TURN_FROM_PEER].bytes;
	sums->lifetimes[lifetime_class(lifetime_s)]++;
	sums->lifetime_s += lifetime_s;
	sums->sizes[size_class(bytes)]++;
	sums->ended_bytes += bytes;
	ASSERT(t == NULL || t->shown.allocations > 0);
	if (t != NULL)
		t->shown.allocations--;
}
