// SPDX-License-Identifier: BSD-3-Clause
// REST secrets that the program which looks up users sends.
#include "turn_fixture.h"

#include <stdio.h>

#include "turn_lookup.h"

#define NAME "1800000000:rosa"

static struct turn_config config;
static struct fixture f;
static struct fixture_client rosa;
static char password[STUN_REST_PASSWORD_SIZE];

static int setup(void **state)
{
	*state = &f;
	config = fixture_config();
	config.first.nb_secrets = 0;
	config.lookup = (struct turn_lookup){
		.enabled = true, .users = 64, .questions = 16, .deadline_ms = 2000};
	config.first.looked_up = 1;
	fixture_open(&f, &config, 1);
	rosa = fixture_client("198.51.100.7", 5000);
	rosa.user = NAME;
	rosa.password = password;
	return 0;
}

static void give(uint64_t list, uint8_t index, uint8_t nb, const char *secret)
{
	struct turn_lookup_secret s = {
		.list = list, .index = index, .nb = nb, .realm = FIXTURE_REALM};

	snprintf(s.secret, sizeof(s.secret), "%s", secret);
	turn_lookup_secret(f.shard, &s);
}

// Sends an Allocate with the password of a secret, from another port each time. Returns the code
// of the answer, or 0 and *silent.
static unsigned int allocate(const char *secret)
{
	assert_true(stun_rest_password(f.crypto, secret, NAME, strlen(NAME), password));
	rosa.endpoint.port++;
	rosa.nonce_len = 0;
	return fixture_allocate(&f, &rosa, 0);
}

static void secrets_replace_each_other(void **state)
{
	give(1, 0, 1, "north");
	assert_int_equal(allocate("north"), 0);
	assert_int_equal(allocate("south"), 401);
	assert_int_equal(fixture_stats(&f).refused[TURN_REFUSED_REST_PASSWORD], 1);
	give(2, 0, 2, "south");
	assert_int_equal(allocate("south"), 401); // until the list is complete
	assert_int_equal(allocate("north"), 0);
	give(2, 1, 2, "north");
	assert_int_equal(allocate("south"), 0);
	assert_int_equal(allocate("north"), 0);
	give(3, 0, 1, "south");
	assert_int_equal(allocate("north"), 401);
	give(4, 0, 0, "");
	assert_int_equal(fixture_stats(&f).lookups, 0);
}

// Parts of lists that do not belong together, or come twice.
static void broken_lists_change_nothing(void **state)
{
	give(1, 0, 1, "north");
	give(2, 1, 2, "south");
	give(3, 0, 3, "south");
	give(3, 2, 3, "south");
	give(4, 1, 3, "south");
	give(3, 1, 2, "south");
	assert_int_equal(allocate("south"), 401);
	assert_int_equal(allocate("north"), 0);
	give(5, 0, 2, "south");
	give(5, 0, 2, "south");
	give(5, 1, 2, "east");
	give(5, 1, 2, "east");
	assert_int_equal(allocate("south"), 0);
	assert_int_equal(allocate("east"), 0);
	assert_int_equal(allocate("north"), 401);
}

// The realm gets another name: its secrets were those of the old one.
static void secrets_go_with_their_realm(void **state)
{
	struct turn_policy *after, *before = f.policy;

	give(1, 0, 1, "north");
	assert_int_equal(allocate("north"), 0);
	config.first.name = (char *)"other.test";
	after = turn_policy_create(&config, f.crypto, f.boot_key);
	assert_non_null(after);
	turn_shard_set_policy(f.shard, after);
	rosa.realm = "other.test";
	give(2, 0, 1, "north"); // for a realm that is gone
	assert_true(stun_rest_password(f.crypto, "north", NAME, strlen(NAME), password));
	rosa.endpoint.port++;
	rosa.nonce_len = 0;
	fixture_begin(&f, STUN_REQUEST, STUN_ALLOCATE);
	fixture_sign(&f, &rosa);
	assert_int_equal(fixture_send(&f, &rosa)->verdict, TURN_DROP); // there is nobody to ask
	turn_shard_set_policy(f.shard, before);
	turn_policy_free(after);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, fixture_teardown)
		TEST(secrets_replace_each_other),
		TEST(broken_lists_change_nothing),
		TEST(secrets_go_with_their_realm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
