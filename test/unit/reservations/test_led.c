// SPDX-License-Identifier: BSD-3-Clause
// Redirects to reserved ports: what happens when requests cross with the messages from the worker
// that has an allocation to the worker that leads its client there.
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

// --- a client that continues --------------------------------------------------------------------

// Sends the request in home.w, and hands it over as the data path does. Returns the code of the
// answer.
static unsigned int ask(struct fixture_client *c)
{
	fixture_sign(&home, c);
	if (fixture_send(&home, c)->verdict != TURN_HANDOVER)
		return fixture_code(&home);
	assert_int_equal(home.burst.plan.flow, 1);
	f.via = 0;
	fixture_from_client(&f, c, home.datagram, home.burst.view[0].len);
	f.via = TURN_NO_WORKER;
	return fixture_code(&f);
}

static unsigned int allocate(struct fixture_client *c, const uint8_t *token)
{
	fixture_begin(&home, STUN_REQUEST, STUN_ALLOCATE);
	stun_put_u32(&home.w, STUN_REQUESTED_TRANSPORT, 17u << 24);
	if (token != NULL)
		stun_put(&home.w, STUN_RESERVATION_TOKEN, token, 8);
	return ask(c);
}

static unsigned int refresh(struct fixture_client *c, uint32_t lifetime_s)
{
	fixture_begin(&home, STUN_REQUEST, STUN_REFRESH);
	stun_put_u32(&home.w, STUN_LIFETIME, lifetime_s);
	return ask(c);
}

// Reserves a port of worker 1 for another client.
static void reserve(uint16_t port, uint8_t token[8])
{
	struct fixture_client owner = fixture_client("198.51.100.9", port);

	fixture_begin(&f, STUN_REQUEST, STUN_ALLOCATE);
	stun_put_u32(&f.w, STUN_REQUESTED_TRANSPORT, 17u << 24);
	stun_put(&f.w, STUN_EVEN_PORT, (const uint8_t[]){0x80}, 1);
	assert_int_equal(fixture_ask(&f, &owner), 0);
	memcpy(token, f.answer.data + f.answer.off[STUN_RESERVATION_TOKEN], 8);
}

// Delivers notes; those of worker 1 stay in order.
static void carry(void)
{
	struct turn_redirect_note note[8];
	const unsigned int n = turn_redirect_notes(f.shard, note, 8);

	for (unsigned int i = 0; i < n; i++)
		turn_redirect_apply(home.shard, &note[i]);
}

static struct fixture_client led(void)
{
	struct fixture_client ivan = fixture_client("198.51.100.7", 5000);
	uint8_t token[8];

	assert_int_equal(allocate(&ivan, NULL), 0); // gets a nonce
	assert_int_equal(refresh(&ivan, 0), 0);
	reserve(1, token);
	assert_int_equal(allocate(&ivan, token), 0);
	carry();
	return ivan;
}

static void advance(uint64_t ms)
{
	fixture_advance(&home, ms);
	fixture_advance(&f, ms);
}

// The client's datagrams go to its allocation on worker 1.
static void assert_led(const struct fixture_client *c)
{
	assert_int_equal(fixture_stats(&home).redirects, 1);
	assert_int_equal(fixture_channel_data(&home, c, 0x4000, "x", 1)->verdict, TURN_HANDOVER);
	assert_int_equal(home.burst.plan.flow, 1);
}

// A client ends its allocation and asks for another one without a pause: both requests are handed
// over before home hears of either.
static void test_allocated_again_at_once(void **state)
{
	struct fixture_client ivan = led();

	assert_int_equal(refresh(&ivan, 0), 0);
	assert_int_equal(allocate(&ivan, NULL), 0);
	carry();
	assert_int_equal(fixture_stats(&f).allocations, 2); // including the owner's
	assert_led(&ivan);
	advance(590000);
	fixture_expire(&home);
	assert_led(&ivan);
	assert_int_equal(refresh(&ivan, 0), 0);
	carry();
	assert_int_equal(fixture_stats(&home).redirects, 0);
}

// An Allocate that is handed over in the last millisecond of an allocation and handled after it:
// the old one has not been swept.
static void test_allocated_again_before_swept(void **state)
{
	struct fixture_client ivan = led();

	advance(599999);
	fixture_advance(&f, 1);
	assert_int_equal(allocate(&ivan, NULL), 0);
	carry();
	assert_led(&ivan);
}

// A Refresh that is handed over in the last millisecond: the redirect ends before home hears that
// the allocation lives on.
static void test_refreshed_at_last(void **state)
{
	struct fixture_client ivan = led();

	advance(599999);
	assert_int_equal(refresh(&ivan, 600), 0);
	advance(100);
	fixture_expire(&home);
	assert_int_equal(fixture_stats(&home).redirects, 0);
	carry();
	assert_led(&ivan);
	advance(590000);
	fixture_expire(&home);
	assert_led(&ivan);
}

// The old allocation is swept, and reported, after home has led the client to another worker.
static void test_led_elsewhere(void **state)
{
	struct fixture_client ivan = led();
	uint8_t token[8] = {2}; // a token of worker 2, wherever that worker is

	advance(600000);
	fixture_begin(&home, STUN_REQUEST, STUN_ALLOCATE);
	stun_put_u32(&home.w, STUN_REQUESTED_TRANSPORT, 17u << 24);
	stun_put(&home.w, STUN_RESERVATION_TOKEN, token, sizeof(token));
	fixture_sign(&home, &ivan);
	assert_int_equal(fixture_send(&home, &ivan)->verdict, TURN_HANDOVER);
	assert_int_equal(home.burst.plan.flow, 2);
	fixture_expire(&f);
	carry();
	assert_int_equal(fixture_stats(&home).redirects, 1);
	assert_int_equal(
		fixture_channel_data(&home, &ivan, 0x4000, "x", 1)->verdict, TURN_HANDOVER);
	assert_int_equal(home.burst.plan.flow, 2);
}

// The end of the old allocation is reported after home has made a new one.
static void test_home_again(void **state)
{
	struct fixture_client ivan = led();

	advance(600000);
	assert_int_equal(allocate(&ivan, NULL), 0);
	fixture_expire(&f);
	carry();
	assert_int_equal(fixture_stats(&home).redirects, 0);
	assert_int_equal(fixture_stats(&home).allocations, 1);
	assert_int_equal(refresh(&ivan, 600), 0);
}

// A note about an expired allocation makes no redirect.
static void test_word_too_late(void **state)
{
	struct fixture_client ivan = led();

	advance(599999);
	assert_int_equal(refresh(&ivan, 1), 0);
	advance(700000);
	fixture_expire(&home);
	carry();
	assert_int_equal(fixture_stats(&home).redirects, 0);
}

// More redirects come and go in the life of a worker than it has room for.
static void test_room_comes_back(void **state)
{
	struct fixture_client ivan = fixture_client("198.51.100.7", 5000);
	const uint8_t token[8] = {1}; // a token that worker 1 does not know

	assert_int_equal(allocate(&ivan, NULL), 0); // gets a nonce
	assert_int_equal(refresh(&ivan, 0), 0);
	for (unsigned int i = 0; i < 4000; i++) {
		assert_int_equal(allocate(&ivan, token), 508);
		assert_int_equal(home.burst.plan.verdict, TURN_HANDOVER);
		carry();
		assert_int_equal(fixture_stats(&home).redirects, 0);
		advance(1);
	}
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_allocated_again_at_once),
		T(test_allocated_again_before_swept),
		T(test_refreshed_at_last),
		T(test_led_elsewhere),
		T(test_home_again),
		T(test_word_too_late),
		T(test_room_comes_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
