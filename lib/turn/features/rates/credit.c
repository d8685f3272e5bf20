// SPDX-License-Identifier: BSD-3-Clause
// Draws credit for data that is relayed over TCP.
#include "features/rates/credit.h"
#include "rates/bucket.h"
#include "features/rates/accounts.h"
#include "features/rates/meters.h"
#include "shard.h"
#include "features/tcp/tcp_table.h"

#define RENEW_BUDGET 64
#define LEAST 1024 // bytes; a smaller credit is not worth a read, unless fewer are wanted

// --- the worker's side ---------------------------------------------------------------------------

size_t credit_size(const struct turn_shard_params *p, uint32_t permissions)
{
	return tcp_table_ports(p) * sizeof(struct credit_port);
}

void credit_init(struct turn_shard *s, void *mem, const struct turn_shard_params *p)
{
	s->credits.port = mem;
}

// Opens the accounts of an allocation, according to the current rates.
static void accounts_set(struct turn_shard *s, uint32_t port_index)
{
	uint32_t account[2] = {METERS_NO_ACCOUNT, METERS_NO_ACCOUNT};

	if (turn_shard_meters(s) != NULL)
		meters_accounts(s, s->tcp.port[port_index].slot, account);
	for (unsigned int i = 0; i < 2; i++)
		__atomic_store_n(
			&s->credits.port[port_index].account[i], account[i], __ATOMIC_RELAXED);
}

void credit_begin(struct turn_shard *s, uint32_t port_index)
{
	for (unsigned int leg = 0; leg < 2; leg++)
		atomic_store_explicit(
			&s->credits.port[port_index].due[leg], 0, memory_order_relaxed);
	accounts_set(s, port_index);
}

void credit_policy(struct turn_shard *s)
{
	const struct turn_rates *r = &s->policy->limits.rates;
	const struct turn_meters *t = turn_shard_meters(s);
	struct credit_table *out = &s->credits;

	if (t != NULL)
		__atomic_store_n(&out->accounts, t->accounts, __ATOMIC_RELEASE);
	__atomic_store_n(&out->burst_ms, meters_burst_ms(r), __ATOMIC_RELAXED);
	for (unsigned int scope = 0; scope < TURN_RATE_OF_END; scope++)
		for (unsigned int leg = 0; leg < 2; leg++)
			__atomic_store_n(&out->kbits[scope][leg],
				t != NULL ? r->flow[scope][leg].kbits : 0, __ATOMIC_RELAXED);
	out->renew = s->tcp.nb;
}

bool credit_tick(struct turn_shard *s)
{
	struct credit_table *t = &s->credits;

	for (unsigned int i = 0; i < RENEW_BUDGET && t->renew > 0; i++)
		if (s->tcp.port[--t->renew].allocation != 0)
			accounts_set(s, t->renew);
	return t->renew > 0;
}

// --- the threads' side ---------------------------------------------------------------------------

// The account for a rate. False: nothing may pass.
static bool account_of(struct turn_shard *s, const struct turn_tcp_way *w, enum turn_rate_of scope,
	uint64_t now_ms, struct account *out)
{
	const struct credit_table *t = &s->credits;
	struct credit_port *p = &t->port[w->port_index / s->workers];
	const uint64_t burst = __atomic_load_n(&t->burst_ms, __ATOMIC_RELAXED) * BUCKET_MS;
	uint32_t account;

	*out = (struct account){.kind = ACCOUNT_BYTES,
		.rate = __atomic_load_n(&t->kbits[scope][w->leg], __ATOMIC_RELAXED),
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
		out->due = &accounts_due(__atomic_load_n(&t->accounts, __ATOMIC_ACQUIRE),
			account)[w->leg][ACCOUNT_BYTES];
	return account != METERS_SHUT;
}

uint32_t credit_take(
	struct turn_shard *s, const struct turn_tcp_way *w, uint32_t want, uint64_t now_ms)
{
	uint32_t taken[TURN_RATE_OF_END] = {0}, n = want;
	struct account a[TURN_RATE_OF_END];
	unsigned int scope;

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

void credit_settle(struct turn_shard *s, const struct turn_tcp_way *w,
	const struct turn_tcp_bytes *n, uint64_t now_ms)
{
	for (unsigned int scope = 0; n->moved != n->taken && scope < TURN_RATE_OF_END; scope++) {
		struct account a;

		account_of(s, w, scope, now_ms, &a);
		if (a.due != NULL && n->moved < n->taken)
			account_give(&a, n->taken - n->moved);
		else if (a.due != NULL)
			account_owe(&a, n->moved - n->taken);
	}
}
