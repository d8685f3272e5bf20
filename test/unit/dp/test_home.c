// SPDX-License-Identifier: BSD-3-Clause
// Every frame of a client is processed by the worker that steer_client_home names, on whichever
// path it is recognized: on the first listener of an address or another, on all kinds of ports,
// with the NIC's hash and without.
#include "bytes.h"
#include "datapath.h"
#include "drop_of.h"
#include "dp_world.h"
#include "nicmodel.h"
#include "steering/steer.h"
#include "path/worker.h"

#define NOT_TURN drop_of_turn(TURN_DROP_NOT_TURN)

static struct dp_world world;

struct setup {
	struct world_setup world;
	bool hash; // the port delivers the hash
	bool lies; // and it differs from the one that we would compute
};

// Queues a frame as a port does, and returns the worker that has to drop it.
static unsigned int put(const struct setup *s, const uint8_t *frame, size_t len, uint8_t listener)
{
	const struct dp_port *wan = &world.dp->port[0];
	struct rte_mbuf *m = softport_mbuf(wan->port, frame, len);
	struct net_frame f;

	if (s->hash) {
		m->ol_flags |= RTE_MBUF_F_RX_RSS_HASH;
		nicmodel_queue(wan->port, frame, len, &m->hash.rss);
		m->hash.rss ^= s->lies ? (uint32_t)test_rand(&world.rand) : 0;
	}
	assert_int_equal(net_frame_parse(frame, len, &wan->rx[0], &f), NET_OK);
	softport_put_mbuf(wan->port, (uint16_t)test_rand_below(&world.rand, wan->port->nb_rxq), m);
	return steer_client_home(world.dp, wan, m, &f, listener);
}

static void test_home(void **state)
{
	const struct setup *s = *state;
	const char *const hosts[] = {"10.99.0.20", "fd99::20", "198.51.100.5", "2a00:db9::5"};
	unsigned int seen = 0;

	world_open(&world, &s->world);
	for (unsigned int n = 0; n < 3000; n++) {
		struct world_datagram d = {.len = 20, .data = {0xff}};
		uint64_t drops[TURN_WORKERS_MAX];
		uint8_t frame[2048];
		unsigned int home;
		size_t len;

		d.src = world_endpoint(hosts[n % 4], (uint16_t)(1024 + n * 7));
		d.dst = world.listeners[n % 2].endpoint;
		d.no_checksum = n % 8 == 0; // takes the slow path
		for (unsigned int i = 0; i < world.dp->nb_workers; i++)
			drops[i] = world.dp->worker[i]->live.drop[NOT_TURN];
		len = world_frame(&world, &d, frame);
		home = put(s, frame, len, n % 2);
		world_run(&world);
		for (unsigned int i = 0; i < world.dp->nb_workers; i++)
			assert_int_equal(
				world.dp->worker[i]->live.drop[NOT_TURN] - drops[i], i == home);
		seen |= 1u << home;
	}
	assert_int_equal(seen, (1u << world.dp->nb_workers) - 1);
	world_close(&world);
}

static struct setup setups[] = {
	{.world = {.workers = 1, .rx_queues = 1, .tx_queues = 1}},
	{.world = {.workers = 3, .rx_queues = 2, .tx_queues = 3}}, // keyed hash
	{.world = {.workers = 3, .rx_queues = 3, .tx_queues = 3, .rss = true}},
	{.world = {.workers = 3, .rx_queues = 3, .tx_queues = 3, .rss = true}, .hash = true},
	{.world = {.workers = 3, .rx_queues = 3, .tx_queues = 3, .rss = true},
		.hash = true,
		.lies = true},
	{.world = {.workers = 3, .rx_queues = 2, .tx_queues = 3, .rss = true}, .hash = true},
};

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_CASE(test_home, setups, 0),
		WORLD_CASE(test_home, setups, 1),
		WORLD_CASE(test_home, setups, 2),
		WORLD_CASE(test_home, setups, 3),
		WORLD_CASE(test_home, setups, 4),
		WORLD_CASE(test_home, setups, 5),
	};

	world_eal();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
