// SPDX-License-Identifier: BSD-3-Clause
// Limits of answers without a password and of password guesses: what a request proves, and which
// budget it uses (stranger.h).
#include "turn_fixture.h"

#include <stdio.h>

static struct fixture f;
static struct fixture_client ivan;

static int setup(void **state)
{
	*state = &f;
	ivan = fixture_open_ivan(&f);
	return 0;
}

// Failed verifications are counted apart from answers: a sender that spoofs a source uses up its
// answers, but only the source itself, with a nonce of this server, can use up its verifications.
static void verifications_of_forged_requests_are_limited(void **state)
{
	struct turn_config c = fixture_config();
	struct fixture_client forger, neighbour, late;

	fixture_close(&f);
	c.limits.guesses = (struct limit){.rate = 10, .burst = 20};
	fixture_open(&f, &c, 7);
	neighbour = forger = late = ivan; // behind one address
	neighbour.endpoint.port++;
	late.endpoint.port += 2;
	assert_int_equal(fixture_allocate(&f, &neighbour, 0), 0);
	forger.password = "wrong";
	assert_int_equal(fixture_allocate(&f, &forger, 0), 401);
	for (int i = 0; i < 100; i++) {
		fixture_begin(&f, STUN_REQUEST, STUN_ALLOCATE);
		fixture_sign(&f, &forger);
		fixture_send(&f, &forger);
	}
	assert_int_equal(f.burst.plan.reason, TURN_DROP_GUESS_RATE);
	assert_int_equal(fixture_stats(&f).auth_failures, 20); // the rest was not verified
	// a client with an allocation keeps it; another client waits until the failures are
	// forgotten
	assert_int_equal(fixture_refresh(&f, &neighbour, 600), 0);
	fixture_advance(&f, 3000);
	assert_int_equal(fixture_allocate(&f, &late, 0), 0);
}

// Sends nb refreshes in another user's name, each with another password, from ivan's 5-tuple.
static unsigned int guess(unsigned int nb)
{
	struct fixture_client guesser = ivan;
	char password[16];
	unsigned int answered = 0;

	guesser.user = "eve";
	guesser.password = password;
	for (unsigned int i = 0; i < nb; i++) {
		snprintf(password, sizeof(password), "guess%u", i);
		fixture_begin(&f, STUN_REQUEST, STUN_REFRESH);
		fixture_sign(&f, &guesser);
		if (fixture_send(&f, &guesser)->verdict == TURN_REPLY) {
			assert_int_equal(fixture_code(&f), 401);
			answered++;
		} else {
			assert_int_equal(f.burst.plan.reason, TURN_DROP_GUESS_RATE);
		}
	}
	return answered;
}

// A hundred guesses at another user's password, then no answer, even to the right one. An
// allocation of the client's own makes no difference, nor do the answers to strangers.
static void guesses_are_bounded(bool allocated)
{
	struct turn_config c = fixture_config();
	struct fixture_client eve;

	fixture_close(&f);
	c.limits.unauthenticated = (struct limit){.rate = 1000000, .burst = 1000000};
	c.limits.guesses = (struct limit){.rate = 20, .burst = 100};
	fixture_open(&f, &c, 7);
	if (allocated)
		assert_int_equal(fixture_allocate(&f, &ivan, 0), 0);
	assert_int_equal(guess(20000), 100);
	eve = ivan;
	eve.user = "eve";
	eve.password = "evil";
	fixture_begin(&f, STUN_REQUEST, STUN_REFRESH);
	fixture_sign(&f, &eve);
	assert_int_equal(fixture_send(&f, &eve)->verdict, TURN_DROP);
	assert_int_equal(f.burst.plan.reason, TURN_DROP_GUESS_RATE);
	// the client's own credentials are unaffected, right or wrong, by name or by hash
	if (allocated) {
		ivan.password = "wrong";
		for (int i = 0; i < 200; i++)
			assert_int_equal(fixture_refresh(&f, &ivan, 600), 401);
		ivan.password = "pw";
		assert_int_equal(fixture_refresh(&f, &ivan, 600), 0);
		ivan.userhash = true;
		assert_int_equal(fixture_refresh(&f, &ivan, 600), 0);
	}
	fixture_advance(&f, 1000);
	assert_int_equal(guess(20000), 20);
}

static void guesses_are_bounded_without_allocation(void **state)
{
	guesses_are_bounded(false);
}

static void guesses_are_bounded_with_an_allocation(void **state)
{
	guesses_are_bounded(true);
}

// A nonce has 32 characters: a longer or shorter one was not made by this server.
static void nonce_of_another_length_438(void **state)
{
	for (size_t len = 0; len <= 64; len++) {
		struct fixture_client c = fixture_client("198.51.100.7", 5000);

		fixture_begin(&f, STUN_REQUEST, STUN_ALLOCATE);
		fixture_send(&f, &c);
		assert_int_equal(fixture_code(&f), 401);
		memset(c.nonce, 'A', sizeof(c.nonce));
		memcpy(c.nonce, f.answer.data + f.answer.off[STUN_NONCE], 32);
		c.nonce_len = len;
		if (len == 0)
			continue;
		assert_int_equal(fixture_allocate(&f, &c, 0), len == 32 ? 0 : 438);
		if (len == 32)
			assert_int_equal(fixture_refresh(&f, &c, 0), 0);
	}
}

// A 438 to an expired nonce of this server is not charged to strangers: an allocation has its own
// rate, another 5-tuple has limits.stale-nonce, and after that the rest of the strangers' budget.
static void stale_nonces_have_a_budget_of_their_own(void **state)
{
	struct turn_config c = fixture_config();
	struct fixture_client second, stale;
	unsigned int told = 0;

	fixture_close(&f);
	c.limits.unauthenticated = (struct limit){.rate = 1, .burst = 4};
	c.limits.stale_nonce = (struct limit){.rate = 2, .burst = 5};
	fixture_open(&f, &c, 7);
	assert_int_equal(fixture_allocate(&f, &ivan, 0), 0);
	assert_int_equal(fixture_refresh(&f, &ivan, 3600), 0);
	second = fixture_client("198.51.100.7", 5001);
	assert_int_equal(fixture_allocate(&f, &second, 0), 0);
	assert_int_equal(fixture_refresh(&f, &second, 0), 0); // a nonce, no allocation
	fixture_advance(&f, 1000000);
	for (int i = 0; i < 10; i++) { // a stranger uses up the budget of strangers
		fixture_begin(&f, STUN_REQUEST, STUN_ALLOCATE);
		fixture_send(&f, &ivan);
	}
	assert_int_equal(f.burst.plan.reason, TURN_DROP_UNAUTHENTICATED_RATE);
	for (int i = 0; i < 100; i++) {
		stale = ivan;
		fixture_begin(&f, STUN_REQUEST, STUN_REFRESH);
		fixture_sign(&f, &stale);
		told += fixture_send(&f, &stale)->verdict == TURN_REPLY;
	}
	assert_int_equal(told, 15);
	assert_int_equal(f.burst.plan.reason, TURN_DROP_UNAUTHENTICATED_RATE);
	told = 0;
	for (int i = 0; i < 100; i++) {
		stale = second;
		fixture_begin(&f, STUN_REQUEST, STUN_ALLOCATE);
		fixture_sign(&f, &stale);
		told += fixture_send(&f, &stale)->verdict == TURN_REPLY;
	}
	assert_int_equal(told, 5);
	fixture_advance(&f, 1000);
	assert_int_equal(fixture_refresh(&f, &ivan, 600), 438);
	assert_int_equal(fixture_refresh(&f, &ivan, 600), 0);
}

// Over TCP, TLS and DTLS a handshake has proved the address: strangers have no budget.
static void handshakes_prove_the_address(void **state)
{
	static const uint8_t transports[] = {
		TURN_OVER_TCP, TURN_OVER_TLS, TURN_OVER_AUTO, TURN_OVER_DTLS};
	struct turn_config c = fixture_config();

	c.limits.unauthenticated = (struct limit){.rate = 1, .burst = 1};
	c.limits.binding = (struct limit){.rate = 1, .burst = 1};
	for (size_t i = 0; i < sizeof(transports); i++) {
		fixture_close(&f);
		c.listeners[0].transport = transports[i];
		fixture_open(&f, &c, 7);
		for (int k = 0; k < 100; k++) {
			fixture_begin(&f, STUN_REQUEST, STUN_ALLOCATE);
			fixture_send(&f, &ivan);
			assert_int_equal(fixture_code(&f), 401);
			fixture_assert_challenge(&f);
			fixture_begin(&f, STUN_REQUEST, STUN_BINDING);
			fixture_send(&f, &ivan);
			assert_int_equal(fixture_code(&f), 0);
		}
	}
}

// Credentials that have expired are refused before any password is tried, so that an office with a
// web page open overnight does not lock itself out.
static void expired_names_are_no_guesses(void **state)
{
	struct turn_config c = fixture_config();
	struct fixture_client late;

	fixture_close(&f);
	c.limits.guesses = (struct limit){.rate = 1, .burst = 5};
	fixture_open(&f, &c, 7);
	late = ivan;
	late.endpoint.port++;
	late.user = "1699999999:ivan"; // a second before now
	late.password = "whatever";
	for (int i = 0; i < 100; i++)
		assert_int_equal(fixture_allocate(&f, &late, 0), 401);
	assert_int_equal(fixture_stats(&f).auth_failures, 100);
	assert_int_equal(fixture_allocate(&f, &ivan, 0), 0);
	// no user has that name: this is a guess
	late.user = "nobody";
	for (int i = 0; i < 5; i++)
		assert_int_equal(fixture_allocate(&f, &late, 0), 401);
	fixture_begin(&f, STUN_REQUEST, STUN_ALLOCATE);
	fixture_sign(&f, &late);
	assert_int_equal(fixture_send(&f, &late)->reason, TURN_DROP_GUESS_RATE);
}

// Strangers without a nonce that spoof the address use up answers only.
static void spoofed_requests_lock_nobody_out(void **state)
{
	struct turn_config c = fixture_config();

	fixture_close(&f);
	c.limits.unauthenticated = (struct limit){.rate = 10, .burst = 20};
	fixture_open(&f, &c, 8);
	fixture_begin(&f, STUN_REQUEST, STUN_ALLOCATE);
	stun_put_u32(&f.w, STUN_REQUESTED_TRANSPORT, 17u << 24);
	fixture_sign(&f, &ivan); // has its nonce before the flood
	for (int i = 0; i < 1000; i++) {
		const struct fixture_client spoofed = fixture_client("198.51.100.7", 1);
		const struct stun_writer w = f.w;
		uint8_t message[512];

		memcpy(message, f.message, sizeof(message));
		fixture_begin(&f, STUN_REQUEST, STUN_ALLOCATE);
		fixture_send(&f, &spoofed);
		memcpy(f.message, message, sizeof(message));
		f.w = w;
	}
	assert_int_equal(f.burst.plan.verdict, TURN_DROP);
	fixture_send(&f, &ivan);
	assert_int_equal(fixture_code(&f), 0);
}

// All clients of one IPv6 /48 have a hundred times the limit of a source, and take nothing from
// another /48.
static void a_network_of_strangers(void **state)
{
	struct turn_config c = fixture_config();
	unsigned int answered[2] = {0};

	fixture_close(&f);
	c.limits.unauthenticated = c.limits.binding = (struct limit){.rate = 10, .burst = 20};
	fixture_open(&f, &c, 8);
	for (unsigned int i = 0; i < 40000; i++) {
		char addr[64];
		struct fixture_client one;

		snprintf(addr, sizeof(addr), "2a00:db8:1:%x::1", i);
		one = fixture_client(addr, 5000);
		fixture_begin(&f, STUN_REQUEST, i % 2 == 0 ? STUN_ALLOCATE : STUN_BINDING);
		answered[i % 2] += fixture_send(&f, &one)->verdict == TURN_REPLY;
		if (i % 40 == 0)
			fixture_advance(&f, 1);
	}
	for (unsigned int i = 0; i < 2; i++)
		assert_in_range(answered[i], 2900, 100 * 20 + 100 * 10);
	for (unsigned int i = 0; i < 100; i++) {
		char addr[64];
		struct fixture_client outsider;

		snprintf(addr, sizeof(addr), "2a00:db8:2:%x::1", i);
		outsider = fixture_client(addr, 5000);
		fixture_begin(&f, STUN_REQUEST, STUN_ALLOCATE);
		assert_int_equal(fixture_send(&f, &outsider)->verdict, TURN_REPLY);
	}
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(verifications_of_forged_requests_are_limited),
		T(guesses_are_bounded_without_allocation),
		T(guesses_are_bounded_with_an_allocation),
		T(nonce_of_another_length_438),
		T(stale_nonces_have_a_budget_of_their_own),
		T(handshakes_prove_the_address),
		T(expired_names_are_no_guesses),
		T(spoofed_requests_lock_nobody_out),
		T(a_network_of_strangers),
	};

	return cmocka_run_group_tests_name("strangers", tests, NULL, NULL);
}
