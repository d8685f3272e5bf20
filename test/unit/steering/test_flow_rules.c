// SPDX-License-Identifier: BSD-3-Clause
// Compares the rules with the relay map, port by port: packets to a relay port go to the worker
// that owns it, and packets to a listener are left to RSS. Then checks the verdict on the rules'
// effect, with a fake clock.
#include <errno.h>
#include <stdlib.h>

#include "steering/flow_rules.h"
#include "steering/flow_watch.h"
#include "test.h"
#include "turn_relay_map.h"

#define ADDRESSES 6

static struct conf_address addresses[2 * ADDRESSES];
static struct addr relay[2 * ADDRESSES];
static struct turn_listener listeners[8];
static struct turn_config turn;
static struct conf_port port;

static struct addr address(const char *text, unsigned int add)
{
	struct addr a = {.d = {0, 0}};

	assert_int_equal(addr_parse(text, &a), 0);
	a.b[15] += (uint8_t)add;
	return a;
}

// A port with nb relay addresses of each family.
static struct flow_rules_want setup(unsigned int workers, unsigned int nb, uint16_t lo, uint16_t hi)
{
	for (unsigned int i = 0; i < nb; i++) {
		addresses[2 * i].addr = relay[i] = address("192.0.2.1", i);
		addresses[2 * i + 1].addr = relay[nb + i] = address("2001:db8::1", i);
	}
	turn = (struct turn_config){.workers = workers,
		.relay = relay,
		.nb_relay = 2 * nb,
		.listeners = listeners,
		.port_lo = lo,
		.port_hi = hi};
	port = (struct conf_port){.addresses = addresses, .nb_addresses = 2 * nb};
	return (struct flow_rules_want){.port = &port, .turn = &turn, .is_v4 = true};
}

static void listen(const char *addr, uint16_t udp_port)
{
	listeners[turn.nb_listeners++].endpoint = (struct endpoint){address(addr, 0), udp_port};
}

static bool listened(const struct addr *a, uint16_t udp_port)
{
	for (uint32_t i = 0; i < turn.nb_listeners; i++)
		if (listeners[i].endpoint.port == udp_port &&
			addr_eq(&listeners[i].endpoint.addr, a))
			return true;
	return false;
}

// True if a listener of a's family has a port in the same block of 128 ports as udp_port.
static bool near_listener(const struct addr *a, uint32_t udp_port)
{
	for (uint32_t i = 0; i < turn.nb_listeners; i++)
		if (listeners[i].endpoint.port / 128 == udp_port / 128 &&
			addr_is_v4(&listeners[i].endpoint.addr) == addr_is_v4(a))
			return true;
	return false;
}

// Checks every port of one address.
static void check_address(
	const struct flow_rules_want *w, const struct flow_rules *r, unsigned int index)
{
	const struct addr *a = &relay[index];
	static struct port_rule mine[4096];
	unsigned int nb = 0;

	for (uint32_t i = 0; i < r->nb; i++)
		if (addr_eq(&r->rule[i].dst, a))
			mine[nb++] = r->rule[i];
	for (uint32_t p = 0; p < 65536; p++) {
		unsigned int matches = 0, queue = 0, worker;
		uint32_t slot;

		for (unsigned int i = 0; i < nb; i++) {
			if ((p & mine[i].mask) != mine[i].port)
				continue;
			matches++;
			queue = mine[i].queue;
		}
		assert_in_range(matches, 0, 1);
		if (listened(a, (uint16_t)p))
			assert_int_equal(matches, 0);
		if (!turn_relay_map_home(w->map, index, (uint16_t)p, &worker, &slot))
			continue;
		if (matches == 1)
			assert_int_equal(queue, worker);
		else
			assert_true(!turn_config_shares_ports(&turn) && near_listener(a, p));
	}
}

// Makes the rules of a step for both families and checks them all. Returns their number per family.
static uint32_t check(struct flow_rules_want w, enum flow_rules_step step)
{
	uint32_t nb[2];

	w.map = turn_relay_map_create(&turn);
	assert_non_null(w.map);
	for (unsigned int v6 = 0; v6 < 2; v6++) {
		char error[FLOW_RULES_WHY_LEN] = "";
		struct flow_rules r;

		w.is_v4 = v6 == 0;
		if (flow_rules_make(&w, step, &r, error) != 0)
			fail_msg("%s", error);
		assert_string_equal(error, "");
		for (uint32_t i = 0; i < r.nb; i++)
			assert_true(addr_is_v4(&r.rule[i].dst) == w.is_v4);
		for (unsigned int i = 0; i < turn.nb_relay / 2; i++)
			check_address(&w, &r, v6 * turn.nb_relay / 2 + i);
		nb[v6] = r.nb;
		if (turn.nb_listeners == 0) // NICs with one mask for all rules must take them
			for (uint32_t i = 0; i < r.nb; i++)
				assert_int_equal(r.rule[i].mask, r.rule[0].mask);
		free(r.rule);
	}
	assert_int_equal(nb[0], nb[1]);
	turn_relay_map_free((struct turn_relay_map *)(uintptr_t)w.map);
	return nb[0];
}

static void refused(struct flow_rules_want w, enum flow_rules_step step, int rc, const char *says)
{
	char error[FLOW_RULES_WHY_LEN] = "";
	struct flow_rules r;

	w.map = turn_relay_map_create(&turn);
	assert_non_null(w.map);
	assert_int_equal(flow_rules_make(&w, step, &r, error), rc);
	assert_non_null(strstr(error, says));
	assert_null(r.rule);
	assert_int_equal(r.nb, 0);
	turn_relay_map_free((struct turn_relay_map *)(uintptr_t)w.map);
}

// --- rules --------------------------------------------------------------------------------------

static void test_whole(void **state)
{
	assert_int_equal(check(setup(2, 2, 49152, 65535), FLOW_RULES_ADDRESS), 2);
	assert_int_equal(check(setup(4, 6, 49152, 65535), FLOW_RULES_ADDRESS), 6);
	assert_int_equal(check(setup(3, 3, 1024, 2000), FLOW_RULES_ADDRESS), 3);
}

static void test_whole_refused(void **state)
{
	refused(setup(4, 3, 49152, 65535), FLOW_RULES_ADDRESS, -EINVAL, "fewer relay addresses");
	struct flow_rules_want w = setup(2, 2, 49152, 65535);

	listen("192.0.2.2", 3478); // a rule would put all its clients on one worker
	refused(w, FLOW_RULES_ADDRESS, -EINVAL, "192.0.2.2");
}

// If the number of workers is a power of two, each needs one rule per address.
static void test_sliced_minimal(void **state)
{
	for (unsigned int workers = 2; workers <= 64; workers *= 2)
		assert_int_equal(
			check(setup(workers, 1, 49152, 65535), FLOW_RULES_PORT_BITS), workers);
	assert_int_equal(check(setup(4, 3, 49152, 65535), FLOW_RULES_PORT_BITS), 12);
	assert_int_equal(check(setup(3, 1, 49152, 65535), FLOW_RULES_PORT_BITS), 64);
}

static void test_sliced_any(void **state)
{
	static const uint16_t ranges[][2] = {
		{49152, 65535}, {1024, 65535}, {50000, 50099}, {10001, 20002}};

	for (unsigned int workers = 2; workers <= 64; workers += workers < 8 ? 1 : 11)
		for (unsigned int i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
			const struct flow_rules_want w =
				setup(workers, 1, ranges[i][0], ranges[i][1]);

			assert_int_equal(check(w, FLOW_RULES_PORT_BITS),
				(workers & (workers - 1)) == 0 ? workers : 64);
		}
}

// The usual case: a listener has the relay address, too, and a port outside the relay ports.
static void test_listener_outside(void **state)
{
	const struct flow_rules_want w = setup(4, 2, 49152, 65535);

	listen("192.0.2.1", 3478);
	listen("2001:db8::1", 3478);
	// the rules of both addresses match the same bits, as NICs with one mask require
	assert_int_equal(check(w, FLOW_RULES_PORT_BITS), 8);
}

static void test_listener_inside(void **state)
{
	struct flow_rules_want w = setup(2, 1, 49152, 65535);

	listen("192.0.2.1", 50000);
	listen("192.0.2.1", 50001);
	listen("2001:db8::1", 60000);
	assert_int_equal(check(w, FLOW_RULES_PORT_BITS), 14); // 7 powers of two: 16384 - 128 ports
	w = setup(4, 2, 1024, 65535);
	listen("192.0.2.1", 3478);
	listen("192.0.2.2", 5349);
	listen("2001:db8::2", 3479);
	listen("2001:db8::2", 5350);
	listen("198.51.100.1", 40000); // on another address: irrelevant
	check(w, FLOW_RULES_PORT_BITS);
	w = setup(2, 1, 50047, 60000); // begins with the last port of a block
	listen("192.0.2.1", 50050);
	listen("2001:db8::1", 50050);
	check(w, FLOW_RULES_PORT_BITS);
	w = setup(4, 1, 3460, 3500);
	listen("192.0.2.1", 3478);
	refused(w, FLOW_RULES_PORT_BITS, -EINVAL, "leave nothing");
}

#ifdef FEATURE_SHARED
// Every shared port has a rule of its own, except a listener's.
static void test_shared(void **state)
{
	struct flow_rules_want w = setup(3, 2, 3478, 3487);

	listen("192.0.2.1", 3478);
	listen("2001:db8::1", 3479);
	turn.shared.enabled = true;
	turn.limits.allocations = 100;
	assert_int_equal(check(w, FLOW_RULES_PORT_BITS), 19);
	refused(w, FLOW_RULES_ADDRESS, -EINVAL, "shared");
}
#endif

// Addresses that are not relay addresses, or belong to another NIC port, have no rules.
static void test_other_addresses(void **state)
{
	struct flow_rules_want w = setup(2, 3, 49152, 65535);
	char error[FLOW_RULES_WHY_LEN];
	struct flow_rules r;

	turn.nb_relay = 2; // IPv4 only
	port.nb_addresses = 2; // the first address of each family
	w.map = turn_relay_map_create(&turn);
	assert_int_equal(flow_rules_addresses(&w), 1);
	assert_int_equal(flow_rules_make(&w, FLOW_RULES_ADDRESS, &r, error), 0);
	assert_int_equal(r.nb, 1);
	assert_true(addr_eq(&r.rule[0].dst, &relay[0]));
	free(r.rule);
	w.is_v4 = false;
	assert_int_equal(flow_rules_addresses(&w), 0);
	turn_relay_map_free((struct turn_relay_map *)(uintptr_t)w.map);
}

static void test_too_many(void **state)
{
	enum { MANY = 300 };
	static struct conf_address on[MANY];
	struct flow_rules_want w = setup(64, 1, 49152, 65535);

	// each address is divided among all workers
	for (unsigned int i = 0; i < MANY; i++)
		on[i].addr = relay[0];
	port = (struct conf_port){.addresses = on, .nb_addresses = MANY};
	refused(w, FLOW_RULES_PORT_BITS, -E2BIG, "16384");
}

// --- verdict on the rules -----------------------------------------------------------------------

struct watched {
	struct flow_watch w;
	uint64_t hits, over, ms;
};

// A second in which `hits` packets reach the right worker and `over` packets another one, with a
// check every 100 ms.
static void second(struct watched *s, uint64_t hits, uint64_t over)
{
	s->hits += hits;
	s->over += over;
	for (unsigned int i = 0; i < 10; i++) {
		s->ms += 100;
		flow_watch_look(&s->w, s->hits, s->over, s->ms);
	}
}

static void seconds(struct watched *s, unsigned int n, uint64_t hits, uint64_t over)
{
	while (n-- > 0)
		second(s, hits, over);
}

static void test_degraded(void **state)
{
	struct watched s = {.ms = 5000};

	flow_watch_look(&s.w, 0, 0, s.ms);
	seconds(&s, 100, 99, 1); // exactly 1 % is not above the limit
	assert_false(s.w.degraded);
	seconds(&s, 9, 900, 100);
	assert_false(s.w.degraded);
	second(&s, 900, 100);
	assert_true(s.w.degraded);
}

static void test_degraded_interrupted(void **state)
{
	struct watched s = {.ms = 5000};

	flow_watch_look(&s.w, 0, 0, s.ms);
	for (unsigned int i = 0; i < 5; i++) {
		seconds(&s, 9, 0, 100);
		second(&s, 1000, 0);
	}
	assert_false(s.w.degraded);
	// seconds without packets do not count as good ones
	for (unsigned int i = 0; i < 10; i++) {
		seconds(&s, 5, 0, 0);
		second(&s, 10, 10);
	}
	assert_true(s.w.degraded);
}

static void test_recovers(void **state)
{
	struct watched s = {.ms = 5000};

	flow_watch_look(&s.w, 0, 0, s.ms);
	seconds(&s, 10, 0, 1);
	assert_true(s.w.degraded);
	seconds(&s, 100, 992, 8); // between the limits: no change
	assert_true(s.w.degraded);
	seconds(&s, 9, 995, 5);
	assert_true(s.w.degraded);
	second(&s, 995, 5);
	assert_false(s.w.degraded);
	seconds(&s, 100, 992, 8); // no change here either
	assert_false(s.w.degraded);
}

// Packets counted before the first check are not judged.
static void test_first_look(void **state)
{
	struct watched s = {.ms = 5000, .over = 1000000};

	seconds(&s, 20, 100000, 0);
	assert_false(s.w.degraded);
	assert_int_equal(s.w.bad, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_whole_refused),
		cmocka_unit_test(test_sliced_minimal),
		cmocka_unit_test(test_sliced_any),
		cmocka_unit_test(test_listener_outside),
		cmocka_unit_test(test_listener_inside),
#ifdef FEATURE_SHARED
		cmocka_unit_test(test_shared),
#endif
		cmocka_unit_test(test_other_addresses),
		cmocka_unit_test(test_too_many),
		cmocka_unit_test(test_degraded),
		cmocka_unit_test(test_degraded_interrupted),
		cmocka_unit_test(test_recovers),
		cmocka_unit_test(test_first_look),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
