// SPDX-License-Identifier: BSD-3-Clause
// The data path on a port that is a bond: announcements, and bursts without a packet for LACP.
#include "datapath.h"
#include "dp_world.h"

static struct dp_world world;
static const struct world_setup two = {.workers = 2, .rx_queues = 2, .tx_queues = 2};

// A switch learns where we are from the frames that we send. When a bond uses another of its links,
// or one more, it sends an announcement. One link less needs no announcement.
static void a_bond_announces_when_another_link_carries_its_packets(void **state)
{
	struct port *p;

	world_open(&world, &two);
	p = world.dp->port[0].port;
	softport_use(p, 1);
	dp_tick(world.dp);
	world_wait(&world, 5000);
	assert_int_equal(world.announcements, 6);
	softport_use(p, 2); // active-backup: the other link
	dp_tick(world.dp);
	world_wait(&world, 100);
	assert_int_equal(world.announcements, 8); // both addresses, at once
	world_wait(&world, 5000);
	assert_int_equal(world.announcements, 12);
	dp_tick(world.dp);
	world_wait(&world, 5000);
	assert_int_equal(world.announcements, 12);
	softport_use(p, 3); // LACP: one more link
	dp_tick(world.dp);
	world_wait(&world, 5000);
	assert_int_equal(world.announcements, 18);
	softport_use(p, 1);
	dp_tick(world.dp);
	world_wait(&world, 5000);
	assert_int_equal(world.announcements, 18);
	world_close(&world);
}

// The new link carries all VLANs of the bond, and their hosts are reached through other switches.
static void a_bond_announces_on_its_vlans_too(void **state)
{
	static const struct world_setup s = {
		.workers = 2, .rx_queues = 2, .tx_queues = 2, .two_ports = true, .side_vlan = 100};
	struct port *p;
	unsigned int before;

	world_open(&world, &s);
	p = world.dp->port[0].port;
	softport_use(p, 1);
	dp_tick(world.dp);
	world_wait(&world, 5000);
	assert_int_equal(world.announcements, 9); // wan has two addresses and the VLAN one
	for (uint32_t used = 2; used <= 3; used++) { // the other link, then both
		before = world.announcements;
		softport_use(p, used);
		dp_tick(world.dp);
		world_wait(&world, 5000);
		assert_int_equal(world.announcements - before, 9);
	}
	softport_use(p, 1);
	dp_tick(world.dp);
	world_wait(&world, 5000);
	assert_int_equal(world.announcements, 27);
	world_close(&world);
}

// A bond without a packet to receive or to send still has to speak LACP.
static void every_worker_lets_a_bond_tick_once_a_millisecond(void **state)
{
	uint64_t before;

	world_open(&world, &two);
	softport_use(world.dp->port[0].port, 1);
	world_wait(&world, 1);
	before = softport_ticks(world.dp->port[0].port);
	world_wait(&world, 100);
	assert_in_range(softport_ticks(world.dp->port[0].port) - before, 90 * world.dp->nb_workers,
		100 * world.dp->nb_workers);
	world_close(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_bond_announces_when_another_link_carries_its_packets),
		cmocka_unit_test(a_bond_announces_on_its_vlans_too),
		cmocka_unit_test(every_worker_lets_a_bond_tick_once_a_millisecond),
	};

	world_eal();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
