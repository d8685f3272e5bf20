// SPDX-License-Identifier: BSD-3-Clause
// TCP allocations in a state area (RFC 6062). They end with the process, and their port numbers are
// TCP ports: no UDP port of that number rests, or is taken, because of one.
#include "restart_world.h"
#include "alloc.h"

#define CLIENTS 100 // of each protocol
#define CHANNEL 0x4001

static struct restart r;
static struct turn_config config;
static struct fixture_client udp[CLIENTS], tcp[CLIENTS];

static struct fixture *only(void)
{
	return &r.worker[0];
}

static void allocate_tcp(struct fixture_client *c)
{
	struct fixture *f = only();

	fixture_begin(f, STUN_REQUEST, STUN_ALLOCATE);
	stun_put_u32(&f->w, STUN_REQUESTED_TRANSPORT, UINT32_C(6) << 24);
	fixture_sign(f, c);
	fixture_send(f, c);
	assert_true((f->burst.plan.flags & TURN_PLAN_ORDER) != 0);
	c->relay = f->burst.side.order.endpoint;
}

// TCP allocations are made first, so that they have the first slots.
static int setup(void **state)
{
	config = fixture_config();
	fixture_add_tcp(&config, config.port_hi - CLIENTS + 1, config.port_hi);
	config.quarantine_s = 60;
	config.pools.per_user = 100; // one user has all of them
	restart_open(&r, &config, 5);
	for (unsigned int i = 0; i < CLIENTS; i++) {
		tcp[i] = fixture_client("198.51.100.2", (uint16_t)(5000 + i));
		tcp[i].listener = 2;
		allocate_tcp(&tcp[i]);
	}
	for (unsigned int i = 0; i < CLIENTS; i++) {
		udp[i] = fixture_client("198.51.100.1", (uint16_t)(5000 + i));
		assert_int_equal(fixture_allocate(only(), &udp[i], 4), 0);
		assert_int_equal(fixture_bind(only(), &udp[i], CHANNEL, "10.98.0.1", 7000), 0);
	}
	return 0;
}

static int teardown(void **state)
{
	restart_close(&r);
	return 0;
}

static uint32_t slot_of(const struct fixture_client *c)
{
	const struct turn_view v = {
		.src = c->endpoint.addr, .src_port = c->endpoint.port, .listener = c->listener};
	uint32_t left;
	const uint32_t slot = turn_shard_client(only()->shard, &v, &left);

	assert_int_not_equal(slot, TURN_NONE);
	return slot;
}

// The number of UDP allocations whose relayed transport address equals that of a TCP allocation
// with an earlier record.
static unsigned int twins(void)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < CLIENTS; i++)
		for (unsigned int k = 0; k < CLIENTS; k++)
			n += endpoint_eq(&udp[i].relay, &tcp[k].relay) &&
				slot_of(&tcp[k]) < slot_of(&udp[i]);
	return n;
}

static void end_tcp(void)
{
	for (unsigned int i = 0; i < CLIENTS; i++)
		alloc_end_client(only()->shard, slot_of(&tcp[i]), TURN_END_KILLED);
}

// All UDP allocations are there and relay; no port rests for the TCP ones.
static void check(unsigned int lost, enum turn_state_loss loss)
{
	const struct endpoint peer = fixture_endpoint("10.98.0.1", 7000);

	for (unsigned int i = 0; i < TURN_STATE_LOST_END; i++)
		assert_int_equal(r.adopted.lost[i], i == loss ? lost : 0);
	assert_int_equal(r.adopted.allocations, CLIENTS);
	assert_int_equal(r.adopted.channels, CLIENTS);
	assert_int_equal(r.adopted.resting, 0);
	for (unsigned int i = 0; i < CLIENTS; i++)
		assert_int_equal(
			fixture_from_peer(only(), &udp[i].relay, &peer, "hello", 5)->channel,
			CHANNEL);
}

static void live_ones_end(void **state)
{
	unsigned int told = 0;

	assert_in_range(twins(), 1, CLIENTS);
	restart_again(&r, &config, 1000);
	check(CLIENTS, TURN_STATE_LOST_STREAM);
	assert_int_equal(only()->told.ended[TURN_END_CONNECTION], CLIENTS);
	for (unsigned int i = 0; i < FIXTURE_EVENTS; i++) {
		const struct turn_event *e = fixture_event(only(), i);

		for (unsigned int k = 0; k < CLIENTS; k++)
			told += e->client.port == tcp[k].endpoint.port &&
				endpoint_eq(&e->relay, &tcp[k].relay);
	}
	assert_int_equal(told, FIXTURE_EVENTS); // with its port
	restart_again(&r, &config, 1000);
	check(0, TURN_STATE_LOST_END);
}

static void ended_ones_are_nothing(void **state)
{
	assert_in_range(twins(), 1, CLIENTS);
	end_tcp();
	restart_again(&r, &config, 1000);
	check(0, TURN_STATE_LOST_END);
}

// Allocations that expired while no process ran.
static void expired_ones_are_nothing(void **state)
{
	restart_advance(&r, 500000);
	for (unsigned int i = 0; i < CLIENTS; i++) {
		assert_int_equal(fixture_refresh(only(), &udp[i], 3600), 0);
		assert_int_equal(fixture_bind(only(), &udp[i], CHANNEL, "10.98.0.1", 7000), 0);
	}
	assert_in_range(twins(), 1, CLIENTS);
	restart_again(&r, &config, 200000);
	check(CLIENTS, TURN_STATE_LOST_EXPIRED);
}

// A slot that a TCP allocation used is an ordinary UDP slot afterwards: its port rests.
static void later_ones_rest(void **state)
{
	struct fixture_client late = fixture_client("198.51.100.3", 5000);

	end_tcp();
	restart_advance(&r, 61000);
	for (unsigned int i = 0; i < CLIENTS; i++) {
		late.endpoint.port++;
		late.nonce_len = 0;
		assert_int_equal(fixture_allocate(only(), &late, 4), 0);
		alloc_end_client(only()->shard, slot_of(&late), TURN_END_KILLED);
	}
	restart_again(&r, &config, 1000);
	assert_int_equal(r.adopted.allocations, CLIENTS);
	assert_int_equal(r.adopted.resting, CLIENTS);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(live_ones_end),
		T(ended_ones_are_nothing),
		T(expired_ones_are_nothing),
		T(later_ones_rest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
