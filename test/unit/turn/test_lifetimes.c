// SPDX-License-Identifier: BSD-3-Clause
// Configured lifetimes of permissions and channels, and the effect of a REST name's expiry on the
// allocation made with it.
#include <stdio.h>
#include <string.h>

#include "turn_fixture.h"

#define CHANNEL 0x4000
#define PEER "10.99.0.9"
#define PEER_PORT 7000
#define EXPIRES_S 500 // expiry of the name, after the start

static struct fixture f;

// --- permissions and channels --------------------------------------------------------------------

static unsigned int to_peer(const struct fixture_client *c)
{
	return fixture_drop(fixture_channel_data(&f, c, CHANNEL, "x", 1));
}

// Advances in steps, refreshing the allocation, and sweeps.
static void wait_s(struct fixture_client *c, unsigned int s)
{
	for (unsigned int second = 0; second < s; second++) {
		fixture_advance(&f, 1000);
		fixture_expire(&f);
		if (second % 200 == 0) {
			c->nonce_len = 0;
			assert_int_equal(fixture_refresh(&f, c, 3600), 0);
		}
	}
}

static unsigned int from_peer(const struct fixture_client *c)
{
	const struct endpoint peer = fixture_endpoint(PEER, PEER_PORT);

	return fixture_drop(fixture_from_peer(&f, &c->relay, &peer, "x", 1));
}

// The permission of a ChannelBind lives at least as long as the channel.
static void assert_lives(uint32_t permission_s, uint32_t channel_s)
{
	struct turn_config c = fixture_config();
	struct fixture_client ivan = fixture_client("198.51.100.7", 5000);

	c.limits.permission_s = permission_s;
	c.limits.channel_s = channel_s;
	fixture_open(&f, &c, 1);
	assert_int_equal(fixture_allocate(&f, &ivan, 4), 0);
	for (unsigned int round = 0; round < 2; round++) { // bound again it lives just as long
		ivan.nonce_len = 0;
		assert_int_equal(fixture_bind(&f, &ivan, CHANNEL, PEER, PEER_PORT), 0);
		wait_s(&ivan, channel_s - 1);
		assert_int_equal(to_peer(&ivan), TURN_OK);
		assert_int_equal(from_peer(&ivan), TURN_OK);
	}
	wait_s(&ivan, 2);
	assert_int_equal(to_peer(&ivan), TURN_DROP_CHANNEL_UNBOUND);
	assert_int_equal(from_peer(&ivan),
		channel_s < permission_s ? TURN_OK : TURN_DROP_PEER_NO_PERMISSION);
	fixture_close(&f);
}

static void lives_as_long_as_configured(void **state)
{
	(void)state;
	assert_lives(300, 600);
	assert_lives(20, 600);
	assert_lives(600, 20);
	assert_lives(60, 60);
	// longer than a line can hold (turn_line.h)
	assert_lives(5000, 4000);
	assert_lives(7000, 7000);
}

// Expired objects stay expired for hours. The times of a line wrap after 70 minutes.
static void no_copy_comes_round(void **state)
{
	struct fixture_client ivan = fixture_open_ivan(&f);

	(void)state;
	assert_int_equal(fixture_allocate(&f, &ivan, 4), 0);
	assert_int_equal(fixture_bind(&f, &ivan, CHANNEL, PEER, PEER_PORT), 0);
	assert_int_equal(to_peer(&ivan), TURN_OK);
	wait_s(&ivan, 601);
	for (unsigned int i = 0; i < 1000; i++) {
		wait_s(&ivan, 10);
		assert_int_equal(to_peer(&ivan), TURN_DROP_CHANNEL_UNBOUND);
		assert_int_equal(from_peer(&ivan), TURN_DROP_PEER_NO_PERMISSION);
	}
	ivan.nonce_len = 0;
	assert_int_equal(fixture_bind(&f, &ivan, CHANNEL, PEER, PEER_PORT), 0);
	assert_int_equal(to_peer(&ivan), TURN_OK);
	fixture_close(&f);
}

// aioice, older pjnath and others bind their channel again after 500 seconds and refresh no
// permission: data of the bound peer arrives throughout, 11 minutes of an echo a second.
static void channels_alone_keep_a_call(void **state)
{
	struct fixture_client ivan = fixture_open_ivan(&f);
	unsigned int lost = 0;

	(void)state;
	assert_int_equal(fixture_allocate(&f, &ivan, 4), 0);
	assert_int_equal(fixture_refresh(&f, &ivan, 3600), 0);
	for (unsigned int s = 0; s < 660; s++) {
		if (s % 500 == 0) {
			ivan.nonce_len = 0;
			assert_int_equal(fixture_bind(&f, &ivan, CHANNEL, PEER, PEER_PORT), 0);
		}
		lost += to_peer(&ivan) != TURN_OK || from_peer(&ivan) != TURN_OK;
		fixture_advance(&f, 1000);
		fixture_expire(&f);
	}
	assert_int_equal(lost, 0);
	fixture_close(&f);
}

// A CreatePermission does not shorten the permission of a ChannelBind, nor the reverse. Each can
// lengthen it.
static void the_longer_permission_counts(void **state)
{
	struct fixture_client ivan = fixture_open_ivan(&f);

	(void)state;
	assert_int_equal(fixture_allocate(&f, &ivan, 4), 0);
	assert_int_equal(fixture_bind(&f, &ivan, CHANNEL, PEER, PEER_PORT), 0);
	assert_int_equal(fixture_permit(&f, &ivan, PEER), 0);
	wait_s(&ivan, 599);
	assert_int_equal(to_peer(&ivan), TURN_OK);
	ivan.nonce_len = 0;
	assert_int_equal(fixture_permit(&f, &ivan, PEER), 0);
	wait_s(&ivan, 2);
	assert_int_equal(to_peer(&ivan), TURN_DROP_CHANNEL_UNBOUND);
	wait_s(&ivan, 297);
	assert_int_equal(from_peer(&ivan), TURN_OK); // in a Data indication
	wait_s(&ivan, 2);
	assert_int_equal(from_peer(&ivan), TURN_DROP_PEER_NO_PERMISSION);
	fixture_close(&f);
}

// Unless configured, the lifetime of a CreatePermission's permission is that of RFC 8656, 9.
static void lives_as_the_rfc_says(void **state)
{
	struct fixture_client ivan = fixture_open_ivan(&f);

	(void)state;
	assert_int_equal(fixture_allocate(&f, &ivan, 4), 0);
	assert_int_equal(fixture_permit(&f, &ivan, PEER), 0);
	wait_s(&ivan, 299);
	assert_int_equal(from_peer(&ivan), TURN_OK);
	wait_s(&ivan, 2);
	assert_int_equal(from_peer(&ivan), TURN_DROP_PEER_NO_PERMISSION);
	fixture_close(&f);
}

// --- the time in a REST name ---------------------------------------------------------------------

static char name[40], password[STUN_REST_PASSWORD_SIZE];

static struct fixture_client open_rest(enum turn_rest_expiry expiry)
{
	struct turn_config c = fixture_config();
	struct fixture_client n = fixture_client("198.51.100.30", 1);

	c.rest_expiry = (uint8_t)expiry;
	fixture_open(&f, &c, 1);
	snprintf(name, sizeof(name), "%u:ann", FIXTURE_WALL_S + EXPIRES_S);
	assert_true(stun_rest_password(f.crypto, "s3cret", name, strlen(name), password));
	n.user = name;
	n.password = password;
	return n;
}

static void pass(struct fixture_client *c, unsigned int s)
{
	fixture_advance(&f, s * UINT64_C(1000));
	fixture_expire(&f);
	c->nonce_len = 0;
}

static void refresh_is_refused(void **state)
{
	struct fixture_client n = open_rest(TURN_REST_REFRESH_REFUSED);

	(void)state;
	assert_int_equal(fixture_allocate(&f, &n, 4), 0);
	assert_int_equal(n.lifetime_s, 600);
	pass(&n, EXPIRES_S - 1);
	assert_int_equal(fixture_refresh(&f, &n, 3600), 0); // one more, beyond the time
	assert_int_equal(n.lifetime_s, 3600);
	pass(&n, 2);
	assert_int_equal(fixture_refresh(&f, &n, 600), 401);
	assert_int_equal(fixture_stats(&f).allocations, 1);
	pass(&n, 3599);
	assert_int_equal(fixture_stats(&f).allocations, 0);
	fixture_close(&f);
}

// By default a call continues although its name expired two seconds ago.
static void calls_outlive_the_name(void **state)
{
	struct fixture_client n = open_rest(TURN_REST_IGNORED);

	(void)state;
	assert_int_equal(fixture_allocate(&f, &n, 4), 0);
	pass(&n, EXPIRES_S + 2);
	assert_int_equal(fixture_permit(&f, &n, PEER), 0);
	assert_int_equal(fixture_bind(&f, &n, CHANNEL, PEER, PEER_PORT), 0);
	assert_int_equal(fixture_refresh(&f, &n, 600), 0);
	assert_int_equal(to_peer(&n), TURN_OK);
	assert_int_equal(fixture_refresh(&f, &n, 0), 0);
	fixture_close(&f);
}

// Without an allocation an expired name is useless, and a wrong password is refused.
static void an_expired_name_makes_nothing(void **state)
{
	struct fixture_client n = open_rest(TURN_REST_IGNORED);

	(void)state;
	pass(&n, EXPIRES_S + 2);
	assert_int_equal(fixture_allocate(&f, &n, 4), 401);
	assert_int_equal(fixture_permit(&f, &n, PEER), 437);
	assert_int_equal(fixture_refresh(&f, &n, 600), 437);
	n.password = "guessed";
	assert_int_equal(fixture_refresh(&f, &n, 600), 401);
	assert_int_equal(fixture_stats(&f).allocations, 0);
	fixture_close(&f);
}

// The allocation lives while it is refreshed, and can be used in full. The name makes no further
// allocation, neither here nor for another client, and another user's password is refused.
static void expiry_is_ignored(void **state)
{
	struct fixture_client n = open_rest(TURN_REST_IGNORED), newcomer, wrong;

	(void)state;
	assert_int_equal(fixture_allocate(&f, &n, 4), 0);
	for (unsigned int i = 0; i < 20; i++) {
		pass(&n, 500);
		assert_int_equal(fixture_refresh(&f, &n, 600), 0);
		assert_int_equal(n.lifetime_s, 600);
		assert_int_equal(fixture_permit(&f, &n, PEER), 0);
	}
	wrong = n;
	wrong.password = "guessed";
	wrong.nonce_len = 0;
	assert_int_equal(fixture_refresh(&f, &wrong, 600), 401);
	newcomer = fixture_client("198.51.100.31", 1);
	newcomer.user = n.user;
	newcomer.password = n.password;
	assert_int_equal(fixture_allocate(&f, &newcomer, 4), 401);
	// another expired name, on that 5-tuple
	wrong = n;
	wrong.nonce_len = 0;
	wrong.user = "1700000001:ann";
	assert_int_equal(fixture_refresh(&f, &wrong, 600), 401);
	n.nonce_len = 0;
	assert_int_equal(fixture_refresh(&f, &n, 0), 0);
	n.nonce_len = 0;
	assert_int_equal(fixture_allocate(&f, &n, 4), 401);
	fixture_close(&f);
}

// No lifetime exceeds the expiry. The client gets the shorter lifetime.
static void session_ends(void **state)
{
	struct fixture_client n = open_rest(TURN_REST_ENDS), ivan;

	(void)state;
	assert_int_equal(fixture_allocate(&f, &n, 4), 0);
	assert_int_equal(n.lifetime_s, EXPIRES_S);
	pass(&n, 100);
	assert_int_equal(fixture_refresh(&f, &n, 3600), 0);
	assert_int_equal(n.lifetime_s, EXPIRES_S - 100);
	pass(&n, EXPIRES_S - 101);
	assert_int_equal(fixture_stats(&f).allocations, 1);
	assert_int_equal(fixture_refresh(&f, &n, 3600), 0);
	assert_int_equal(n.lifetime_s, 1);
	// a configured user has no expiry
	ivan = fixture_client("198.51.100.7", 5000);
	assert_int_equal(fixture_allocate(&f, &ivan, 4), 0);
	assert_int_equal(ivan.lifetime_s, 600);
	pass(&n, 2);
	assert_int_equal(fixture_stats(&f).allocations, 1);
	assert_int_equal(f.told.ended[TURN_END_EXPIRED], 1);
	assert_int_equal(fixture_refresh(&f, &n, 600), 401);
	fixture_close(&f);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(lives_as_long_as_configured),
		cmocka_unit_test(no_copy_comes_round),
		cmocka_unit_test(channels_alone_keep_a_call),
		cmocka_unit_test(the_longer_permission_counts),
		cmocka_unit_test(lives_as_the_rfc_says),
		cmocka_unit_test(refresh_is_refused),
		cmocka_unit_test(calls_outlive_the_name),
		cmocka_unit_test(an_expired_name_makes_nothing),
		cmocka_unit_test(expiry_is_ignored),
		cmocka_unit_test(session_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
