// SPDX-License-Identifier: BSD-3-Clause
// One bucket, as the time until which what was taken is paid for (a virtual scheduling algorithm,
// ITU-T I.371).
#include "limits/account.h"

// After so many tries others have taken as often. Then one takes without looking: never more than
// is needed, and what it takes is due like all else.
#define TRIES 8

// Units of time that `per` tokens take at a rate of 1: a kilobit a second is a bit a millisecond.
static const uint64_t unit[ACCOUNT_KINDS] = {
	[ACCOUNT_BYTES] = UINT64_C(8) << ACCOUNT_MS,
	[ACCOUNT_DATAGRAMS] = UINT64_C(1000) << ACCOUNT_MS,
};

// What tokens cost, rounded up.
static uint64_t time_of(uint64_t tokens, uint64_t per, uint32_t rate)
{
	return (uint64_t)(((unsigned __int128)tokens * per + rate - 1) / rate);
}

void account_give(_Atomic uint64_t *due, enum account_kind kind, uint32_t rate, uint64_t tokens)
{
	const uint64_t cost = (uint64_t)((unsigned __int128)tokens * unit[kind] / rate);
	uint64_t was = atomic_load_explicit(due, memory_order_relaxed);

	// what was taken by another rate, or by none, may be less than this
	while (!atomic_compare_exchange_weak_explicit(
		due, &was, was > cost ? was - cost : 0, memory_order_relaxed, memory_order_relaxed))
		;
}

void account_owe(
	_Atomic uint64_t *due, enum account_kind kind, uint32_t rate, uint64_t now, uint64_t tokens)
{
	const uint64_t cost = time_of(tokens, unit[kind], rate);
	uint64_t was = atomic_load_explicit(due, memory_order_relaxed);

	for (unsigned int i = 0; i < TRIES && was < now; i++)
		if (atomic_compare_exchange_weak_explicit(
			    due, &was, now + cost, memory_order_relaxed, memory_order_relaxed))
			return;
	atomic_fetch_add_explicit(due, cost, memory_order_relaxed);
}

static uint64_t tokens_in(uint64_t units, uint64_t per, uint32_t rate)
{
	return (uint64_t)((unsigned __int128)units * rate / per);
}

uint64_t account_take(_Atomic uint64_t *due, enum account_kind kind, uint32_t rate,
	const struct account_terms *t, const uint64_t need_most[2])
{
	const uint64_t per = unit[kind], need = need_most[0], most = need_most[1];
	uint64_t was = atomic_load_explicit(due, memory_order_relaxed);

	for (unsigned int i = 0; i < TRIES; i++) {
		const uint64_t from = was > t->now ? was : t->now;
		const uint64_t ahead = from - t->now;
		const uint64_t room = ahead < t->burst ? t->burst - ahead : 0;
		uint64_t tokens = tokens_in(room < t->piece ? room : t->piece, per, rate);

		if (tokens < need)
			tokens = tokens_in(room, per, rate) >= need || (t->single && ahead == 0)
				? need
				: 0;
		if (tokens == 0)
			return 0;
		tokens = tokens < most ? tokens : most;
		if (atomic_compare_exchange_weak_explicit(due, &was,
			    from + time_of(tokens, per, rate), memory_order_relaxed,
			    memory_order_relaxed))
			return tokens;
	}
	if (!t->single)
		return 0;
	atomic_fetch_add_explicit(due, time_of(need, per, rate), memory_order_relaxed);
	return need;
}
