// SPDX-License-Identifier: BSD-3-Clause
// Super-frames that leave whole: those with all datagrams for one destination, and no others.
#include "bytes.h"
#include "datapath.h"
#include "drop_of.h"
#include "gso_world.h"

#include <rte_mempool.h>

// All datagrams have one destination: the super-frame leaves as it came, with any sizes and
// buffers, in both directions, over both families.
static void test_whole(void **state)
{
	static const struct world_setup setups[] = {
		{.workers = 1, .rx_queues = 1, .tx_queues = 1},
		{.workers = 2, .rx_queues = 2, .tx_queues = 2},
	};
	static const unsigned int pairs[] = {0, 2, 4}; // pairs of one family
	const struct world_datagram like = {.ttl = 60, .df = true, .tos = 0xb8};

	for (unsigned int k = 0; k < RTE_DIM(setups); k++) {
		uint64_t supers = 0, joined, here;

		gso_open(&setups[k]);
		gso_port()->rx_super = true;
		softport_uso(gso_port(), &gso_granted, 0);
		for (unsigned int n = 2; n <= 45; n++) {
			const unsigned int i = pairs[n % 3];
			const uint16_t size = (uint16_t)(4 + test_rand_below(&world.rand, 1400));
			const uint16_t last = (uint16_t)(1 + test_rand_below(&world.rand, size));

			nb_sent = 0;
			for (unsigned int d = 0; d < n; d++)
				gso_make(i, n / 3 % 2 != 0, d < n - 1 ? size : last, &like);
			here = (uint64_t)n * (size + 4u) < 65000;
			softport_put_mbuf(gso_port(), 0, gso_whole(0, n, 1900));
			world_run(&world);
			gso_all_arrive();
			supers += here;
		}
		gso_all_counted();
		assert_int_equal(world_drops(&world), 0);
		// super-frames on the other worker's queue were cut before the hand-over
		if (setups[k].workers == 1)
			assert_int_equal(world_stats(&world).whole_frames, supers);
		assert_int_equal(
			softport_supers(gso_port(), &joined), world_stats(&world).uso_frames);
		world_close(&world);
	}
}

// A super-frame of unlike datagrams is cut, and each datagram is judged by itself.
static void test_unlike(void **state)
{
	static const struct world_setup s = {.workers = 1, .rx_queues = 1, .tx_queues = 1};
	const struct world_datagram like = {.ttl = 60, .df = true};
	struct world_datagram got;

	gso_open(&s);
	gso_port()->rx_super = true;
	softport_uso(gso_port(), &gso_granted, 0);
	for (unsigned int odd = 0; odd < 5; odd++) {
		const uint64_t no_channel =
			world_stats(&world).drop[drop_of_turn(TURN_DROP_CHANNEL_UNBOUND)];

		nb_sent = 0;
		for (unsigned int i = 0; i < 5; i++)
			gso_make(0, true, 60, &like);
		store_be16(sent[odd].in.data, GSO_CHANNEL + 1); // a channel that is not bound
		softport_put_mbuf(gso_port(), 0, gso_whole(0, 5, 2000));
		world_run(&world);
		for (unsigned int i = 0; i < 5; i++)
			if (i != odd)
				gso_arrives(&sent[i]);
		assert_false(world_take(&world, &peer[0], &got));
		assert_int_equal(world_stats(&world).drop[drop_of_turn(TURN_DROP_CHANNEL_UNBOUND)],
			no_channel + 1);
	}
	// the last datagram has no data
	nb_sent = 0;
	for (unsigned int i = 0; i < 4; i++)
		gso_make(0, true, 60, &like);
	gso_make(0, true, 0, &like);
	softport_put_mbuf(gso_port(), 0, gso_whole(0, 5, 2000));
	world_run(&world);
	gso_all_arrive();
	// this datagram may be fragmented on its path
	nb_sent = 0;
	for (unsigned int i = 0; i < 5; i++)
		gso_make(0, true, 60, &like)->in.df = false;
	softport_put_mbuf(gso_port(), 0, gso_whole(0, 5, 2000));
	world_run(&world);
	gso_all_arrive();
	assert_int_equal(world_stats(&world).whole_frames, 0);
	world_close(&world);
}

// A port that takes fewer datagrams per super-frame, shorter ones, or a shorter chain: they leave
// cut.
static void test_beyond(void **state)
{
	static const struct port_super less[] = {
		{.segments = 9, .bufs = 64, .bytes = 65549},
		{.segments = 64, .bufs = 6, .bytes = 65549},
		{.segments = 64, .bufs = 64, .bytes = 12041},
	};
	static const struct world_setup s = {.workers = 1, .rx_queues = 1, .tx_queues = 1};
	const struct world_datagram like = {.ttl = 60, .df = true};

	for (unsigned int k = 0; k < RTE_DIM(less); k++) {
		gso_open(&s);
		gso_port()->rx_super = true;
		softport_uso(gso_port(), &less[k], 0);
		for (unsigned int n = 9; n <= 10; n++) {
			nb_sent = 0;
			for (unsigned int i = 0; i < n; i++)
				gso_make(0, false, 1200 - 4, &like);
			softport_put_mbuf(gso_port(), 0, gso_whole(0, n, 2000));
			world_run(&world);
			gso_all_arrive();
			assert_int_equal(world_stats(&world).whole_frames, 1);
		}
		world_close(&world);
	}
}

// There are buffers for the first datagram only: the others are dropped and counted.
static void test_pool_low(void **state)
{
	static const struct world_setup s = {.workers = 1, .rx_queues = 1, .tx_queues = 1};
	const struct world_datagram like = {.ttl = 60, .df = true};
	static struct rte_mbuf *taken[8192];
	unsigned int n = 0;
	struct rte_mbuf *m;

	gso_open(&s);
	gso_port()->rx_super = true;
	softport_uso(gso_port(), &gso_granted, 0);
	nb_sent = 0;
	for (unsigned int i = 0; i < 10; i++)
		gso_make(0, true, 600, &like);
	m = gso_whole(0, 10, 2000);
	while (n < RTE_DIM(taken) && (taken[n] = rte_pktmbuf_alloc(world.dp->pool)) != NULL)
		n++;
	rte_pktmbuf_free_bulk(taken, 2); // three buffers are needed
	softport_put_mbuf(gso_port(), 0, m);
	world_run(&world);
	gso_arrives(&sent[0]);
	assert_int_equal(world_stats(&world).drop[DP_DROP_NO_MBUF], 9);
	assert_int_equal(world_drops(&world), 9);
	assert_int_equal(world.nb_seen, 0);
	rte_pktmbuf_free_bulk(taken + 2, n - 2);
	world_close(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_unlike),
		cmocka_unit_test(test_beyond),
		cmocka_unit_test(test_pool_low),
	};

	world_eal();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
