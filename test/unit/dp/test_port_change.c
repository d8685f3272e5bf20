// SPDX-License-Identifier: BSD-3-Clause
// The kernel gives the interface under a port another MAC or MTU while allocations live.
#include "addr.h"
#include "datapath.h"
#include "dp_world.h"
#include "drop_of.h"
#include "net.h"
#include "path/worker.h"

#define CHANNEL 0x4000

static struct dp_world world;
static struct world_client client;
static struct endpoint peer;

static void open_world(void)
{
	static const struct world_setup two = {.workers = 2, .rx_queues = 2, .tx_queues = 2};

	world_open(&world, &two);
	peer = world_endpoint("10.99.0.3", 5000);
	world_client(&world, &client, "10.99.0.2", 40000);
	assert_int_equal(client_allocate(&world, &client, 4), 0);
	assert_int_equal(client_bind(&world, &client, CHANNEL, &peer), 0);
	client_assert_relays(&world, &client, CHANNEL, &peer);
}

// Frames to the new MAC are accepted and those to the old one are not; frames leave with the new
// one.
static void another_mac_is_followed(void **state)
{
	static const uint8_t mac[6] = {2, 0x77, 1, 2, 3, 4};
	struct world_datagram d = {.len = 4, .ttl = 64};
	const struct addr link_local = net_link_local(mac);
	struct port *p;
	uint8_t frame[2048];
	size_t len;

	open_world();
	p = world.dp->port[0].port;
	d.src = peer;
	d.dst = client.relay;
	len = world_frame(&world, &d, frame);
	memcpy(p->mac, mac, sizeof(mac));
	dp_tick(world.dp);
	world_wait(&world, 2);
	for (unsigned int i = 0; i < 3; i++)
		client_assert_relays(&world, &client, CHANNEL, &peer);
	for (unsigned int w = 0; w < 2; w++)
		for (unsigned int v4 = 0; v4 < 2; v4++)
			assert_memory_equal(&world.dp->worker[w]->tx[0].tail[v4], mac, 6);
	world_inject(&world, 0, frame, len);
	world_run(&world);
	assert_int_equal(world_dropped(&world, drop_of_net(NET_DROP_NOT_FOR_US)), 1);
	assert_true(addr_eq(&world.dp->port[0].link_local, &link_local));
	world_close(&world);
}

// A lower MTU applies after one tick at most, and so does a higher one.
static void another_mtu_is_obeyed(void **state)
{
	struct world_datagram d = {.len = 1000 - 28, .ttl = 64, .df = true}, got;

	open_world();
	d.src = peer;
	d.dst = client.relay;
	for (unsigned int i = 0; i < 2; i++) {
		const uint64_t dropped = world_dropped(&world, DP_DROP_MTU);

		__atomic_store_n(
			&world.dp->port[0].port->mtu, i == 0 ? 1000 : 1500, __ATOMIC_RELAXED);
		dp_tick(world.dp);
		world_wait(&world, 2);
		world_send(&world, &d); // its ChannelData is 4 bytes longer
		world_run(&world);
		assert_int_equal(world_dropped(&world, DP_DROP_MTU) - dropped, i == 0);
		assert_int_equal(world_take(&world, &client.endpoint, &got), i == 1);
	}
	world_close(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(another_mac_is_followed),
		cmocka_unit_test(another_mtu_is_obeyed),
	};

	world_eal();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
