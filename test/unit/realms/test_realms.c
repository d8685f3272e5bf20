// SPDX-License-Identifier: BSD-3-Clause
// Requests with several realms: the realm of each challenge, and that users of equal names share
// nothing (RFC 8489 9.2.4, RFC 8656 5).
#include "feature_names.h"
#include "turn_tallies.h"
#include "realms_config.h"

#include <stdio.h>

#include "turn_listing.h"
#include "turn_policy.h"
#include "feature_names.h"
#ifdef FEATURE_TCP
#include "turn_tcp.h"
#endif

static struct turn_config config;
static struct fixture f;

static int setup(void **state)
{
	*state = &f;
	config = realms_config();
	fixture_open(&f, &config, 1);
	return 0;
}

// Reopens the fixture after the test has changed the configuration.
static void again(void)
{
	fixture_close(&f);
	fixture_open(&f, &config, 2);
}

// --- challenges ----------------------------------------------------------------------------------

static void ask(const struct fixture_client *c, enum stun_method method, const char *origin)
{
	fixture_begin(&f, STUN_REQUEST, method);
	if (origin != NULL)
		stun_put(&f.w, STUN_ORIGIN, origin, strlen(origin));
	fixture_send(&f, c);
	assert_int_equal(fixture_code(&f), 401);
}

static void an_origin_chooses_the_realm_of_a_challenge(void **state)
{
	static const struct {
		const char *origin, *realm;
	} cases[] = {
		{NULL, FIXTURE_REALM},
		{ORIGIN_A, REALM_A},
		{"HTTPS://APP.a.example:443", REALM_A},
		{ORIGIN_B, REALM_B},
		{"https://app.b.example", FIXTURE_REALM}, // another port
		{"https://elsewhere.example", FIXTURE_REALM},
		{"null", FIXTURE_REALM},
		{"", FIXTURE_REALM},
	};
	const struct fixture_client c = fixture_client("198.51.100.7", 5000);

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		ask(&c, STUN_ALLOCATE, cases[i].origin);
		fixture_assert_challenge_of(&f, cases[i].realm);
	}
	assert_int_equal(fixture_stats(&f).auth_failures, 0);
}

// A client may send several (coturn's sends three); those after the fourth are ignored.
static void the_first_origin_that_is_known_counts(void **state)
{
	static const char *const none = "https://elsewhere.example";
	const struct fixture_client c = fixture_client("198.51.100.7", 5000);

	for (int before = 0; before < 6; before++) {
		fixture_begin(&f, STUN_REQUEST, STUN_ALLOCATE);
		for (int i = 0; i < before; i++)
			stun_put(&f.w, STUN_ORIGIN, none, strlen(none));
		stun_put(&f.w, STUN_ORIGIN, ORIGIN_B, strlen(ORIGIN_B));
		stun_put(&f.w, STUN_ORIGIN, ORIGIN_A, strlen(ORIGIN_A));
		fixture_send(&f, &c);
		assert_int_equal(fixture_code(&f), 401);
		fixture_assert_challenge_of(&f, before < 4 ? REALM_B : FIXTURE_REALM);
	}
}

static void a_listener_bounds_realms(void **state)
{
	static char *only[] = {(char *)REALM_B, (char *)FIXTURE_REALM};
	struct fixture_client ivan = realms_ivan(REALM_A, "198.51.100.7");

	config.listeners[0].realms = only;
	config.listeners[0].nb_realms = 2;
	again();
	ask(&ivan, STUN_ALLOCATE, NULL);
	fixture_assert_challenge_of(&f, REALM_B); // the first one of the list
	ask(&ivan, STUN_ALLOCATE, ORIGIN_A);
	fixture_assert_challenge_of(&f, REALM_B); // the origin's realm is not served
	assert_int_equal(fixture_allocate(&f, &ivan, 0), 401); // nor can a REALM select it
	fixture_assert_challenge_of(&f, REALM_B);
	assert_int_equal(fixture_stats(&f).refused[TURN_REFUSED_REALM], 1);
	ivan = realms_ivan(REALM_B, "198.51.100.7");
	assert_int_equal(fixture_allocate(&f, &ivan, 0), 0);
	ivan = realms_ivan(FIXTURE_REALM, "198.51.100.8");
	assert_int_equal(fixture_allocate(&f, &ivan, 0), 0);
	ivan = realms_ivan(REALM_A, "2001:db8::7"); // the other listener serves all realms
	assert_int_equal(fixture_allocate(&f, &ivan, 6), 0);
	config.listeners[0].nb_realms = 0;
}

// RFC 8489 9.2.4: a wrong REALM is no valid credential, and the 401 names a right one.
static void an_unknown_realm_is_401(void **state)
{
	static const char *const names[] = {
		"c.example", "A.EXAMPLE", "a.example ", "a.exampl", "x"};
	struct fixture_client ivan = realms_ivan(REALM_A, "198.51.100.7");
	char longest[STUN_TEXT_MAX + 1] = {0};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		ivan.realm = names[i];
		assert_int_equal(fixture_allocate(&f, &ivan, 0), 401);
		fixture_assert_challenge(&f);
	}
	memset(longest, 'r', STUN_TEXT_MAX);
	ivan.realm = longest;
	assert_int_equal(fixture_allocate(&f, &ivan, 0), 401);
	fixture_assert_challenge(&f);
	assert_int_equal(fixture_stats(&f).allocations, 0);
}

// --- users of equal names ------------------------------------------------------------------------

static void a_password_is_good_in_its_realm_alone(void **state)
{
	static const char *const realms[] = {FIXTURE_REALM, REALM_A, REALM_B};

	for (int i = 0; i < 3; i++)
		for (int k = 0; k < 3; k++) {
			struct fixture_client c = realms_ivan(realms[i], "198.51.100.7");

			c.endpoint.port = (uint16_t)(6000 + 3 * i + k);
			c.password = realms_ivan(realms[k], "198.51.100.7").password;
			assert_int_equal(fixture_allocate(&f, &c, 0), i == k ? 0 : 401);
			if (i == k)
				assert_true(fixture_signed(&f, &c));
			else
				fixture_assert_challenge_of(&f, realms[i]);
		}
	assert_int_equal(fixture_stats(&f).allocations, 3);
}

static void userhash_depends_on_the_realm(void **state)
{
	struct fixture_client ivan = realms_ivan(REALM_B, "198.51.100.7");

	ivan.userhash = true;
	ivan.alg = STUN_ALG_SHA256;
	assert_int_equal(fixture_allocate(&f, &ivan, 0), 0);
	assert_memory_equal(fixture_event(&f, 0)->name, "ivan", 4);
	assert_int_equal(fixture_event(&f, 0)->realm, 2);
}

// RFC 8656 5: requests for an allocation need the credentials that made it; otherwise 441. Another
// Allocate is for a 5-tuple that is in use.
static void a_session_stays_in_its_realm(void **state)
{
	struct fixture_client ivan = realms_ivan(REALM_A, "198.51.100.7");
	struct fixture_client intruder = realms_ivan(REALM_B, "198.51.100.7");

	assert_int_equal(fixture_allocate(&f, &ivan, 0), 0);
	assert_int_equal(fixture_refresh(&f, &intruder, 600), 441);
	assert_true(fixture_signed(&f, &intruder));
	assert_int_equal(fixture_permit(&f, &intruder, "10.98.0.1"), 441);
	assert_int_equal(fixture_bind(&f, &intruder, 0x4000, "10.98.0.1", 7000), 441);
	assert_int_equal(fixture_refresh(&f, &intruder, 0), 441);
	assert_int_equal(fixture_allocate(&f, &intruder, 0), 437);
	assert_int_equal(fixture_refresh(&f, &ivan, 600), 0);
	// neither an ORIGIN nor a challenge changes its realm
	ask(&ivan, STUN_REFRESH, ORIGIN_B);
	fixture_assert_challenge_of(&f, REALM_A);
	assert_int_equal(fixture_refresh(&f, &ivan, 600), 0);
	ivan.realm = "c.example";
	assert_int_equal(fixture_refresh(&f, &ivan, 600), 401);
	fixture_assert_challenge_of(&f, REALM_A);
}

static void a_stale_nonce_is_renewed_in_its_realm(void **state)
{
	struct fixture_client ivan = realms_ivan(REALM_A, "198.51.100.7");

	assert_int_equal(fixture_allocate(&f, &ivan, 0), 0);
	fixture_advance(&f, 300000);
	assert_int_equal(fixture_refresh(&f, &ivan, 3600), 0);
	fixture_advance(&f, 301000);
	assert_int_equal(fixture_refresh(&f, &ivan, 3600), 438);
	fixture_assert_challenge_of(&f, REALM_A);
	assert_int_equal(fixture_refresh(&f, &ivan, 3600), 0);
}

// A secret belongs to one realm, and a realm without secrets has no REST users.
static void secrets_belong_to_their_realm(void **state)
{
	static const char *const realms[] = {FIXTURE_REALM, REALM_A, REALM_B};
	static const unsigned int codes[] = {401, 0, 401};
	char password[STUN_REST_PASSWORD_SIZE];

	assert_true(stun_rest_password(f.crypto, "a-secret", "1900000000:olaf", 15, password));
	for (int i = 0; i < 3; i++) {
		struct fixture_client c = realms_ivan(realms[i], "198.51.100.7");

		c.endpoint.port = (uint16_t)(6000 + i);
		c.user = "1900000000:olaf";
		c.password = password;
		assert_int_equal(fixture_allocate(&f, &c, 0), codes[i]);
		if (codes[i] == 0)
			assert_int_equal(fixture_refresh(&f, &c, 600), 0);
	}
}

// --- quotas --------------------------------------------------------------------------------------

static unsigned int one_more(const char *realm)
{
	static uint16_t port = 10000;
	struct fixture_client c = realms_ivan(realm, "198.51.100.7");

	c.endpoint.port = port++;
	return fixture_allocate(&f, &c, 0);
}

static void quotas_belong_to_the_realm(void **state)
{
	config.limits.per_user = 2;
	realms_config_of(&config, REALM_A)->per_user = 4;
	realms_config_of(&config, REALM_A)->allocations = 3;
	again();
	for (int i = 0; i < 3; i++)
		assert_int_equal(one_more(REALM_A), 0);
	assert_int_equal(one_more(REALM_A), 486);
	assert_int_equal(fixture_stats(&f).refused[TURN_REFUSED_QUOTA_REALM], 1);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(one_more(FIXTURE_REALM), 0);
		assert_int_equal(one_more(REALM_B), 0);
	}
	assert_int_equal(one_more(FIXTURE_REALM), 486); // limits.per-user
	assert_int_equal(one_more(REALM_B), 486);
	assert_int_equal(fixture_stats(&f).refused[TURN_REFUSED_QUOTA_USER], 2);
	assert_int_equal(turn_quota_realm(f.quota, 1), 3);
	assert_int_equal(turn_quota_realm(f.quota, 2), 2);
	assert_int_equal(turn_quota_total(f.quota), 7);
}

static void the_total_limit_counts_all_realms(void **state)
{
	config.limits.allocations = 3;
	again();
	assert_int_equal(one_more(FIXTURE_REALM), 0);
	assert_int_equal(one_more(REALM_A), 0);
	assert_int_equal(one_more(REALM_B), 0);
	assert_int_equal(one_more(REALM_A), 486);
	assert_int_equal(fixture_stats(&f).refused[TURN_REFUSED_QUOTA_TOTAL], 1);
	assert_int_equal(turn_quota_realm(f.quota, 1), 1); // refused ones do not count
}

#ifdef FEATURE_RESERVATIONS
static void ended_allocations_free_the_quota(void **state)
{
	struct fixture_client ivan = realms_ivan(REALM_A, "198.51.100.7");

	realms_config_of(&config, REALM_A)->allocations = 2;
	again();
	// a reservation counts, too (RFC 8656 7.2)
	fixture_begin(&f, STUN_REQUEST, STUN_ALLOCATE);
	stun_put_u32(&f.w, STUN_REQUESTED_TRANSPORT, 17u << 24);
	stun_put(&f.w, STUN_EVEN_PORT, (const uint8_t[]){0x80}, 1);
	assert_int_equal(fixture_ask(&f, &ivan), 0);
	assert_int_equal(turn_quota_realm(f.quota, 1), 2);
	assert_int_equal(one_more(REALM_A), 486);
	fixture_advance(&f, 61000);
	fixture_expire(&f);
	assert_int_equal(turn_quota_realm(f.quota, 1), 1);
	assert_int_equal(fixture_refresh(&f, &ivan, 0), 0);
	assert_int_equal(turn_quota_realm(f.quota, 1), 0);
}
#endif

// --- peers and pools -----------------------------------------------------------------------------

#ifdef FEATURE_TCP
// The question that threads with a connection ask.
static bool may_be_peer(uint8_t realm, const char *peer)
{
	const struct endpoint e = fixture_endpoint(peer, 80);

	return turn_tcp_may_be_peer(f.policy, realm, &e);
}
#endif

static void peer_rules_belong_to_the_realm(void **state)
{
	struct prefix allow[1], deny[1];
	struct fixture_client ivan = realms_ivan(FIXTURE_REALM, "198.51.100.7");
	struct fixture_client a = realms_ivan(REALM_A, "198.51.100.8");
	struct fixture_client b = realms_ivan(REALM_B, "198.51.100.9");

	assert_int_equal(addr_prefix_parse("10.97.0.0/16", &allow[0]), 0);
	assert_int_equal(addr_prefix_parse("10.98.7.0/24", &deny[0]), 0);
	realms_config_of(&config, REALM_A)->allow = allow;
	realms_config_of(&config, REALM_A)->nb_allow = 1;
	realms_config_of(&config, REALM_B)->deny = deny;
	realms_config_of(&config, REALM_B)->nb_deny = 1;
	again();
	assert_int_equal(fixture_allocate(&f, &ivan, 4), 0);
	assert_int_equal(fixture_allocate(&f, &a, 4), 0);
	assert_int_equal(fixture_allocate(&f, &b, 4), 0);
	assert_int_equal(fixture_permit(&f, &ivan, "10.97.0.1"), 403);
	assert_int_equal(fixture_permit(&f, &a, "10.97.0.1"), 0);
	assert_int_equal(fixture_bind(&f, &a, 0x4000, "10.97.0.2", 7000), 0);
	assert_int_equal(fixture_permit(&f, &b, "10.97.0.1"), 403);
	assert_int_equal(fixture_bind(&f, &b, 0x4000, "10.97.0.2", 7000), 403);
	// everyone may use the common peers, except those that a realm denies
	assert_int_equal(fixture_permit(&f, &ivan, "10.98.7.1"), 0);
	assert_int_equal(fixture_permit(&f, &a, "10.98.7.1"), 0);
	assert_int_equal(fixture_permit(&f, &b, "10.98.7.1"), 403);
	assert_int_equal(fixture_permit(&f, &b, "10.98.8.1"), 0);
#ifdef FEATURE_TCP
	assert_true(may_be_peer(0, "10.98.7.1") && may_be_peer(1, "10.98.7.1"));
	assert_false(may_be_peer(2, "10.98.7.1"));
	assert_false(may_be_peer(0, "10.97.0.1") || may_be_peer(2, "10.97.0.1"));
	assert_true(may_be_peer(1, "10.97.0.1"));
#endif
}

// The source of a client's data that the peer of a channel sees.
static struct addr seen_by(struct fixture_client *c)
{
	const struct turn_plan *plan;
	struct turn_path path;

	assert_int_equal(fixture_bind(&f, c, 0x4000, "10.98.0.9", 7000), 0);
	plan = fixture_channel_data(&f, c, 0x4000, "hello", 5);
	assert_int_equal(plan->verdict, TURN_RELAY);
	turn_route_path(f.shard, plan->flow, &path);
	return path.src.addr;
}

// Two realms reach peers of equal addresses by their own pools.
static void pools_belong_to_the_realm(void **state)
{
	struct addr first[1] = {fixture_endpoint("10.1.0.2", 0).addr};
	struct addr second[1] = {fixture_endpoint("10.2.0.2", 0).addr};
	struct prefix served[1];
	struct turn_relay_pool pools[2] = {
		{(char *)"first", first, served, 1, 1}, {(char *)"second", second, served, 1, 1}};
	char *none[1] = {NULL}, *of_a[1] = {(char *)"first"}, *of_b[1] = {(char *)"second"};
	struct fixture_client c[3] = {realms_ivan(FIXTURE_REALM, "198.51.100.7"),
		realms_ivan(REALM_A, "198.51.100.8"), realms_ivan(REALM_B, "198.51.100.9")};
	const struct addr want[3] = {fixture_endpoint("10.99.0.1", 0).addr, first[0], second[0]};

	assert_int_equal(addr_prefix_parse("10.98.0.0/16", &served[0]), 0);
	config.relay_pools = pools;
	config.nb_relay_pools = 2;
	config.first.relay_pool_names = none;
	realms_config_of(&config, REALM_A)->relay_pool_names = of_a;
	realms_config_of(&config, REALM_A)->nb_relay_pool_names = 1;
	realms_config_of(&config, REALM_B)->relay_pool_names = of_b;
	realms_config_of(&config, REALM_B)->nb_relay_pool_names = 1;
	again();
	for (int i = 0; i < 3; i++) {
		struct addr src;

		assert_int_equal(fixture_allocate(&f, &c[i], 4), 0);
		src = seen_by(&c[i]);
		assert_true(addr_eq(&src, &want[i]));
	}
}

// --- events and sums -----------------------------------------------------------------------------

static void listings_distinguish_realms(void **state)
{
	struct fixture_client a = realms_ivan(REALM_A, "198.51.100.8");
	struct fixture_client b = realms_ivan(REALM_B, "198.51.100.9");
	struct turn_filter filter = {.realm = 1};
	struct turn_walk w = {0};
	struct turn_info rows[4];

	assert_int_equal(fixture_allocate(&f, &a, 0), 0);
	assert_int_equal(fixture_allocate(&f, &b, 0), 0);
	assert_int_equal(f.told.event[0].realm, 1);
	assert_int_equal(f.told.event[1].realm, 2);
	assert_true(turn_listing_user(
		&filter, f.quota, f.crypto, &(struct turn_listing_name){REALM_A, "ivan", 1}));
	assert_int_equal(turn_listing_rows(f.shard, &filter, &w, rows, 4), 1);
	assert_int_equal(rows[0].realm, 1);
	assert_true(endpoint_eq(&rows[0].client, &a.endpoint));
	w = (struct turn_walk){0};
	filter = (struct turn_filter){.wants = TURN_FILTER_REALM, .realm = 2};
	assert_int_equal(turn_listing_kill(f.shard, &filter, &w, 4), 1);
	assert_int_equal(fixture_event(&f, 0)->realm, 2);
	assert_int_equal(fixture_stats(&f).allocations, 1);
	assert_int_equal(fixture_refresh(&f, &a, 600), 0);
}

static struct turn_tally tally(uint8_t number)
{
	struct turn_tally t = {0};

	turn_tallies_add(f.tallies, 0, number, &t);
	return t;
}

// Sums are kept per realm, from the first spill to the end.
static void sums_belong_to_the_realm(void **state)
{
	struct fixture_client ivan = realms_ivan(FIXTURE_REALM, "198.51.100.7");
	struct fixture_client a = realms_ivan(REALM_A, "198.51.100.8");
	char data[100] = {0};

	assert_int_equal(fixture_allocate(&f, &ivan, 0), 0);
	assert_int_equal(fixture_allocate(&f, &a, 0), 0);
	assert_int_equal(fixture_bind(&f, &ivan, 0x4000, "10.98.0.9", 7000), 0);
	assert_int_equal(fixture_bind(&f, &a, 0x4000, "10.98.0.9", 7000), 0);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(
			fixture_channel_data(&f, &a, 0x4000, data, 100)->verdict, TURN_RELAY);
	for (int i = 0; i < 10; i++)
		assert_int_equal(
			fixture_channel_data(&f, &ivan, 0x4000, data, 100)->verdict, TURN_RELAY);
	assert_in_range(tally(1).sums.datagrams[TURN_FROM_CLIENT], 1000 - 64, 1000);
	assert_int_equal(fixture_channel_data(&f, &a, 0x4001, data, 100)->verdict, TURN_DROP);
	assert_int_equal(tally(1).sums.lost[TURN_LOSS_PERMISSION], 1);
	assert_int_equal(tally(1).allocations, 1);
	assert_int_equal(fixture_refresh(&f, &a, 0), 0);
	assert_int_equal(fixture_refresh(&f, &ivan, 0), 0);
	assert_int_equal(tally(1).sums.datagrams[TURN_FROM_CLIENT], 1000);
	assert_int_equal(tally(1).sums.bytes[TURN_FROM_CLIENT], 100000);
	assert_int_equal(tally(1).sums.made, 1);
	assert_int_equal(tally(1).allocations, 0);
	assert_int_equal(tally(2).sums.made, 0);
	assert_int_equal(fixture_stats(&f).sums.datagrams[TURN_FROM_CLIENT], 10);
	assert_int_equal(fixture_stats(&f).sums.lost[TURN_LOSS_PERMISSION], 0);
	assert_int_equal(fixture_stats(&f).sums.made, 1);
}

// --- strangers -----------------------------------------------------------------------------------

// Whatever realm or origin a stranger names, it leaves no state, and the answer counts for
// limits.unauthenticated as usual.
static void strangers_leave_no_state(void **state)
{
	const uint8_t mac[20] = {1};
	char text[64];

	for (uint32_t i = 0; i < 5000; i++) {
		const struct fixture_client c = fixture_client("198.51.100.7", (uint16_t)(i + 1));

		snprintf(text, sizeof(text), "https://%u.example", i);
		fixture_begin(&f, STUN_REQUEST, i % 2 == 0 ? STUN_ALLOCATE : STUN_REFRESH);
		stun_put(&f.w, STUN_ORIGIN, text, strlen(text));
		if (i % 3 == 0) {
			stun_put(&f.w, STUN_USERNAME, "ivan", 4);
			stun_put(&f.w, STUN_REALM, text + 8, strlen(text) - 8);
			stun_put(&f.w, STUN_NONCE, "n", 1);
			stun_put(&f.w, STUN_MESSAGE_INTEGRITY, mac, 20);
		}
		fixture_send(&f, &c);
		assert_int_equal(fixture_code(&f), i % 3 == 0 ? 438 : 401);
		fixture_assert_challenge(&f);
	}
	assert_int_equal(fixture_stats(&f).allocations + fixture_stats(&f).redirects, 0);
	assert_int_equal(turn_quota_total(f.quota), 0);
}

// --- policies ------------------------------------------------------------------------------------

static void wrong_policies_are_refused(void **state)
{
	static const uint8_t key[32];
	struct turn_realm *a = realms_config_of(&config, REALM_A);
	struct turn_realm *b = realms_config_of(&config, REALM_B);
	const struct turn_realm good_a = *a, good_b = *b;
	char *unknown[] = {(char *)"c.example"}, *bad[] = {(char *)"nowhere"};

	b->number = a->number; // two with one number
	assert_null(turn_policy_create(&config, f.crypto, key));
	*b = good_b;
	a->name = (char *)FIXTURE_REALM;
	assert_null(turn_policy_create(&config, f.crypto, key));
	*a = good_a;
	b->name = a->name;
	assert_null(turn_policy_create(&config, f.crypto, key));
	*b = good_b;
	b->origins = a->origins;
	assert_null(turn_policy_create(&config, f.crypto, key));
	b->origins = bad;
	assert_null(turn_policy_create(&config, f.crypto, key));
	*b = good_b;
	config.listeners[0].realms = unknown;
	config.listeners[0].nb_realms = 1;
	assert_null(turn_policy_create(&config, f.crypto, key));
	config.listeners[0].nb_realms = 0;
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(an_origin_chooses_the_realm_of_a_challenge),
		T(the_first_origin_that_is_known_counts),
		T(a_listener_bounds_realms),
		T(an_unknown_realm_is_401),
		T(a_password_is_good_in_its_realm_alone),
		T(userhash_depends_on_the_realm),
		T(a_session_stays_in_its_realm),
		T(a_stale_nonce_is_renewed_in_its_realm),
		T(secrets_belong_to_their_realm),
		T(quotas_belong_to_the_realm),
		T(the_total_limit_counts_all_realms),
#ifdef FEATURE_RESERVATIONS
		T(ended_allocations_free_the_quota),
#endif
		T(peer_rules_belong_to_the_realm),
		T(pools_belong_to_the_realm),
		T(listings_distinguish_realms),
		T(sums_belong_to_the_realm),
		T(strangers_leave_no_state),
		T(wrong_policies_are_refused),
	};

	return cmocka_run_group_tests_name("realms", tests, NULL, NULL);
}
