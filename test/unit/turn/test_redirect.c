// SPDX-License-Identifier: BSD-3-Clause
// Redirects: the messages from the worker that has an allocation to the worker that leads its
// client there, and what happens when requests and these messages cross.
#include "turn_fixture.h"

static struct fixture home, f; // the worker of the client (0), and of the allocation (1)

static int setup(void **state)
{
	struct turn_config c = fixture_config();

	c.workers = 3; // the third receives nothing
	c.nonce_lifetime_s = 3600;
	fixture_open(&home, &c, 9);
	fixture_open_worker(&f, &home, 1);
	return 0;
}

static int teardown(void **state)
{
	fixture_close(&f);
	fixture_close(&home);
	return 0;
}

// Sends the message again, as redirected. Returns the code of the answer.
static unsigned int redirected(void)
{
	f.burst.view[0].via = 0;
	fixture_route(f.shard, &f.burst);
	return fixture_code(&f);
}

// A redirected request without its required attributes.
static unsigned int refused(struct fixture_client *c, enum stun_method method)
{
	fixture_begin(&f, STUN_REQUEST, method);
	fixture_ask(&f, c);
	return redirected();
}

static unsigned int notes(struct turn_redirect_note *out, unsigned int max)
{
	return turn_redirect_notes(f.shard, out, max);
}

static void assert_ended(const struct turn_redirect_note *note, const struct fixture_client *c)
{
	assert_true(endpoint_eq(&note->client, &c->endpoint));
	assert_int_equal(note->redirect_worker, 0);
	assert_int_equal(note->until_ms, 0);
}

// A failed request leaves the redirect while the allocation lives; so does any other method.
static void test_kept(void **state)
{
	struct fixture_client ivan = fixture_client("198.51.100.7", 5000);
	struct fixture_client stranger = fixture_client("198.51.100.8", 5000);
	struct turn_redirect_note note[4];

	assert_int_equal(fixture_allocate(&f, &ivan, 4), 0);
	assert_int_equal(refused(&ivan, STUN_ALLOCATE), 437);
	assert_int_equal(refused(&ivan, STUN_CHANNEL_BIND), 400);
	assert_int_equal(notes(note, 4), 0);
	assert_int_equal(refused(&stranger, STUN_REFRESH), 437);
	assert_int_equal(notes(note, 4), 0);
	assert_int_equal(refused(&stranger, STUN_ALLOCATE), 400);
	assert_int_equal(notes(note, 4), 1);
	assert_ended(note, &stranger);
}

// A caller with room for fewer notes than there are gets the oldest, and the rest next time, in
// order.
static void test_notes_in_order(void **state)
{
	struct fixture_client c[5];
	struct turn_redirect_note note[5];

	for (uint16_t i = 0; i < 5; i++) {
		c[i] = fixture_client("198.51.100.7", (uint16_t)(5000 + i));
		assert_int_equal(refused(&c[i], STUN_ALLOCATE), 400);
	}
	assert_int_equal(notes(note, 0), 0);
	assert_int_equal(notes(note, 2), 2);
	assert_int_equal(notes(note + 2, 2), 2);
	assert_int_equal(notes(note + 4, 2), 1);
	for (size_t i = 0; i < 5; i++)
		assert_ended(&note[i], &c[i]);
	assert_int_equal(notes(note, 2), 0);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_kept),
		T(test_notes_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
