// SPDX-License-Identifier: BSD-3-Clause
// Sessions with access tokens when keys are added and removed: by a reload, and by a restart.
#include "feature_names.h"
#include "oauth_world.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>

#include "judged.h"
#include "restart_world.h"

static struct turn_config config;
static struct fixture f;
static struct restart r;
static struct turn_policy *fresh;

// --- reloads -------------------------------------------------------------------------------------

static int setup(void **state)
{
	*state = &f;
	config = oauth_config();
	fixture_open(&f, &config, 1);
	return 0;
}

static int teardown(void **state)
{
	const int rc = fixture_teardown(state);

	turn_policy_free(fresh);
	fresh = NULL;
	return rc;
}

// Gives the shard a policy of config, and has all allocations judged. Returns the number that
// ended.
static unsigned int reload(void)
{
	struct turn_policy *before = fresh;
	unsigned int ended;

	fresh = judged_by(&f, before != NULL ? before : f.policy, &config, false, &ended);
	turn_policy_free(before);
	return ended;
}

static struct fixture_client allocated(enum oauth_kid kid, uint32_t number)
{
	char addr[24];
	struct fixture_client c;

	snprintf(addr, sizeof(addr), "198.51.100.%u", number);
	c = oauth_client(&f, kid, number, addr);
	assert_int_equal(fixture_allocate(&f, &c, 4), 0);
	return c;
}

static unsigned int refresh(struct fixture_client *c)
{
	c->nonce_len = 0; // the reload has another nonce key
	return fixture_refresh(&f, c, 600);
}

static void the_sessions_of_a_key_go_with_it(void **state)
{
	struct fixture_client north = allocated(OAUTH_NORTH, 1), south = allocated(OAUTH_SOUTH, 2),
			      moved = allocated(OAUTH_SOUTH, 3), west = allocated(OAUTH_WEST, 4),
			      ivan = fixture_client("198.51.100.9", 5000);
	struct fixture_client renewed = oauth_client(&f, OAUTH_NORTH, 5, "198.51.100.3");
	struct turn_oauth_key keys[2] = {
		config.first.oauth.keys[OAUTH_WEST], config.first.oauth.keys[OAUTH_NORTH]};

	assert_int_equal(fixture_allocate(&f, &ivan, 4), 0);
	memcpy(renewed.nonce, moved.nonce, moved.nonce_len);
	renewed.nonce_len = moved.nonce_len;
	assert_int_equal(fixture_refresh(&f, &renewed, 600), 0); // it uses north now
	config.first.oauth.keys = keys;
	config.first.oauth.nb_keys = 2;
	assert_int_equal(reload(), 1);
	assert_int_equal(f.told.ended[TURN_END_USER], 1);
	assert_memory_equal(fixture_event(&f, 0)->name, "south", 5);
	assert_int_equal(refresh(&south), 401);
	assert_int_equal(refresh(&north), 0);
	assert_int_equal(refresh(&renewed), 0);
	assert_int_equal(refresh(&west), 0);
	assert_int_equal(refresh(&ivan), 0);
	config.first.oauth.nb_keys = 0;
	assert_int_equal(reload(), 3);
	assert_int_equal(fixture_stats(&f).allocations, 1);
	assert_int_equal(refresh(&ivan), 0);
}

// Another secret under an old kid is like another password of a user: existing sessions stay, and
// the old secret makes no new ones.
static void another_secret_ends_nothing(void **state)
{
	struct fixture_client c = allocated(OAUTH_NORTH, 1);

	config.first.oauth.keys[OAUTH_NORTH].secret = config.first.oauth.keys[OAUTH_SOUTH].secret;
	assert_int_equal(reload(), 0);
	assert_int_equal(refresh(&c), 401);
	assert_int_equal(fixture_stats(&f).refused[TURN_REFUSED_ACCESS_FORGED], 1);
	c.access_len = 0;
	assert_int_equal(fixture_permit(&f, &c, "10.99.0.9"), 0);
}

static void both_halves_of_a_dual_session_end(void **state)
{
	struct fixture_client c = oauth_client(&f, OAUTH_NORTH, 1, "198.51.100.1");

	fixture_begin(&f, STUN_REQUEST, STUN_ALLOCATE);
	stun_put_u32(&f.w, STUN_REQUESTED_TRANSPORT, (uint32_t)IPPROTO_UDP << 24);
	stun_put_u32(&f.w, STUN_ADDITIONAL_ADDRESS_FAMILY, 2u << 24);
	assert_int_equal(fixture_ask(&f, &c), 0);
	assert_int_equal(fixture_stats(&f).allocations, 2);
	config.first.oauth.nb_keys = 2;
	config.first.oauth.keys++; // without north
	assert_int_equal(reload(), 2);
	config.first.oauth.keys--;
}

#ifdef FEATURE_REALMS
// A key of another realm is another key, whatever its name.
static void a_kid_belongs_to_its_realm(void **state)
{
	static struct turn_oauth_key realm_key;
	static struct turn_realm realms[1];
	struct token_seal t;
	struct fixture_client c;

	fixture_close(&f);
	realm_key = (struct turn_oauth_key){.kid = (char *)"north",
		.secret = (char *)"ffeeddccbbaa99887766554433221100",
		.algorithm = 1};
	realms[0] = (struct turn_realm){
		.name = (char *)"a.example", .oauth = {NULL, &realm_key, 1}, .number = 1};
	config.realms = realms;
	config.nb_realms = 1;
	fixture_open(&f, &config, 2);
	c = oauth_client(&f, OAUTH_NORTH, 1, "198.51.100.1");
	c.realm = "a.example";
	assert_int_equal(fixture_allocate(&f, &c, 4), 401);
	assert_int_equal(fixture_stats(&f).refused[TURN_REFUSED_ACCESS_FORGED], 1);
	assert_int_equal(f.answer.alen[STUN_THIRD_PARTY_AUTHORIZATION], 9); // a.example
	t = oauth_seal(&f, OAUTH_NORTH, 1);
	t.key = (const uint8_t *)"\xff\xee\xdd\xcc\xbb\xaa\x99\x88\x77\x66\x55\x44\x33\x22\x11";
	t.key_len = 16;
	t.name = "a.example";
	oauth_bring(&c, &t);
	assert_int_equal(fixture_allocate(&f, &c, 4), 0);
	c.realm = NULL; // the token is for the realm's server name
	assert_int_equal(fixture_refresh(&f, &c, 600), 401);
	c = oauth_client(&f, OAUTH_NORTH, 1, "198.51.100.1");
	c.nonce_len = 0;
	assert_int_equal(fixture_refresh(&f, &c, 600), 441); // a valid one, of the other realm
}
#endif

// --- restarts ------------------------------------------------------------------------------------

static struct fixture_client ivan, north, west;

static struct fixture *find_fixture(const struct fixture_client *c)
{
	return restart_at(&r, c);
}

static int restart_setup(void **state)
{
	struct token_seal t;

	config = oauth_config();
	restart_open(&r, &config, 3);
	ivan = fixture_client("198.51.100.7", 5000);
	north = oauth_client(&r.worker[0], OAUTH_NORTH, 1, "198.51.100.8");
	west = oauth_client(&r.worker[0], OAUTH_WEST, 2, "198.51.100.9");
	t = oauth_seal(&r.worker[0], OAUTH_WEST, 2);
	t.mac_len = 32;
	oauth_bring(&west, &t);
	assert_int_equal(fixture_allocate(find_fixture(&ivan), &ivan, 4), 0);
	assert_int_equal(fixture_allocate(find_fixture(&north), &north, 4), 0);
	assert_int_equal(fixture_allocate(find_fixture(&west), &west, 4), 0);
	return 0;
}

static int restart_teardown(void **state)
{
	restart_close(&r);
	return 0;
}

static void a_restart_brings_sessions_back(void **state)
{
	restart_again(&r, &config, 1000);
	assert_int_equal(r.adopted.allocations, 3);
	north.access_len = west.access_len = 0; // the keys are known, short and long
	assert_int_equal(fixture_permit(find_fixture(&north), &north, "10.99.0.9"), 0);
	assert_int_equal(fixture_permit(find_fixture(&west), &west, "10.99.0.9"), 0);
	assert_true(fixture_signed(find_fixture(&west), &west));
	assert_int_equal(fixture_refresh(find_fixture(&west), &west, 600), 401);
	assert_int_equal(fixture_refresh(find_fixture(&ivan), &ivan, 600), 0);
	restart_again(&r, &config, 1000);
	assert_int_equal(r.adopted.allocations, 3);
	assert_int_equal(fixture_permit(find_fixture(&north), &north, "10.99.0.9"), 0);
}

// The record has the changes made by a Refresh, too: key, kid and name.
static void a_new_token_is_kept(void **state)
{
	struct fixture_client next = oauth_client(&r.worker[0], OAUTH_SOUTH, 5, "198.51.100.8");

	memcpy(next.nonce, north.nonce, north.nonce_len);
	next.nonce_len = north.nonce_len;
	assert_int_equal(fixture_refresh(find_fixture(&next), &next, 600), 0);
	config.first.oauth.keys++; // without north
	config.first.oauth.nb_keys = 2;
	restart_again(&r, &config, 1000);
	assert_int_equal(r.adopted.allocations, 3);
	next.access_len = 0;
	assert_int_equal(fixture_permit(find_fixture(&next), &next, "10.99.0.9"), 0);
	north.access_len = 0;
	assert_int_equal(fixture_permit(find_fixture(&north), &north, "10.99.0.9"), 401);
	config.first.oauth.keys--;
}

static void a_restart_without_the_key_loses_its_sessions(void **state)
{
	config.first.oauth.keys++; // without north
	config.first.oauth.nb_keys = 2;
	restart_again(&r, &config, 1000);
	assert_int_equal(r.adopted.allocations, 2);
	assert_int_equal(r.adopted.lost[TURN_STATE_LOST_USER], 1);
	config.first.oauth.nb_keys = 0;
	restart_again(&r, &config, 1000);
	assert_int_equal(r.adopted.allocations, 1);
	assert_int_equal(fixture_refresh(find_fixture(&ivan), &ivan, 600), 0);
	config.first.oauth.keys--;
}

// --- policies ------------------------------------------------------------------------------------

static void wrong_keys_make_no_policy(void **state)
{
	static const uint8_t key[32];
	struct stun_crypto *crypto = stun_crypto_create();

	config = oauth_config();
	config.first.oauth.keys[OAUTH_SOUTH].secret = (char *)"c2hvcnQ=";
	assert_null(turn_policy_create(&config, crypto, key));
	assert_int_equal(errno, EINVAL);
	config = oauth_config();
	config.first.oauth.keys[OAUTH_SOUTH].kid = (char *)"north";
	assert_null(turn_policy_create(&config, crypto, key));
	assert_int_equal(errno, EEXIST);
	stun_crypto_free(crypto);
}

int main(void)
{
#define RELOAD(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
#define RESTART(name) cmocka_unit_test_setup_teardown(name, restart_setup, restart_teardown)
	const struct CMUnitTest tests[] = {
		RELOAD(the_sessions_of_a_key_go_with_it),
		RELOAD(another_secret_ends_nothing),
		RELOAD(both_halves_of_a_dual_session_end),
#ifdef FEATURE_REALMS
		RELOAD(a_kid_belongs_to_its_realm),
#endif
		RESTART(a_restart_brings_sessions_back),
		RESTART(a_new_token_is_kept),
		RESTART(a_restart_without_the_key_loses_its_sessions),
		cmocka_unit_test(wrong_keys_make_no_policy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
