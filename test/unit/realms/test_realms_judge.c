// SPDX-License-Identifier: BSD-3-Clause
// Effects of a reload of realms on live allocations, and how realms get and keep their numbers.
#include "turn_tallies.h"
#include "realms_config.h"

#include <stdio.h>

#include "judged.h"
#include "turn_policy.h"

static struct turn_config config, next;
static struct turn_realm next_realms[TURN_REALMS_MAX];
static struct fixture f;
static struct turn_policy *fresh;

static int setup(void **state)
{
	*state = &f;
	config = realms_config();
	fixture_open(&f, &config, 1);
	next = f.config;
	memcpy(next_realms, next.realms, next.nb_realms * sizeof(*next.realms));
	next.realms = next_realms;
	return 0;
}

static int teardown(void **state)
{
	const int rc = fixture_teardown(state);

	turn_policy_free(fresh);
	fresh = NULL;
	return rc;
}

// Gives the shard a policy made from next, and checks all allocations against it. Returns the
// number of allocations that end.
static unsigned int reload(bool lower)
{
	struct turn_policy *before = fresh;
	unsigned int ended;

	assert_int_equal(turn_tallies_number(f.tallies, &next, &f.config, f.quota), 0);
	fresh = judged_by(&f, before != NULL ? before : f.policy, &next, lower, &ended);
	turn_policy_free(before);
	f.config.realms = next.realms;
	f.config.nb_realms = next.nb_realms;
	return ended;
}

static struct fixture_client allocated(const char *realm, uint16_t port)
{
	struct fixture_client c = realms_ivan(realm, "198.51.100.7");

	c.endpoint.port = port;
	assert_int_equal(fixture_allocate(&f, &c, 4), 0);
	return c;
}

static void allocations_within_the_rules_stay(void **state)
{
	struct fixture_client ivan = allocated(FIXTURE_REALM, 1), a = allocated(REALM_A, 2);

	next.realms[0].per_user = 5;
	assert_int_equal(reload(false), 0);
	ivan.nonce_len = a.nonce_len = 0;
	assert_int_equal(fixture_refresh(&f, &ivan, 600), 0);
	assert_int_equal(fixture_refresh(&f, &a, 600), 0);
}

static void users_of_a_removed_realm_end(void **state)
{
	struct fixture_client ivan = allocated(FIXTURE_REALM, 1), a = allocated(REALM_A, 2);
	struct fixture_client b = allocated(REALM_B, 3);

	next.realms = &next_realms[1]; // removes realm a
	next.nb_realms = 1;
	assert_int_equal(reload(false), 1);
	assert_int_equal(f.told.ended[TURN_END_USER], 1);
	assert_int_equal(fixture_event(&f, 0)->realm, 1);
	assert_string_equal(turn_tallies_name(f.tallies, 1), REALM_A); // for readers of its sums
	assert_int_equal(turn_quota_realm(f.quota, 1), 0);
	a.nonce_len = b.nonce_len = ivan.nonce_len = 0;
	assert_int_equal(fixture_refresh(&f, &b, 600), 0);
	assert_int_equal(fixture_refresh(&f, &ivan, 600), 0);
	assert_int_equal(fixture_allocate(&f, &a, 0), 401);
	fixture_assert_challenge(&f);
}

static void removing_all_other_realms_ends_their_users(void **state)
{
	struct fixture_client ivan = allocated(FIXTURE_REALM, 1);

	allocated(REALM_A, 2);
	allocated(REALM_B, 3);
	next.nb_realms = 0;
	assert_int_equal(reload(false), 2);
	ivan.nonce_len = 0;
	assert_int_equal(fixture_refresh(&f, &ivan, 600), 0);
	assert_int_equal(fixture_stats(&f).allocations, 1);
}

// Users with equal names in other realms are different users.
static void a_user_is_removed_from_one_realm_only(void **state)
{
	allocated(FIXTURE_REALM, 1);
	allocated(REALM_A, 2);
	allocated(REALM_B, 3);
	next.realms[1].users++; // leaves only olga
	next.realms[1].nb_users = 1;
	assert_int_equal(reload(false), 1);
	assert_int_equal(fixture_event(&f, 0)->realm, 2);
	assert_int_equal(f.told.ended[TURN_END_USER], 1);
}

static void a_realm_without_secrets_ends_its_rest_users(void **state)
{
	struct fixture_client olaf = realms_ivan(REALM_A, "198.51.100.9");
	char password[STUN_REST_PASSWORD_SIZE];

	assert_true(stun_rest_password(f.crypto, "a-secret", "1900000000:olaf", 15, password));
	olaf.user = "1900000000:olaf";
	olaf.password = password;
	assert_int_equal(fixture_allocate(&f, &olaf, 0), 0);
	allocated(REALM_A, 2);
	next.realms[0].nb_secrets = 0;
	assert_int_equal(reload(false), 1);
	assert_memory_equal(fixture_event(&f, 0)->name, "1900000000:olaf", 15);
}

static void a_realm_that_denies_a_peer_ends_its_own(void **state)
{
	struct fixture_client a = allocated(REALM_A, 2), b = allocated(REALM_B, 3);
	struct prefix deny[1];

	assert_int_equal(fixture_permit(&f, &a, "10.98.7.1"), 0);
	assert_int_equal(fixture_permit(&f, &b, "10.98.7.1"), 0);
	assert_int_equal(addr_prefix_parse("10.98.7.0/24", &deny[0]), 0);
	next.realms[0].deny = deny;
	next.realms[0].nb_deny = 1;
	assert_int_equal(reload(false), 1);
	assert_int_equal(f.told.ended[TURN_END_PEER], 1);
	assert_int_equal(fixture_event(&f, 0)->realm, 1);
	next.realms[0].nb_deny = 0;
	assert_int_equal(reload(false), 0);
}

static void a_listener_that_serves_fewer_ends_the_others(void **state)
{
	static char *only[] = {(char *)REALM_A};
	struct turn_listener listeners[2];

	memcpy(listeners, next.listeners, sizeof(listeners));
	next.listeners = listeners;
	listeners[0].realms = only;
	listeners[0].nb_realms = 1;
	allocated(FIXTURE_REALM, 1);
	allocated(REALM_A, 2);
	allocated(REALM_B, 3);
	assert_int_equal(reload(false), 2);
	assert_int_equal(f.told.ended[TURN_END_USER], 2);
	next.listeners = f.config.listeners;
	assert_int_equal(reload(false), 0);
}

static void a_lower_quota_of_a_realm_ends_its_own(void **state)
{
	allocated(FIXTURE_REALM, 1);
	for (uint16_t port = 2; port < 6; port++)
		allocated(REALM_A, port);
	allocated(REALM_B, 6);
	next.realms[0].allocations = 3;
	assert_int_equal(reload(true), 1);
	next.realms[0].per_user = 1;
	assert_int_equal(reload(true), 2);
	assert_int_equal(f.told.ended[TURN_END_QUOTA], 3);
	assert_int_equal(turn_quota_realm(f.quota, 1), 1);
	assert_int_equal(fixture_stats(&f).allocations, 3);
}

// A realm added by a reload is served at once. Existing allocations keep their realms, although the
// file now lists the realms in another order.
static void a_realm_that_is_new_is_served_at_once(void **state)
{
	static struct turn_user users[1] = {{.name = (char *)"ivan", .password = (char *)"pw-c"}};
	struct fixture_client a = allocated(REALM_A, 2), b = allocated(REALM_B, 3);
	struct fixture_client c = realms_ivan(REALM_B, "198.51.100.7");

	next_realms[2] = next_realms[1];
	next_realms[1] = next_realms[0];
	next_realms[0] =
		(struct turn_realm){.name = (char *)"c.example", .users = users, .nb_users = 1};
	next.nb_realms = 3;
	assert_int_equal(reload(false), 0);
	c.realm = "c.example";
	c.password = "pw-c";
	assert_int_equal(fixture_allocate(&f, &c, 0), 0);
	assert_int_equal(fixture_event(&f, 0)->realm, 3);
	a.nonce_len = b.nonce_len = 0;
	assert_int_equal(fixture_refresh(&f, &a, 600), 0);
	assert_int_equal(fixture_refresh(&f, &b, 600), 0);
	assert_int_equal(fixture_permit(&f, &a, "10.98.0.1"), 0);
}

// --- numbers -------------------------------------------------------------------------------------

static void numbers_go_round_and_last(void **state)
{
	static char names[400][16];
	static struct turn_user users[1] = {{.name = (char *)"u", .password = (char *)"p"}};
	struct fixture_client a = allocated(REALM_A, 2);
	struct turn_config before = next;
	static struct turn_realm realms[2];

	// b is removed, and 400 other realms take its place in turn: a keeps its number
	next.realms = realms;
	next.nb_realms = 2;
	for (int i = 0; i < 400; i++) {
		realms[0] = next_realms[0];
		snprintf(names[i], sizeof(names[i]), "r%d", i);
		realms[1] = (struct turn_realm){.name = names[i], .users = users, .nb_users = 1};
		assert_int_equal(turn_tallies_number(f.tallies, &next, &before, f.quota), 0);
		assert_int_equal(realms[0].number, 1);
		assert_int_not_equal(realms[1].number, 0);
		assert_int_not_equal(realms[1].number, 1);
		assert_string_equal(turn_tallies_name(f.tallies, realms[1].number), names[i]);
		if (i == 100) // new names get the next number: r0 has 3
			assert_int_equal(realms[1].number, 103);
	}
	assert_int_equal(fixture_refresh(&f, &a, 600), 0);
}

// A number is not reused while the realm that had it still has allocations.
static void numbers_of_live_allocations_are_not_given(void **state)
{
	static struct turn_user users[1] = {{.name = (char *)"u", .password = (char *)"p"}};
	static char names[300][16];
	static struct turn_realm realms[1];

	allocated(REALM_B, 2);
	next.realms = realms;
	next.nb_realms = 1;
	for (int i = 0; i < 300; i++) {
		snprintf(names[i], sizeof(names[i]), "r%d", i);
		realms[0] = (struct turn_realm){.name = names[i], .users = users, .nb_users = 1};
		assert_int_equal(turn_tallies_number(f.tallies, &next, NULL, f.quota), 0);
		assert_int_not_equal(realms[0].number, 2);
	}
	assert_string_equal(turn_tallies_name(f.tallies, 2), REALM_B);
}

// The sums of a realm stay in the total when another realm gets its number.
static void sums_outlast_a_number(void **state)
{
	static struct turn_user users[1] = {{.name = (char *)"u", .password = (char *)"p"}};
	static char names[300][16];
	static struct turn_realm realms[1];
	struct fixture_client a = allocated(REALM_A, 2);
	struct turn_tally t = {0}, all = {0};

	assert_int_equal(fixture_refresh(&f, &a, 0), 0);
	next.realms = realms;
	next.nb_realms = 1;
	for (int i = 0; i < 300; i++) {
		snprintf(names[i], sizeof(names[i]), "r%d", i);
		realms[0] = (struct turn_realm){.name = names[i], .users = users, .nb_users = 1};
		assert_int_equal(turn_tallies_number(f.tallies, &next, NULL, f.quota), 0);
	}
	turn_tallies_add(f.tallies, 0, 1, &t);
	assert_int_equal(t.sums.made, 0);
	for (unsigned int i = 0; i < TURN_REALM_NUMBERS; i++)
		turn_tallies_add(f.tallies, 0, (uint8_t)i, &all);
	assert_int_equal(all.sums.made, 1);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(allocations_within_the_rules_stay),
		T(users_of_a_removed_realm_end),
		T(removing_all_other_realms_ends_their_users),
		T(a_user_is_removed_from_one_realm_only),
		T(a_realm_without_secrets_ends_its_rest_users),
		T(a_realm_that_denies_a_peer_ends_its_own),
		T(a_listener_that_serves_fewer_ends_the_others),
		T(a_lower_quota_of_a_realm_ends_its_own),
		T(a_realm_that_is_new_is_served_at_once),
		T(numbers_go_round_and_last),
		T(numbers_of_live_allocations_are_not_given),
		T(sums_outlast_a_number),
	};

	return cmocka_run_group_tests_name("realms_judge", tests, NULL, NULL);
}
