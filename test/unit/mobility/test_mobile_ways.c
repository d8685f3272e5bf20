// SPDX-License-Identifier: BSD-3-Clause
// Clients whose new 5-tuple belongs to another worker, dual allocations, and attackers: other
// users, users who move as often as they can.
#include "mobile_world.h"
#include "alloc.h"

#define PEER "10.98.0.1"
#define CHANNEL 0x4000

static struct mobile_world w;

static int open_with(void **state, const struct turn_config *c)
{
	*state = &w;
	mobile_open(&w, c);
	return 0;
}

static int setup(void **state)
{
	const struct turn_config c = mobile_config();

	return open_with(state, &c);
}

static struct mobile_client ready(void)
{
	struct mobile_client ivan = mobile_ivan("198.51.100.7", 5000);

	assert_int_equal(mobile_allocate(&w, &ivan), 0);
	assert_int_equal(mobile_bind(&w, &ivan, CHANNEL, PEER, 7000), 0);
	return ivan;
}

static struct mobile_client far_at(const struct mobile_client *c, uint16_t port)
{
	struct mobile_client moved = mobile_at(c, "203.0.113.9", port);

	moved.far = true;
	return moved;
}

static void assert_hears_ivan(const struct mobile_client *c)
{
	assert_hears(&w, &c->c.relay, PEER, 7000, c);
}

static uint64_t redirects(const struct fixture *f)
{
	return fixture_stats(f).redirects;
}

// --- another worker ------------------------------------------------------------------------------

static void test_led(void **state)
{
	struct mobile_client ivan = ready(), moved = far_at(&ivan, 6000);

	assert_int_equal(mobile_show(&w, &moved), 0);
	assert_int_equal(redirects(&w.far), 1);
	assert_hears_ivan(&ivan);
	assert_sends(&w, &ivan, CHANNEL);
	assert_sends(&w, &moved, CHANNEL);
	assert_hears_ivan(&moved);
	assert_cut_off(&w, &ivan, CHANNEL);
	mobile_advance(&w, 590000); // the redirect lasts as long as the allocation
	assert_int_equal(mobile_refresh(&w, &moved, 900), 0);
	mobile_advance(&w, 890000);
	assert_int_equal(mobile_refresh(&w, &moved, 600), 0);
	assert_int_equal(redirects(&w.far), 1);
	assert_int_equal(redirects(&w.f), 0);
	assert_int_equal(mobile_refresh(&w, &moved, 0), 0);
	assert_int_equal(redirects(&w.far), 0);
}

// From there to a third 5-tuple, and back to the first worker: no redirect remains.
static void test_led_on(void **state)
{
	struct mobile_client ivan = ready(), b = far_at(&ivan, 6000), c, d;

	assert_int_equal(mobile_show(&w, &b), 0);
	assert_sends(&w, &b, CHANNEL);
	c = far_at(&b, 6001);
	assert_int_equal(mobile_show(&w, &c), 0);
	assert_int_equal(redirects(&w.far), 2);
	assert_sends(&w, &b, CHANNEL);
	assert_sends(&w, &c, CHANNEL);
	assert_int_equal(redirects(&w.far), 1);
	assert_cut_off(&w, &b, CHANNEL);
	d = mobile_at(&c, "203.0.113.9", 6002);
	d.far = false;
	assert_int_equal(mobile_show(&w, &d), 0);
	assert_sends(&w, &d, CHANNEL);
	assert_int_equal(redirects(&w.far), 0);
	assert_hears_ivan(&d);
}

static void test_led_answer_lost(void **state)
{
	struct mobile_client ivan = ready(), moved = far_at(&ivan, 6000), again = moved;

	assert_int_equal(mobile_show(&w, &moved), 0);
	assert_int_equal(mobile_repeat(&w, &again), 0);
	assert_string_equal(again.ticket, moved.ticket);
	assert_int_equal(redirects(&w.far), 1);
	assert_hears_ivan(&ivan);
}

// Failed requests leave no redirect, and unused ones are swept.
static void test_led_in_vain(void **state)
{
	struct mobile_client ivan = ready(), moved = far_at(&ivan, 6000), late = moved;

	assert_int_equal(mobile_show(&w, &moved), 0);
	mobile_advance(&w, 31000);
	assert_int_equal(redirects(&w.far), 0);
	assert_int_equal(mobile_show(&w, &late), 437);
	assert_int_equal(redirects(&w.far), 0);
	assert_cut_off(&w, &moved, CHANNEL);
	assert_hears_ivan(&ivan);
	assert_int_equal(mobile_refresh(&w, &ivan, 0), 0);
	assert_int_equal(mobile_show(&w, &moved), 437);
	assert_int_equal(redirects(&w.far), 0);
}

static void test_led_to_end(void **state)
{
	struct mobile_client ivan = ready(), moved = far_at(&ivan, 6000);
	struct stun_writer *out = mobile_begin_request(&w, &moved, STUN_REFRESH);

	stun_put(out, STUN_MOBILITY_TICKET, ivan.ticket, TICKET);
	stun_put_u32(out, STUN_LIFETIME, 0);
	assert_int_equal(mobile_ask(&w, &moved), 0);
	assert_int_equal(redirects(&w.far), 0);
	assert_int_equal(fixture_stats(&w.f).allocations, 0);
}

// An order ends an allocation with its path.
static void test_ended_under_way(void **state)
{
	struct mobile_client ivan = ready(), moved = far_at(&ivan, 6000);
	struct turn_view v = {.src = ivan.c.endpoint.addr,
		.src_port = ivan.c.endpoint.port,
		.listener = ivan.c.listener};
	uint32_t left_ms;

	assert_int_equal(mobile_show(&w, &moved), 0);
	alloc_end_client(w.f.shard, turn_shard_client(w.f.shard, &v, &left_ms), TURN_END_KILLED);
	mobile_notes(&w);
	assert_int_equal(redirects(&w.f), 0);
	assert_int_equal(redirects(&w.far), 0);
	assert_cut_off(&w, &moved, CHANNEL);
}

// A ticket of a nonexistent worker cannot be made, and a ticket of the worker that redirected the
// client is not followed.
static void test_led_twice(void **state)
{
	struct mobile_client ivan = ready(), moved = mobile_at(&ivan, "203.0.113.9", 6000);
	uint8_t copy[2048];
	uint16_t len;

	stun_put(mobile_begin_request(&w, &moved, STUN_REFRESH), STUN_MOBILITY_TICKET, ivan.ticket,
		TICKET);
	fixture_sign(&w.f, &moved.c);
	len = stun_end(&w.f.w);
	memcpy(copy, w.f.message, len);
	w.far.via = 0; // as if led there
	fixture_from_client(&w.far, &moved.c, copy, len);
	w.far.via = TURN_NO_WORKER;
	assert_int_equal(fixture_code(&w.far), 437);
	mobile_notes(&w);
	assert_int_equal(redirects(&w.far), 0);
}

// A 5-tuple whose allocation has moved away leads on to the next one made there, and not if that
// fails.
static void test_led_and_left(void **state)
{
	struct mobile_client ivan = ready(), b = far_at(&ivan, 6000), c, eve, again;

	assert_int_equal(mobile_show(&w, &b), 0);
	assert_sends(&w, &b, CHANNEL);
	c = mobile_at(&b, "203.0.113.9", 6001);
	assert_int_equal(mobile_show(&w, &c), 0);
	eve = b;
	eve.c.user = "eve";
	eve.c.password = "evil";
	assert_int_equal(mobile_allocate(&w, &eve), 0);
	assert_hears_ivan(&c);
	assert_int_equal(redirects(&w.far), 2);
	mobile_advance(&w, 590000);
	assert_int_equal(mobile_refresh(&w, &eve, 600), 0);
	assert_int_equal(mobile_refresh(&w, &c, 600), 0);
	assert_int_equal(mobile_bind(&w, &c, CHANNEL, PEER, 7000), 0);

	again = mobile_at(&eve, "203.0.113.9", 6002);
	assert_int_equal(mobile_show(&w, &again), 0);
	eve.c.user = "nobody's";
	assert_int_equal(mobile_allocate(&w, &eve), 401);
	assert_sends(&w, &c, CHANNEL);
	eve.c.user = "ivan";
	eve.c.password = "pw";
	assert_int_equal(fixture_stats(&w.f).moves, 2);
	stun_put_u32(
		mobile_begin_request(&w, &eve, STUN_ALLOCATE), STUN_REQUESTED_TRANSPORT, 99u << 24);
	assert_int_equal(mobile_ask(&w, &eve), 442);
	assert_int_equal(fixture_stats(&w.f).moves, 3);
	assert_int_equal(redirects(&w.far), 2); // c, and the retransmission
	assert_int_equal(mobile_refresh(&w, &c, 0), 0);
	assert_int_equal(redirects(&w.far), 1);
}

// A client that moves to a home where another has just left the 5-tuple: the home leads it on.
static void test_left_to_one_led(void **state)
{
	struct mobile_client ivan = ready(), there, away, far_one = far_at(&ivan, 5005);

	far_one.c.user = "eve";
	far_one.c.password = "evil";
	assert_int_equal(mobile_allocate(&w, &far_one), 0); // lives on the other worker
	there = far_at(&ivan, 5005);
	assert_int_equal(mobile_show(&w, &there), 437);
	away = far_at(&far_one, 5006);
	assert_int_equal(mobile_show(&w, &away), 0);
	assert_int_equal(mobile_show(&w, &there), 0);
	assert_sends(&w, &there, CHANNEL);
	assert_hears_ivan(&there);
	assert_int_equal(mobile_refresh(&w, &away, 0), 0);
	assert_sends(&w, &there, CHANNEL);
}

// --- dual allocations (RFC 8656 5) ---------------------------------------------------------------

static struct mobile_client dual_at(uint16_t port, struct endpoint *v4, struct endpoint *v6)
{
	struct mobile_client ivan = mobile_ivan("198.51.100.7", port);
	struct stun_writer *out = mobile_begin_request(&w, &ivan, STUN_ALLOCATE);
	uint16_t pos = 0, off, alen;
	int family;

	stun_put_u32(out, STUN_REQUESTED_TRANSPORT, 17u << 24);
	stun_put_u32(out, STUN_ADDITIONAL_ADDRESS_FAMILY, 2u << 24);
	stun_put(out, STUN_MOBILITY_TICKET, NULL, 0);
	assert_int_equal(mobile_ask(&w, &ivan), 0);
	while (stun_next(w.answer, STUN_XOR_RELAYED_ADDRESS, &pos, &off, &alen)) {
		struct endpoint e;

		assert_true(stun_decode_xor_addr(w.answer, off, alen, &e, &family));
		*(family == 4 ? v4 : v6) = e;
	}
	assert_int_equal(mobile_bind(&w, &ivan, 0x4004, PEER, 7000), 0);
	assert_int_equal(mobile_bind(&w, &ivan, 0x4006, "fd99::10", 7000), 0);
	return ivan;
}

static struct mobile_client dual(struct endpoint *v4, struct endpoint *v6)
{
	return dual_at(5000, v4, v6);
}

static void test_dual(void **state)
{
	struct endpoint v4 = {0}, v6 = {0};
	struct mobile_client ivan = dual(&v4, &v6), moved = far_at(&ivan, 6000);

	assert_int_equal(mobile_show(&w, &moved), 0);
	assert_hears(&w, &v4, PEER, 7000, &ivan);
	assert_hears(&w, &v6, "fd99::10", 7000, &ivan);
	assert_sends(&w, &moved, 0x4006); // of both families
	assert_hears(&w, &v4, PEER, 7000, &moved);
	assert_hears(&w, &v6, "fd99::10", 7000, &moved);
	assert_sends(&w, &moved, 0x4004);
	assert_cut_off(&w, &ivan, 0x4004);
	assert_cut_off(&w, &ivan, 0x4006);
	assert_int_equal(fixture_stats(&w.f).moves, 1);
	assert_int_equal(fixture_stats(&w.f).allocations, 2);
	assert_int_equal(w.f.clients_moved, 2);
}

static unsigned int end_half(struct mobile_client *c, int family)
{
	struct stun_writer *out = mobile_begin_request(&w, c, STUN_REFRESH);

	stun_put_u32(out, STUN_LIFETIME, 0);
	stun_put_u32(out, STUN_REQUESTED_ADDRESS_FAMILY, (family == 4 ? 1u : 2u) << 24);
	return mobile_ask(&w, c);
}

// The remaining half has the ticket, whichever it is.
static void test_half(void **state)
{
	for (int ended = 4; ended <= 6; ended += 2) {
		struct endpoint v4 = {0}, v6 = {0};
		struct mobile_client ivan = dual(&v4, &v6), moved = far_at(&ivan, 6000);
		const uint16_t left = ended == 4 ? 0x4006 : 0x4004;

		assert_int_equal(end_half(&ivan, ended), 0);
		assert_int_equal(mobile_show(&w, &moved), 0);
		assert_sends(&w, &moved, left);
		assert_cut_off(&w, &ivan, left);
		assert_int_equal(mobile_refresh(&w, &moved, 0), 0);
		assert_int_equal(fixture_stats(&w.f).allocations, 0);
		mobile_advance(&w, 1);
	}
}

// Leaves the worker one IPv4 port, and the other worker, which has half of them, no port.
static void fill(void)
{
	const unsigned int half = (w.f.config.port_hi - w.f.config.port_lo + 1u) / 2;
	struct mobile_client one, last = {0};

	for (unsigned int i = 0; i < half; i++) {
		struct fixture_client c = fixture_client("203.0.113.9", (uint16_t)(10000 + i));

		assert_int_equal(fixture_allocate(&w.far, &c, 4), 0);
	}
	for (uint16_t port = 10000;; port++) {
		one = mobile_ivan("198.51.100.9", port);
		if (mobile_allocate(&w, &one) != 0)
			break;
		last = one;
	}
	assert_int_equal(mobile_refresh(&w, &last, 0), 0);
	mobile_advance(&w, 1);
}

// Each ticket leads to its allocation, even if many have lost a half on one port.
static void test_one_after_another(void **state)
{
	struct endpoint v4[3] = {0}, v6[3] = {0};
	struct mobile_client ivan[3];

	fill();
	for (uint16_t i = 0; i < 3; i++) {
		ivan[i] = dual_at((uint16_t)(5000 + i), &v4[i], &v6[i]);
		assert_true(endpoint_eq(&v4[i], &v4[0]));
		assert_int_equal(end_half(&ivan[i], 4), 0);
		mobile_advance(&w, 1);
	}
	for (uint16_t i = 1; i < 4; i++) { // first one in the middle
		struct mobile_client moved = far_at(&ivan[i % 3], (uint16_t)(6000 + i));

		assert_int_equal(mobile_show(&w, &moved), 0);
		assert_sends(&w, &moved, 0x4006);
		assert_hears(&w, &v6[i % 3], "fd99::10", 7000, &moved);
		assert_int_equal(mobile_refresh(&w, &moved, 0), 0);
	}
}

// A half that ends during a move, by its ticket or without.
static void test_half_under_way(void **state)
{
	struct endpoint v4 = {0}, v6 = {0};
	struct mobile_client ivan = dual(&v4, &v6), moved = far_at(&ivan, 6000);
	struct stun_writer *out;

	assert_int_equal(mobile_show(&w, &moved), 0);
	assert_int_equal(end_half(&ivan, 4), 0);
	assert_sends(&w, &moved, 0x4006);
	assert_hears(&w, &v6, "fd99::10", 7000, &moved);
	assert_int_equal(mobile_refresh(&w, &moved, 0), 0);

	ivan = dual(&v4, &v6);
	moved = far_at(&ivan, 6001);
	out = mobile_begin_request(&w, &moved, STUN_REFRESH);
	stun_put(out, STUN_MOBILITY_TICKET, ivan.ticket, TICKET);
	stun_put_u32(out, STUN_LIFETIME, 0);
	stun_put_u32(out, STUN_REQUESTED_ADDRESS_FAMILY, 1u << 24);
	assert_int_equal(mobile_ask(&w, &moved), 0);
	assert_true(stun_has(w.answer, STUN_MOBILITY_TICKET));
	assert_int_equal(fixture_stats(&w.f).allocations, 1);
	assert_sends(&w, &moved, 0x4006);
}

// The path may lead to the half without the ticket: the half whose channels are used is the first.
static void test_half_in_use_under_way(void **state)
{
	for (int ended = 4; ended <= 6; ended += 2) {
		const uint16_t left = ended == 4 ? 0x4006 : 0x4004;
		struct endpoint v4 = {0}, v6 = {0};
		struct mobile_client ivan = dual(&v4, &v6), moved = far_at(&ivan, 6000);

		for (unsigned int i = 0; i < 1000; i++)
			assert_sends(&w, &ivan, 0x4006);
		assert_int_equal(mobile_show(&w, &moved), 0);
		assert_int_equal(end_half(&ivan, ended), 0);
		assert_sends(&w, &moved, left);
		assert_cut_off(&w, &ivan, left);
		assert_int_equal(fixture_stats(&w.f).allocations, 1);
		assert_int_equal(mobile_refresh(&w, &moved, 0), 0);
		assert_int_equal(fixture_stats(&w.f).allocations, 0);
		mobile_advance(&w, 1);
	}
}

// --- attackers -----------------------------------------------------------------------------------

// A stolen ticket is useless without the owner's password.
static void test_stolen(void **state)
{
	struct mobile_client ivan = ready(), eve = mobile_at(&ivan, "203.0.113.66", 6666);
	struct mobile_client far_eve = far_at(&ivan, 6666), guess = eve;

	eve.c.user = far_eve.c.user = "eve";
	eve.c.password = far_eve.c.password = "evil";
	guess.c.password = "guess";
	assert_int_equal(mobile_show(&w, &eve), 441);
	assert_int_equal(mobile_show(&w, &far_eve), 441);
	assert_int_equal(redirects(&w.far), 0);
	assert_int_equal(mobile_show(&w, &guess), 401);
	assert_hears_ivan(&ivan);
	assert_cut_off(&w, &eve, CHANNEL);
	assert_cut_off(&w, &far_eve, CHANNEL);
	assert_string_equal(eve.ticket, ivan.ticket);
	assert_int_equal(mobile_show(&w, &ivan), 0); // it is still valid
}

// A nonce is bound to an address, so an intercepted Refresh is useless elsewhere.
static void test_replayed_elsewhere(void **state)
{
	struct mobile_client ivan = ready(), moved = mobile_at(&ivan, "203.0.113.9", 6000);
	struct mobile_client thief = mobile_at(&ivan, "203.0.113.66", 6666);

	assert_int_equal(mobile_show(&w, &moved), 0);
	assert_int_equal(mobile_repeat(&w, &thief), 438);
	assert_hears_ivan(&ivan);
}

// Quotas count the client once, wherever it goes.
static int setup_quota(void **state)
{
	struct turn_config c = mobile_config();

	c.limits.per_user = 1;
	c.limits.per_source = 1;
	return open_with(state, &c);
}

static void test_quota(void **state)
{
	struct mobile_client ivan = ready(), c = ivan, eve;

	for (uint16_t i = 0; i < 50; i++) {
		c = mobile_at(&c, "203.0.113.9", (uint16_t)(6000 + i));
		c.far = i % 2 != 0;
		assert_int_equal(mobile_show(&w, &c), 0);
		assert_sends(&w, &c, CHANNEL);
		mobile_advance(&w, 1);
	}
	assert_int_equal(turn_quota_total(w.f.quota), 1);
	eve = mobile_at(&ivan, "203.0.113.9", 5001); // ivan's new address, which does not count
	eve.c.user = "eve";
	eve.c.password = "evil";
	assert_int_equal(fixture_allocate(&w.f, &eve.c, 4), 0);
	eve = mobile_at(&eve, "198.51.100.7", 5001); // the address that it counts for
	eve.c.user = "1800000000:olga";
	assert_int_equal(mobile_refresh(&w, &c, 0), 0);
	assert_int_equal(turn_quota_total(w.f.quota), 1); // that of eve
	c = mobile_ivan("198.51.100.7", 5002);
	assert_int_equal(mobile_allocate(&w, &c), 0);
}

// One user's share of the room for moves leaves enough for others.
static int setup_room(void **state)
{
	struct turn_config c = mobile_config();

	c.mobility.moves = 16; // 8 on each worker
	c.pools.per_user = 50;
	return open_with(state, &c);
}

static void test_room(void **state)
{
	struct mobile_client many[12], moved[12], late, led;
	unsigned int codes[12];

	for (unsigned int i = 0; i < 12; i++) {
		many[i] = mobile_ivan("198.51.100.7", (uint16_t)(5000 + i));
		assert_int_equal(mobile_allocate(&w, &many[i]), 0);
	}
	for (unsigned int i = 0; i < 12; i++) {
		moved[i] = mobile_at(&many[i], "203.0.113.9", (uint16_t)(6000 + i));
		codes[i] = mobile_show(&w, &moved[i]);
		assert_int_equal(codes[i], i < 4 ? 0 : 508);
	}
	assert_int_equal(fixture_stats(&w.f).pool_refused, 8);
	for (unsigned int i = 0; i < 12; i++) // refused clients continue at their old address
		assert_int_equal(mobile_refresh(&w, &many[i], 600), 0);
	late = mobile_ivan("198.51.100.9", 5000);
	late.c.user = "eve";
	late.c.password = "evil";
	assert_int_equal(mobile_allocate(&w, &late), 0);
	led = mobile_at(&late, "203.0.113.10", 6000);
	assert_int_equal(mobile_show(&w, &led), 0);
	for (unsigned int i = 0; i < 4; i++) // a complete move takes no room here
		assert_int_equal(mobile_refresh(&w, &moved[i], 600), 0);
	mobile_advance(&w, 1);
	for (unsigned int i = 4; i < 8; i++)
		assert_int_equal(mobile_show(&w, &moved[i]), 0);
}

// The share of a small room is one: a user may move even there.
static int setup_little_room(void **state)
{
	struct turn_config c = mobile_config();

	c.mobility.moves = 6; // 3 on each worker; a quarter of that would be 0
	c.pools.per_user = 25;
	return open_with(state, &c);
}

static void test_little_room(void **state)
{
	struct mobile_client many[2], moved[2];

	for (unsigned int i = 0; i < 2; i++) {
		many[i] = mobile_ivan("198.51.100.7", (uint16_t)(5000 + i));
		assert_int_equal(mobile_allocate(&w, &many[i]), 0);
		moved[i] = mobile_at(&many[i], "203.0.113.9", (uint16_t)(6000 + i));
		assert_int_equal(mobile_show(&w, &moved[i]), i == 0 ? 0 : 508);
	}
}

// On the worker that leads them there, moved clients count while they live.
static void test_room_of_home(void **state)
{
	struct mobile_client many[6], moved[6];

	for (unsigned int i = 0; i < 6; i++) {
		many[i] = mobile_ivan("198.51.100.7", (uint16_t)(5000 + i));
		assert_int_equal(mobile_allocate(&w, &many[i]), 0);
		moved[i] = far_at(&many[i], (uint16_t)(6000 + i));
		assert_int_equal(mobile_show(&w, &moved[i]), i < 4 ? 0 : 508);
		if (i < 4)
			assert_int_equal(mobile_refresh(&w, &moved[i], 600), 0);
	}
	assert_int_equal(fixture_stats(&w.far).pool_refused, 2);
	assert_int_equal(mobile_refresh(&w, &moved[0], 0), 0);
	mobile_advance(&w, 1);
	assert_int_equal(mobile_show(&w, &moved[5]), 0);
}

// A client that moves from port to port has one path at a time.
static void test_jumping(void **state)
{
	struct mobile_client ivan = ready(), c = ivan;

	for (unsigned int i = 0; i < 10000; i++) {
		c = mobile_at(&c, "203.0.113.9", (uint16_t)(6000 + i % 5000));
		assert_int_equal(mobile_show(&w, &c), 0);
		assert_int_equal(redirects(&w.f), 1);
		mobile_advance(&w, 1);
	}
	assert_hears_ivan(&ivan);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, mobile_teardown)
#define TX(name, s) cmocka_unit_test_setup_teardown(name, s, mobile_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_led),
		T(test_led_on),
		T(test_led_answer_lost),
		T(test_led_in_vain),
		T(test_led_to_end),
		T(test_ended_under_way),
		T(test_led_twice),
		T(test_led_and_left),
		T(test_left_to_one_led),
		T(test_dual),
		T(test_half),
		T(test_one_after_another),
		T(test_half_under_way),
		T(test_half_in_use_under_way),
		T(test_stolen),
		T(test_replayed_elsewhere),
		TX(test_quota, setup_quota),
		TX(test_room, setup_room),
		TX(test_little_room, setup_little_room),
		TX(test_room_of_home, setup_room),
		T(test_jumping),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
