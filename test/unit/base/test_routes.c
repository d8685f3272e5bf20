// SPDX-License-Identifier: BSD-3-Clause
// The port that leads to a destination.
#include "addr_text.h"
#include "tables/routes.h"
#include "test.h"

static struct route table[16];
static uint32_t nb;

static struct route *add(const char *prefix, uint8_t port, const char *via)
{
	struct route *r = &table[nb++];

	*r = (struct route){.port = port, .direct = via == NULL};
	assert_int_equal(addr_prefix_parse(prefix, &r->dst), 0);
	if (via != NULL)
		r->via = addr_text(via);
	return r;
}

// Port 0 is wan, port 1 lan. Routes are given in another order than the search uses.
static int setup(void **state)
{
	nb = 0;
	add("0.0.0.0/0", 0, "192.0.2.254")->not_for = ROUTES_ONLY_FOR(0);
	add("::/0", 0, "2001:db8::fe")->not_for = ROUTES_ONLY_FOR(0);
	add("10.0.0.0/8", 1, "10.1.0.1");
	add("10.1.0.0/24", 1, NULL);
	add("10.9.0.0/16", 0, "192.0.2.9");
	add("192.0.2.0/24", 0, NULL);
	add("2001:db8::/64", 0, NULL);
	add("2001:db8:8::/48", 1, "fe80::1");
	routes_sort(table, nb);
	return 0;
}

// Asserts by which port and router a destination is reached from an address of a port; via NULL: it
// is on-link.
static void reached(uint8_t src_port, const char *dst, uint8_t port, const char *via)
{
	const struct addr a = addr_text(dst);
	const struct route *r = routes_find(table, nb, src_port, &a);

	assert_non_null(r);
	assert_int_equal(r->port, port);
	assert_int_equal(r->direct, via == NULL);
	if (via != NULL) {
		const struct addr router = addr_text(via);

		assert_true(addr_eq(&r->via, &router));
	}
}

static void not_reached(uint8_t src_port, const char *dst)
{
	const struct addr a = addr_text(dst);

	assert_null(routes_find(table, nb, src_port, &a));
}

static void longest_prefix_of_all_ports_decides(void **state)
{
	for (uint8_t src_port = 0; src_port < 2; src_port++) {
		reached(src_port, "10.1.0.7", 1, NULL);
		reached(src_port, "10.2.0.7", 1, "10.1.0.1");
		reached(src_port, "10.9.0.7", 0, "192.0.2.9");
		reached(src_port, "192.0.2.7", 0, NULL);
		reached(src_port, "2001:db8::7", 0, NULL);
		reached(src_port, "2001:db8:8::7", 1, "fe80::1");
	}
}

static void a_gateway_serves_its_own_port_alone(void **state)
{
	reached(0, "198.51.100.1", 0, "192.0.2.254");
	reached(0, "2001:db8:9::1", 0, "2001:db8::fe");
	not_reached(1, "198.51.100.1");
	not_reached(1, "2001:db8:9::1");
	add("0.0.0.0/0", 1, "10.1.0.254")->not_for = ROUTES_ONLY_FOR(1);
	routes_sort(table, nb);
	reached(0, "198.51.100.1", 0, "192.0.2.254");
	reached(1, "198.51.100.1", 1, "10.1.0.254");
}

static void among_equal_prefixes_the_own_port_wins(void **state)
{
	add("192.0.2.0/24", 1, NULL);
	add("10.0.0.0/8", 0, "192.0.2.8");
	routes_sort(table, nb);
	reached(0, "192.0.2.7", 0, NULL);
	reached(1, "192.0.2.7", 1, NULL);
	reached(0, "10.2.0.7", 0, "192.0.2.8");
	reached(1, "10.2.0.7", 1, "10.1.0.1");
}

// ::/0 contains the 128-bit form of every address, but routes no IPv4 address.
static void families_are_kept_apart(void **state)
{
	nb = 0;
	add("::/0", 0, "2001:db8::fe");
	routes_sort(table, nb);
	reached(0, "2001:db8:9::1", 0, "2001:db8::fe");
	not_reached(0, "198.51.100.1");
}

// Like lib/conf with pools of realms: lan is isolated from wan, whichever prefix is longer.
static void a_route_may_serve_some_ports_alone(void **state)
{
	nb = 0;
	add("0.0.0.0/0", 0, "192.0.2.254")->not_for = ROUTES_ONLY_FOR(0);
	add("10.0.0.0/8", 1, "10.1.0.1")->not_for = ROUTES_ONLY_FOR(1);
	add("10.1.0.0/24", 1, NULL)->not_for = ROUTES_ONLY_FOR(1);
	add("10.1.0.0/25", 0, NULL)->not_for = 1 << 1;
	routes_sort(table, nb);
	reached(0, "10.1.0.7", 0, NULL);
	reached(1, "10.1.0.7", 1, NULL);
	reached(0, "10.1.0.200", 0, "192.0.2.254");
	reached(1, "10.1.0.200", 1, NULL);
	reached(1, "10.2.0.7", 1, "10.1.0.1");
	not_reached(1, "198.51.100.1");
	reached(2, "10.1.0.7", 0, NULL);
	not_reached(2, "10.2.0.7");
}

static void an_empty_table_reaches_nobody(void **state)
{
	nb = 0;
	not_reached(0, "10.1.0.7");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(longest_prefix_of_all_ports_decides, setup),
		cmocka_unit_test_setup(a_gateway_serves_its_own_port_alone, setup),
		cmocka_unit_test_setup(among_equal_prefixes_the_own_port_wins, setup),
		cmocka_unit_test_setup(families_are_kept_apart, setup),
		cmocka_unit_test_setup(a_route_may_serve_some_ports_alone, setup),
		cmocka_unit_test_setup(an_empty_table_reaches_nobody, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
