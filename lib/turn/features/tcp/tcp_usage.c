// SPDX-License-Identifier: BSD-3-Clause
// Usage and rates of data relayed over TCP. An allocation's own account is stored with its port,
// and the accounts of users and realms are shared by all threads anyway. So a stream thread draws
// from them as a worker does, and only the worker opens and closes them.
#include "features/tcp/tcp_usage.h"
#include "rates/bucket.h"
#include "invariant.h"
#include "features/rates/accounts.h"
#include "features/rates/meters.h"
#include "shard.h"
#include "features/tcp/tcp_table.h"

#define LOOK_MS 256 // period in which all places are checked once
#define RENEW_BUDGET 64
#define LEAST 1024 // bytes that make a read worthwhile, if at least this many are wanted

// The two parts of tcp_place.moved: bytes since the last fold (always below 17 TB), and a number.
// The number grows when an allocation ends. So a thread that has seen the allocation live adds
// nothing to the word after its last fold, nor to that of the next allocation.
#define MOVED_BYTES ((UINT64_C(1) << 44) - 1)
#define MOVED_NUMBER (UINT64_C(1) << 44)

// --- the worker's side ---------------------------------------------------------------------------

// Opens the accounts of an allocation, according to the current rates.
static void accounts_set(struct turn_shard *s, struct tcp_place *p)
{
	uint32_t account[2] = {METERS_NO_ACCOUNT, METERS_NO_ACCOUNT};

	if (turn_shard_meters(s) != NULL)
		meters_accounts(s, p->slot, account);
	for (unsigned int i = 0; i < 2; i++)
		__atomic_store_n(&p->account[i], account[i], __ATOMIC_RELAXED);
}

void tcp_usage_begin(struct turn_shard *s, struct tcp_place *p)
{
	// `moved` has no bytes left from the last allocation.
	for (unsigned int leg = 0; leg < 2; leg++) {
		ASSERT((__atomic_load_n(&p->moved[leg], __ATOMIC_RELAXED) & MOVED_BYTES) == 0);
		atomic_store_explicit(&p->due[leg], 0, memory_order_relaxed);
	}
	accounts_set(s, p);
}

static struct tcp_place *place_of(const struct turn_shard *s, uint32_t slot)
{
	return &s->tcp.place[tcp_table_place(s, slot) / s->workers];
}

static void fold_bytes(struct turn_shard *s, uint32_t slot, unsigned int leg, uint64_t more)
{
	struct turn_line *l = alloc_at(s, slot);
	struct line_count c = line_count(l, leg);
	const uint64_t bytes = c.bytes + more, spilled = bytes / TURN_SPILL_BYTES;

	s->usage[slot].bytes[leg] += (uint32_t)spilled;
	sums_bytes(s, slot, leg, spilled * TURN_SPILL_BYTES);
	c.bytes = (uint32_t)(bytes % TURN_SPILL_BYTES);
	ASSERT(c.bytes < TURN_SPILL_BYTES);
	line_set_count(l, leg, c);
}

// Adds the bytes that the stream threads have noted to the usage of a TCP allocation.
static void fold_usage(struct turn_shard *s, uint32_t slot)
{
	struct tcp_place *p = place_of(s, slot);

	for (unsigned int leg = 0; leg < 2; leg++)
		if ((__atomic_load_n(&p->moved[leg], __ATOMIC_RELAXED) & MOVED_BYTES) != 0)
			fold_bytes(s, slot, leg,
				__atomic_fetch_and(&p->moved[leg], ~MOVED_BYTES, __ATOMIC_RELAXED) &
					MOVED_BYTES);
}

void tcp_usage_end(struct turn_shard *s, uint32_t slot)
{
	struct tcp_place *p = place_of(s, slot);

	for (unsigned int leg = 0; leg < 2; leg++) {
		uint64_t was = __atomic_load_n(&p->moved[leg], __ATOMIC_RELAXED);

		// a thread that reads this value also sees that the place has no allocation
		while (!__atomic_compare_exchange_n(&p->moved[leg], &was,
			(was & ~MOVED_BYTES) + MOVED_NUMBER, false, __ATOMIC_RELEASE,
			__ATOMIC_RELAXED))
			;
		fold_bytes(s, slot, leg, was & MOVED_BYTES);
	}
}

void tcp_usage_show(const struct turn_shard *s, uint32_t slot, struct turn_usage *out)
{
	for (unsigned int leg = 0; alloc_is_tcp(s, slot) && leg < 2; leg++)
		out->leg[leg].bytes +=
			__atomic_load_n(&place_of(s, slot)->moved[leg], __ATOMIC_RELAXED) &
			MOVED_BYTES;
}

void tcp_usage_policy(struct turn_shard *s)
{
	const struct turn_rates *r = &s->policy->limits.rates;
	const struct turn_meters *t = turn_shard_meters(s);
	struct tcp_rates *out = &s->tcp.rates;

	if (t != NULL)
		__atomic_store_n(&out->accounts, t->accounts, __ATOMIC_RELEASE);
	__atomic_store_n(&out->burst_ms, r->burst_ms, __ATOMIC_RELAXED);
	for (unsigned int scope = 0; scope < TURN_RATE_OF_END; scope++)
		for (unsigned int leg = 0; leg < 2; leg++)
			__atomic_store_n(&out->kbits[scope][leg],
				t != NULL ? r->flow[scope][leg].kbits : 0, __ATOMIC_RELAXED);
	s->tcp.renew = s->tcp.nb;
}

static bool renew_accounts(struct turn_shard *s)
{
	struct tcp_table *t = &s->tcp;

	for (unsigned int i = 0; i < RENEW_BUDGET && t->renew > 0; i++)
		if (t->place[--t->renew].allocation != 0)
			accounts_set(s, &t->place[t->renew]);
	return t->renew > 0;
}

bool tcp_usage_tick(struct turn_shard *s)
{
	struct tcp_table *t = &s->tcp;
	const uint64_t passed_ms = s->now_ms - t->folded_ms;
	uint64_t n = t->nb * passed_ms / LOOK_MS + (passed_ms > 0);

	if (t->nb == 0)
		return false;
	t->folded_ms = s->now_ms;
	for (n = n < t->nb ? n : t->nb; n > 0; n--) {
		const struct tcp_place *p = &t->place[t->fold];

		if (p->allocation != 0)
			fold_usage(s, p->slot);
		t->fold = (t->fold + 1) % t->nb;
	}
	return renew_accounts(s);
}

// --- the threads' side ---------------------------------------------------------------------------

// The account for a rate. False: nothing may pass.
static bool account_of(struct turn_shard *s, const struct turn_tcp_way *w, enum turn_rate_of scope,
	uint64_t now_ms, struct account *out)
{
	const struct tcp_rates *r = &s->tcp.rates;
	struct tcp_place *p = &s->tcp.place[w->place / s->workers];
	const uint64_t burst = __atomic_load_n(&r->burst_ms, __ATOMIC_RELAXED) * BUCKET_MS;
	uint32_t account;

	*out = (struct account){.kind = ACCOUNT_BYTES,
		.rate = __atomic_load_n(&r->kbits[scope][w->leg], __ATOMIC_RELAXED),
		.now = now_ms * BUCKET_MS,
		.burst = burst,
		.piece = burst,
		.single = true};
	if (out->rate == 0)
		return true;
	if (scope == TURN_RATE_ALLOCATION) {
		out->due = &p->due[w->leg];
		return true;
	}
	account = __atomic_load_n(&p->account[scope == TURN_RATE_REALM], __ATOMIC_RELAXED);
	if (account != METERS_NO_ACCOUNT && account != METERS_SHUT)
		out->due = &accounts_due(__atomic_load_n(&r->accounts, __ATOMIC_ACQUIRE),
			account)[w->leg][ACCOUNT_BYTES];
	return account != METERS_SHUT;
}

uint32_t turn_tcp_take(
	struct turn_shard *s, const struct turn_tcp_way *w, uint32_t want, uint64_t now_ms)
{
	uint32_t taken[TURN_RATE_OF_END] = {0}, n = want;
	struct account a[TURN_RATE_OF_END];
	unsigned int scope;

	if (!turn_tcp_table_lives(s, w->place, w->allocation))
		return 0;
	for (scope = 0; scope < TURN_RATE_OF_END && n > 0; scope++) {
		if (!account_of(s, w, scope, now_ms, &a[scope]))
			n = 0;
		else if (a[scope].due != NULL)
			n = (uint32_t)account_take(&a[scope], n < LEAST ? n : LEAST, n);
		taken[scope] = n;
	}
	for (unsigned int i = 0; i < scope; i++)
		if (a[i].due != NULL && taken[i] > n)
			account_give(&a[i], taken[i] - n);
	return n;
}

// Adds bytes, unless the allocation has ended. The number in the word detects an end between the
// check and the change.
static bool note_bytes(struct turn_shard *s, const struct turn_tcp_way *w, uint32_t bytes)
{
	uint64_t *word, was;

	if (!turn_tcp_table_lives(s, w->place, w->allocation))
		return false;
	word = &s->tcp.place[w->place / s->workers].moved[w->leg];
	do {
		was = __atomic_load_n(word, __ATOMIC_ACQUIRE);
		if (!turn_tcp_table_lives(s, w->place, w->allocation))
			return false;
	} while (!__atomic_compare_exchange_n(
		word, &was, was + bytes, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	return true;
}

bool turn_tcp_moved(struct turn_shard *s, const struct turn_tcp_way *w,
	const struct turn_tcp_bytes *n, uint64_t now_ms)
{
	if (!note_bytes(s, w, n->moved))
		return false;
	for (unsigned int scope = 0; n->moved != n->taken && scope < TURN_RATE_OF_END; scope++) {
		struct account a;

		account_of(s, w, scope, now_ms, &a);
		if (a.due != NULL && n->moved < n->taken)
			account_give(&a, n->taken - n->moved);
		else if (a.due != NULL)
			account_owe(&a, n->moved - n->taken);
	}
	return true;
}
