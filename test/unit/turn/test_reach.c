// SPDX-License-Identifier: BSD-3-Clause
// Permissions and channels for peers without a route are refused.
#include "addr_text.h"
#include "stun.h"
#include "turn_fixture.h"

static struct fixture f;
static struct fixture_client ivan;
static struct route routes[4];

// 10.99.0.1 and fd99::1 are on port 0, which has no gateway; port 1 leads to 9.9.9.0/24, and its
// own gateway to everything.
static struct turn_config routed(void)
{
	struct turn_config c = fixture_config();
	uint32_t nb = 0;

	memset(routes, 0, sizeof(routes));
	assert_int_equal(addr_prefix_parse("10.99.0.0/24", &routes[nb].dst), 0);
	routes[nb++].direct = true;
	assert_int_equal(addr_prefix_parse("fd99::/64", &routes[nb].dst), 0);
	routes[nb++].direct = true;
	assert_int_equal(addr_prefix_parse("9.9.9.0/24", &routes[nb].dst), 0);
	routes[nb++].port = 1;
	assert_int_equal(addr_prefix_parse("0.0.0.0/0", &routes[nb].dst), 0);
	routes[nb].not_for = ROUTES_ONLY_FOR(1);
	routes[nb++].port = 1;
	c.routes = routes;
	c.nb_routes = nb;
	routes_sort(routes, nb);
	return c;
}

static void open_with(const struct turn_config *c)
{
	fixture_open(&f, c, 1);
	ivan = fixture_client("198.51.100.7", 5000);
	assert_int_equal(fixture_allocate(&f, &ivan, 4), 0);
}

static int setup(void **state)
{
	const struct turn_config c = routed();

	*state = &f;
	open_with(&c);
	return 0;
}

// Asserts that the last answer is a 403 that says why.
static void assert_says_why(void)
{
	const uint16_t offset = f.answer.off[STUN_ERROR_CODE], len = f.answer.alen[STUN_ERROR_CODE];
	static const char reason[] = "No Route To Peer";

	assert_int_equal(len, 4 + strlen(reason));
	assert_memory_equal(f.answer.data + offset + 4, reason, strlen(reason));
}

static void a_peer_without_a_route_is_refused_with_a_reason(void **state)
{
	assert_int_equal(fixture_permit(&f, &ivan, "8.8.8.8"), 403);
	assert_says_why();
	assert_int_equal(fixture_bind(&f, &ivan, 0x4000, "8.8.8.8", 53), 403);
	assert_says_why();
	assert_int_equal(fixture_stats(&f).refused[TURN_REFUSED_PEER_UNREACHABLE], 2);
	assert_int_equal(fixture_stats(&f).permissions, 0);
}

static void subnets_and_routes_of_any_port_lead_to_peers(void **state)
{
	assert_int_equal(fixture_permit(&f, &ivan, "10.99.0.77"), 0);
	assert_int_equal(fixture_permit(&f, &ivan, "9.9.9.9"), 0);
	assert_int_equal(fixture_bind(&f, &ivan, 0x4000, "9.9.9.9", 7000), 0);
	assert_int_equal(fixture_stats(&f).refused[TURN_REFUSED_PEER_UNREACHABLE], 0);
}

static void denied_peers_are_not_said_to_lack_a_route(void **state)
{
	assert_int_equal(fixture_permit(&f, &ivan, "192.168.1.1"), 403);
	assert_int_not_equal(f.answer.alen[STUN_ERROR_CODE], 4 + strlen("No Route To Peer"));
	assert_int_equal(fixture_permit(&f, &ivan, "fd99::7"), 443);
	assert_int_equal(fixture_stats(&f).refused[TURN_REFUSED_PEER_UNREACHABLE], 0);
}

// The datagrams stay inside.
static void own_relay_address_needs_no_route(void **state)
{
	struct turn_config c;

	fixture_close(&f);
	c = routed();
	c.nb_routes = 0;
	open_with(&c);
	assert_int_equal(fixture_permit(&f, &ivan, "10.99.0.77"), 403);
	assert_int_equal(fixture_permit(&f, &ivan, "10.99.0.1"), 0);
}

static void one_peer_of_many_without_a_route_refuses_all(void **state)
{
	const struct endpoint near = fixture_endpoint("10.99.0.77", 1),
			      far = fixture_endpoint("8.8.8.8", 1);

	fixture_begin(&f, STUN_REQUEST, STUN_CREATE_PERMISSION);
	stun_put_xor_addr(&f.w, STUN_XOR_PEER_ADDRESS, &near);
	stun_put_xor_addr(&f.w, STUN_XOR_PEER_ADDRESS, &far);
	assert_int_equal(fixture_ask(&f, &ivan), 403);
	assert_int_equal(fixture_stats(&f).permissions, 0);
}

// The gateway of port 1 serves the addresses of that port. One of them belongs to the pool; peers
// see it.
static void the_address_that_a_peer_sees_needs_the_route(void **state)
{
	struct addr lan[] = {addr_text("10.1.0.2")};
	struct prefix peers[] = {addr_text_prefix("8.8.0.0/16")};
	struct turn_relay_pool pool = {"lan", lan, peers, 1, 1};
	struct turn_local local[] = {{.addr = addr_text("10.99.0.1")},
		{.addr = addr_text("fd99::1")}, {.addr = lan[0], .port = 1}};
	struct turn_config c;

	fixture_close(&f);
	c = routed();
	for (int i = 0; i < 3; i++)
		local[i].subnet = (struct prefix){.addr = local[i].addr, .len = 128};
	c.local = local;
	c.nb_local = 3;
	c.relay_pools = &pool;
	c.nb_relay_pools = 1;
	open_with(&c);
	assert_int_equal(fixture_permit(&f, &ivan, "8.8.8.8"), 0);
	assert_int_equal(fixture_permit(&f, &ivan, "8.9.8.8"), 403);
	assert_says_why();
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_peer_without_a_route_is_refused_with_a_reason),
		T(subnets_and_routes_of_any_port_lead_to_peers),
		T(denied_peers_are_not_said_to_lack_a_route),
		T(own_relay_address_needs_no_route),
		T(one_peer_of_many_without_a_route_refuses_all),
		T(the_address_that_a_peer_sees_needs_the_route),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
