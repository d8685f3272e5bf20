// SPDX-License-Identifier: BSD-3-Clause
// The relay map: every relayed transport address has one worker and one slot there, and workers
// have equal shares.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"
#include "test_rand.h"
#include "relayed/relay_map.h"
#include "turn_config.h"

#define ADDRS_MAX 80

// Relay address number i of a family.
static struct addr nth(bool is_v4, uint32_t i)
{
	struct addr a;

	addr_parse(is_v4 ? "10.0.0.0" : "fd00::", &a);
	a.b[15] = (uint8_t)(i + 1);
	return a;
}

// The families of a configuration are mixed.
static void fill(struct turn_config *c, struct addr *relay, uint32_t nb_v4, uint32_t nb_v6)
{
	uint32_t v4 = 0, v6 = 0;

	while (v4 < nb_v4 || v6 < nb_v6) {
		if (v6 < nb_v6) {
			relay[v4 + v6] = nth(false, v6);
			v6++;
		}
		if (v4 < nb_v4) {
			relay[v4 + v6] = nth(true, nb_v4 - 1 - v4);
			v4++;
		}
	}
	c->relay = relay;
	c->nb_relay = nb_v4 + nb_v6;
}

// The expected owner of a port, from the contract; i: number of the address in its family.
static unsigned int expected_worker(
	const struct turn_config *c, uint32_t nb, uint32_t i, uint16_t port)
{
	if (nb >= c->workers)
		return i % c->workers;
	return ((port >> 1) - (c->port_lo >> 1)) % 64 % c->workers;
}

struct case_counts {
	uint32_t nb[2]; // addresses of each family: IPv6, IPv4
	uint32_t i[2]; // addresses of each family up to here
	uint8_t *seen[TURN_WORKERS_MAX];
	uint32_t usable[TURN_WORKERS_MAX];
};

static void check_port(const struct turn_relay_map *m, const struct turn_config *c, uint32_t a,
	uint16_t port, struct case_counts *n)
{
	const bool is_v4 = addr_is_v4(&c->relay[a]);
	unsigned int worker = 999, pair_worker;
	uint32_t slot = UINT32_MAX, pair_slot;
	uint16_t found;

	if (!turn_relay_map_home(m, a, port, &worker, &slot)) {
		assert_true(port < c->port_lo || port > c->port_hi);
		return;
	}
	assert_in_range(port, c->port_lo, c->port_hi);
	assert_int_equal(worker, expected_worker(c, n->nb[is_v4], n->i[is_v4], port));
	assert_true(slot < turn_relay_map_slots(m, worker));
	assert_int_equal(n->seen[worker][slot], 0);
	n->seen[worker][slot] = 1;
	n->usable[worker]++;
	assert_true(turn_relay_map_usable(m, worker, slot));
	assert_int_equal(slot < relay_map_slots_v4(m, worker), is_v4);
	assert_int_equal(slot & 1, port & 1);
	if (turn_relay_map_home(m, a, port ^ 1, &pair_worker, &pair_slot)) {
		assert_int_equal(pair_worker, worker);
		assert_int_equal(pair_slot, slot ^ 1);
	}
	assert_int_equal(turn_relay_map_locate(m, worker, slot, &found), a);
	assert_int_equal(found, port);
}

// Every transport address has one home, every slot at most one transport address.
static void check_case(const struct turn_config *c, uint32_t nb_v4, uint32_t nb_v6)
{
	struct turn_relay_map *m = turn_relay_map_create(c);
	struct case_counts n = {.nb = {nb_v6, nb_v4}};
	uint64_t total = 0;

	assert_non_null(m);
	for (unsigned int w = 0; w < c->workers; w++)
		n.seen[w] = calloc(turn_relay_map_slots(m, w) + 1, 1);
	for (uint32_t a = 0; a < c->nb_relay; a++) {
		const int first = c->port_lo > 300 ? c->port_lo - 300 : 0;
		const int last = c->port_hi < 65235 ? c->port_hi + 300 : 65535;

		assert_int_equal(turn_relay_map_find(m, &c->relay[a]), a);
		for (int port = first; port <= last; port++)
			check_port(m, c, a, (uint16_t)port, &n);
		n.i[addr_is_v4(&c->relay[a])]++;
	}
	for (unsigned int w = 0; w < c->workers; w++) {
		uint32_t usable = 0;

		for (uint32_t slot = 0; slot < turn_relay_map_slots(m, w); slot++) {
			assert_int_equal(turn_relay_map_usable(m, w, slot), n.seen[w][slot]);
			usable += n.seen[w][slot];
		}
		assert_int_equal(usable, n.usable[w]);
		assert_false(turn_relay_map_usable(m, w, turn_relay_map_slots(m, w)));
		total += usable;
		free(n.seen[w]);
	}
	// complete: every port has an owner
	assert_int_equal(total, (uint64_t)c->nb_relay * (c->port_hi - c->port_lo + 1u));
	turn_relay_map_free(m);
}

static const uint16_t ranges[][2] = {{50000, 50999}, {50001, 50300}, {49153, 49153}, {1, 1},
	{65535, 65535}, {49279, 49281}, {1024, 1151}, {1023, 1152}, {65000, 65535}, {1, 200}};
static const uint32_t workers[] = {1, 2, 3, 4, 7, 64};

static void test_bijection(void **state)
{
	static const uint32_t families[][2] = {{0, 0}, {1, 0}, {0, 1}, {1, 1}, {2, 3}, {3, 2},
		{4, 4}, {7, 1}, {6, 8}, {64, 3}, {65, 1}};
	struct addr relay[ADDRS_MAX];

	for (size_t f = 0; f < sizeof(families) / sizeof(families[0]); f++) {
		for (size_t r = 0; r < sizeof(ranges) / sizeof(ranges[0]); r++) {
			for (size_t w = 0; w < sizeof(workers) / sizeof(workers[0]); w++) {
				struct turn_config c = {.workers = workers[w],
					.port_lo = ranges[r][0],
					.port_hi = ranges[r][1]};

				fill(&c, relay, families[f][0], families[f][1]);
				check_case(&c, families[f][0], families[f][1]);
			}
		}
	}
}

// The whole port space, and random cases.
static void test_bijection_wide(void **state)
{
	struct test_rand r = test_rand_start("relay map");
	struct addr relay[ADDRS_MAX];

	for (size_t w = 0; w < sizeof(workers) / sizeof(workers[0]); w++) {
		struct turn_config c = {.workers = workers[w], .port_lo = 1, .port_hi = 65535};

		fill(&c, relay, 2, 1);
		check_case(&c, 2, 1);
	}
	for (int i = 0; i < 40; i++) {
		const uint32_t v4 = test_rand_below(&r, 40), v6 = test_rand_below(&r, 40);
		const uint16_t lo = (uint16_t)(1 + test_rand_below(&r, 65000));
		struct turn_config c = {.workers = 1 + test_rand_below(&r, 64),
			.port_lo = lo,
			.port_hi = (uint16_t)(lo + test_rand_below(&r, 500))};

		fill(&c, relay, v4, v6);
		check_case(&c, v4, v6);
	}
}

// Workers have equally many slices of a cut address, or whole addresses, or differ by one.
static void test_fair(void **state)
{
	struct addr relay[ADDRS_MAX];

	for (uint32_t w = 1; w <= TURN_WORKERS_MAX; w++) {
		struct turn_config c = {.workers = w, .port_lo = 1024, .port_hi = 1151};
		struct turn_relay_map *m;

		fill(&c, relay, 1, 0);
		m = turn_relay_map_create(&c);
		for (unsigned int i = 0; i < w; i++)
			assert_in_range(
				turn_relay_map_slots(m, i), 64 / w * 2, (64 + w - 1) / w * 2);
		turn_relay_map_free(m);
	}
}

// Counts the ports of a range that each worker has.
static void count_ports(const struct turn_config *c, uint32_t nb[TURN_WORKERS_MAX])
{
	struct turn_relay_map *m = turn_relay_map_create(c);
	unsigned int worker;
	uint32_t slot;

	assert_non_null(m);
	memset(nb, 0, sizeof(nb[0]) * TURN_WORKERS_MAX);
	for (uint32_t port = c->port_lo; port <= c->port_hi; port++) {
		assert_true(turn_relay_map_home(m, 0, (uint16_t)port, &worker, &slot));
		nb[worker]++;
	}
	turn_relay_map_free(m);
}

// However few ports there are, and wherever they begin, two workers differ by at most a pair, or by
// one slice if there are many ports.
static void test_fair_few(void **state)
{
	struct addr relay[ADDRS_MAX];
	uint32_t nb[TURN_WORKERS_MAX];

	for (uint16_t lo = 49990; lo < 50130; lo += 7)
		for (uint16_t n = 1; n <= 400; n = (uint16_t)(n < 140 ? n + 1 : n + 13))
			for (uint32_t w = 2; w <= 9; w++) {
				struct turn_config c = {.workers = w,
					.port_lo = lo,
					.port_hi = (uint16_t)(lo + n - 1)};
				uint32_t least = UINT32_MAX, most = 0;

				fill(&c, relay, 1, 0);
				count_ports(&c, nb);
				for (unsigned int i = 0; i < w; i++) {
					least = nb[i] < least ? nb[i] : least;
					most = nb[i] > most ? nb[i] : most;
				}
				assert_true(most - least <= 2u + 2u * (n / 128u));
			}
}

// Ranges that containers and routers publish.
static void test_fair_small(void **state)
{
	static const struct {
		uint32_t workers;
		uint16_t lo, hi;
		uint32_t least;
	} cases[] = {{2, 50000, 50040, 20}, {4, 50000, 50040, 9}, {4, 50000, 50015, 4},
		{4, 49160, 49200, 9}, {3, 49152, 49155, 0}};
	struct addr relay[ADDRS_MAX];
	uint32_t nb[TURN_WORKERS_MAX];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct turn_config c = {.workers = cases[i].workers,
			.port_lo = cases[i].lo,
			.port_hi = cases[i].hi};

		fill(&c, relay, 1, 0);
		count_ports(&c, nb);
		for (unsigned int w = 0; w < c.workers; w++)
			assert_true(nb[w] >= cases[i].least);
	}
}

static void test_listeners(void **state)
{
	struct addr relay[3] = {nth(true, 0), nth(false, 0), nth(true, 1)};
	struct turn_listener listeners[] = {{{nth(true, 0), 50000}, TURN_OVER_UDP},
		{{nth(true, 0), 50003}, TURN_OVER_UDP}, {{nth(false, 0), 50001}, TURN_OVER_UDP},
		{{nth(true, 0), 3478}, TURN_OVER_UDP}, {{nth(true, 9), 50005}, TURN_OVER_UDP}};
	struct turn_config c = {.workers = 2,
		.port_lo = 50000,
		.port_hi = 50100,
		.relay = relay,
		.nb_relay = 3,
		.listeners = listeners,
		.nb_listeners = 5};
	struct turn_relay_map *m = turn_relay_map_create(&c);
	struct turn_config free_c = c;
	struct turn_relay_map *free_m;
	unsigned int worker, free_worker, refused = 0;
	uint32_t slot, free_slot;

	free_c.nb_listeners = 0;
	free_m = turn_relay_map_create(&free_c);
	for (uint32_t a = 0; a < 3; a++) {
		for (uint16_t port = 50000; port <= 50100; port++) {
			const bool taken = (a == 0 && (port == 50000 || port == 50003)) ||
				(a == 1 && port == 50001);

			assert_true(turn_relay_map_home(free_m, a, port, &free_worker, &free_slot));
			assert_int_equal(turn_relay_map_home(m, a, port, &worker, &slot), !taken);
			assert_int_equal(turn_relay_map_usable(m, free_worker, free_slot), !taken);
			refused += taken;
			if (taken)
				continue;
			// a listener moves no other port
			assert_int_equal(worker, free_worker);
			assert_int_equal(slot, free_slot);
		}
	}
	assert_int_equal(refused, 3);
	turn_relay_map_free(m);
	turn_relay_map_free(free_m);
}

// The ports of address a are one run of a worker's slots, as turn_relay_map_home() says.
static void check_run(const struct turn_relay_map *m, const struct turn_config *c, uint32_t a)
{
	struct turn_relay_map_run run;
	unsigned int worker;
	uint32_t slot;

	assert_true(turn_relay_map_run(m, a, &run));
	assert_int_equal(run.lo, c->port_lo);
	assert_int_equal(run.nb, c->port_hi - c->port_lo + 1);
	for (uint32_t port = run.lo; port < run.lo + run.nb; port++) {
		assert_true(turn_relay_map_home(m, a, (uint16_t)port, &worker, &slot));
		assert_int_equal(run.worker, worker);
		assert_int_equal((uint32_t)(run.base + port), slot);
	}
}

// Whole addresses are runs, whatever the range; addresses cut into slices are not.
static void test_runs(void **state)
{
	static const uint16_t range[][2] = {
		{49152, 65535}, {50001, 50300}, {1, 200}, {65535, 65535}};
	struct turn_relay_map_run run;
	struct addr relay[ADDRS_MAX];

	for (size_t r = 0; r < sizeof(range) / sizeof(range[0]); r++) {
		for (uint32_t w = 1; w <= 4; w++) {
			struct turn_config c = {
				.workers = w, .port_lo = range[r][0], .port_hi = range[r][1]};
			struct turn_relay_map *m;

			fill(&c, relay, 2, 3);
			m = turn_relay_map_create(&c);
			assert_non_null(m);
			for (uint32_t a = 0; a < c.nb_relay; a++) {
				if (w <= (addr_is_v4(&relay[a]) ? 2u : 3u))
					check_run(m, &c, a);
				else
					assert_false(turn_relay_map_run(m, a, &run));
			}
			turn_relay_map_free(m);
		}
	}
}

// The usual configuration: the listener is on the relay address, and its port outside the range. A
// listener inside the range removes the run of its address only.
static void test_runs_beside_listeners(void **state)
{
	struct addr relay[2] = {nth(true, 0), nth(false, 0)};
	struct turn_listener listeners[] = {
		{{relay[0], 3478}, TURN_OVER_UDP}, {{relay[1], 3478}, TURN_OVER_UDP}};
	struct turn_config c = {.workers = 1,
		.port_lo = 49152,
		.port_hi = 65535,
		.relay = relay,
		.nb_relay = 2,
		.listeners = listeners,
		.nb_listeners = 2};
	struct turn_relay_map *m = turn_relay_map_create(&c);
	struct turn_relay_map_run run;

	for (uint32_t a = 0; a < 2; a++)
		check_run(m, &c, a);
	turn_relay_map_free(m);
	for (uint32_t relay_idx = 0; relay_idx < 2; relay_idx++) {
		listeners[relay_idx].endpoint.port = 50000;
		m = turn_relay_map_create(&c);
		assert_false(turn_relay_map_run(m, relay_idx, &run));
		check_run(m, &c, 1 - relay_idx);
		turn_relay_map_free(m);
		listeners[relay_idx].endpoint.port = 3478;
	}
}

static void expect_invalid(const struct turn_config *c)
{
	errno = 0;
	assert_null(turn_relay_map_create(c));
	assert_int_equal(errno, EINVAL);
}

static void test_invalid(void **state)
{
	struct addr relay[3] = {nth(true, 0), nth(false, 0), nth(true, 0)};
	const struct turn_config good = {
		.workers = 1, .port_lo = 10, .port_hi = 20, .relay = relay, .nb_relay = 2};
	struct turn_relay_map *m = turn_relay_map_create(&good);
	struct turn_config c = good;
	const struct addr unknown = nth(true, 7);

	assert_non_null(m);
	assert_int_equal(turn_relay_map_find(m, &unknown), -1);
	turn_relay_map_free(m);
	turn_relay_map_free(NULL);
	c.workers = 0;
	expect_invalid(&c);
	c.workers = TURN_WORKERS_MAX + 1;
	expect_invalid(&c);
	c = good;
	c.port_lo = 0;
	expect_invalid(&c);
	c.port_lo = 21;
	expect_invalid(&c);
	c = good;
	c.nb_relay = 3; // an address twice
	expect_invalid(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bijection),
		cmocka_unit_test(test_bijection_wide),
		cmocka_unit_test(test_fair),
		cmocka_unit_test(test_fair_few),
		cmocka_unit_test(test_fair_small),
		cmocka_unit_test(test_listeners),
		cmocka_unit_test(test_runs),
		cmocka_unit_test(test_runs_beside_listeners),
		cmocka_unit_test(test_invalid),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
