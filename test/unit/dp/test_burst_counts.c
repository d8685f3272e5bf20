// SPDX-License-Identifier: BSD-3-Clause
// Each worker's counts of the bursts that it received, passed to ports, and took from rings.
#include "datapath.h"
#include "dp_burst.h"
#include "dp_world.h"
#include "path/worker.h"
#include "see/stats.h"

static struct dp_world world;

// Runs a round of a worker. Returns the growth of the counters.
static void round_of(unsigned int worker, struct dp_stats *grown)
{
	struct worker *w = world.dp->worker[worker];
	struct dp_stats before, now;

	stats_publish(w);
	assert_true(dp_worker_stats(world.dp, worker, &before));
	world.ms++;
	worker_round(w, world.dp->tsc_start + world.ms * world.dp->tsc_per_ms);
	stats_publish(w);
	assert_true(dp_worker_stats(world.dp, worker, &now));
	dp_stats_since(&now, &before, grown);
}

// Expects these bursts, each in its class, and no others.
static void assert_hist(const uint64_t hist[DP_BURST_CLASSES], unsigned int class, uint64_t bursts)
{
	for (unsigned int i = 0; i < DP_BURST_CLASSES; i++)
		assert_int_equal(hist[i], i == class ? bursts : 0);
}

static void put_bindings(unsigned int n)
{
	const struct endpoint src = world_endpoint("10.99.0.20", 5000);
	const struct endpoint server = world_endpoint("10.99.0.1", 3478);
	// RFC 8489 section 5: Binding request, no attributes, the cookie, any transaction
	const uint8_t message[20] = {0, 1, 0, 0, 0x21, 0x12, 0xa4, 0x42, 1, 2, 3};

	for (unsigned int i = 0; i < n; i++)
		world_send_bytes(&world, &src, &server, message, sizeof(message));
}

// After a full burst requests wait: 31 are all answered in their round.
static const struct {
	unsigned int n, class;
} sizes[] = {{1, 0}, {2, 1}, {3, 2}, {4, 2}, {5, 3}, {8, 3}, {9, 4}, {16, 4}, {17, 5}, {31, 5}};

static void test_port_bursts(void **state)
{
	const struct world_setup s = {.workers = 1, .rx_queues = 1, .tx_queues = 1};
	struct dp_stats grown;

	world_open(&world, &s);
	put_bindings(1);
	world_run(&world); // the client's MAC is known from here on
	for (unsigned int i = 0; i < RTE_DIM(sizes); i++) {
		put_bindings(sizes[i].n);
		round_of(0, &grown);
		assert_int_equal(grown.rx_bursts, 1);
		assert_int_equal(grown.rx_empty, 0);
		assert_int_equal(grown.rx, sizes[i].n);
		assert_int_equal(grown.tx, sizes[i].n);
		assert_hist(grown.rx_hist, sizes[i].class, 1);
		assert_hist(grown.tx_hist, sizes[i].class, 1);
		assert_hist(grown.hand_hist, 0, 0);
		assert_int_equal(grown.tx_short + grown.tx_retried, 0);
		world_run(&world);
	}
	round_of(0, &grown);
	assert_int_equal(grown.rx_bursts, 0);
	assert_int_equal(grown.rx_empty, 1);
	// more than a burst: the rest waits for the next round
	put_bindings(DP_BURST + 2);
	round_of(0, &grown);
	assert_hist(grown.rx_hist, 5, 1);
	round_of(0, &grown);
	assert_hist(grown.rx_hist, 1, 1);
	world_run(&world);
	world_close(&world);
}

static void test_short_tx(void **state)
{
	const struct world_setup s = {.workers = 1, .rx_queues = 1, .tx_queues = 1};
	struct dp_stats grown;

	world_open(&world, &s);
	put_bindings(1);
	world_run(&world);
	softport_limit(world.dp->port[0].port, 5);
	put_bindings(20);
	round_of(0, &grown);
	assert_int_equal(grown.tx, 5);
	assert_int_equal(grown.drop[DP_DROP_TX_FULL], 15);
	assert_hist(grown.tx_hist, 5, 1);
	assert_int_equal(grown.tx_short, 1);
	assert_in_range(grown.tx_retried, 1, 20);
	// a port that accepts everything is offered nothing twice
	softport_limit(world.dp->port[0].port, UINT32_MAX);
	put_bindings(20);
	round_of(0, &grown);
	assert_int_equal(grown.tx, 20);
	assert_int_equal(grown.tx_short + grown.tx_retried, 0);
	world_run(&world);
	world_close(&world);
}

// Two workers on one queue: the worker without a queue gets and answers everything by ring.
static void test_handover_bursts(void **state)
{
	const struct world_setup s = {.workers = 2, .rx_queues = 1, .tx_queues = 1};
	struct dp_stats first, second, back;
	struct endpoint src = world_endpoint("10.99.0.20", 5000);
	const struct endpoint server = world_endpoint("10.99.0.1", 3478);
	const uint8_t message[20] = {0, 1, 0, 0, 0x21, 0x12, 0xa4, 0x42, 1, 2, 3};

	world_open(&world, &s);
	do { // a client whose home is the worker without queues
		src.port++;
		world_send_bytes(&world, &src, &server, message, sizeof(message));
		round_of(0, &first);
		round_of(1, &second);
		world_run(&world);
	} while (first.handed_out == 0);
	for (unsigned int i = 0; i < RTE_DIM(sizes); i++) {
		for (unsigned int n = 0; n < sizes[i].n; n++)
			world_send_bytes(&world, &src, &server, message, sizeof(message));
		round_of(0, &first);
		round_of(1, &second);
		round_of(0, &back);
		assert_hist(first.rx_hist, sizes[i].class, 1);
		assert_hist(first.hand_hist, 0, 0);
		assert_hist(first.tx_hist, 0, 0);
		assert_hist(second.hand_hist, sizes[i].class, 1);
		assert_hist(second.rx_hist, 0, 0);
		assert_int_equal(second.handed_in, sizes[i].n);
		assert_hist(back.hand_hist, sizes[i].class, 1);
		assert_hist(back.tx_hist, sizes[i].class, 1);
		world_run(&world);
	}
	world_close(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_port_bursts),
		cmocka_unit_test(test_short_tx),
		cmocka_unit_test(test_handover_bursts),
	};

	world_eal();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
