// SPDX-License-Identifier: BSD-3-Clause
// RFC 8016 rule by rule, on the worker that has the allocation: who gets a ticket, the effect of a
// Refresh with a ticket, and when the old 5-tuple is released.
#include <stdio.h>
#include <string.h>

#include "mobile_world.h"

#define PEER "10.98.0.1"
#define CHANNEL 0x4000

static struct mobile_world w;

static int setup(void **state)
{
	const struct turn_config c = mobile_config();

	*state = &w;
	mobile_open(&w, &c);
	return 0;
}

static int setup_off(void **state)
{
	struct turn_config c = mobile_config();

	c.mobility.enabled = false;
	*state = &w;
	mobile_open(&w, &c);
	return 0;
}

// Ivan with an allocation that may move, and a channel.
static struct mobile_client ready(void)
{
	struct mobile_client ivan = mobile_ivan("198.51.100.7", 5000);

	assert_int_equal(mobile_allocate(&w, &ivan), 0);
	assert_int_equal(mobile_bind(&w, &ivan, CHANNEL, PEER, 7000), 0);
	return ivan;
}

static struct mobile_client elsewhere(const struct mobile_client *c)
{
	return mobile_at(c, "203.0.113.9", 6000);
}

static void assert_hears_ivan(const struct mobile_client *c)
{
	assert_hears(&w, &c->c.relay, PEER, 7000, c);
}

// --- Allocate (3.1) ------------------------------------------------------------------------------

static void test_asked(void **state)
{
	struct mobile_client ivan = mobile_ivan("198.51.100.7", 5000), olga = ivan;
	char first[TICKET + 1];

	assert_int_equal(mobile_allocate(&w, &ivan), 0);
	assert_int_equal(strlen(ivan.ticket), TICKET);
	strcpy(first, ivan.ticket);
	assert_int_equal(mobile_repeat(&w, &ivan), 0); // an equal answer (RFC 8489 6.3.1)
	assert_string_equal(ivan.ticket, first);
	olga.c.endpoint.port++;
	assert_int_equal(fixture_allocate(&w.f, &olga.c, 4), 0);
	assert_false(stun_has(&w.f.answer, STUN_MOBILITY_TICKET));
}

// 3.1.2: a ticket that is not empty requests nothing.
static void test_not_empty(void **state)
{
	struct mobile_client ivan = mobile_ivan("198.51.100.7", 5000);
	struct stun_writer *out = mobile_begin_request(&w, &ivan, STUN_ALLOCATE);

	stun_put_u32(out, STUN_REQUESTED_TRANSPORT, 17u << 24);
	stun_put(out, STUN_MOBILITY_TICKET, "x", 1);
	assert_int_equal(mobile_ask(&w, &ivan), 400);
	assert_int_equal(fixture_stats(&w.f).allocations, 0);
}

static void test_forbidden(void **state)
{
	struct mobile_client ivan = mobile_ivan("198.51.100.7", 5000);

	assert_int_equal(mobile_allocate(&w, &ivan), 405);
	assert_int_equal(fixture_stats(&w.f).allocations, 0);
	assert_int_equal(fixture_allocate(&w.f, &ivan.c, 4), 0);
	strcpy(ivan.ticket, "abcdefghijklmnopqrstuvwxyz012345");
	assert_int_equal(mobile_show(&w, &ivan), 405);
	assert_int_equal(fixture_stats(&w.f).refused[TURN_REFUSED_MOBILITY], 2);
	assert_int_equal(fixture_refresh(&w.f, &ivan.c, 600), 0);
}

// --- Refresh (3.2) -------------------------------------------------------------------------------

// Without a move no ticket is sent in either direction.
static void test_plain_refresh(void **state)
{
	struct mobile_client ivan = ready();
	char first[TICKET + 1];

	strcpy(first, ivan.ticket);
	assert_int_equal(mobile_refresh(&w, &ivan, 900), 0);
	assert_string_equal(ivan.ticket, first);
	assert_false(stun_has(w.answer, STUN_MOBILITY_TICKET));
}

// A client moves although its REST name has expired since the Allocate, also to a 5-tuple of
// another worker.
static void test_expired_name(void **state)
{
	struct mobile_client ann = mobile_ivan("198.51.100.7", 5000), moved;
	char name[40], password[STUN_REST_PASSWORD_SIZE];

	snprintf(name, sizeof(name), "%u:ann", FIXTURE_WALL_S + 300);
	assert_true(stun_rest_password(w.f.crypto, "s3cret", name, strlen(name), password));
	ann.c.user = name;
	ann.c.password = password;
	assert_int_equal(mobile_allocate(&w, &ann), 0);
	mobile_advance(&w, 302 * 1000);
	moved = elsewhere(&ann);
	assert_int_equal(mobile_show(&w, &moved), 0);
	ann = mobile_at(&moved, "203.0.113.10", 6001);
	ann.far = true;
	assert_int_equal(mobile_show(&w, &ann), 0);
	moved = mobile_at(&moved, "203.0.113.11", 6001);
	assert_int_equal(mobile_allocate(&w, &moved), 401);
	assert_int_equal(mobile_refresh(&w, &ann, 0), 0);
}

// 3.2.2: the old 5-tuple works in both directions until the client has sent from the new one.
static void test_old_stays_until_used(void **state)
{
	struct mobile_client ivan = ready(), moved = elsewhere(&ivan);

	assert_int_equal(mobile_show(&w, &moved), 0);
	assert_string_not_equal(moved.ticket, ivan.ticket);
	assert_hears_ivan(&ivan);
	assert_sends(&w, &ivan, CHANNEL);
	assert_hears_ivan(&ivan);
	assert_int_equal(mobile_refresh(&w, &ivan, 600), 0);
	assert_hears_ivan(&ivan);
	assert_int_equal(fixture_stats(&w.f).moves, 0);
	assert_sends(&w, &moved, CHANNEL);
	assert_hears_ivan(&moved);
	assert_cut_off(&w, &ivan, CHANNEL);
	assert_int_equal(mobile_refresh(&w, &ivan, 600), 437);
	assert_int_equal(mobile_refresh(&w, &moved, 600), 0);
	assert_int_equal(fixture_stats(&w.f).moves, 1);
	assert_int_equal(fixture_stats(&w.f).allocations, 1);
	assert_int_equal(w.f.told.roamed, 1);
}

static void test_by_send(void **state)
{
	struct mobile_client ivan = ready(), moved = elsewhere(&ivan);

	assert_int_equal(mobile_show(&w, &moved), 0);
	assert_int_equal(mobile_indicate(&w, &moved, PEER, 7000)->verdict, TURN_RELAY);
	assert_hears_ivan(&moved);
	assert_cut_off(&w, &ivan, CHANNEL);
}

// Requests that need an allocation complete the move, too.
static void test_by_request(void **state)
{
	struct mobile_client c[4] = {ready()};

	for (unsigned int i = 1; i < 4; i++) {
		c[i] = mobile_at(&c[i - 1], "203.0.113.9", (uint16_t)(6000 + i));
		assert_int_equal(mobile_show(&w, &c[i]), 0);
		assert_hears_ivan(&c[i - 1]);
		if (i == 1)
			assert_int_equal(mobile_bind(&w, &c[i], 0x4001, PEER, 7001), 0);
		else if (i == 2)
			assert_int_equal(fixture_permit(&w.f, &c[i].c, "10.98.0.2"), 0);
		else
			assert_int_equal(mobile_refresh(&w, &c[i], 600), 0);
		assert_hears_ivan(&c[i]);
		assert_cut_off(&w, &c[i - 1], CHANNEL);
	}
}

// Requests that anybody can send from there do not: a Binding, a request with a wrong password.
static void test_not_by_strangers(void **state)
{
	struct mobile_client ivan = ready(), moved = elsewhere(&ivan), wrong = moved;

	assert_int_equal(mobile_show(&w, &moved), 0);
	fixture_begin(&w.f, STUN_REQUEST, STUN_BINDING);
	fixture_send(&w.f, &moved.c);
	assert_int_equal(fixture_code(&w.f), 0);
	fixture_begin(&w.f, STUN_INDICATION, STUN_BINDING);
	fixture_send(&w.f, &moved.c);
	wrong.c.password = "guess";
	assert_int_equal(mobile_refresh(&w, &wrong, 0), 401);
	assert_hears_ivan(&ivan);
	assert_sends(&w, &ivan, CHANNEL);
}

// --- tickets -------------------------------------------------------------------------------------

// The answer is lost: the Refresh is retransmitted and gets an equal answer.
static void test_answer_lost(void **state)
{
	struct mobile_client ivan = ready(), moved = elsewhere(&ivan), again = moved;

	assert_int_equal(mobile_show(&w, &moved), 0);
	assert_int_equal(mobile_repeat(&w, &again), 0);
	assert_string_equal(again.ticket, moved.ticket);
	again = elsewhere(&ivan); // another request with the old ticket, from there
	assert_int_equal(mobile_show(&w, &again), 0);
	assert_string_equal(again.ticket, moved.ticket);
	assert_hears_ivan(&ivan);
	assert_sends(&w, &moved, CHANNEL);
	assert_hears_ivan(&moved);
}

// The answer is lost, and the client moves on to a third address.
static void test_answer_lost_and_moved_again(void **state)
{
	struct mobile_client ivan = ready(), lost = elsewhere(&ivan);
	struct mobile_client third = mobile_at(&ivan, "203.0.113.77", 7777);

	assert_int_equal(mobile_show(&w, &lost), 0);
	assert_int_equal(mobile_show(&w, &third), 0);
	assert_string_not_equal(third.ticket, lost.ticket);
	assert_cut_off(&w, &lost, CHANNEL); // its path has been freed
	assert_hears_ivan(&ivan);
	assert_sends(&w, &third, CHANNEL);
	assert_hears_ivan(&third);
	assert_int_equal(mobile_show(&w, &lost), 437);
}

// Once the new 5-tuple or the new ticket is used the old ticket is invalid.
static void test_replay(void **state)
{
	struct mobile_client ivan = ready(), moved = elsewhere(&ivan);
	struct mobile_client thief = mobile_at(&ivan, "203.0.113.66", 6666);
	struct mobile_client next;

	assert_int_equal(mobile_show(&w, &moved), 0);
	assert_sends(&w, &moved, CHANNEL);
	assert_int_equal(mobile_show(&w, &thief), 437);
	next = mobile_at(&moved, "203.0.113.10", 6001);
	assert_int_equal(mobile_show(&w, &next), 0);
	assert_sends(&w, &next, CHANNEL);
	assert_int_equal(mobile_show(&w, &thief), 437);
	strcpy(thief.ticket, moved.ticket);
	assert_int_equal(mobile_show(&w, &thief), 437);
	assert_hears_ivan(&next);
	assert_int_equal(fixture_stats(&w.f).refused[TURN_REFUSED_TICKET], 3);
}

// The new ticket from the new 5-tuple: the client has received the answer, so the move is complete.
static void test_new_ticket_moves(void **state)
{
	struct mobile_client ivan = ready(), moved = elsewhere(&ivan), old = moved;

	assert_int_equal(mobile_show(&w, &moved), 0);
	strcpy(old.ticket, moved.ticket);
	assert_int_equal(mobile_show(&w, &moved), 0);
	assert_string_not_equal(old.ticket, moved.ticket);
	assert_hears_ivan(&moved);
	assert_cut_off(&w, &ivan, CHANNEL);
	assert_int_equal(mobile_show(&w, &old), 0); // repeated, as its answer may be lost
	assert_string_equal(old.ticket, moved.ticket);
}

// From the current 5-tuple, a ticket renews itself.
static void test_where_it_is(void **state)
{
	struct mobile_client ivan = ready(), moved = elsewhere(&ivan);
	char first[TICKET + 1];

	strcpy(first, ivan.ticket);
	assert_int_equal(mobile_show(&w, &ivan), 0);
	assert_string_not_equal(ivan.ticket, first);
	strcpy(moved.ticket, ivan.ticket);
	assert_int_equal(mobile_show(&w, &moved), 0);
	assert_int_equal(mobile_show(&w, &ivan), 0); // it returns before it has sent from there
	assert_cut_off(&w, &moved, CHANNEL);
	assert_sends(&w, &ivan, CHANNEL);
	assert_hears_ivan(&ivan);
}

static void test_no_ticket(void **state)
{
	static const char *const bad[] = {"x", "abcdefghijklmnopqrstuvwxyz01234",
		"abcdefghijklmnopqrstuvwxyz012345", "abcdefghijklmnopqrstuvwxyz0123456",
		("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"
		 "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff")};
	struct mobile_client ivan = ready(), moved = elsewhere(&ivan);

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		stun_put(mobile_begin_request(&w, &moved, STUN_REFRESH), STUN_MOBILITY_TICKET,
			bad[i], strlen(bad[i]));
		assert_int_equal(mobile_ask(&w, &moved), 437);
	}
	stun_put(mobile_begin_request(&w, &moved, STUN_REFRESH), STUN_MOBILITY_TICKET, NULL, 0);
	assert_int_equal(mobile_ask(&w, &moved), 400);
	assert_hears_ivan(&ivan);
}

// A ticket is valid for one allocation, and for no later one.
static void test_gone(void **state)
{
	struct mobile_client ivan = ready(), moved = elsewhere(&ivan), next = ivan;

	assert_int_equal(mobile_refresh(&w, &ivan, 0), 0);
	assert_int_equal(mobile_show(&w, &moved), 437);
	for (unsigned int i = 0; i < 200; i++) { // each port is used again
		mobile_advance(&w, 1000);
		assert_int_equal(mobile_allocate(&w, &next), 0);
		assert_int_equal(mobile_show(&w, &moved), 437);
		assert_int_equal(mobile_refresh(&w, &next, 0), 0);
	}
}

// A Refresh that is refused for another reason changes nothing.
static void test_refused_leaves_nothing(void **state)
{
	struct mobile_client ivan = ready(), moved = elsewhere(&ivan);
	struct stun_writer *out = mobile_begin_request(&w, &moved, STUN_REFRESH);

	stun_put(out, STUN_MOBILITY_TICKET, ivan.ticket, TICKET);
	stun_put(out, STUN_LIFETIME, "x", 1);
	assert_int_equal(mobile_ask(&w, &moved), 400);
	out = mobile_begin_request(&w, &moved, STUN_REFRESH);
	stun_put(out, STUN_MOBILITY_TICKET, ivan.ticket, TICKET);
	stun_put_u32(out, STUN_REQUESTED_ADDRESS_FAMILY, 2u << 24);
	assert_int_equal(mobile_ask(&w, &moved), 443);
	assert_cut_off(&w, &moved, CHANNEL);
	assert_int_equal(mobile_show(&w, &moved), 0); // the ticket is still valid
}

static void test_lifetime_0(void **state)
{
	struct mobile_client ivan = ready(), moved = elsewhere(&ivan);
	struct stun_writer *out = mobile_begin_request(&w, &moved, STUN_REFRESH);

	stun_put(out, STUN_MOBILITY_TICKET, ivan.ticket, TICKET);
	stun_put_u32(out, STUN_LIFETIME, 0);
	assert_int_equal(mobile_ask(&w, &moved), 0);
	assert_false(stun_has(w.answer, STUN_MOBILITY_TICKET));
	assert_int_equal(fixture_stats(&w.f).allocations, 0);
	assert_int_equal(fixture_allocate(&w.f, &moved.c, 4), 0); // the 5-tuple is free
}

// No client has two allocations on a 5-tuple.
static void test_occupied(void **state)
{
	struct mobile_client ivan = ready(), occupant = elsewhere(&ivan);

	assert_int_equal(fixture_allocate(&w.f, &occupant.c, 4), 0);
	assert_int_equal(mobile_show(&w, &occupant), 437);
	assert_hears_ivan(&ivan);
}

// Another client may get an address and port that a client has left, before the first has used its
// new ones: kernels and NATs reuse them.
static void test_left_to_another(void **state)
{
	struct mobile_client ivan = ready(), moved = elsewhere(&ivan), eve = ivan;

	eve.c.user = "eve";
	eve.c.password = "evil";
	assert_int_equal(mobile_allocate(&w, &eve), 437);
	assert_int_equal(mobile_show(&w, &moved), 0);
	assert_int_equal(mobile_allocate(&w, &eve), 0);
	assert_int_equal(fixture_stats(&w.f).moves, 1);
	assert_int_equal(mobile_bind(&w, &eve, CHANNEL, PEER, 7000), 0);
	assert_hears_ivan(&moved);
	assert_hears(&w, &eve.c.relay, PEER, 7000, &eve);
	assert_int_equal(mobile_refresh(&w, &eve, 0), 0);
	assert_sends(&w, &moved, CHANNEL);
}

// A client that moves there. Only a valid ticket frees the 5-tuple.
static void test_left_to_a_mover(void **state)
{
	struct mobile_client ivan = ready(), moved = elsewhere(&ivan), olga, there;

	olga = mobile_ivan("203.0.113.77", 7777);
	assert_int_equal(mobile_allocate(&w, &olga), 0);
	there = mobile_at(&olga, "198.51.100.7", 5000);
	assert_int_equal(mobile_show(&w, &there), 437);
	assert_int_equal(mobile_show(&w, &moved), 0);
	assert_int_equal(mobile_refresh(&w, &olga, 0), 0);
	assert_int_equal(mobile_show(&w, &there), 437);
	assert_hears_ivan(&ivan);
	assert_int_equal(mobile_allocate(&w, &olga), 0);
	there = mobile_at(&olga, "198.51.100.7", 5000);
	assert_int_equal(mobile_show(&w, &there), 0);
	assert_hears_ivan(&moved);
	assert_int_equal(mobile_bind(&w, &there, CHANNEL, PEER, 7001), 0);
	assert_hears(&w, &olga.c.relay, PEER, 7001, &there);
}

// A retransmitted Allocate is the client's own, however late.
static void test_left_and_sent_again(void **state)
{
	struct mobile_client ivan = mobile_ivan("198.51.100.7", 5000), moved;
	uint8_t copy[2048];
	uint16_t len;

	assert_int_equal(mobile_allocate(&w, &ivan), 0);
	len = stun_end(&w.f.w);
	memcpy(copy, w.f.message, len);
	moved = elsewhere(&ivan);
	assert_int_equal(mobile_show(&w, &moved), 0);
	fixture_from_client(&w.f, &ivan.c, copy, len);
	assert_int_equal(fixture_code(&w.f), 0);
	assert_int_equal(fixture_stats(&w.f).moves, 0);
	assert_int_equal(fixture_stats(&w.f).allocations, 1);
}

// A path that is not used in time is freed: the allocation stays where it was.
static void test_left_in_vain(void **state)
{
	struct mobile_client ivan = ready(), moved = elsewhere(&ivan);

	assert_int_equal(mobile_show(&w, &moved), 0);
	fixture_advance(&w.f, 30000); // and no timer has fired
	assert_int_equal(fixture_allocate(&w.f, &ivan.c, 4), 437);
	assert_hears_ivan(&ivan);
}

// The path belongs to the allocation: its client gets no second one there.
static void test_allocate_on_path(void **state)
{
	struct mobile_client ivan = ready(), moved = elsewhere(&ivan);

	assert_int_equal(mobile_show(&w, &moved), 0);
	assert_int_equal(fixture_allocate(&w.f, &moved.c, 4), 437);
	assert_hears_ivan(&ivan);
}

// --- time ----------------------------------------------------------------------------------------

static void test_silent_path(void **state)
{
	struct mobile_client ivan = ready(), moved = elsewhere(&ivan), late = moved;

	assert_int_equal(mobile_show(&w, &moved), 0);
	mobile_advance(&w, 29999);
	assert_int_equal(fixture_stats(&w.f).moves_lapsed, 0);
	fixture_advance(&w.f, 1); // not swept
	assert_cut_off(&w, &moved, CHANNEL);
	assert_int_equal(fixture_stats(&w.f).moves_lapsed, 1);
	assert_hears_ivan(&ivan);
	assert_int_equal(mobile_show(&w, &late), 437); // the client has had the new ticket for long
	assert_int_equal(mobile_show(&w, &moved), 0);
	assert_sends(&w, &moved, CHANNEL);
	assert_hears_ivan(&moved);
}

static void test_silent_path_swept(void **state)
{
	struct mobile_client ivan = ready(), moved = elsewhere(&ivan);

	assert_int_equal(mobile_show(&w, &moved), 0);
	mobile_advance(&w, 31000);
	assert_int_equal(fixture_stats(&w.f).moves_lapsed, 1);
	assert_int_equal(fixture_stats(&w.f).redirects, 0);
	assert_int_equal(mobile_refresh(&w, &moved, 600), 437);
	assert_hears_ivan(&ivan);
}

// The Refresh that begins a move refreshes, too. An allocation that expires frees its path.
static void test_lifetime(void **state)
{
	struct mobile_client ivan = ready(), moved = elsewhere(&ivan);

	mobile_advance(&w, 590000);
	assert_int_equal(mobile_show(&w, &moved), 0);
	mobile_advance(&w, 20000);
	assert_int_equal(fixture_stats(&w.f).allocations, 1);
	assert_int_equal(mobile_bind(&w, &moved, CHANNEL, PEER, 7000), 0);
	mobile_advance(&w, 570000);
	ivan = elsewhere(&moved);
	ivan.c.endpoint.port = 6001;
	stun_put(mobile_begin_request(&w, &ivan, STUN_REFRESH), STUN_MOBILITY_TICKET, moved.ticket,
		TICKET);
	stun_put_u32(&w.f.w, STUN_LIFETIME, 1);
	assert_int_equal(mobile_ask(&w, &ivan), 0); // at least 600 s
	mobile_advance(&w, 601000);
	assert_int_equal(fixture_stats(&w.f).allocations, 0);
	assert_int_equal(fixture_stats(&w.f).redirects, 0);
}

// --- permissions and channels --------------------------------------------------------------------

// Permissions and channels stay, and the client's new address family changes nothing for its peers.
static void test_other_family(void **state)
{
	struct mobile_client ivan = ready(), moved = mobile_at(&ivan, "2001:db8::7", 6000);

	assert_int_equal(mobile_show(&w, &moved), 0);
	assert_sends(&w, &moved, CHANNEL);
	assert_hears_ivan(&moved);
	assert_int_equal(fixture_stats(&w.f).channels, 1);
	assert_int_equal(fixture_stats(&w.f).permissions, 1);
}

static void test_event(void **state)
{
	struct mobile_client ivan = ready(), moved = elsewhere(&ivan);
	const struct turn_event *e;

	assert_int_equal(mobile_show(&w, &moved), 0);
	assert_sends(&w, &moved, CHANNEL);
	e = fixture_event(&w.f, 0);
	assert_int_equal(e->kind, TURN_EVENT_ROAMED);
	assert_true(endpoint_eq(&e->client, &moved.c.endpoint));
	assert_true(endpoint_eq(&e->old_client, &ivan.c.endpoint));
	assert_true(endpoint_eq(&e->relay, &ivan.c.relay));
	assert_int_equal(e->lifetime_s, 600);
	assert_memory_equal(e->name, "ivan", 4);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, mobile_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_asked),
		T(test_not_empty),
		cmocka_unit_test_setup_teardown(test_forbidden, setup_off, mobile_teardown),
		T(test_plain_refresh),
		T(test_expired_name),
		T(test_old_stays_until_used),
		T(test_by_send),
		T(test_by_request),
		T(test_not_by_strangers),
		T(test_answer_lost),
		T(test_answer_lost_and_moved_again),
		T(test_replay),
		T(test_new_ticket_moves),
		T(test_where_it_is),
		T(test_no_ticket),
		T(test_gone),
		T(test_refused_leaves_nothing),
		T(test_lifetime_0),
		T(test_occupied),
		T(test_left_to_another),
		T(test_left_to_a_mover),
		T(test_left_and_sent_again),
		T(test_left_in_vain),
		T(test_allocate_on_path),
		T(test_silent_path),
		T(test_silent_path_swept),
		T(test_lifetime),
		T(test_other_family),
		T(test_event),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
