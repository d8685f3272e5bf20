// SPDX-License-Identifier: BSD-3-Clause
// A session with an access token that moves (RFC 8016): only its own token moves it, because many
// clients have tokens with equal kids.
#include "mobile_world.h"
#include "oauth_world.h"

static struct mobile_world w;

static int setup(void **state)
{
	struct turn_config c = mobile_config();

	*state = &w;
	c.first.oauth = oauth_config().first.oauth;
	mobile_open(&w, &c);
	return 0;
}

// The client at another address, with the token of that number.
static struct mobile_client moved(
	const struct mobile_client *c, uint16_t port, enum oauth_kid kid, uint32_t number)
{
	const struct fixture_client bearer = oauth_client(&w.f, kid, number, "198.51.100.9");
	struct mobile_client roamed = mobile_at(c, "198.51.100.9", port);

	roamed.c.user = bearer.user;
	roamed.c.mac = bearer.mac;
	memcpy(roamed.c.access, bearer.access, sizeof(roamed.c.access));
	roamed.c.access_len = bearer.access_len;
	return roamed;
}

// A client at its first address, with a token and an allocation.
static struct mobile_client allocated(void)
{
	const struct fixture_client bearer = oauth_client(&w.f, OAUTH_NORTH, 1, "198.51.100.7");
	struct mobile_client c = mobile_ivan("198.51.100.7", 5000);

	c.c.user = bearer.user;
	c.c.mac = bearer.mac;
	memcpy(c.c.access, bearer.access, sizeof(c.c.access));
	c.c.access_len = bearer.access_len;
	assert_int_equal(mobile_allocate(&w, &c), 0);
	return c;
}

static void a_session_moves_by_its_own_token(void **state)
{
	struct mobile_client c = allocated(), roamed;

	roamed = moved(&c, 6001, OAUTH_NORTH, 2); // another client's, with that kid
	assert_int_equal(mobile_show(&w, &roamed), 441);
	roamed = moved(&c, 6002, OAUTH_SOUTH, 1);
	assert_int_equal(mobile_show(&w, &roamed), 441);
	roamed = mobile_at(&c, "198.51.100.9", 6003); // a password
	roamed.c = fixture_client("198.51.100.9", 6003);
	assert_int_equal(mobile_show(&w, &roamed), 441);
	roamed = moved(&c, 6004, OAUTH_NORTH, 1);
	assert_int_equal(mobile_show(&w, &roamed), 0);
	roamed.c.access_len = 0; // and the key alone continues to sign
	assert_int_equal(mobile_bind(&w, &roamed, 0x4000, "10.99.0.9", 7000), 0);
	assert_int_equal(mobile_refresh(&w, &roamed, 0), 0);
}

// RFC 7635: an Allocate carries a token. While the client moves, the key of the allocation's token
// signs at the old 5-tuple, too: it makes no allocation there, whose time nothing would limit.
static void the_key_alone_makes_no_allocation_at_the_old_address(void **state)
{
	struct mobile_client c = allocated(), roamed = moved(&c, 6001, OAUTH_NORTH, 1), again = c;

	assert_int_equal(mobile_show(&w, &roamed), 0);
	again.c.access_len = 0;
	assert_int_equal(mobile_allocate(&w, &again), 437);
	assert_int_equal(fixture_stats(&w.f).allocations, 1);
	again.c.access_len = c.c.access_len;
	assert_int_equal(mobile_allocate(&w, &again), 0);
	assert_int_equal(fixture_stats(&w.f).allocations, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_session_moves_by_its_own_token, setup, mobile_teardown),
		cmocka_unit_test_setup_teardown(
			the_key_alone_makes_no_allocation_at_the_old_address, setup,
			mobile_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
