// SPDX-License-Identifier: BSD-3-Clause
// The device that VLANs share: its queues, its RSS, its counters and its rules. Port wan is
// untagged, and side is VLAN 100 on the same device.
#include "datapath.h"
#include "drop_of.h"
#include "dp_world.h"
#include "nicmodel.h"
#include "tagged.h"
#include "path/worker.h"

#define WAN 0
#define SIDE 1

static struct dp_world world;

static struct world_setup setups[] = {
	{.workers = 3, .rx_queues = 3, .tx_queues = 3, .two_ports = true, .side_vlan = 100},
	{.workers = 2,
		.rx_queues = 2,
		.tx_queues = 2,
		.two_ports = true,
		.side_vlan = 100,
		.rss = true}};

static struct port *device(void)
{
	return world.dp->port[WAN].port;
}

// One device: its queues are polled once, its RSS decides the home of a VLAN's clients, too, and
// its counters are reported once.
static void a_vlan_shares_its_device(void **state)
{
	const struct world_setup *s = *state;
	const struct dp_port *wan, *side;
	struct port_counters k = {1, 1, 1, 1, 1};

	world_open(&world, s);
	wan = &world.dp->port[WAN];
	side = &world.dp->port[SIDE];
	for (unsigned int w = 0; w < s->workers; w++)
		for (unsigned int i = 0; i < world.dp->worker[w]->nb_rx; i++)
			assert_int_equal(world.dp->worker[w]->rx[i].port, WAN);
	assert_ptr_equal(side->port->on, wan->port);
	assert_true(wan->port->shared && !side->port->shared);
	assert_memory_equal(side->port->mac, wan->port->mac, 6);
	assert_int_equal(side->rss_home, wan->rss_home);
	assert_int_equal(side->rss_home, s->rss);
	assert_memory_equal(side->home, wan->home, sizeof(side->home));
	side->port->ops->counters(side->port, &k);
	assert_int_equal(k.rx_missed + k.rx_errors + k.rx_nombuf + k.tx_errors + k.tx_cut, 0);
	world_close(&world);
}

// A NIC's table and key are known once it has started, and with them those of its VLANs.
static void a_vlan_spreads_as_its_device_does(void **state)
{
	const struct port_config pc = {.name = "late", .vlan = 9, .mtu = 1400};
	char error[64] = "";
	struct port *p;

	world_open(&world, *state);
	p = port_tagged_open(device(), &pc, error, sizeof(error));
	assert_non_null(p);
	assert_int_equal(p->vlan, 9);
	assert_int_equal(p->mtu, 1400);
	device()->reta[5] ^= 1;
	device()->rss_key[7] ^= 1;
	device()->rss_udp ^= true;
	assert_int_equal(p->ops->start(p), 0);
	assert_int_equal(p->rss, device()->rss);
	assert_int_equal(p->rss_udp, device()->rss_udp);
	assert_int_equal(p->reta_size, device()->reta_size);
	assert_memory_equal(p->reta, device()->reta, sizeof(p->reta));
	assert_memory_equal(p->rss_key, device()->rss_key, sizeof(p->rss_key));
	softport_link(device(), false);
	assert_false(p->ops->link(p));
	softport_link(device(), true);
	assert_true(p->ops->link(p));
	p->ops->stop(p); // the device keeps running
	p->ops->close(p);
	world_inject(&world, WAN, "", 0);
	world_run(&world);
	assert_int_equal(world_dropped(&world, drop_of_net(NET_DROP_SHORT)), 1);
	world_close(&world);
}

// A wake for the device is a wake for its VLANs, and is armed on the device.
static void a_vlan_wakes_as_its_device_does(void **state)
{
	for (enum softport_wake wake = SOFTPORT_SILENT; wake <= SOFTPORT_INTERRUPT; wake++) {
		const struct port_ops *on, *vlan;

		softport_wake = wake;
		world_open(&world, &setups[0]);
		softport_wake = SOFTPORT_SILENT;
		on = device()->ops;
		vlan = world.dp->port[SIDE].port->ops;
		assert_int_equal(vlan->wake_fd != NULL, on->wake_fd != NULL);
		assert_int_equal(vlan->wake_arm != NULL, on->wake_arm != NULL);
		for (uint16_t q = 0; on->wake_fd != NULL && q < 3; q++)
			assert_int_equal(vlan->wake_fd(world.dp->port[SIDE].port, q),
				on->wake_fd(device(), q));
		if (on->wake_arm != NULL)
			assert_int_equal(vlan->wake_arm(world.dp->port[SIDE].port, 2, true), 0);
		for (unsigned int w = 0; w < 3; w++)
			assert_int_equal(world.dp->worker[w]->waiter.can, wake != SOFTPORT_SILENT);
		world_close(&world);
	}
}

// All relay addresses are on VLAN 100.
static void relay_on_side(struct dp_world *w)
{
	w->relay[0] = w->side.addr;
	w->conf.turn.nb_relay = 1;
}

// The NIC's rules match frames of that VLAN, and steer peers' frames to the worker of the
// allocation.
static void rules_name_the_vlan(void **state)
{
	struct world_setup s = setups[1];
	struct world_client c[8];
	struct world_datagram d, got;
	struct dp_steering v4;
	uint8_t frame[2048];

	nicmodel = (struct nicmodel){0};
	s.nic = true;
	s.change = relay_on_side;
	world_open(&world, &s);
	for (unsigned int i = 0; i < RTE_DIM(c); i++) {
		const struct endpoint peer = world_endpoint("10.98.0.30", (uint16_t)(7000 + i));

		world_client(&world, &c[i], "10.99.0.20", (uint16_t)(40000 + i));
		assert_int_equal(client_allocate(&world, &c[i], 4), 0);
		assert_int_equal(client_permit(&world, &c[i], &peer), 0);
		d = (struct world_datagram){.src = peer, .dst = c[i].relay, .len = 4};
		memcpy(d.data, "pong", 4);
		world_inject(&world, SIDE, frame, world_frame_by(&world, SIDE, &d, frame));
		world_run(&world);
		assert_true(world_take(&world, &c[i].endpoint, &got));
	}
	assert_true(dp_steering(world.dp, SIDE, true, &v4));
	assert_string_equal(v4.step, "port-bits");
	assert_true(v4.rules > 0 && nicmodel.rules == v4.rules);
	assert_int_equal(v4.hits, RTE_DIM(c));
	assert_int_equal(v4.handed_over, 0);
	assert_true(dp_steering(world.dp, WAN, true, &v4));
	assert_string_equal(v4.step, "none");
	world_close(&world);
	assert_int_equal(nicmodel.rules, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_CASE(a_vlan_shares_its_device, setups, 0),
		WORLD_CASE(a_vlan_shares_its_device, setups, 1),
		WORLD_CASE(a_vlan_spreads_as_its_device_does, setups, 1),
		cmocka_unit_test(a_vlan_wakes_as_its_device_does),
		WORLD_CASE(rules_name_the_vlan, setups, 1),
	};

	world_eal();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
