// SPDX-License-Identifier: BSD-3-Clause
// Another address replaces a relay address: realms relay from it, too.
#include "addr_text.h"
#include "turn_fixture.h"

static struct fixture f;

// Realms have their own policies, which know the addresses, too. Users are in memory once.
static void realms_move_as_well(void **state)
{
	struct turn_user user = {.name = (char *)"eva", .password = (char *)"pw2"};
	struct turn_realm realm = {
		.name = (char *)"other.test", .users = &user, .nb_users = 1, .number = 1};
	struct turn_config c = fixture_config(), moved;
	struct fixture_client eva = fixture_client("198.51.100.7", 5000);
	struct addr relay[2];
	const struct addr new = addr_text("10.99.0.77");
	struct turn_policy *before;

	c.realms = &realm;
	c.nb_realms = 1;
	fixture_open(&f, &c, 1);
	moved = c;
	relay[0] = new;
	relay[1] = c.relay[1];
	moved.relay = relay;
	before = f.policy;
	for (unsigned int i = 0; i < 3; i++) {
		f.policy = turn_policy_move(before, &moved);
		assert_non_null(f.policy);
		turn_policy_moved_free(before);
		before = f.policy;
	}
	turn_relay_map_move(f.map, 0, &new);
	turn_shard_set_policy(f.shard, f.policy);
	eva.user = "eva";
	eva.password = "pw2";
	eva.realm = "other.test";
	assert_int_equal(fixture_allocate(&f, &eva, 4), 0);
	assert_true(addr_eq(&eva.relay.addr, &new));
	assert_int_equal(fixture_permit(&f, &eva, "10.99.0.77"), 0); // by hairpin
	fixture_close(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(realms_move_as_well),
	};

	return cmocka_run_group_tests_name("realms_leave", tests, NULL, NULL);
}
