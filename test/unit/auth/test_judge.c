// SPDX-License-Identifier: BSD-3-Clause
// Effects of another policy on live allocations: those that violate it end, the others do not
// change.
#include <stdio.h>
#include <stdlib.h>

#include "addr_text.h"
#include "judged.h"
#include "turn_judge.h"
#include "turn_listing.h"

static struct fixture f;
static struct turn_policy *fresh;

// base64(HMAC-SHA1("s3cret", "1900000000:olga")), by the openssl program
#define REST_PASSWORD "cHl2ksP+H/fQax0w77tk1E8Otdk="

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

	turn_policy_free(fresh);
	fresh = NULL;
	return rc;
}

// Gives the shard a policy of c and has all allocations judged. Returns the number that ended.
static unsigned int reload(const struct turn_config *c, bool lower)
{
	unsigned int ended;

	fresh = judged_by(&f, f.policy, c, lower, &ended);
	return ended;
}

static struct fixture_client rest_client(const char *addr)
{
	struct fixture_client c = fixture_client(addr, 5000);
	static char password[64];

	c.user = "1900000000:olga";
	// base64(HMAC-SHA1("s3cret", user)) by openssl
	snprintf(password, sizeof(password), "%s", REST_PASSWORD);
	c.password = password;
	return c;
}

static void allocations_within_the_rules_stay(void **state)
{
	struct fixture_client ivan = fixture_client("198.51.100.7", 5000);
	struct fixture_client olga = rest_client("198.51.100.9");
	const struct endpoint peer = fixture_endpoint("10.99.0.9", 7000);
	struct turn_config c = f.config;

	assert_int_equal(fixture_allocate(&f, &ivan, 4), 0);
	assert_int_equal(fixture_allocate(&f, &olga, 4), 0);
	assert_int_equal(fixture_bind(&f, &ivan, 0x4000, "10.99.0.9", 7000), 0);
	c.limits.per_user = 7;
	assert_int_equal(reload(&c, true), 0);
	assert_int_equal(fixture_stats(&f).allocations, 2);
	assert_int_equal(fixture_from_peer(&f, &ivan.relay, &peer, "x", 1)->verdict, TURN_RELAY);
	ivan.nonce_len = 0;
	assert_int_equal(fixture_refresh(&f, &ivan, 600), 0);
}

static void a_user_who_is_gone_ends(void **state)
{
	struct fixture_client ivan = fixture_client("198.51.100.7", 5000);
	struct fixture_client eve = fixture_eve("198.51.100.8", 5000);
	struct fixture_client olga = rest_client("198.51.100.9");
	struct turn_config c = f.config;

	assert_int_equal(fixture_allocate(&f, &ivan, 4), 0);
	assert_int_equal(fixture_allocate(&f, &eve, 4), 0);
	assert_int_equal(fixture_allocate(&f, &olga, 4), 0);
	c.first.nb_users = 1; // ivan
	assert_int_equal(reload(&c, false), 1);
	assert_int_equal(f.told.ended[TURN_END_USER], 1);
	assert_int_equal(fixture_event(&f, 0)->name_len, 3);
	assert_memory_equal(fixture_event(&f, 0)->name, "eve", 3);
	eve.nonce_len = 0;
	assert_int_equal(fixture_refresh(&f, &eve, 600), 401); // no user has that name
	ivan.nonce_len = 0;
	assert_int_equal(fixture_refresh(&f, &ivan, 600), 0);
}

static void without_secrets_rest_users_end(void **state)
{
	struct fixture_client ivan = fixture_client("198.51.100.7", 5000);
	struct fixture_client olga = rest_client("198.51.100.9");
	struct turn_config c = f.config;

	assert_int_equal(fixture_allocate(&f, &ivan, 4), 0);
	assert_int_equal(fixture_allocate(&f, &olga, 4), 0);
	c.first.nb_secrets = 0;
	assert_int_equal(reload(&c, false), 1);
	assert_int_equal(f.told.ended[TURN_END_USER], 1);
	assert_int_equal(fixture_stats(&f).allocations, 1);
}

// A denied peer is found among any number of peers, wherever it is in the tree.
static void a_peer_who_is_denied_ends(void **state)
{
	struct fixture_client a = fixture_client("198.51.100.7", 5000);
	struct fixture_client b = fixture_client("198.51.100.8", 5000);
	const struct endpoint peer = fixture_endpoint("10.98.0.77", 7000);
	struct turn_config c = f.config;
	struct prefix deny[1] = {addr_text_prefix("10.98.0.77/32")};
	char text[32];

	assert_int_equal(fixture_allocate(&f, &a, 4), 0);
	assert_int_equal(fixture_allocate(&f, &b, 4), 0);
	for (unsigned int i = 70; i < 80; i++) {
		snprintf(text, sizeof(text), "10.98.0.%u", i);
		assert_int_equal(fixture_permit(&f, &a, text), 0);
	}
	assert_int_equal(fixture_permit(&f, &b, "10.98.0.76"), 0);
	c.deny = deny;
	c.nb_deny = 1;
	assert_int_equal(reload(&c, false), 1);
	assert_int_equal(f.told.ended[TURN_END_PEER], 1);
	assert_int_equal(fixture_from_peer(&f, &a.relay, &peer, "x", 1)->verdict, TURN_DROP);
	b.nonce_len = 0;
	assert_int_equal(fixture_refresh(&f, &b, 600), 0);
}

// Also where an allow for others, and no deny, is new.
static void a_client_who_is_denied_ends(void **state)
{
	struct fixture_client a = fixture_client("198.51.100.7", 5000);
	struct fixture_client b = fixture_client("198.51.101.8", 5000);
	struct turn_config c = f.config;
	struct prefix rule[1] = {addr_text_prefix("198.51.100.0/24")};

	assert_int_equal(fixture_allocate(&f, &a, 4), 0);
	assert_int_equal(fixture_allocate(&f, &b, 4), 0);
	c.client_allow = rule;
	c.nb_client_allow = 1;
	assert_int_equal(reload(&c, false), 1);
	assert_int_equal(f.told.ended[TURN_END_DENIED], 1);
	assert_int_equal(turn_shard_refuses(f.shard, &b.endpoint.addr), TURN_DROP_CLIENT_DENIED);
	a.nonce_len = 0;
	assert_int_equal(fixture_refresh(&f, &a, 600), 0);
	assert_int_equal(fixture_stats(&f).allocations, 1);
}

static void a_lower_quota_ends_by_choice(void **state)
{
	struct fixture_client ivan[5];
	struct fixture_client eve = fixture_eve("198.51.100.8", 5000);
	struct turn_config c = f.config;

	for (uint16_t i = 0; i < 5; i++) {
		ivan[i] = fixture_client("198.51.100.7", (uint16_t)(5000 + i));
		assert_int_equal(fixture_allocate(&f, &ivan[i], 4), 0);
	}
	assert_int_equal(fixture_allocate(&f, &eve, 4), 0);
	c.limits.per_user = 2;
	assert_int_equal(reload(&c, false), 0);
	turn_policy_free(fresh);
	assert_int_equal(reload(&c, true), 3);
	assert_int_equal(f.told.ended[TURN_END_QUOTA], 3);
	assert_int_equal(fixture_stats(&f).allocations, 3);
	turn_policy_free(fresh);
	c.limits.per_user = 0;
	c.limits.allocations = 1;
	assert_int_equal(reload(&c, true), 2);
	assert_int_equal(fixture_stats(&f).allocations, 1);
	turn_policy_free(fresh);
	c.limits.allocations = 0;
	c.limits.per_source = 1;
	assert_int_equal(reload(&c, true), 0);
}

// Nine /64 of one /48 have one allocation each, which is what each may have.
static void a_lower_quota_counts_a_network_too(void **state)
{
	struct turn_config c = f.config;

	for (uint16_t i = 0; i < 9; i++) {
		struct fixture_client eve = fixture_eve("2001:db8:1::1", (uint16_t)(5000 + i));

		eve.endpoint.addr.b[7] = (uint8_t)i;
		assert_int_equal(fixture_allocate(&f, &eve, 4), 0);
	}
	c.limits.per_source = 1;
	assert_int_equal(reload(&c, true), 1);
	assert_int_equal(f.told.ended[TURN_END_QUOTA], 1);
	assert_int_equal(fixture_stats(&f).allocations, 8);
}

// A call ends no more than its budget allows.
static void a_call_does_bounded_work(void **state)
{
	struct turn_config c = f.config;
	struct turn_judge *j;
	struct turn_walk w = {0};
	unsigned int most = 0, all = 0;

	for (uint16_t i = 0; i < 250; i++) {
		struct fixture_client eve = fixture_eve("198.51.100.8", (uint16_t)(5000 + i));

		assert_int_equal(fixture_allocate(&f, &eve, 4), 0);
	}
	c.first.nb_users = 1;
	fresh = turn_policy_create(&c, f.crypto, (const uint8_t[32]){0});
	j = turn_judge_create(f.policy, fresh, f.quota, false);
	turn_shard_set_policy(f.shard, fresh);
	assert_int_equal(turn_judge_walk(f.shard, j, &w, 0), 0);
	assert_int_equal(turn_judge_walk(f.shard, j, &w, 7), 7);
	all = 7;
	while (!w.end) {
		const unsigned int n = turn_judge_walk(f.shard, j, &w, 1000);

		most = n > most ? n : most;
		all += n;
	}
	turn_judge_free(j);
	assert_int_equal(all, 250);
	assert_in_range(most, 1, TURN_JUDGE_BUDGET / 8);
}

// --- how long it takes ---------------------------------------------------------------------------

#define MANY 8000 // the number of calls grows with it
#define CALLS (MANY / 100) // a call a millisecond: 100,000 within a second
#define ROOM 768 // for events; a ring has at most this

static struct turn_user crowd[2] = {{.name = (char *)"ivan", .password = (char *)"pw"},
	{.name = (char *)"eve", .password = (char *)"evil"}};
static const char *const peer_text[3] = {"10.98.0.1", "10.98.0.2", "10.98.0.3"};

static int setup_many(void **state)
{
	struct turn_config c = fixture_config();

	*state = &f;
	c.port_lo = 49152;
	c.port_hi = 65535;
	c.first.users = crowd;
	fixture_open(&f, &c, 1);
	for (unsigned int i = 0; i < MANY; i++) {
		struct fixture_client eve = fixture_eve("198.51.100.8", (uint16_t)(5000 + i));

		assert_int_equal(fixture_allocate(&f, &eve, 4), 0);
		for (unsigned int k = 0; k < 3; k++)
			assert_int_equal(fixture_permit(&f, &eve, peer_text[k]), 0);
	}
	return 0;
}

// Calls until all are judged by a policy of c. *ended is the number of allocations that they ended.
static unsigned int calls_of(const struct turn_config *c, bool lower, unsigned int *ended)
{
	struct turn_walk w = {0};
	struct turn_judge *j;
	unsigned int calls = 0;
	double begin;

	fresh = turn_policy_create(c, f.crypto, (const uint8_t[32]){0});
	j = turn_judge_create(f.policy, fresh, f.quota, lower);
	turn_shard_set_policy(f.shard, fresh);
	begin = fixture_seconds();
	for (*ended = 0; !w.end; calls++)
		*ended += turn_judge_walk(f.shard, j, &w, ROOM);
	begin = fixture_seconds() - begin;
	print_message(
		"%u calls of %.1f us: %u of %u ended\n", calls, begin / calls * 1e6, *ended, MANY);
	turn_judge_free(j);
	return calls;
}

static void all_of_a_user_end_within_a_second(void **state)
{
	struct turn_config c = f.config;
	unsigned int ended;

	c.first.nb_users = 1;
	assert_in_range(calls_of(&c, false, &ended), 1, CALLS);
	assert_int_equal(ended, MANY);
}

static void all_of_a_peer_end_within_a_second(void **state)
{
	struct prefix deny = addr_text_prefix("10.98.0.3/32");
	struct turn_config c = f.config;
	unsigned int ended;

	c.deny = &deny;
	c.nb_deny = 1;
	assert_in_range(calls_of(&c, false, &ended), 1, CALLS);
	assert_int_equal(ended, MANY);
}

static void all_past_a_quota_end_within_a_second(void **state)
{
	struct turn_config c = f.config;
	unsigned int ended;

	c.limits.per_user = 10;
	assert_in_range(calls_of(&c, true, &ended), 1, CALLS);
	assert_int_equal(ended, MANY - 10);
}

// Unchanged rules cost nothing, and rules that no allocation violates cost little.
static void unchanged_rules_are_not_judged(void **state)
{
	struct turn_config c = f.config;
	unsigned int ended;

	c.limits.per_user = 1;
	assert_int_equal(calls_of(&c, false, &ended), 1);
	assert_int_equal(ended, 0);
	turn_policy_free(fresh);
	c.limits.per_user = 0;
	crowd[0].name = (char *)"olga";
	assert_in_range(calls_of(&c, false, &ended), 1, CALLS / 10);
	assert_int_equal(ended, 0);
	crowd[0].name = (char *)"ivan";
}

#define M(name) cmocka_unit_test_setup_teardown(name, setup_many, teardown)
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(allocations_within_the_rules_stay),
		T(a_user_who_is_gone_ends),
		T(without_secrets_rest_users_end),
		T(a_peer_who_is_denied_ends),
		T(a_client_who_is_denied_ends),
		T(a_lower_quota_ends_by_choice),
		T(a_lower_quota_counts_a_network_too),
		T(a_call_does_bounded_work),
		M(all_of_a_user_end_within_a_second),
		M(all_of_a_peer_end_within_a_second),
		M(all_past_a_quota_end_within_a_second),
		M(unchanged_rules_are_not_judged),
	};

	return cmocka_run_group_tests_name("judge", tests, NULL, NULL);
}
