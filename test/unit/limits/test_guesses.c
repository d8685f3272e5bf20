// SPDX-License-Identifier: BSD-3-Clause
// Password guesses next to clients that know their password: correctly signed requests are served,
// whatever others with that address or that name get wrong. Guesses are limited by address, by
// network and by name.
#include "turn_fixture.h"

#include <stdio.h>

static struct fixture f;

static int setup(void **state)
{
	struct turn_config c = fixture_config();

	*state = &f;
	c.limits.guesses = (struct limit){.rate = 20, .burst = 100}; // the defaults
	c.limits.unauthenticated = (struct limit){0};
	fixture_open(&f, &c, 7);
	return 0;
}

// A client that has its challenge: its next request is judged by its password.
static struct fixture_client challenged(const char *addr, uint16_t port)
{
	struct fixture_client c = fixture_client(addr, port);

	fixture_begin(&f, STUN_REQUEST, STUN_ALLOCATE);
	fixture_send(&f, &c);
	assert_int_equal(fixture_code(&f), 401);
	c.nonce_len = f.answer.alen[STUN_NONCE];
	memcpy(c.nonce, f.answer.data + f.answer.off[STUN_NONCE], c.nonce_len);
	return c;
}

// Asks once for an allocation. True if it was answered.
static bool ask(struct fixture_client *c)
{
	fixture_begin(&f, STUN_REQUEST, STUN_ALLOCATE);
	stun_put_u32(&f.w, STUN_REQUESTED_TRANSPORT, 17u << 24);
	fixture_sign(&f, c);
	return fixture_send(&f, c)->verdict == TURN_REPLY;
}

static unsigned int failures(void)
{
	return (unsigned int)fixture_stats(&f).auth_failures;
}

// An application with a wrong secret, and clients of another application; a load balancer gives all
// of them one address.
static void beside_a_wrong_secret(unsigned int tries_a_second)
{
	struct fixture_client wrong = challenged("198.51.100.7", 1000), good;
	char name[32], password[STUN_REST_PASSWORD_SIZE];
	uint8_t mac[STUN_REST_MAC_LEN];

	for (unsigned int ms = 0; ms < 20000; ms++) {
		if (ms % (1000 / tries_a_second) == 0) {
			snprintf(name, sizeof(name), "1700100000:%u", ms);
			wrong.user = name;
			wrong.password = "bm9uZSBvZiBvdXJzIGF0IGFsbA==";
			ask(&wrong);
		}
		if (ms % 500 == 499) {
			good = challenged("198.51.100.7", (uint16_t)(2000 + ms));
			snprintf(name, sizeof(name), "1700100000:good%u", ms);
			good.user = name;
			assert_true(stun_rest_mac(
				f.crypto, f.config.first.secrets[0], name, strlen(name), mac));
			stun_rest_text(mac, sizeof(mac), password);
			good.password = password;
			assert_true(ask(&good));
			assert_int_equal(fixture_code(&f), 0);
			good.user = "nobody"; // and releases it
			good.user = name;
			assert_int_equal(fixture_refresh(&f, &good, 0), 0);
		}
		fixture_advance(&f, 1);
	}
}

static void good_clients_beside_a_wrong_secret(void **state)
{
	beside_a_wrong_secret(30);
	beside_a_wrong_secret(100);
	beside_a_wrong_secret(250);
}

// Guesses at one name from one address have the same limit as before.
static void an_address_has_its_guesses(void **state)
{
	struct fixture_client c = challenged("198.51.100.7", 1000);
	unsigned int answered = 0;

	c.user = "eve";
	c.password = "wrong";
	for (unsigned int ms = 0; ms < 10000; ms++) {
		answered += ask(&c);
		fixture_advance(&f, 1);
	}
	assert_in_range(answered, 250, 100 + 10 * 20 + 10 * 2 + 10);
	assert_int_equal(failures(), answered);
	// guesses at many names are limited, too
	for (unsigned int ms = 0; ms < 10000; ms++) {
		char name[32];

		snprintf(name, sizeof(name), "1700100000:%u", ms);
		c.user = name;
		answered += ask(&c);
		fixture_advance(&f, 1);
	}
	assert_in_range(answered, 2000, 8000);
}

// A site with 65,536 prefixes of /64 is one network.
static void a_network_has_its_guesses(void **state)
{
	unsigned int answered = 0, ms;
	struct fixture_client c;

	for (unsigned int i = 0; i < 50000; i++) {
		char addr[64];

		snprintf(addr, sizeof(addr), "2a00:db8:1:%x::1", i);
		c = challenged(addr, 1000);
		c.user = "eve";
		c.password = "wrong";
		answered += ask(&c);
		if (i % 10 == 0)
			fixture_advance(&f, 1);
	}
	assert_in_range(answered, 400 * 5, 2000 + 400 * 5 + 100);
	// others are not affected, with the name or another one, at new addresses
	for (ms = 0; ms < 100; ms++) {
		char addr[64];

		snprintf(addr, sizeof(addr), "2a00:db8:2:%x::1", ms);
		c = challenged(addr, 1000);
		c.user = "eve";
		c.password = "evil";
		assert_true(ask(&c));
		assert_int_equal(fixture_code(&f), 0);
		assert_int_equal(fixture_refresh(&f, &c, 0), 0);
	}
}

// Guesses at a name from many addresses at once are limited by the name's budget. Meanwhile the
// name's owner is served at recently used addresses, and keeps the allocation; at other addresses
// the owner has to wait. No other user is affected.
static void a_name_has_its_guesses(void **state)
{
	struct fixture_client home = challenged("203.0.113.1", 1000), away, guesser;
	unsigned int before;

	home.user = "eve";
	home.password = "evil";
	assert_true(ask(&home));
	assert_int_equal(fixture_code(&f), 0);
	for (unsigned int i = 0; i < 200000; i++) {
		char addr[64];
		struct fixture_client c;

		snprintf(addr, sizeof(addr), "%u.%u.%u.1", 11 + i / 65536, i / 256 % 256, i % 256);
		c = challenged(addr, 1000);
		c.user = "eve";
		c.password = "wrong";
		ask(&c);
		if (i % 100 == 0)
			fixture_advance(&f, 1);
	}
	assert_in_range(failures(), 10000, 100 * 100 + 2 * 2000 + 100);
	before = failures();
	assert_int_equal(fixture_refresh(&f, &home, 600), 0);
	home = challenged("203.0.113.1", 1001);
	home.user = "eve";
	home.password = "evil";
	assert_true(ask(&home));
	assert_int_equal(fixture_code(&f), 0);
	away = challenged("203.0.113.2", 1000);
	away.user = "eve";
	away.password = "evil";
	assert_false(ask(&away));
	assert_int_equal(f.burst.plan.reason, TURN_DROP_GUESS_RATE);
	guesser = challenged("203.0.113.2", 1001);
	assert_true(ask(&guesser));
	assert_int_equal(fixture_code(&f), 0);
	assert_int_equal(failures(), before);
	fixture_advance(&f, 100);
	assert_true(ask(&away));
	assert_int_equal(fixture_code(&f), 0);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(good_clients_beside_a_wrong_secret),
		T(an_address_has_its_guesses),
		T(a_network_has_its_guesses),
		T(a_name_has_its_guesses),
	};

	return cmocka_run_group_tests_name("guesses", tests, NULL, NULL);
}
