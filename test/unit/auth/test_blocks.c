// SPDX-License-Identifier: BSD-3-Clause
// Blocked addresses and users: what a set contains, requests of blocked users, and the walk that
// ends live allocations.
#include "addr_text.h"
#include "turn_blocks.h"
#include "turn_fixture.h"
#include "turn_judge.h"
#include "turn_listing.h"

#define REST_USER "1900000000:olga"
// base64(HMAC-SHA1("s3cret", "1900000000:olga")), by the openssl program
#define REST_PASSWORD "cHl2ksP+H/fQax0w77tk1E8Otdk="

static struct fixture f;
static struct turn_blocks *blocks;

static int setup(void **state)
{
	struct turn_config c = fixture_config();

	*state = &f;
	fixture_open(&f, &c, 1);
	return 0;
}

static int teardown(void **state)
{
	const int rc = fixture_teardown(state);

	turn_blocks_free(blocks);
	blocks = NULL;
	return rc;
}

static struct turn_filter user_of(const char *name)
{
	const struct turn_listing_name n = {FIXTURE_REALM, name, 0};
	struct turn_filter filter = {0};

	assert_true(turn_listing_user(&filter, f.quota, f.crypto, &n));
	return filter;
}

// Replaces the set of the shard. Returns the number of allocations that end.
static unsigned int block(const struct prefix *addr, const struct turn_filter *user)
{
	struct turn_blocks *was = blocks;
	struct turn_walk walk = {0};
	struct turn_judge *j;
	unsigned int n = 0;

	blocks = turn_blocks_make(addr, addr != NULL, user, user != NULL);
	assert_non_null(blocks);
	j = turn_judge_blocks(blocks);
	turn_shard_set_blocks(f.shard, blocks);
	turn_blocks_free(was);
	while (!walk.end)
		n += turn_judge_walk(f.shard, j, &walk, 1);
	turn_judge_free(j);
	return n;
}

static void an_address_is_in_the_set(void **state)
{
	const struct prefix p[] = {addr_text_prefix("192.0.2.0/24"),
		addr_text_prefix("192.0.2.9/32"), addr_text_prefix("2001:db8::/64")};
	const struct addr in[] = {addr_text("192.0.2.9"), addr_text("192.0.2.255"),
		addr_text("2001:db8::ffff:ffff:ffff:ffff")};
	const struct addr out[] = {
		addr_text("192.0.3.0"), addr_text("2001:db8:0:1::"), addr_text("::")};

	blocks = turn_blocks_make(p, 3, NULL, 0);
	for (unsigned int i = 0; i < 3; i++) {
		assert_true(turn_blocks_addr(blocks, &in[i]));
		assert_false(turn_blocks_addr(blocks, &out[i]));
		assert_false(turn_blocks_addr(NULL, &in[i]));
	}
}

static void a_blocked_address_loses_its_allocations(void **state)
{
	struct fixture_client a = fixture_client("198.51.100.7", 5000);
	struct fixture_client b = fixture_client("198.51.100.8", 5000);
	const struct prefix p = addr_text_prefix("198.51.100.8");

	assert_int_equal(fixture_allocate(&f, &a, 4), 0);
	assert_int_equal(fixture_allocate(&f, &b, 4), 0);
	assert_int_equal(block(&p, NULL), 1);
	assert_int_equal(f.told.ended[TURN_END_BLOCKED], 1);
	assert_int_equal(turn_shard_refuses(f.shard, &b.endpoint.addr), TURN_DROP_CLIENT_BLOCKED);
	assert_int_equal(turn_shard_refuses(f.shard, &a.endpoint.addr), TURN_OK);
	a.nonce_len = 0;
	assert_int_equal(fixture_refresh(&f, &a, 600), 0);
	assert_int_equal(block(NULL, NULL), 0);
	assert_int_equal(turn_shard_refuses(f.shard, &b.endpoint.addr), TURN_OK);
}

static void a_blocked_user_gets_403(void **state)
{
	struct fixture_client ivan = fixture_client("198.51.100.7", 5000);
	struct fixture_client eve = fixture_eve("198.51.100.7", 5001);
	const struct turn_filter user = user_of("ivan");

	assert_int_equal(fixture_allocate(&f, &ivan, 4), 0);
	assert_int_equal(fixture_allocate(&f, &eve, 4), 0);
	assert_int_equal(block(NULL, &user), 1);
	assert_int_equal(f.told.ended[TURN_END_BLOCKED], 1);
	ivan.nonce_len = 0;
	assert_int_equal(fixture_allocate(&f, &ivan, 4), 403);
	assert_int_equal(f.told.refused[TURN_REFUSED_USER_BLOCKED], 1);
	ivan.password = "wrong"; // only who knows the password learns of the block
	assert_int_equal(fixture_allocate(&f, &ivan, 4), 401);
	eve.nonce_len = 0;
	assert_int_equal(fixture_refresh(&f, &eve, 600), 0);
}

// By its ID: the next credentials do not help.
static void a_rest_user_is_blocked_by_id(void **state)
{
	struct fixture_client olga = fixture_client("198.51.100.9", 5000);
	const struct turn_filter user = user_of("olga"), similar = user_of("olg");

	olga.user = REST_USER;
	olga.password = REST_PASSWORD;
	assert_int_equal(fixture_allocate(&f, &olga, 4), 0);
	assert_int_equal(block(NULL, &similar), 0);
	assert_int_equal(block(NULL, &user), 1);
	olga.nonce_len = 0;
	assert_int_equal(fixture_allocate(&f, &olga, 4), 403);
	assert_int_equal(block(NULL, NULL), 0);
	assert_int_equal(fixture_allocate(&f, &olga, 4), 0);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(an_address_is_in_the_set),
		T(a_blocked_address_loses_its_allocations),
		T(a_blocked_user_gets_403),
		T(a_rest_user_is_blocked_by_id),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
