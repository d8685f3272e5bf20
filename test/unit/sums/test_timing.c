// SPDX-License-Identifier: BSD-3-Clause
// The time that datagrams spend in a worker: one in 1,024 is timed, whatever the bursts, and only
// if it is sent; the classes of times at their bounds.
#include <rte_mbuf.h>

#include "see/stats.h"
#include "see/timing.h"
#include "datapath.h"
#include "line_world.h"

// Number of timed datagrams, of all workers.
static uint64_t timed(void)
{
	uint64_t sum = 0;

	for (unsigned int w = 0; w < world.dp->nb_workers; w++)
		for (unsigned int i = 0; i < DP_TIME_CLASSES; i++)
			sum += world.dp->worker[w]->live.time_hist[i];
	return sum;
}

static void up(unsigned int i)
{
	struct world_datagram d = line_up(i);

	line_data(&d, 20);
	world_send(&world, &d);
}

// Relays n datagrams of clients and peers, in bursts of at most `most`.
static void relay(unsigned int n, unsigned int most)
{
	const uint64_t before = line_worker()->live.tx;
	struct world_datagram d = line_down(1);

	d.len = 100;
	for (unsigned int sent = 0; sent < n;) {
		const unsigned int burst =
			RTE_MIN(1 + test_rand_below(&world.rand, most), n - sent);

		for (unsigned int i = 0; i < burst; i++) {
			if (test_rand_below(&world.rand, 2) == 0)
				up(i % 2);
			else
				world_send(&world, &d);
		}
		world_run(&world);
		world.nb_seen = 0;
		sent += burst;
	}
	assert_int_equal(line_worker()->live.tx - before, n);
}

// The next datagram from a port is timed.
static void time_next(void)
{
	line_worker()->timing.left = 0;
	assert_null(line_worker()->timing.m);
}

static void one_of_each_thousand(void **state)
{
	static const unsigned int most[] = {1, 7, 32, 100};
	uint64_t before;

	line_open(&line_one, 2);
	for (unsigned int i = 0; i < RTE_DIM(most); i++) {
		line_worker()->timing = (struct timing){.left = 0}; // a block begins
		before = timed();
		relay(4 * TIMING_EACH, most[i]);
		assert_int_equal(timed() - before, 4);
		assert_null(line_worker()->timing.m);
	}
	world_close(&world);
}

// Its position in a block differs each time.
static void not_always_the_same(void **state)
{
	unsigned int positions = 0;
	uint16_t last = 0;

	line_open(&line_one, 2);
	for (unsigned int i = 0; i < 8; i++) {
		relay(TIMING_EACH, 32);
		assert_true(line_worker()->timing.position < TIMING_EACH / 2);
		positions += line_worker()->timing.position != last;
		last = line_worker()->timing.position;
	}
	assert_true(positions > 1);
	world_close(&world);
}

static void times_are_summed(void **state)
{
	struct worker *w;
	uint64_t sum, hist;

	line_open(&line_one, 1);
	w = line_worker();
	sum = w->live.time_ns;
	hist = w->live.time_hist[timing_class(40 * 1000 * 1000)];
	time_next();
	up(0);
	w->timing.taken = rte_rdtsc() - 40 * w->dp->tsc_per_ms; // as if it had waited
	world_run(&world);
	assert_true(w->live.time_ns - sum >= 40000000);
	if (w->live.time_ns - sum < 60000000) // if the machine was not suspended
		assert_int_equal(w->live.time_hist[timing_class(40 * 1000 * 1000)], hist + 1);
	w->timing.taken = 0;
	world_close(&world);
}

static void dropped_datagrams_are_not_timed(void **state)
{
	struct world_datagram d;
	uint64_t before;

	line_open(&line_one, 2);
	before = timed();
	time_next(); // dropped
	d = line_up(0);
	line_data(&d, 20);
	d.ttl = 1;
	world_send(&world, &d);
	world_run(&world);
	assert_int_equal(timed(), before);
	time_next(); // not sent: the port takes none
	softport_limit(world.dp->port[0].port, 0);
	up(0);
	world_run(&world);
	softport_limit(world.dp->port[0].port, UINT32_MAX);
	assert_int_equal(world_dropped(&world, DP_DROP_TX_FULL), 1);
	assert_int_equal(timed(), before);
	time_next(); // a request waits for the end of the round
	client_begin(&world, &client[0], STUN_REFRESH);
	assert_int_equal(client_ask(&world, &client[0]), 0);
	assert_int_equal(timed(), before);
	assert_null(line_worker()->timing.m);
	time_next(); // and then one that is relayed
	up(0);
	world_run(&world);
	assert_int_equal(timed(), before + 1);
	world_close(&world);
}

// Datagrams that wait for a neighbour leave in a later round.
static void held_datagrams_are_not_timed(void **state)
{
	const struct endpoint far = world_endpoint("10.99.0.77", 7000);
	const uint8_t tid[STUN_TID_LEN] = {7};
	uint64_t before;

	line_open(&line_one, 1);
	assert_int_equal(client_permit(&world, &client[0], &far), 0);
	before = timed();
	world.deaf = true;
	world_wait(&world, 1);
	time_next();
	stun_begin(&client[0].w, client[0].message, sizeof(client[0].message), STUN_INDICATION,
		STUN_SEND, tid);
	stun_put_xor_addr(&client[0].w, STUN_XOR_PEER_ADDRESS, &far);
	stun_put(&client[0].w, STUN_DATA_ATTR, "hello", 5);
	assert_int_not_equal(stun_end(&client[0].w), 0);
	world_send_bytes(
		&world, &client[0].endpoint, &client[0].server, client[0].message, client[0].w.len);
	world_run(&world);
	assert_int_equal(world_stats(&world).held, 1);
	assert_int_equal(timed(), before);
	assert_null(line_worker()->timing.m);
	world.deaf = false;
	world_wait(&world, 1100);
	assert_int_equal(world_stats(&world).held, 0);
	assert_int_equal(timed(), before);
	world_close(&world);
}

// A datagram that another worker has to relay is not timed: timing begins where it is received, or
// was handed over.
static void handed_over_datagrams_are_not_timed(void **state)
{
	const struct world_setup s = {.workers = 2, .rx_queues = 2, .tx_queues = 2};
	uint64_t before, handed;

	line_open(&s, 2);
	before = timed();
	handed = world_stats(&world).handed_out;
	for (unsigned int n = 0; n < 400; n++) {
		for (unsigned int i = 0; i < 2; i++)
			world.dp->worker[i]->timing.left = 0;
		up(n % 2);
		world_run(&world);
		world.nb_seen = 0;
	}
	handed = world_stats(&world).handed_out - handed;
	assert_in_range(handed, 1, 399);
	assert_int_equal(timed() - before, 400 - handed);
	for (unsigned int i = 0; i < 2; i++)
		assert_null(world.dp->worker[i]->timing.m);
	world_close(&world);
}

// Part of a super-frame that is dropped.
static void a_chain_is_lost(void **state)
{
	struct rte_mbuf *m[3];
	struct worker *w;

	line_open(&line_one, 1);
	w = line_worker();
	for (unsigned int i = 0; i < 3; i++)
		m[i] = rte_pktmbuf_alloc(world.dp->pool);
	m[0]->next = m[1];
	w->timing.m = m[2];
	timing_lost(w, m[0]);
	assert_ptr_equal(w->timing.m, m[2]);
	w->timing.m = m[1];
	timing_lost(w, m[0]);
	assert_null(w->timing.m);
	m[0]->next = NULL;
	rte_pktmbuf_free_bulk(m, 3);
	world_close(&world);
}

static void times_have_classes(void **state)
{
	uint64_t bound = 250;

	assert_int_equal(timing_class(0), 0);
	for (unsigned int i = 0; i < DP_TIME_CLASSES - 1; i++, bound *= 2) {
		assert_int_equal(dp_time_bound(i), bound);
		assert_int_equal(timing_class(bound), i);
		assert_int_equal(timing_class(bound + 1), i + 1);
	}
	assert_in_range(bound / 2, 100 * 1000 * 1000, 200 * 1000 * 1000); // exactly 100 ms
	assert_true(dp_time_bound(DP_TIME_CLASSES - 1) == UINT64_MAX);
	assert_int_equal(timing_class(UINT64_MAX / 2), DP_TIME_CLASSES - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_of_each_thousand),
		cmocka_unit_test(not_always_the_same),
		cmocka_unit_test(times_are_summed),
		cmocka_unit_test(dropped_datagrams_are_not_timed),
		cmocka_unit_test(held_datagrams_are_not_timed),
		cmocka_unit_test(handed_over_datagrams_are_not_timed),
		cmocka_unit_test(a_chain_is_lost),
		cmocka_unit_test(times_have_classes),
	};

	world_eal();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
