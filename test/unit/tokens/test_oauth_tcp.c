// SPDX-License-Identifier: BSD-3-Clause
// A session with an access token that relays TCP (RFC 6062): only stream threads know who may bind
// its connections, so they are notified of another token.
#include "oauth_world.h"

#include "turn_tcp.h"

#define CLIENT "198.51.100.7"

static struct fixture f;

static int setup(void **state)
{
	struct turn_config c = oauth_config();

	*state = &f;
	fixture_add_tcp(&c, 61000, 61003);
	fixture_open(&f, &c, 1);
	return 0;
}

static struct fixture_client make_client(enum oauth_kid kid, uint32_t number, uint16_t port)
{
	struct fixture_client c = oauth_client(&f, kid, number, CLIENT);

	c.endpoint.port = port;
	c.listener = 2;
	return c;
}

// Sends the prepared request. True if it gets an order, which is then in *order.
static bool ordered(struct fixture_client *c, struct turn_order *order)
{
	fixture_sign(&f, c);
	fixture_send(&f, c);
	*order = f.burst.side.order;
	return (f.burst.plan.flags & TURN_PLAN_ORDER) != 0;
}

static bool refresh(struct fixture_client *c, uint32_t lifetime_s, struct turn_order *order)
{
	fixture_begin(&f, STUN_REQUEST, STUN_REFRESH);
	stun_put_u32(&f.w, STUN_LIFETIME, lifetime_s);
	return ordered(c, order);
}

// The order for a client that binds with a token, from a new connection.
static struct turn_order binds(struct fixture_client c)
{
	struct turn_order o;

	fixture_begin(&f, STUN_REQUEST, STUN_CONNECTION_BIND);
	stun_put_u32(&f.w, STUN_CONNECTION_ID, 77);
	assert_true(ordered(&c, &o));
	assert_int_equal(o.kind, TURN_ORDER_BIND);
	return o;
}

static void another_token_binds(void **state)
{
	struct fixture_client c = make_client(OAUTH_NORTH, 1, 5000);
	struct turn_order made, fresh, bound;
	struct stun_msg m;
	uint32_t lifetime_s;

	fixture_begin(&f, STUN_REQUEST, STUN_ALLOCATE);
	stun_put_u32(&f.w, STUN_REQUESTED_TRANSPORT, UINT32_C(6) << 24);
	assert_true(ordered(&c, &made));
	bound = binds(make_client(OAUTH_NORTH, 1, 5001));
	assert_memory_equal(bound.ident, made.ident, sizeof(made.ident));
	assert_false(refresh(&c, 600, &fresh)); // the same one: no notification
	assert_int_equal(fixture_code(&f), 0);
	c.access_len = 0;
	c = make_client(OAUTH_SOUTH, 2, 5000);
	assert_true(refresh(&c, 700, &fresh));
	assert_int_equal(fresh.kind, TURN_ORDER_REKEY);
	assert_true(fresh.allocation == made.allocation);
	assert_int_equal(fresh.port_index, made.port_index);
	assert_memory_not_equal(fresh.ident, made.ident, sizeof(made.ident));
	assert_int_equal(fresh.len[TURN_ANSWER_DONE], f.burst.plan.front_len);
	assert_int_equal(stun_parse(f.burst.side.front, fresh.len[TURN_ANSWER_DONE], &m), 0);
	assert_int_equal(m.cls, STUN_SUCCESS);
	assert_true(stun_get_u32(&m, STUN_LIFETIME, &lifetime_s));
	assert_int_equal(lifetime_s, 700);
	bound = binds(make_client(OAUTH_SOUTH, 2, 5002));
	assert_memory_equal(bound.ident, fresh.ident, sizeof(fresh.ident));
	bound = binds(make_client(OAUTH_SOUTH, 3, 5003)); // with that kid
	assert_memory_not_equal(bound.ident, fresh.ident, sizeof(fresh.ident));
	assert_false(refresh(&c, 0, &fresh));
	assert_int_equal(fixture_code(&f), 0);
}

static void an_allocation_of_udp_orders_nothing(void **state)
{
	struct fixture_client c = make_client(OAUTH_NORTH, 1, 5000);
	struct turn_order o;

	assert_int_equal(fixture_allocate(&f, &c, 4), 0);
	c = make_client(OAUTH_NORTH, 2, 5000);
	assert_false(refresh(&c, 600, &o));
	assert_int_equal(fixture_code(&f), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(another_token_binds),
		TEST(an_allocation_of_udp_orders_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
