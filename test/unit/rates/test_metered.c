// SPDX-License-Identifier: BSD-3-Clause
// Rates of relayed datagrams through the whole data path: on any path a datagram counts once, and
// those above a rate are dropped by name and counted for their allocation.
#include <errno.h>

#include "bytes.h"
#include "datapath.h"
#include "drop_of.h"
#include "gso_world.h"
#include "shard_rows.h"
#include "turn_event.h"
#include "turn_meter.h"
#include "path/worker.h"

#define RATE 40 // datagrams a second; as many at once, and half as many drawn in advance
#define OFFERED 200
#define ALLOCATION_RATE drop_of_turn(TURN_DROP_ALLOCATION_RATE)
#define USER_RATE drop_of_turn(TURN_DROP_USER_RATE)

static void limit(struct dp_world *w)
{
	struct turn_rates *r = &w->conf.turn.limits.rates;

	r->burst_ms = 1000;
	for (unsigned int leg = 0; leg < 2; leg++)
		r->flow[TURN_RATE_ALLOCATION][leg].datagrams = RATE;
}

// A rate in bits, with a burst of 80 bytes.
static void limit_bits(struct dp_world *w)
{
	struct turn_rates *r = &w->conf.turn.limits.rates;

	r->burst_ms = 10;
	r->flow[TURN_RATE_ALLOCATION][TURN_FROM_PEER].kbits = 64;
}

static struct turn_usage usage(const struct world_client *c)
{
	struct turn_info info[32];

	for (unsigned int w = 0; w < world.dp->nb_workers; w++) {
		const unsigned int n = shard_rows(world.dp->worker[w]->shard, info, 32);

		for (unsigned int i = 0; i < n; i++)
			if (endpoint_eq(&info[i].client, &c->endpoint))
				return info[i].usage;
	}
	fail_msg("not listed");
	return info[0].usage;
}

static unsigned int arrived(const struct endpoint *dst)
{
	struct world_datagram got;
	unsigned int n = 0;

	while (world_take(&world, dst, &got))
		n++;
	return n;
}

// --- on each path --------------------------------------------------------------------------------

enum method { BY_CHANNEL, BY_INDICATION };

static void send_up(struct world_client *c, const struct endpoint *target, enum method method)
{
	static const uint8_t data[50];

	if (method == BY_CHANNEL) {
		client_channel_data(&world, c, GSO_CHANNEL, data, sizeof(data));
		return;
	}
	stun_begin(&c->w, c->message, sizeof(c->message), STUN_INDICATION, STUN_SEND,
		(const uint8_t *)"0123456789ab");
	stun_put_xor_addr(&c->w, STUN_XOR_PEER_ADDRESS, target);
	stun_put(&c->w, STUN_DATA_ATTR, data, sizeof(data));
	if (c->conn != 0)
		assert_true(world_stream_send(&world, c, c->message, stun_end(&c->w)));
	else
		world_send_bytes(&world, &c->endpoint, &c->server, c->message, stun_end(&c->w));
}

static unsigned int offer(
	struct world_client *c, const struct endpoint *p, enum method method, bool up)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < OFFERED; i++) {
		if (up)
			send_up(c, p, method);
		else
			world_send_bytes(&world, p, &c->relay, "0123456789", 10);
		if (i % 20 == 19)
			world_run(&world);
		n += i % 20 == 19 ? arrived(up ? p : &c->endpoint) : 0;
	}
	return n;
}

static void assert_counted(
	struct world_client *c, const struct endpoint *p, enum method method, bool up)
{
	const uint64_t before = world_dropped(&world, ALLOCATION_RATE), drops = world_drops(&world);
	const unsigned int lost = usage(c).lost[TURN_LOSS_ALLOCATION];
	const unsigned int passed = offer(c, p, method, up);

	assert_in_range(passed, RATE, RATE + RATE / 2);
	assert_int_equal(world_dropped(&world, ALLOCATION_RATE) - before, OFFERED - passed);
	assert_int_equal(world_drops(&world) - drops, OFFERED - passed);
	assert_int_equal(usage(c).lost[TURN_LOSS_ALLOCATION] - lost, OFFERED - passed);
	assert_int_equal(usage(c).leg[up ? TURN_FROM_CLIENT : TURN_FROM_PEER].datagrams, passed);
}

static void limits_hold_in_each_direction(void **state)
{
	static const struct world_setup setups[] = {
		{.workers = 1, .rx_queues = 1, .tx_queues = 1, .stream_ring = 64, .change = limit},
		// frames come in to any worker, and are handed over
		{.workers = 3, .rx_queues = 3, .tx_queues = 3, .stream_ring = 64, .change = limit},
	};
	struct endpoint p = world_endpoint("10.99.0.30", 7000);

	for (unsigned int k = 0; k < RTE_DIM(setups); k++) {
		struct world_client c;

		world_open(&world, &setups[k]);
		for (unsigned int i = 0; i < 8; i++) {
			const enum method method = i / 2 % 2 == 0 ? BY_CHANNEL : BY_INDICATION;

			p.port++;
			if (i < 4)
				world_client(&world, &c, "10.99.0.20", (uint16_t)(5000 + i));
			else
				world_stream_client(&world, &c, "10.99.0.20", (uint16_t)(5000 + i));
			assert_int_equal(client_allocate(&world, &c, 4), 0);
			if (method == BY_CHANNEL)
				assert_int_equal(client_bind(&world, &c, GSO_CHANNEL, &p), 0);
			else
				assert_int_equal(client_permit(&world, &c, &p), 0);
			assert_counted(&c, &p, method, i % 2 == 0);
			assert_counted(&c, &p, method, i % 2 != 0);
		}
		world_close(&world);
	}
}

// Between two allocations of the box, each counts its own datagrams.
static void limits_hold_between_clients(void **state)
{
	static const struct world_setup s = {
		.workers = 2, .rx_queues = 2, .tx_queues = 2, .change = limit};
	struct world_client a, b;
	unsigned int n = 0;

	world_open(&world, &s);
	world_client(&world, &a, "10.99.0.20", 5000);
	world_client(&world, &b, "10.99.0.21", 5000);
	assert_int_equal(client_allocate(&world, &a, 4), 0);
	assert_int_equal(client_allocate(&world, &b, 4), 0);
	assert_int_equal(client_bind(&world, &a, GSO_CHANNEL, &b.relay), 0);
	assert_int_equal(client_bind(&world, &b, GSO_CHANNEL, &a.relay), 0);
	for (unsigned int i = 0; i < OFFERED; i++) {
		client_channel_data(&world, &a, GSO_CHANNEL, "x", 1);
		if (i % 20 == 19) // little time passes
			world_run(&world);
		n += arrived(&b.endpoint);
	}
	assert_in_range(n, RATE, RATE + RATE / 2);
	assert_in_range(usage(&a).leg[TURN_FROM_CLIENT].datagrams, n, RATE + RATE / 2);
	assert_int_equal(usage(&b).leg[TURN_FROM_PEER].datagrams, n);
	assert_int_equal(world_dropped(&world, ALLOCATION_RATE), OFFERED - n);
	world_close(&world);
}

// A burst pays before it is relayed. A datagram that is dropped for another reason still costs
// nothing, wherever it stands in the burst.
static void dropped_datagrams_cost_nothing(void **state)
{
	static const struct world_setup s = {
		.workers = 1, .rx_queues = 1, .tx_queues = 1, .change = limit};
	const struct endpoint p = world_endpoint("10.99.0.30", 7000);
	struct world_client c;
	unsigned int n = 0, lost = 0;

	world_open(&world, &s);
	world_client(&world, &c, "10.99.0.20", 5000);
	assert_int_equal(client_allocate(&world, &c, 4), 0);
	assert_int_equal(client_bind(&world, &c, GSO_CHANNEL, &p), 0);
	for (unsigned int i = 0; i < 4 * OFFERED; i++) {
		const bool junk =
			i % 20 / 5 != i / 20 % 4; // three of four, in another place each time

		client_channel_data(&world, &c, junk ? GSO_CHANNEL + 1 : GSO_CHANNEL, "x", 1);
		lost += junk;
		if (i % 20 == 19) // little time passes
			world_run(&world);
		n += i % 20 == 19 ? arrived(&p) : 0;
	}
	assert_in_range(n, RATE, RATE + RATE / 2);
	assert_int_equal(world_dropped(&world, ALLOCATION_RATE), OFFERED - n);
	assert_int_equal(world_drops(&world), OFFERED - n + lost);
	world_close(&world);
}

// --- super-frames --------------------------------------------------------------------------------

// All bytes of a super-frame count. If they fit it leaves whole; otherwise as many datagrams leave
// as would one by one.
static void limits_hold_in_super_frames(void **state)
{
	static const struct world_setup s = {
		.workers = 1, .rx_queues = 1, .tx_queues = 1, .change = limit};
	const struct world_datagram like = {.ttl = 60, .df = true};

	for (unsigned int up = 0; up < 2; up++) {
		const unsigned int leg = up != 0 ? TURN_FROM_CLIENT : TURN_FROM_PEER;
		uint64_t passed, before;

		gso_open(&s);
		gso_port()->rx_super = true;
		softport_uso(gso_port(), &gso_granted, 0);
		world_wait(&world, 2000);
		before = usage(&client[0]).leg[leg].datagrams;
		for (unsigned int k = 0; k < 2; k++) { // 20 tokens, drawn earlier or now
			nb_sent = 0;
			for (unsigned int i = 0; i < 10; i++)
				gso_make(0, up != 0, 600, &like);
			softport_put_mbuf(gso_port(), 0, gso_whole(0, 10, 2000));
			world_run(&world);
			gso_all_arrive();
		}
		assert_int_equal(world_stats(&world).whole_frames, 2);
		assert_int_equal(usage(&client[0]).leg[leg].datagrams, before + 20);
		for (unsigned int k = 0; k < 5; k++) {
			nb_sent = 0;
			for (unsigned int i = 0; i < 20; i++)
				gso_make(0, up != 0, 600, &like);
			softport_put_mbuf(gso_port(), 0, gso_whole(0, 20, 2000));
			world_run(&world);
		}
		passed = usage(&client[0]).leg[leg].datagrams - before;
		assert_in_range(passed, RATE, RATE + RATE / 2);
		assert_int_equal(world_dropped(&world, ALLOCATION_RATE), 120 - passed);
		assert_int_equal(world_drops(&world), 120 - passed);
		world_close(&world);
	}
}

// A full bucket goes into debt for a datagram above the burst limit, but not for a super-frame.
static void limits_hold_longer_than_a_burst(void **state)
{
	static const struct world_setup s = {
		.workers = 1, .rx_queues = 1, .tx_queues = 1, .change = limit_bits};
	const struct world_datagram like = {.ttl = 60, .df = true};
	uint64_t before;

	gso_open(&s);
	gso_port()->rx_super = true;
	softport_uso(gso_port(), &gso_granted, 0);
	world_wait(&world, 2000);
	before = usage(&client[0]).leg[TURN_FROM_PEER].datagrams;
	nb_sent = 0;
	for (unsigned int i = 0; i < 20; i++)
		gso_make(0, false, 600, &like);
	softport_put_mbuf(gso_port(), 0, gso_whole(0, 20, 2000));
	world_run(&world);
	assert_int_equal(usage(&client[0]).leg[TURN_FROM_PEER].datagrams, before + 1);
	assert_int_equal(world_dropped(&world, ALLOCATION_RATE), 19);
	world_close(&world);
}

// --- reload --------------------------------------------------------------------------------------

static void reload(const struct turn_rates *rates)
{
	static struct turn_event events[64];
	struct conf c = world.conf;
	char error[256];
	int rc;

	c.turn.limits.rates = *rates;
	assert_int_equal(dp_reload_begin(world.dp, &c, false, error, sizeof(error)), 0);
	for (unsigned int i = 0; i < 1000; i++) {
		rc = dp_reload_step(world.dp);
		if (rc >= 0)
			break;
		dp_events(world.dp, events, 64);
		world_round(&world);
	}
	assert_int_equal(rc, 0);
}

// A reload sets limits on a server that had no limits, for live allocations, too, and removes them;
// a user's limit holds for their allocations on all workers together.
static void a_reload_sets_and_removes_limits(void **state)
{
	static const struct world_setup s = {.workers = 3, .rx_queues = 3, .tx_queues = 3};
	const struct endpoint p = world_endpoint("10.99.0.30", 7000);
	struct turn_rates rates = {.burst_ms = 1000};
	struct world_client c[12];
	unsigned int passed;

	world_open(&world, &s);
	for (unsigned int i = 0; i < RTE_DIM(c); i++) {
		world_client(&world, &c[i], "10.99.0.20", (uint16_t)(5000 + i));
		assert_int_equal(client_allocate(&world, &c[i], 4), 0);
		assert_int_equal(client_bind(&world, &c[i], GSO_CHANNEL, &p), 0);
	}
	assert_null(world.dp->metering.accounts);
	for (unsigned int k = 0; k < 4; k++) {
		rates.flow[TURN_RATE_USER][TURN_FROM_CLIENT].datagrams = k % 2 == 0 ? 400 : 0;
		reload(&rates);
		for (unsigned int w = 0; w < 3; w++)
			assert_int_equal(world.dp->worker[w]->meters != NULL, k % 2 == 0);
		world_wait(&world, 3000);
		passed = 0;
		for (unsigned int i = 0; i < 100 * RTE_DIM(c); i++) {
			client_channel_data(
				&world, &c[i % RTE_DIM(c)], GSO_CHANNEL, "0123456789", 10);
			if (i % 32 == 31)
				world_run(&world);
			passed += i % 32 == 31 ? arrived(&p) : 0;
		}
		world_run(&world);
		passed += arrived(&p);
		if (k % 2 == 0)
			assert_in_range(passed, 400, 400 + 100);
		else
			assert_int_equal(passed, 1200);
	}
	assert_true(world_dropped(&world, USER_RATE) > 1000);
	assert_int_equal(world_drops(&world), world_dropped(&world, USER_RATE));
	world_close(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(limits_hold_in_each_direction),
		cmocka_unit_test(limits_hold_between_clients),
		cmocka_unit_test(dropped_datagrams_cost_nothing),
		cmocka_unit_test(limits_hold_in_super_frames),
		cmocka_unit_test(limits_hold_longer_than_a_burst),
		cmocka_unit_test(a_reload_sets_and_removes_limits),
	};

	world_eal();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
