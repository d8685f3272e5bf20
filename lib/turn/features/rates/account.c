// SPDX-License-Identifier: BSD-3-Clause
// One bucket that several threads share.
#include "features/rates/account.h"

#include "rates/bucket.h"
#include "invariant.h"

// Maximum number of tries; each fails because another thread has changed the word. After the last
// one, account_take() takes the tokens for a single datagram without a check.
#define TRIES 8

// Nanoseconds that a token takes at a rate of 1: a kilobit per second is a bit per millisecond.
static const uint64_t unit[ACCOUNT_KINDS] = {
	[ACCOUNT_BYTES] = 8 * BUCKET_MS,
	[ACCOUNT_DATAGRAMS] = 1000 * BUCKET_MS,
};

// Cost of tokens in time, rounded up.
static uint64_t time_of(const struct account *a, uint64_t tokens)
{
	return (uint64_t)(((unsigned __int128)tokens * unit[a->kind] + a->rate - 1) / a->rate);
}

static uint64_t tokens_in(const struct account *a, uint64_t time)
{
	return (uint64_t)((unsigned __int128)time * a->rate / unit[a->kind]);
}

static bool replace_word(const struct account *a, uint64_t *was, uint64_t due)
{
	return atomic_compare_exchange_weak_explicit(
		a->due, was, due, memory_order_relaxed, memory_order_relaxed);
}

void account_give(const struct account *a, uint64_t tokens)
{
	const uint64_t cost = (uint64_t)((unsigned __int128)tokens * unit[a->kind] / a->rate);
	uint64_t was = atomic_load_explicit(a->due, memory_order_relaxed);

	// tokens taken at another rate, or without a rate, may have cost less
	while (!replace_word(a, &was, was > cost ? was - cost : 0))
		;
}

void account_owe(const struct account *a, uint64_t tokens)
{
	const uint64_t cost = time_of(a, tokens);
	uint64_t was = atomic_load_explicit(a->due, memory_order_relaxed);

	for (unsigned int i = 0; i < TRIES && was < a->now; i++)
		if (replace_word(a, &was, a->now + cost))
			return;
	atomic_fetch_add_explicit(a->due, cost, memory_order_relaxed);
}

uint64_t account_take(const struct account *a, uint64_t need, uint64_t most)
{
	uint64_t was = atomic_load_explicit(a->due, memory_order_relaxed);

	ASSERT(a->rate > 0 && need > 0 && need <= most);
	for (unsigned int i = 0; i < TRIES; i++) {
		const uint64_t start = was > a->now ? was : a->now, ahead = start - a->now;
		const uint64_t room = ahead < a->burst ? a->burst - ahead : 0;
		uint64_t tokens = tokens_in(a, room < a->piece ? room : a->piece);

		if (tokens < need)
			tokens = tokens_in(a, room) >= need || (a->single && ahead == 0) ? need : 0;
		if (tokens == 0)
			return 0;
		tokens = tokens < most ? tokens : most;
		ASSERT(tokens >= need && tokens <= most);
		if (replace_word(a, &was, start + time_of(a, tokens)))
			return tokens;
	}
	if (!a->single)
		return 0;
	atomic_fetch_add_explicit(a->due, time_of(a, need), memory_order_relaxed);
	return need;
}
