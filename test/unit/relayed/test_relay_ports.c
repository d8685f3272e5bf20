// SPDX-License-Identifier: BSD-3-Clause
// A worker's relay ports: taking and giving back, against a simple model; the quarantine before
// they are reused, pairs, and the random choice.
#include <stdlib.h>
#include <string.h>

#include "relayed/relay_map.h"
#include "test.h"
#include "test_rand.h"
#include "relayed/relay_ports.h"
#include "turn_config.h"

#define QUARANTINE_S 120
#define QUARANTINE_MS (QUARANTINE_S * 1000)
#define REST_STRIDE 40 // bytes of memory of each resting port

// One worker's ports on an IPv4 and an IPv6 address, with a listener on the former.
struct set {
	struct test_rand rand;
	struct csprng rng;
	struct turn_relay_map *map;
	struct relay_ports_memory mem;
	struct relay_ports *p;
	uint32_t nb_slots, usable[2]; // usable: by family, IPv6, IPv4
	uint64_t early;
};

static void set_open(struct set *s, const char *name, uint16_t lo, uint16_t hi)
{
	struct addr relay[2];
	struct turn_listener listener = {.endpoint.port = (uint16_t)(lo + 3)};
	struct turn_config c = {.workers = 1,
		.port_lo = lo,
		.port_hi = hi,
		.relay = relay,
		.nb_relay = 2,
		.listeners = &listener,
		.nb_listeners = 1};

	addr_parse("fd99::1", &relay[0]);
	addr_parse("10.99.0.1", &relay[1]);
	listener.endpoint.addr = relay[1];
	*s = (struct set){.rand = test_rand_start(name)};
	csprng_init(&s->rng, test_rand_source, &s->rand);
	s->map = turn_relay_map_create(&c);
	assert_non_null(s->map);
	s->nb_slots = turn_relay_map_slots(s->map, 0);
	s->mem.ports = calloc(1, relay_ports_size(s->map, 0));
	s->mem.rest_stride = REST_STRIDE;
	s->mem.rest = calloc(s->nb_slots, REST_STRIDE);
	s->p = relay_ports_create(&s->mem, s->map, 0, &s->rng);
	for (uint32_t slot = 0; slot < s->nb_slots; slot++)
		s->usable[slot < relay_map_slots_v4(s->map, 0)] +=
			turn_relay_map_usable(s->map, 0, slot);
}

static void set_close(struct set *s)
{
	free(s->mem.ports);
	free(s->mem.rest);
	turn_relay_map_free(s->map);
}

static bool take(
	struct set *s, bool is_v4, enum relay_ports_kind kind, uint64_t now_ms, uint32_t *slot)
{
	const struct relay_ports_want want = {is_v4, kind, QUARANTINE_S, now_ms};
	const bool taken = relay_ports_take(s->p, &want, slot, &s->early);

	// the owner of a port owns its memory
	if (taken)
		memset((uint8_t *)s->mem.rest + *slot * REST_STRIDE, 0xa5, REST_STRIDE);
	return taken;
}

// Takes every port of a family.
static uint32_t drain(struct set *s, bool is_v4, uint64_t now_ms)
{
	uint32_t slot, n = 0;

	while (take(s, is_v4, RELAY_PORTS_ANY, now_ms, &slot))
		n++;
	return n;
}

// --- against a simple model ---------------------------------------------------------------------

enum state { UNUSABLE, TAKEN, FREE };

struct model {
	enum state *state;
	uint64_t *freed_ms; // of a FREE port; FREE_ALWAYS if it was never taken
	uint32_t nb_slots, nb_v4;
};

#define FREE_ALWAYS UINT64_MAX

static bool model_rested(const struct model *m, uint32_t slot, uint64_t now_ms, uint64_t rest_ms)
{
	if (m->state[slot] != FREE)
		return false;
	return m->freed_ms[slot] == FREE_ALWAYS ||
		(now_ms > m->freed_ms[slot] && now_ms - m->freed_ms[slot] >= rest_ms);
}

// True if a slot is suitable for a kind when ports need this rest.
static bool model_fits(const struct model *m, uint32_t slot, enum relay_ports_kind kind,
	uint64_t now_ms, uint64_t rest_ms)
{
	if (kind != RELAY_PORTS_ANY && slot % 2 != 0)
		return false;
	return model_rested(m, slot, now_ms, rest_ms) &&
		(kind != RELAY_PORTS_PAIR || model_rested(m, slot + 1, now_ms, rest_ms));
}

static bool in_family(const struct model *m, uint32_t slot, bool is_v4)
{
	return (slot < m->nb_v4) == is_v4;
}

static bool model_any(const struct model *m, bool is_v4, enum relay_ports_kind kind,
	uint64_t now_ms, uint64_t rest_ms)
{
	for (uint32_t slot = 0; slot < m->nb_slots; slot++) {
		if (in_family(m, slot, is_v4) && model_fits(m, slot, kind, now_ms, rest_ms))
			return true;
	}
	return false;
}

// The earliest time at which a free port of a kind was freed.
static uint64_t model_oldest(const struct model *m, bool is_v4, enum relay_ports_kind kind)
{
	uint64_t oldest = UINT64_MAX;

	for (uint32_t slot = 0; slot < m->nb_slots; slot++) {
		if (in_family(m, slot, is_v4) && m->state[slot] == FREE &&
			(kind == RELAY_PORTS_ANY || slot % 2 == 0) && m->freed_ms[slot] < oldest)
			oldest = m->freed_ms[slot];
	}
	return oldest;
}

// Checks one take against the model: the slot, or its absence, and the count of early reuses.
static bool check_take(struct set *s, struct model *m, const struct relay_ports_want *want)
{
	const bool is_v4 = want->is_v4;
	const enum relay_ports_kind kind = want->kind;
	const uint64_t now_ms = want->now_ms, rest_ms = want->quarantine_s * 1000ull;
	const bool rested = model_any(m, is_v4, kind, now_ms, rest_ms);
	const uint64_t early = s->early;
	uint64_t resting;
	uint32_t slot;

	if (!relay_ports_take(s->p, want, &slot, &s->early)) {
		assert_false(rested);
		assert_false(model_any(m, is_v4, kind, now_ms, 1000));
		assert_int_equal(s->early, early);
		return false;
	}
	assert_true(slot < m->nb_slots && in_family(m, slot, is_v4));
	assert_true(model_fits(m, slot, kind, now_ms, rested ? rest_ms : 1000));
	resting = !model_rested(m, slot, now_ms, rest_ms);
	if (!rested && kind != RELAY_PORTS_PAIR)
		assert_int_equal(m->freed_ms[slot], model_oldest(m, is_v4, kind));
	m->state[slot] = TAKEN;
	if (kind == RELAY_PORTS_PAIR) {
		resting += !model_rested(m, slot + 1, now_ms, rest_ms);
		m->state[slot + 1] = TAKEN;
	}
	assert_int_equal(s->early - early, resting);
	return true;
}

static void check_counts(const struct set *s, const struct model *m)
{
	uint32_t n[2] = {0};

	for (uint32_t slot = 0; slot < m->nb_slots; slot++)
		n[slot < m->nb_v4] += m->state[slot] == FREE;
	assert_int_equal(relay_ports_free(s->p, false), n[0]);
	assert_int_equal(relay_ports_free(s->p, true), n[1]);
}

static void give_random(struct set *s, struct model *m, struct test_rand *r, uint64_t now_ms)
{
	const uint32_t start = test_rand_below(r, m->nb_slots);

	for (uint32_t i = 0; i < m->nb_slots; i++) {
		const uint32_t slot = (start + i) % m->nb_slots;

		if (m->state[slot] != TAKEN)
			continue;
		relay_ports_give(s->p, slot, now_ms);
		m->state[slot] = FREE;
		m->freed_ms[slot] = now_ms;
		return;
	}
}

// Phases that mostly take and phases that mostly give alternate, so that the set gets empty and
// full.
static void run_model(struct set *s, struct model *m, uint32_t quarantine_s, int steps)
{
	struct test_rand r = {test_rand(&s->rand)};
	uint64_t now_ms = test_rand_below(&r, 1000000), failed = 0;

	for (int i = 0; i < steps; i++) {
		const uint32_t lean = i / 500 % 2 == 0 ? 60 : 35;
		const uint32_t jump = test_rand_below(&r, 1000);

		if (jump < 2)
			now_ms += test_rand_below(&r, 3 * QUARANTINE_MS);
		else if (jump < 10)
			now_ms += quarantine_s * 1000ull -
				test_rand_below(&r, 2) * (quarantine_s > 0);
		else if (jump < 500)
			now_ms += test_rand_below(&r, 300);
		if (test_rand_below(&r, 100) < lean)
			failed += !check_take(s, m,
				&(struct relay_ports_want){test_rand_below(&r, 2) == 0,
					(enum relay_ports_kind)test_rand_below(&r, 3), quarantine_s,
					now_ms});
		else
			give_random(s, m, &r, now_ms);
		if (i % 16 == 0)
			check_counts(s, m);
	}
	assert_true(failed > 0);
	assert_int_equal(quarantine_s > 1, s->early > 0); // up to 1 s, all reusable ports rested
}

static void test_model(void **state)
{
	static const uint16_t ranges[][2] = {
		{50001, 50040}, {50000, 50127}, {50127, 50130}, {60001, 60004}};
	static const uint32_t quarantines[] = {120, 0, 1, 2};

	for (int i = 0; i < 16; i++) {
		struct set s;
		struct model m;

		set_open(&s, "model", ranges[i / 4][0], ranges[i / 4][1]);
		m = (struct model){.state = calloc(s.nb_slots, sizeof(*m.state)),
			.freed_ms = calloc(s.nb_slots, sizeof(*m.freed_ms)),
			.nb_slots = s.nb_slots,
			.nb_v4 = relay_map_slots_v4(s.map, 0)};
		for (uint32_t slot = 0; slot < s.nb_slots; slot++) {
			m.state[slot] = turn_relay_map_usable(s.map, 0, slot) ? FREE : UNUSABLE;
			m.freed_ms[slot] = FREE_ALWAYS;
		}
		run_model(&s, &m, quarantines[i % 4], 12000);
		free(m.state);
		free(m.freed_ms);
		set_close(&s);
	}
}

// --- rest and reuse -----------------------------------------------------------------------------

static void test_exhaustion(void **state)
{
	struct set s;
	uint32_t slot, kind;

	set_open(&s, "exhaustion", 50000, 50999);
	assert_int_equal(s.usable[1], 999); // a listener has one
	assert_int_equal(s.usable[0], 1000);
	for (int is_v4 = 0; is_v4 < 2; is_v4++) {
		assert_int_equal(relay_ports_all(s.p, is_v4), s.usable[is_v4]);
		assert_int_equal(relay_ports_free(s.p, is_v4), s.usable[is_v4]);
		assert_int_equal(drain(&s, is_v4, 5), s.usable[is_v4]);
		assert_int_equal(relay_ports_free(s.p, is_v4), 0);
		for (kind = RELAY_PORTS_ANY; kind <= RELAY_PORTS_PAIR; kind++)
			assert_false(take(&s, is_v4, (enum relay_ports_kind)kind, 1u << 30, &slot));
		assert_int_equal(relay_ports_all(s.p, is_v4), s.usable[is_v4]);
	}
	assert_int_equal(s.early, 0);
	set_close(&s);
}

static void test_quarantine_exact(void **state)
{
	struct relay_ports_want want = {.kind = RELAY_PORTS_ANY, .now_ms = 900000}; // IPv6, no rest
	struct set s;
	uint32_t slot;

	set_open(&s, "quarantine", 50000, 50003);
	drain(&s, false, 0);
	relay_ports_give(s.p, 0 + relay_map_slots_v4(s.map, 0) + 64,
		0); // not taken, or not even usable: no effect
	assert_int_equal(relay_ports_free(s.p, false), 0);
	slot = relay_map_slots_v4(s.map, 0);
	while (!turn_relay_map_usable(s.map, 0, slot))
		slot++;
	relay_ports_give(s.p, slot, 1000);
	relay_ports_give(s.p, slot, 1000); // the second call has no effect
	assert_int_equal(relay_ports_free(s.p, false), 1);
	assert_false(take(&s, false, RELAY_PORTS_ANY, 1000, &slot));
	assert_false(take(&s, false, RELAY_PORTS_ANY, 1999, &slot));
	assert_true(
		take(&s, false, RELAY_PORTS_ANY, 2000, &slot)); // rested 1 s, for lack of others
	assert_int_equal(s.early, 1);
	assert_false(take(&s, false, RELAY_PORTS_ANY, 1u << 30, &slot));
	relay_ports_give(s.p, slot, 3000);
	assert_true(take(&s, false, RELAY_PORTS_ANY, 3000 + QUARANTINE_MS - 1, &slot));
	assert_int_equal(s.early, 2);
	relay_ports_give(s.p, slot, 500000);
	assert_true(take(&s, false, RELAY_PORTS_ANY, 500000 + QUARANTINE_MS, &slot));
	assert_int_equal(s.early, 2);
	// no quarantine: reused in the next round, not in this one
	relay_ports_give(s.p, slot, 900000);
	assert_false(relay_ports_take(s.p, &want, &slot, &s.early));
	want.now_ms++;
	assert_true(relay_ports_take(s.p, &want, &slot, &s.early));
	assert_int_equal(s.early, 2);
	set_close(&s);
}

// While a rested port is left, no resting one is taken, however long it has rested.
static void test_no_needless_reuse(void **state)
{
	struct set s;
	uint32_t first, slot;

	set_open(&s, "needless", 50000, 50255);
	for (uint32_t i = 0; i < s.usable[1]; i++) {
		assert_true(take(&s, true, RELAY_PORTS_ANY, i * 100, &slot));
		if (i == 0)
			first = slot;
		else
			assert_true(slot != first);
		if (i < 100)
			relay_ports_give(s.p, slot, i * 100);
	}
	assert_int_equal(s.early, 0);
	assert_true(take(&s, true, RELAY_PORTS_ANY, s.usable[1] * 100, &slot));
	assert_int_equal(slot, first);
	assert_int_equal(s.early, 1);
	set_close(&s);
}

// Without rested ports they are reused in the order in which they were freed.
static void test_reuse_order(void **state)
{
	struct set s;
	uint32_t slots[256], n = 0, slot, even;

	set_open(&s, "reuse order", 50000, 50255);
	while (take(&s, false, RELAY_PORTS_ANY, 0, &slots[n]))
		n++;
	for (uint32_t i = 0; i < n; i++)
		relay_ports_give(s.p, slots[i], 10 + i);
	for (uint32_t i = 0; i < n; i++) {
		assert_false(take(&s, false, RELAY_PORTS_ANY, 1010 + i - 1, &slot));
		assert_true(take(&s, false, RELAY_PORTS_ANY, 1010 + i, &slot));
		assert_int_equal(slot, slots[i]);
	}
	assert_int_equal(s.early, n);
	for (uint32_t i = 0; i < n; i++)
		relay_ports_give(s.p, slots[i], 5000 + i);
	for (even = 0; slots[even] % 2 != 0; even++)
		;
	assert_true(take(&s, false, RELAY_PORTS_EVEN, 8000, &slot));
	assert_int_equal(slot, slots[even]);
	set_close(&s);
}

// Two ports of a pair freed at different times: the pair can be reused once both have rested 1 s,
// or, with the even one rested in full, once the odd one has.
static void test_reuse_pair(void **state)
{
	struct set s;
	uint32_t even, slot;

	set_open(&s, "reuse pair", 50000, 50255);
	drain(&s, false, 0);
	even = relay_map_slots_v4(s.map, 0) + 40;
	while (!turn_relay_map_usable(s.map, 0, even))
		even += 2;
	relay_ports_give(s.p, even + 1, 0);
	relay_ports_give(s.p, even, 500);
	assert_false(take(&s, false, RELAY_PORTS_PAIR, 1499, &slot));
	assert_true(take(&s, false, RELAY_PORTS_PAIR, 1500, &slot));
	assert_int_equal(slot, even);
	assert_int_equal(s.early, 2);
	relay_ports_give(s.p, even, 2000);
	relay_ports_give(s.p, even + 1, QUARANTINE_MS + 2000);
	assert_false(take(&s, false, RELAY_PORTS_PAIR, QUARANTINE_MS + 2999, &slot));
	assert_true(take(&s, false, RELAY_PORTS_PAIR, QUARANTINE_MS + 3000, &slot));
	assert_int_equal(s.early, 3);
	relay_ports_give(s.p, even + 1, 500000);
	relay_ports_give(s.p, even, 500000 + QUARANTINE_MS);
	assert_true(take(&s, false, RELAY_PORTS_PAIR, 501000 + QUARANTINE_MS, &slot));
	assert_int_equal(s.early, 4);
	set_close(&s);
}

// The rest of many ports ends at once: no port is missed, and pairs far apart are found.
static void test_backlog(void **state)
{
	struct set s;
	uint32_t v4, slot, n = 0;

	set_open(&s, "backlog", 20000, 59999);
	v4 = relay_map_slots_v4(s.map, 0);
	assert_int_equal(drain(&s, false, 0), 40000);
	// all even ports, then all odd ones in reverse order
	for (slot = v4; slot < s.nb_slots; slot += 2)
		relay_ports_give(s.p, slot, 1);
	for (slot = s.nb_slots - 1; slot > v4; slot -= 2)
		relay_ports_give(s.p, slot, 2);
	assert_true(take(&s, false, RELAY_PORTS_PAIR, QUARANTINE_MS + 2, &slot));
	for (n = 2; take(&s, false, RELAY_PORTS_ANY, QUARANTINE_MS + 2, &slot); n++)
		;
	assert_int_equal(n, 40000);
	assert_int_equal(s.early, 0);
	set_close(&s);
}

// --- chance -------------------------------------------------------------------------------------

#define DRAWS_EACH 200

// True if draws over n cells may be uniform: chi-square within six standard deviations.
static void check_uniform(const uint32_t *count, const uint8_t *cell, uint32_t nb, uint32_t draws)
{
	uint32_t n = 0;
	double chi2 = 0, expected, off;

	for (uint32_t i = 0; i < nb; i++) {
		assert_true(cell[i] || count[i] == 0);
		n += cell[i];
	}
	expected = (double)draws / n;
	for (uint32_t i = 0; i < nb; i++) {
		if (cell[i])
			chi2 += (count[i] - expected) * (count[i] - expected) / expected;
	}
	off = chi2 - (n - 1);
	if (off * off > 36 * 2.0 * (n - 1))
		fail_msg("chi-square %f of %u draws over %u cells", chi2, draws, n);
}

// Draws and gives back until each free port of a kind is expected to have come DRAWS_EACH times.
static void check_choice(
	struct set *s, enum relay_ports_kind kind, const uint8_t *cell, uint64_t *now_ms)
{
	uint32_t *count = calloc(s->nb_slots, sizeof(*count));
	uint32_t n = 0, draws, slot;

	for (uint32_t i = 0; i < s->nb_slots; i++)
		n += cell[i];
	draws = n * DRAWS_EACH;
	for (uint32_t i = 0; i < draws; i++) {
		const struct relay_ports_want want = {.kind = kind, .now_ms = ++*now_ms};

		assert_true(relay_ports_take(s->p, &want, &slot, &s->early));
		count[slot]++;
		relay_ports_give(s->p, slot, *now_ms);
		if (kind == RELAY_PORTS_PAIR)
			relay_ports_give(s->p, slot + 1, *now_ms);
	}
	check_uniform(count, cell, s->nb_slots, draws);
	free(count);
}

// The set has whole pairs, half pairs of either kind, and taken pairs.
static void test_choice(void **state)
{
	struct set s;
	uint8_t *cell[3];
	uint64_t now_ms = 0;
	uint32_t slot;

	set_open(&s, "choice", 50001, 50400);
	for (int kind = 0; kind < 3; kind++)
		cell[kind] = calloc(s.nb_slots, 1);
	drain(&s, false, 0);
	for (slot = relay_map_slots_v4(s.map, 0); slot < s.nb_slots; slot++) {
		cell[RELAY_PORTS_ANY][slot] =
			turn_relay_map_usable(s.map, 0, slot) && test_rand_below(&s.rand, 3) > 0;
		if (cell[RELAY_PORTS_ANY][slot])
			relay_ports_give(s.p, slot, 0);
	}
	for (slot = 0; slot < s.nb_slots; slot += 2) {
		cell[RELAY_PORTS_EVEN][slot] = cell[RELAY_PORTS_ANY][slot];
		cell[RELAY_PORTS_PAIR][slot] =
			cell[RELAY_PORTS_ANY][slot] && cell[RELAY_PORTS_ANY][slot + 1];
	}
	now_ms = QUARANTINE_MS;
	for (int round = 0; round < 2; round++) {
		for (int kind = 0; kind < 3; kind++)
			check_choice(&s, (enum relay_ports_kind)kind, cell[kind], &now_ms);
	}
	for (int kind = 0; kind < 3; kind++)
		free(cell[kind]);
	assert_int_equal(s.early, 0);
	set_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_model),
		cmocka_unit_test(test_exhaustion),
		cmocka_unit_test(test_quarantine_exact),
		cmocka_unit_test(test_no_needless_reuse),
		cmocka_unit_test(test_reuse_order),
		cmocka_unit_test(test_reuse_pair),
		cmocka_unit_test(test_backlog),
		cmocka_unit_test(test_choice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
