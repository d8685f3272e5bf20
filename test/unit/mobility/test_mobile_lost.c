// SPDX-License-Identifier: BSD-3-Clause
// Connections that end (TCP, TLS, DTLS), and allocations that wait for their client to return on
// another one. The data path reports the end: turn_shard_lost.
#include "mobile_world.h"

#define PEER "10.98.0.1"
#define CHANNEL 0x4000

static struct mobile_world w;
static struct turn_listener listeners[3];

static int open_with(void **state, uint32_t grace_s)
{
	struct turn_config c = mobile_config();

	memcpy(listeners, c.listeners, 2 * sizeof(listeners[0]));
	listeners[2] = (struct turn_listener){listeners[0].endpoint, TURN_OVER_TCP};
	c.listeners = listeners;
	c.nb_listeners = 3;
	c.mobility.grace_s = grace_s;
	*state = &w;
	mobile_open(&w, &c);
	return 0;
}

static int setup(void **state)
{
	return open_with(state, 60);
}

static int setup_no_grace(void **state)
{
	return open_with(state, 0);
}

// Ivan over TCP.
static struct mobile_client over_tcp(const struct mobile_client *c, const char *addr, uint16_t port)
{
	struct mobile_client moved = mobile_at(c, addr, port);

	moved.c.listener = 2;
	return moved;
}

static struct mobile_client ready(bool ticket)
{
	struct mobile_client none = mobile_ivan("198.51.100.7", 5000);
	struct mobile_client ivan = over_tcp(&none, "198.51.100.7", 5000);

	assert_int_equal(
		ticket ? mobile_allocate(&w, &ivan) : fixture_allocate(&w.f, &ivan.c, 4), 0);
	assert_int_equal(mobile_bind(&w, &ivan, CHANNEL, PEER, 7000), 0);
	return ivan;
}

static struct turn_view view_of(const struct mobile_client *c, uint64_t stream)
{
	return (struct turn_view){.src = c->c.endpoint.addr,
		.src_port = c->c.endpoint.port,
		.listener = c->c.listener,
		.stream = stream};
}

// The connection of a client ends.
static void lose(const struct mobile_client *c, uint64_t stream)
{
	const struct turn_view v = view_of(c, stream);
	uint32_t left_ms;

	turn_shard_lost(w.f.shard, &v, turn_shard_client(w.f.shard, &v, &left_ms));
	mobile_notes(&w);
}

static uint64_t allocations(void)
{
	return fixture_stats(&w.f).allocations;
}

static void test_comes_back(void **state)
{
	struct mobile_client ivan = ready(true), back = over_tcp(&ivan, "203.0.113.9", 6000);

	lose(&ivan, 0);
	assert_int_equal(allocations(), 1);
	assert_int_equal(fixture_stats(&w.f).outlived, 1);
	mobile_advance(&w, 59000);
	assert_int_equal(mobile_show(&w, &back), 0);
	assert_hears(&w, &ivan.c.relay, PEER, 7000, &back); // at once: the old connection has ended
	assert_sends(&w, &back, CHANNEL);
	mobile_advance(&w, 2000);
	assert_int_equal(allocations(), 1);
	assert_int_equal(fixture_stats(&w.f).moves, 1);
}

// A client that comes back over another transport counts there.
static void test_other_transport(void **state)
{
	struct mobile_client ivan = ready(true), back = mobile_at(&ivan, "203.0.113.9", 6000);

	back.c.listener = 0;
	assert_int_equal(fixture_stats(&w.f).over[TURN_OVER_TCP], 1);
	lose(&ivan, 0);
	assert_int_equal(mobile_show(&w, &back), 0);
	assert_hears(&w, &ivan.c.relay, PEER, 7000, &back);
	assert_int_equal(fixture_stats(&w.f).over[TURN_OVER_TCP], 0);
	assert_int_equal(fixture_stats(&w.f).over[TURN_OVER_UDP], 1);
}

static void test_does_not(void **state)
{
	struct mobile_client ivan = ready(true), back = over_tcp(&ivan, "203.0.113.9", 6000);

	lose(&ivan, 0);
	mobile_advance(&w, 59984);
	assert_int_equal(allocations(), 1);
	mobile_advance(&w, 32);
	assert_int_equal(allocations(), 0);
	assert_int_equal(w.f.told.ended[TURN_END_CONNECTION], 1);
	assert_int_equal(mobile_show(&w, &back), 437);
}

static void test_without_ticket(void **state)
{
	struct mobile_client ivan = ready(false);

	lose(&ivan, 0);
	assert_int_equal(allocations(), 0);
	assert_int_equal(w.f.told.ended[TURN_END_CONNECTION], 1);
}

static void test_no_grace(void **state)
{
	struct mobile_client ivan = ready(true);

	lose(&ivan, 0);
	assert_int_equal(allocations(), 0);
}

// A new connection from that address and port has no allocation until it shows the ticket.
static void test_same_5_tuple(void **state)
{
	struct mobile_client ivan = ready(true), newcomer = ivan;

	lose(&ivan, 0);
	assert_cut_off(&w, &ivan, CHANNEL);
	assert_int_equal(mobile_refresh(&w, &ivan, 600), 437);
	newcomer.c.user = "eve";
	newcomer.c.password = "evil";
	assert_int_equal(fixture_allocate(&w.f, &newcomer.c, 4), 0);
	lose(&newcomer, 0);
	assert_int_equal(allocations(), 1);
	assert_int_equal(mobile_show(&w, &ivan), 0);
	assert_sends(&w, &ivan, CHANNEL);
}

// A shorter lifetime ends the wait.
static void test_expires(void **state)
{
	struct mobile_client ivan = ready(true);

	mobile_advance(&w, 590000);
	lose(&ivan, 0);
	mobile_advance(&w, 10000);
	assert_int_equal(allocations(), 0);
	assert_int_equal(w.f.told.ended[TURN_END_EXPIRED], 1);
}

// RFC 8016 3.2.2: when the old connection ends, peers' data goes to the new one.
static void test_old_ends_under_way(void **state)
{
	struct mobile_client ivan = ready(true), moved = mobile_at(&ivan, "203.0.113.9", 6000);

	assert_int_equal(mobile_show(&w, &moved), 0);
	assert_hears(&w, &ivan.c.relay, PEER, 7000, &ivan);
	lose(&ivan, 0);
	assert_hears(&w, &ivan.c.relay, PEER, 7000, &moved);
	assert_int_equal(fixture_stats(&w.f).outlived, 0);
	mobile_advance(&w, 70000);
	assert_int_equal(allocations(), 1);
}

// The new connection ends before it is used: nothing changes.
static void test_new_ends_under_way(void **state)
{
	struct mobile_client ivan = ready(true), moved = over_tcp(&ivan, "203.0.113.9", 6000);
	const struct turn_view v = view_of(&moved, 0);

	assert_int_equal(mobile_show(&w, &moved), 0);
	assert_int_equal(turn_shard_path(w.f.shard, &v), 600000);
	lose(&moved, 77); // the end of another connection
	assert_int_equal(turn_shard_path(w.f.shard, &v), 600000);
	lose(&moved, 0);
	assert_int_equal(turn_shard_path(w.f.shard, &v), 0);
	assert_hears(&w, &ivan.c.relay, PEER, 7000, &ivan);
	assert_sends(&w, &ivan, CHANNEL);
	assert_int_equal(fixture_stats(&w.f).redirects, 0);
}

// The data path is notified of the connection that the client has moved to.
static void test_connection_told(void **state)
{
	struct mobile_client ivan = ready(true), moved = over_tcp(&ivan, "203.0.113.9", 6000);

	assert_int_equal(mobile_show(&w, &moved), 0);
	w.f.burst.view[0].stream = 4711;
	assert_int_equal(w.f.clients_moved, 0);
	assert_sends(&w, &moved, CHANNEL);
	assert_int_equal(w.f.clients_moved, 1);
}

// Both halves of a dual allocation wait, and end together.
static void test_dual(void **state)
{
	struct mobile_client none = mobile_ivan("198.51.100.7", 5000);
	struct mobile_client ivan = over_tcp(&none, "198.51.100.7", 5000), back;
	struct stun_writer *out;

	for (int comes = 0; comes < 2; comes++) {
		out = mobile_begin_request(&w, &ivan, STUN_ALLOCATE);
		stun_put_u32(out, STUN_REQUESTED_TRANSPORT, 17u << 24);
		stun_put_u32(out, STUN_ADDITIONAL_ADDRESS_FAMILY, 2u << 24);
		stun_put(out, STUN_MOBILITY_TICKET, NULL, 0);
		assert_int_equal(mobile_ask(&w, &ivan), 0);
		assert_int_equal(mobile_bind(&w, &ivan, 0x4006, "fd99::10", 7000), 0);
		lose(&ivan, 0);
		assert_int_equal(allocations(), 2);
		if (comes) {
			back = over_tcp(&ivan, "203.0.113.9", 6000);
			assert_int_equal(mobile_show(&w, &back), 0);
			assert_sends(&w, &back, 0x4006);
		}
		mobile_advance(&w, 61000);
		assert_int_equal(allocations(), comes ? 2 : 0);
	}
}

// One half may expire while it waits.
static void test_half_expires(void **state)
{
	struct mobile_client none = mobile_ivan("198.51.100.7", 5000);
	struct mobile_client ivan = over_tcp(&none, "198.51.100.7", 5000), back;
	struct stun_writer *out = mobile_begin_request(&w, &ivan, STUN_ALLOCATE);

	stun_put_u32(out, STUN_REQUESTED_TRANSPORT, 17u << 24);
	stun_put_u32(out, STUN_ADDITIONAL_ADDRESS_FAMILY, 2u << 24);
	stun_put(out, STUN_MOBILITY_TICKET, NULL, 0);
	assert_int_equal(mobile_ask(&w, &ivan), 0);
	out = mobile_begin_request(&w, &ivan, STUN_REFRESH);
	stun_put_u32(out, STUN_LIFETIME, 3600);
	stun_put_u32(out, STUN_REQUESTED_ADDRESS_FAMILY, 2u << 24);
	assert_int_equal(mobile_ask(&w, &ivan), 0);
	mobile_advance(&w, 590000);
	lose(&ivan, 0);
	mobile_advance(&w, 15000);
	assert_int_equal(allocations(), 1);
	assert_cut_off(&w, &ivan, CHANNEL);
	back = over_tcp(&ivan, "203.0.113.9", 6000);
	assert_int_equal(mobile_show(&w, &back), 0);
	assert_int_equal(mobile_refresh(&w, &back, 600), 0);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, mobile_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_comes_back),
		T(test_other_transport),
		T(test_does_not),
		T(test_without_ticket),
		cmocka_unit_test_setup_teardown(test_no_grace, setup_no_grace, mobile_teardown),
		T(test_same_5_tuple),
		T(test_expires),
		T(test_old_ends_under_way),
		T(test_new_ends_under_way),
		T(test_connection_told),
		T(test_dual),
		T(test_half_expires),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
