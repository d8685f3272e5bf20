// SPDX-License-Identifier: BSD-3-Clause
// Free relay ports (RFC 8656 7.2, RFC 6056). Three bit sets, IPv4 first, tell which ports have
// rested, which pairs have a rested even port, and which pairs have rested entirely: a uniform
// choice of any kind is one random number and a walk over counts. A freed port waits in the FIFO of
// its parity until a later allocation finds it rested; nothing runs on a timer. The links of the
// FIFOs are in memory that the owner of an allocated port may use.
#include "relayed/relay_ports.h"
#include "tables/bitset.h"
#include "invariant.h"
#include "relayed/relay_map.h"

#define NONE ILIST_NONE
#define REUSE_MIN_MS 1000 // minimum rest of a port if no fully rested one is left
#define SETTLE_MAX 64 // rested ports moved from each FIFO per allocation
#define SEARCH_MAX 64 // resting ports of each FIFO that are searched for a pair

enum port_state {
	PORT_UNUSABLE, // outside the range, or used by a listener
	PORT_TAKEN,
	PORT_RESTING, // in a FIFO
	PORT_RESTED,
};

// Counts of one family: members of the sets, and ports.
struct pool {
	uint32_t rested, even, both;
	uint32_t nb_usable, nb_free;
	struct ilist resting[2]; // by parity; the first has rested longest
};

struct relay_ports {
	struct csprng *rng;
	struct pool pool[2]; // IPv4, IPv6
	uint32_t slots_v4; // lower slots are IPv4
	struct bitset rested, resting, taken; // by slot
	struct bitset even, both; // by pair = slot / 2: its even port has rested, both ports have
	uint8_t *rest; // struct relay_ports_rest of slot 0
	size_t rest_stride;
};

static struct pool *pool_of(struct relay_ports *p, uint32_t slot)
{
	return &p->pool[slot >= p->slots_v4];
}

static struct relay_ports_rest *rest_at(const struct relay_ports *p, uint32_t slot)
{
	return (struct relay_ports_rest *)(p->rest + slot * p->rest_stride);
}

static struct ilist_links links_of(const struct relay_ports *p)
{
	return (struct ilist_links){&rest_at(p, 0)->link, p->rest_stride};
}

static enum port_state state_of(const struct relay_ports *p, uint32_t slot)
{
	if (bitset_has(&p->rested, slot))
		return PORT_RESTED;
	if (bitset_has(&p->resting, slot))
		return PORT_RESTING;
	return bitset_has(&p->taken, slot) ? PORT_TAKEN : PORT_UNUSABLE;
}

// Adds i to a set or removes it, and updates the family's number of members.
static void set_member(struct bitset *b, uint32_t i, bool member, uint32_t *members)
{
	if (bitset_put(b, i, member))
		*members += member ? 1u : UINT32_MAX;
}

static void set_state(struct relay_ports *p, uint32_t slot, enum port_state state)
{
	struct pool *o = pool_of(p, slot);
	const bool rested = state == PORT_RESTED;

	set_member(&p->rested, slot, rested, &o->rested);
	if (slot % 2 == 0)
		set_member(&p->even, slot / 2, rested, &o->even);
	set_member(&p->both, slot / 2, rested && bitset_has(&p->rested, slot ^ 1), &o->both);
	bitset_put(&p->resting, slot, state == PORT_RESTING);
	bitset_put(&p->taken, slot, state == PORT_TAKEN);
}

// True if the counts agree with the sets: every usable port is in one of them.
static inline bool counts_agree(const struct relay_ports *p)
{
	const struct pool *v4 = &p->pool[0], *v6 = &p->pool[1];

	return v4->rested + v6->rested == p->rested.used && v4->even + v6->even == p->even.used &&
		v4->both + v6->both == p->both.used &&
		v4->nb_free + v6->nb_free == p->rested.used + p->resting.used &&
		v4->nb_usable + v6->nb_usable == p->rested.used + p->resting.used + p->taken.used &&
		v4->even <= v4->rested && v6->even <= v6->rested && v4->both <= v4->even &&
		v6->both <= v6->even;
}

// --- FIFOs --------------------------------------------------------------------------------------

static void fifo_append(struct relay_ports *p, uint32_t slot, uint64_t now_ms)
{
	ASSERT(state_of(p, slot) == PORT_RESTING);
	// the first has rested longest
	ASSERT(pool_of(p, slot)->resting[slot & 1].last == NONE ||
		rest_at(p, pool_of(p, slot)->resting[slot & 1].last)->freed_ms <= now_ms);
	rest_at(p, slot)->freed_ms = now_ms;
	ilist_append(&pool_of(p, slot)->resting[slot & 1], links_of(p), slot);
}

static void fifo_remove(struct relay_ports *p, uint32_t slot)
{
	ilist_remove(&pool_of(p, slot)->resting[slot & 1], links_of(p), slot);
}

static bool rested_for(
	const struct relay_ports *p, uint32_t slot, uint64_t now_ms, uint64_t rest_ms)
{
	const uint64_t freed_ms = rest_at(p, slot)->freed_ms;

	// strictly later even without a quarantine: so the look-ups of a burst stay valid for its
	// round
	return now_ms > freed_ms && now_ms - freed_ms >= rest_ms;
}

// Marks the longest-resting port of a parity as rested; false if it must still rest.
static bool settle_one(
	struct relay_ports *p, struct pool *o, int odd, uint64_t now_ms, uint64_t rest_ms)
{
	const uint32_t slot = o->resting[odd].first;

	if (slot == NONE || !rested_for(p, slot, now_ms, rest_ms))
		return false;
	ASSERT(state_of(p, slot) == PORT_RESTING && pool_of(p, slot) == o);
	fifo_remove(p, slot);
	set_state(p, slot, PORT_RESTED);
	return true;
}

static void settle_ports(struct relay_ports *p, struct pool *o, enum relay_ports_kind kind,
	uint64_t now_ms, uint64_t rest_ms)
{
	bool more = true;

	for (int odd = 0; odd < 2; odd++) {
		for (int n = 0; n < SETTLE_MAX; n++) {
			if (!settle_one(p, o, odd, now_ms, rest_ms))
				break;
		}
	}
	// The two ports of a pair may be far apart in the FIFOs. Each port is moved once per rest,
	// so this is constant work in the long run.
	while (kind == RELAY_PORTS_PAIR && o->both == 0 && more) {
		more = settle_one(p, o, 0, now_ms, rest_ms);
		more = settle_one(p, o, 1, now_ms, rest_ms) || more;
	}
}

// --- choice -------------------------------------------------------------------------------------

// Chooses a rested port of a kind with equal probability. NONE if there is no such port.
static uint32_t choose_port(const struct relay_ports *p, bool is_v4, enum relay_ports_kind kind)
{
	const struct pool *o = &p->pool[!is_v4];
	const struct pool *before = &p->pool[0]; // IPv4 ports come first
	const uint32_t n = kind == RELAY_PORTS_ANY ? o->rested
		: kind == RELAY_PORTS_EVEN         ? o->even
						   : o->both;
	uint32_t r;

	if (n == 0)
		return NONE;
	r = csprng_below(p->rng, n);
	switch (kind) {
	case RELAY_PORTS_ANY:
		return bitset_nth(&p->rested, is_v4 ? r : before->rested + r);
	case RELAY_PORTS_EVEN:
		return bitset_nth(&p->even, is_v4 ? r : before->even + r) * 2;
	case RELAY_PORTS_PAIR:
		return bitset_nth(&p->both, is_v4 ? r : before->both + r) * 2;
	}
	return NONE;
}

static bool is_reusable(const struct relay_ports *p, uint32_t slot, uint64_t now_ms)
{
	return bitset_has(&p->rested, slot) ||
		(bitset_has(&p->resting, slot) && rested_for(p, slot, now_ms, REUSE_MIN_MS));
}

// A pair that may be reused: that of the first FIFO entry whose neighbour may be reused, too. The
// odd FIFO has the pairs whose even port has rested already.
static uint32_t reuse_pair(const struct relay_ports *p, const struct pool *o, uint64_t now_ms)
{
	for (int odd = 0; odd < 2; odd++) {
		uint32_t slot = o->resting[odd].first;

		for (int n = 0; n < SEARCH_MAX && slot != NONE; n++) {
			// the following ports have rested even less
			if (!is_reusable(p, slot, now_ms))
				break;
			if (is_reusable(p, slot ^ 1, now_ms))
				return slot & ~1u;
			slot = ilist_next(links_of(p), slot);
		}
	}
	return NONE;
}

// Used if no port has rested: returns the longest-resting port, if that is long enough.
static uint32_t reuse_port(const struct relay_ports *p, const struct pool *o,
	enum relay_ports_kind kind, uint64_t now_ms)
{
	const uint32_t odd = o->resting[1].first;
	uint32_t slot = o->resting[0].first;

	if (kind == RELAY_PORTS_PAIR)
		return reuse_pair(p, o, now_ms);
	if (kind == RELAY_PORTS_ANY && odd != NONE &&
		(slot == NONE || rest_at(p, odd)->freed_ms < rest_at(p, slot)->freed_ms))
		slot = odd;
	return slot != NONE && is_reusable(p, slot, now_ms) ? slot : NONE;
}

// Allocates a port. If it has not rested in full it counts as early; both ports of a pair may.
static void claim_port(struct relay_ports *p, uint32_t slot, uint64_t *early)
{
	ASSERT(state_of(p, slot) == PORT_RESTED || state_of(p, slot) == PORT_RESTING);
	ASSERT(pool_of(p, slot)->nb_free > 0);
	if (bitset_has(&p->resting, slot)) {
		fifo_remove(p, slot);
		(*early)++;
	}
	set_state(p, slot, PORT_TAKEN);
	pool_of(p, slot)->nb_free--;
}

bool relay_ports_take(
	struct relay_ports *p, const struct relay_ports_want *want, uint32_t *slot, uint64_t *early)
{
	struct pool *o = &p->pool[!want->is_v4];
	uint32_t s;

	settle_ports(p, o, want->kind, want->now_ms, want->quarantine_s * UINT64_C(1000));
	s = choose_port(p, want->is_v4, want->kind);
	if (s == NONE)
		s = reuse_port(p, o, want->kind, want->now_ms);
	if (s == NONE)
		return false;
	ASSERT(pool_of(p, s) == o && (want->kind == RELAY_PORTS_ANY || s % 2 == 0));
	claim_port(p, s, early);
	if (want->kind == RELAY_PORTS_PAIR)
		claim_port(p, s + 1, early);
	ASSERT(counts_agree(p));
	*slot = s;
	return true;
}

bool relay_ports_take_slot(struct relay_ports *p, uint32_t slot)
{
	uint64_t early = 0; // stays 0

	if (!bitset_has(&p->rested, slot))
		return false;
	claim_port(p, slot, &early);
	ASSERT(early == 0 && counts_agree(p));
	return true;
}

void relay_ports_give(struct relay_ports *p, uint32_t slot, uint64_t now_ms)
{
	// a port freed twice would be in a FIFO twice, and later two clients would have it
	if (state_of(p, slot) != PORT_TAKEN)
		return;
	set_state(p, slot, PORT_RESTING);
	fifo_append(p, slot, now_ms);
	pool_of(p, slot)->nb_free++;
	ASSERT(pool_of(p, slot)->nb_free <= pool_of(p, slot)->nb_usable && counts_agree(p));
}

void relay_ports_give_unused(struct relay_ports *p, uint32_t slot)
{
	if (state_of(p, slot) != PORT_TAKEN)
		return;
	set_state(p, slot, PORT_RESTED);
	pool_of(p, slot)->nb_free++;
	ASSERT(pool_of(p, slot)->nb_free <= pool_of(p, slot)->nb_usable && counts_agree(p));
}

uint32_t relay_ports_free(const struct relay_ports *p, bool is_v4)
{
	return p->pool[!is_v4].nb_free;
}

uint32_t relay_ports_all(const struct relay_ports *p, bool is_v4)
{
	return p->pool[!is_v4].nb_usable;
}

// Time from which the longest-resting port of a parity may be allocated again.
static uint64_t reusable_ms(const struct relay_ports *p, const struct pool *o, int odd)
{
	const uint32_t slot = o->resting[odd].first;

	return slot != NONE ? rest_at(p, slot)->freed_ms + REUSE_MIN_MS : VACANCY_NEVER;
}

void relay_ports_vacant(const struct relay_ports *p, bool is_v4, struct vacancy_family *out)
{
	const struct pool *o = &p->pool[!is_v4];
	const uint64_t even = reusable_ms(p, o, 0), odd = reusable_ms(p, o, 1);
	const uint64_t any = even < odd ? even : odd;

	*out = (struct vacancy_family){.nb = o->nb_free,
		.from_ms = {[RELAY_PORTS_ANY] = o->rested > 0 ? 0 : any,
			[RELAY_PORTS_EVEN] = o->even > 0 ? 0 : even,
			[RELAY_PORTS_PAIR] = o->both > 0 ? 0 : any}};
}

// --- making -------------------------------------------------------------------------------------

size_t relay_ports_size(const struct turn_relay_map *map, unsigned int worker)
{
	const uint32_t n = turn_relay_map_slots(map, worker);

	return sizeof(struct relay_ports) + 3 * bitset_size(n) + 2 * bitset_size(n / 2);
}

// Creates the sets in their memory, all empty.
static void sets_init(struct relay_ports *p, uint8_t *mem, uint32_t n)
{
	struct bitset *const by_slot[] = {&p->rested, &p->resting, &p->taken};
	struct bitset *const by_pair[] = {&p->even, &p->both};

	for (int i = 0; i < 3; i++, mem += bitset_size(n))
		bitset_init(by_slot[i], mem, n);
	for (int i = 0; i < 2; i++, mem += bitset_size(n / 2))
		bitset_init(by_pair[i], mem, n / 2);
}

struct relay_ports *relay_ports_create(const struct relay_ports_memory *mem,
	const struct turn_relay_map *map, unsigned int worker, struct csprng *rng)
{
	const uint32_t n = turn_relay_map_slots(map, worker);
	struct relay_ports *p = mem->ports;

	p->rng = rng;
	p->slots_v4 = relay_map_slots_v4(map, worker);
	p->rest = mem->rest;
	p->rest_stride = mem->rest_stride;
	sets_init(p, (uint8_t *)(p + 1), n);
	for (int i = 0; i < 2; i++)
		p->pool[i].resting[0] = p->pool[i].resting[1] = ILIST_EMPTY;
	for (uint32_t slot = 0; slot < n; slot++) {
		if (!turn_relay_map_usable(map, worker, slot))
			continue;
		set_state(p, slot, PORT_RESTED);
		pool_of(p, slot)->nb_usable++;
		pool_of(p, slot)->nb_free++;
	}
	ASSERT(counts_agree(p));
	return p;
}
