// SPDX-License-Identifier: BSD-3-Clause
// Sets meters up, fills their credit, and names the rate that a datagram exceeds.
#include "features/rates/meters.h"
#include "rates/bucket.h"
#include "invariant.h"
#include "features/rates/accounts.h"
#include "route.h"
#include "shard.h"
#include "tables/table.h"
#include "turn_drop.h"

// Parties without an account. PARTY_NONE never has credit, so that turn_meter_take always fails.
// PARTY_FREE has no limit.
#define PARTY_NONE 0u
#define PARTY_FREE 1u
#define PARTY_FIRST 2u

#define BYTES_MOST (UINT64_C(1) << 38)
#define DATAGRAMS_MOST (UINT64_C(1) << 22)
#define BYTES_MASK ((UINT64_C(1) << TURN_METER_DATAGRAMS) - 1)

// An allocation draws half a burst at once, since no other party uses its account. All workers
// together draw a quarter of a burst from a shared account.
#define OWN_PART 2
#define SHARED_PART 4

struct meters {
	struct turn_meters public;
	struct table by_who;
};

static struct meters *meters_of(struct turn_meters *t)
{
	return (struct meters *)t;
}

bool turn_rates_any(const struct turn_rates *r)
{
	for (unsigned int scope = 0; scope < TURN_RATE_OF_END; scope++)
		for (unsigned int leg = 0; leg < 2; leg++)
			if (r->flow[scope][leg].kbits != 0 || r->flow[scope][leg].datagrams != 0)
				return true;
	return false;
}

static bool is_limited(const struct turn_rates *r, enum turn_rate_of scope)
{
	struct turn_rates alone = {0};

	memcpy(alone.flow[scope], r->flow[scope], sizeof(alone.flow[scope]));
	return turn_rates_any(&alone);
}

// --- making --------------------------------------------------------------------------------------

// Number of parties: users of all possible allocations, and realms.
static uint32_t parties_for(uint32_t slots)
{
	return PARTY_FIRST + slots + ACCOUNTS_REALMS;
}

static size_t round_up(size_t size)
{
	return (size + 63) & ~(size_t)63;
}

size_t turn_meters_size(uint32_t slots)
{
	return round_up(sizeof(struct meters)) + slots * sizeof(struct turn_meter) +
		parties_for(slots) * sizeof(struct turn_party) + table_size(parties_for(slots));
}

struct turn_meters *turn_meters_create(void *mem, uint32_t slots, struct turn_accounts *a)
{
	struct meters *t = mem;
	uint8_t *pos = (uint8_t *)mem + round_up(sizeof(*t));

	t->public = (struct turn_meters){.meter = (struct turn_meter *)pos,
		.accounts = a,
		.nb_slots = slots,
		.serial = 1,
		.nb_parties = parties_for(slots),
		.head = PARTY_NONE,
		.fresh = PARTY_FIRST};
	pos += slots * sizeof(*t->public.meter);
	t->public.party = (struct turn_party *)pos;
	pos += t->public.nb_parties * sizeof(*t->public.party);
	table_init(&t->by_who, pos, t->public.nb_parties);
	return &t->public;
}

void meters_policy(struct turn_shard *s)
{
	const struct turn_rates *r = &s->policy->limits.rates;
	struct turn_meters *t = s->meters;

	if (t == NULL)
		return;
	t->on = turn_rates_any(r);
	t->wide = is_limited(r, TURN_RATE_USER) || is_limited(r, TURN_RATE_REALM);
	t->serial = t->serial == UINT16_MAX ? 1 : t->serial + 1;
}

void turn_shard_set_meters(struct turn_shard *s, struct turn_meters *t)
{
	s->meters = t;
#define X(apply) apply(s);
	RATES_POLICIES(X)
#undef X
}

struct turn_meters *turn_shard_meters(const struct turn_shard *s)
{
	return s->meters != NULL && s->meters->on ? s->meters : NULL;
}

// --- accounts ------------------------------------------------------------------------------------

// The cost of one or more datagrams of a leg.
struct bill {
	unsigned int leg;
	uint64_t cost;
};

// Sets up the accounts of both kinds that give credit, and the amount drawn at once: a part of the
// burst. due is by kind; NULL = no limit.
static void accounts_begin(const struct turn_shard *s, enum turn_rate_of scope,
	const struct bill *bill, _Atomic uint64_t *due, struct account out[ACCOUNT_KINDS])
{
	const struct turn_rates *r = &s->policy->limits.rates;
	const struct turn_flow_rate *rate = &r->flow[scope][bill->leg];
	const unsigned int workers = s->workers > 0 ? s->workers : 1;
	const uint64_t burst = meters_burst_ms(r) * BUCKET_MS;

	for (unsigned int kind = 0; kind < ACCOUNT_KINDS; kind++) {
		out[kind] = (struct account){.kind = (enum account_kind)kind,
			.rate = kind == ACCOUNT_BYTES ? rate->kbits : rate->datagrams,
			.now = s->now_ms * BUCKET_MS,
			.burst = burst,
			.piece = scope == TURN_RATE_ALLOCATION ? burst / OWN_PART
							       : burst / (SHARED_PART * workers),
			.single = bill->cost >> TURN_METER_DATAGRAMS == 1};
		if (due != NULL && out[kind].rate != 0)
			out[kind].due = &due[kind];
	}
}

// --- parties -------------------------------------------------------------------------------------

static uint32_t party_find(struct turn_meters *t, uint64_t party_hash)
{
	struct table_iter it = {0};
	uint32_t i;

	while (table_next(&meters_of(t)->by_who, party_hash, &it, &i))
		if (t->party[i].party_hash == party_hash)
			return i;
	return PARTY_NONE;
}

static uint32_t party_make(struct turn_meters *t, enum turn_rate_of scope, uint64_t party_hash)
{
	const uint32_t i = t->head != PARTY_NONE ? t->head : t->fresh;

	if (i == t->nb_parties || !table_insert(&meters_of(t)->by_who, party_hash, i))
		return PARTY_NONE;
	ASSERT(t->fresh <= t->nb_parties && t->party[i].meters == 0);
	if (i == t->fresh)
		t->fresh++;
	else
		t->head = t->party[i].next;
	t->party[i] = (struct turn_party){.party_hash = party_hash,
		.account = accounts_open(t->accounts, party_hash),
		.scope = (uint8_t)scope};
	return i;
}

// The party of a user or realm for one more meter. PARTY_NONE if there is no room, so that nothing
// passes. This happens only if buckets of the table are full at 62 % load.
static uint32_t party_take(struct turn_meters *t, enum turn_rate_of scope, uint64_t party_hash)
{
	uint32_t i = party_find(t, party_hash);

	if (i == PARTY_NONE)
		i = party_make(t, scope, party_hash);
	if (i != PARTY_NONE)
		t->party[i].meters++;
	return i;
}

// Returns the credit that a party has drawn at the current rates and has not used.
static void credit_give(const struct turn_shard *s, const struct turn_party *p)
{
	const struct turn_meters *t = s->meters;

	for (unsigned int leg = 0; leg < 2 && p->serial == t->serial; leg++) {
		const struct bill none = {.leg = leg};
		struct account a[ACCOUNT_KINDS];

		accounts_begin(s, (enum turn_rate_of)p->scope, &none,
			accounts_due(t->accounts, p->account)[leg], a);
		if (a[ACCOUNT_BYTES].due != NULL)
			account_give(&a[ACCOUNT_BYTES], p->left[leg] & BYTES_MASK);
		if (a[ACCOUNT_DATAGRAMS].due != NULL)
			account_give(&a[ACCOUNT_DATAGRAMS], p->left[leg] >> TURN_METER_DATAGRAMS);
	}
}

static void party_give(struct turn_shard *s, uint32_t i)
{
	struct turn_meters *t = s->meters;
	struct turn_party *p = &t->party[i];

	if (i < PARTY_FIRST)
		return;
	ASSERT(p->meters > 0 && p->meters <= t->nb_slots && party_find(t, p->party_hash) == i);
	if (--p->meters > 0)
		return;
	credit_give(s, p);
	table_remove(&meters_of(t)->by_who, p->party_hash, i);
	accounts_close(t->accounts, p->account);
	*p = (struct turn_party){.next = t->head};
	t->head = i;
}

// --- meters --------------------------------------------------------------------------------------

// Sets a meter up for its slot's allocation and the current rates.
static void meter_begin(struct turn_shard *s, uint32_t slot)
{
	const struct turn_rates *r = &s->policy->limits.rates;
	struct turn_meters *t = s->meters;
	struct turn_meter *m = &t->meter[slot];
	const uint32_t user = m->user, realm = m->realm;

	m->user = m->realm = PARTY_FREE;
	if (is_limited(r, TURN_RATE_USER))
		m->user = party_take(t, TURN_RATE_USER, cold_at(s, slot)->quota_user);
	if (is_limited(r, TURN_RATE_REALM))
		m->realm = party_take(t, TURN_RATE_REALM,
			accounts_realm(t->accounts, alloc_policy(s, slot)->realm));
	party_give(s, user); // after taking the new parties, so that an unchanged one stays open
	party_give(s, realm);
	m->left[0] = m->left[1] = 0;
	m->serial = t->serial;
}

static uint32_t account_of(const struct turn_meters *t, uint32_t party)
{
	if (party < PARTY_FIRST)
		return party == PARTY_FREE ? METERS_NO_ACCOUNT : METERS_SHUT;
	return t->party[party].account;
}

void meters_accounts(struct turn_shard *s, uint32_t slot, uint32_t account[2])
{
	const struct turn_meters *t = s->meters;
	const struct turn_meter *m = &t->meter[slot];

	if (m->serial != t->serial)
		meter_begin(s, slot);
	account[0] = account_of(t, m->user);
	account[1] = account_of(t, m->realm);
}

void meters_end(struct turn_shard *s, uint32_t slot)
{
	struct turn_meter *m = &s->meters->meter[slot];

	party_give(s, m->user);
	party_give(s, m->realm);
	memset(m, 0, sizeof(*m));
}

void meters_lost(struct turn_shard *s, uint32_t slot, unsigned int loss)
{
	uint16_t *lost;

	if (s->meters == NULL)
		return;
	lost = &s->meters->meter[slot].lost[loss - TURN_LOSS_KEPT];
	*lost = (uint16_t)(*lost + (*lost != UINT16_MAX));
}

void meters_usage(const struct turn_shard *s, uint32_t slot, struct turn_usage *out)
{
	for (unsigned int i = TURN_LOSS_KEPT; s->meters != NULL && i < TURN_LOSS_END; i++)
		out->lost[i] = s->meters->meter[slot].lost[i - TURN_LOSS_KEPT];
}

// --- credit --------------------------------------------------------------------------------------

// Draws credit of one kind up to `want`. Returns the new credit.
static uint64_t credit_kind(const struct account *a, uint64_t left, uint64_t want)
{
	const uint64_t most = a->kind == ACCOUNT_BYTES ? BYTES_MOST : DATAGRAMS_MOST;

	if (left >= want)
		return left;
	return a->due == NULL ? most : left + account_take(a, want - left, most);
}

// Fills a credit up to a cost, if possible. True if the credit covers the cost.
static bool credit_fill(uint64_t *left, const struct account source[ACCOUNT_KINDS], uint64_t cost)
{
	const uint64_t bytes =
		credit_kind(&source[ACCOUNT_BYTES], *left & BYTES_MASK, cost & BYTES_MASK);
	const uint64_t datagrams = credit_kind(&source[ACCOUNT_DATAGRAMS],
		*left >> TURN_METER_DATAGRAMS, cost >> TURN_METER_DATAGRAMS);

	*left = datagrams << TURN_METER_DATAGRAMS | bytes;
	return ((*left - cost) & TURN_METER_BELOW_0) == 0;
}

static bool party_fill(
	struct turn_shard *s, uint32_t i, enum turn_rate_of scope, const struct bill *bill)
{
	struct turn_meters *t = s->meters;
	struct turn_party *p = &t->party[i];
	struct account source[ACCOUNT_KINDS];

	if (i == PARTY_NONE)
		return false;
	if (p->serial != t->serial) {
		p->left[0] = p->left[1] = 0;
		p->serial = t->serial;
	}
	accounts_begin(s, scope, bill,
		i >= PARTY_FIRST ? accounts_due(t->accounts, p->account)[bill->leg] : NULL, source);
	return credit_fill(&p->left[bill->leg], source, bill->cost);
}

unsigned int turn_meter_ask(struct turn_shard *s, uint32_t slot, unsigned int leg, uint64_t cost)
{
	const struct bill bill = {leg, cost};
	struct turn_meters *t = s->meters;
	struct turn_meter *m = &t->meter[slot];
	struct account source[ACCOUNT_KINDS];

	if (m->serial != t->serial)
		meter_begin(s, slot);
	accounts_begin(s, TURN_RATE_ALLOCATION, &bill, (_Atomic uint64_t *)m->due[leg], source);
	if (!credit_fill(&m->left[leg], source, cost))
		return TURN_DROP_ALLOCATION_RATE;
	if (t->wide && !party_fill(s, m->user, TURN_RATE_USER, &bill))
		return TURN_DROP_USER_RATE;
	if (t->wide && !party_fill(s, m->realm, TURN_RATE_REALM, &bill))
		return TURN_DROP_REALM_RATE;
	m->left[leg] -= cost;
	if (t->wide) {
		t->party[m->user].left[leg] -= cost;
		t->party[m->realm].left[leg] -= cost;
	}
	ASSERT((m->left[leg] & TURN_METER_BELOW_0) == 0);
	ASSERT(!t->wide || m->user >= PARTY_FREE);
	ASSERT(!t->wide || m->realm >= PARTY_FREE);
	return TURN_OK;
}

void turn_meter_give(struct turn_shard *s, uint32_t slot, unsigned int leg, uint64_t cost)
{
	struct turn_meters *t = s->meters;
	struct turn_meter *m = &t->meter[slot];

	m->left[leg] += cost;
	if (t->wide) {
		t->party[m->user].left[leg] += cost;
		t->party[m->realm].left[leg] += cost;
	}
}

void meters_judge(struct turn_shard *s, const struct turn_view *v, struct turn_plan *plan)
{
	const uint64_t cost = turn_meter_cost(1, plan->len);
	unsigned int reason;

	if (!s->meters->on || (plan->verdict != TURN_RELAY && plan->verdict != TURN_SEND) ||
		turn_meter_take(s->meters, v->slot, v->leg, cost))
		return;
	reason = turn_meter_ask(s, v->slot, v->leg, cost);
	if (reason != TURN_OK)
		route_drop(plan, (enum turn_drop)reason);
}
