// SPDX-License-Identifier: BSD-3-Clause
// Token buckets: converts tokens to time and back.
#include "rates/bucket.h"
#include "invariant.h"

#define SECOND_NS UINT64_C(1000000000)
// Debts are counted in thousandths of a token, which makes them whole at times in whole
// milliseconds.
#define TOKEN 1000u
#define PART_NS (SECOND_NS / TOKEN) // nanoseconds per thousandth of a token, at a rate of 1

static uint32_t worker_part(uint32_t whole, uint32_t parts)
{
	const uint32_t n = parts > 1 ? whole / parts : whole;

	return n > 0 ? n : 1;
}

struct limit limit_part(const struct limit *l, uint32_t parts)
{
	return (struct limit){.rate = l->rate > 0 ? worker_part(l->rate, parts) : 0,
		.burst = worker_part(l->burst, parts)};
}

struct limit limit_times(const struct limit *l, uint32_t times)
{
	return (struct limit){.rate = l->rate * times, .burst = l->burst * times};
}

static uint64_t full_credit(const struct limit *l)
{
	return (uint64_t)TOKEN * (l->burst > 0 ? l->burst : 1);
}

// Returns the thousandths of a token owed, rounded down; more than any burst if they are too many
// to count.
static uint64_t tokens_owed(const struct bucket *b, uint32_t rate, uint64_t now_ns)
{
	unsigned __int128 owed;

	if (b->due_ns <= now_ns)
		return 0;
	owed = (unsigned __int128)(b->due_ns - now_ns) * rate;
	return owed >> 64 == 0 ? (uint64_t)owed / PART_NS : UINT64_MAX / PART_NS;
}

// Converts nanoseconds at a rate of 1 to another rate, rounded up.
static uint64_t at_rate(uint64_t ns, uint32_t rate)
{
	return ns / rate + (ns % rate != 0);
}

uint32_t bucket_see(const struct bucket *b, const struct limit *l, uint64_t now_ns)
{
	const uint64_t debt = tokens_owed(b, l->rate, now_ns), most = full_credit(l);

	if (l->rate == 0)
		return UINT32_MAX;
	return debt < most ? (uint32_t)((most - debt) / TOKEN) : 0;
}

bool bucket_take(struct bucket *b, const struct limit *l, uint64_t now_ns)
{
	const uint64_t debt = tokens_owed(b, l->rate, now_ns) + TOKEN;

	if (l->rate == 0)
		return true;
	if (debt > full_credit(l))
		return false;
	b->due_ns = now_ns + at_rate(debt * PART_NS, l->rate);
	// no rounding error up to a million tokens a second
	ASSERT(l->rate > PART_NS || tokens_owed(b, l->rate, now_ns) == debt);
	return true;
}

void bucket_spend(struct bucket *b, const struct limit *l, uint32_t n, uint64_t now_ns)
{
	const uint64_t start_ns = b->due_ns > now_ns ? b->due_ns : now_ns;

	if (l->rate != 0)
		b->due_ns = start_ns + at_rate(n * SECOND_NS, l->rate);
}

void bucket_give(struct bucket *b, const struct limit *l, uint32_t n)
{
	const uint64_t ns = l->rate != 0 ? n * SECOND_NS / l->rate : 0;

	b->due_ns -= ns < b->due_ns ? ns : b->due_ns;
}
