// SPDX-License-Identifier: BSD-3-Clause
// Frames that are carried between a device and the kernel's interfaces while there are no workers:
// one interface for the untagged network, and one for VLAN 100.
#include "bytes.h"
#include "datapath.h"
#include "dp_world.h"
#include "exception/learn_carry.h"
#include "net.h"
#include "port.h"

#define VLAN 100
#define UNTAGGED 0
#define TAGGED 1
#define RATE 1000 // doc/security.md: frames a second of each kind

static struct dp_world world;
static struct port *kernel[2];
static struct learn_carry carry[2];
static struct learn_device device;
static uint8_t frame[256], got[256];
static uint64_t now_ns;

static const struct world_setup setup = {
	.workers = 2, .rx_queues = 2, .tx_queues = 2, .two_ports = true, .side_vlan = VLAN};

static void open_ways(bool untagged)
{
	char error[128];

	world_open(&world, &setup);
	device = (struct learn_device){.port = world.dp->port[0].port};
	while (softport_take(device.port, got, sizeof(got)) > 0)
		;
	for (unsigned int i = 0; i < 2; i++) {
		const struct port_config pc = {
			.name = "kernel", .device = "soft:1:1", .pool = world.dp->pool};

		kernel[i] = softport_open(&pc, error, sizeof(error));
		assert_non_null(kernel[i]);
		assert_int_equal(kernel[i]->ops->start(kernel[i]), 0);
		carry[i] = (struct learn_carry){.rules = {true, true, i == TAGGED ? VLAN : 0},
			.wire = world.dp->port[i].port,
			.kernel = kernel[i]};
		if (i == TAGGED || untagged)
			device.carry[device.nb_carried++] = &carry[i];
	}
	now_ns = 1000000000;
}

static void close_ways(void)
{
	for (unsigned int i = 0; i < 2; i++) {
		while (softport_take(kernel[i], got, sizeof(got)) > 0)
			;
		kernel[i]->ops->stop(kernel[i]);
		kernel[i]->ops->close(kernel[i]);
	}
	world_close(&world);
}

// A datagram to a DHCP client, or from one. tag -1: no tag.
static size_t dhcp(bool is_in, int tag)
{
	const struct endpoint src = world_endpoint("10.0.0.1", is_in ? 67 : 68);
	const struct endpoint dst = world_endpoint("255.255.255.255", is_in ? 68 : 67);
	const uint16_t headers = net_headers_len(true, tag > 0 ? (uint16_t)tag : 0);

	memset(frame, 0, sizeof(frame));
	net_write_udp(frame + headers, 20, &(struct net_l2){.vlan = tag > 0 ? (uint16_t)tag : 0},
		&src, &dst, &(struct net_ip){.ttl = 1}, 0);
	if (tag != 0)
		return headers + 20u;
	memmove(frame + 16, frame + 12, headers + 8u); // a priority tag: id 0
	memcpy(frame + 12, "\x81\x00\x60\x00", 4);
	return headers + 24u;
}

static size_t arp(void)
{
	memset(frame, 0xff, 60);
	store_be16(frame + NET_ETH_TYPE_AT, NET_ETHERTYPE_ARP);
	return 60;
}

static unsigned int carried(void)
{
	return learn_carry(&device, now_ns);
}

// Asserts that the kernel of this receiver gets a DHCP answer without a tag, and the other one
// nothing; -1: neither gets it.
static void assert_for(int receiver)
{
	uint8_t untagged[256];
	size_t len;

	assert_int_equal(carried(), 1);
	len = dhcp(true, -1);
	memcpy(untagged, frame, len);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(
			softport_take(kernel[i], got, sizeof(got)), i == receiver ? len : 0);
		if (i == receiver)
			assert_memory_equal(got, untagged, len);
	}
}

static void a_frame_is_for_the_network_of_its_tag(void **state)
{
	struct rte_mbuf *m;

	open_ways(true);
	for (uint16_t queue = 0; queue < 2; queue++) {
		softport_put(device.port, queue, frame, dhcp(true, -1));
		assert_for(UNTAGGED);
		softport_put(device.port, queue, frame, dhcp(true, VLAN));
		assert_for(TAGGED);
		softport_put(device.port, queue, frame, dhcp(true, VLAN + 1));
		assert_for(-1);
		softport_put(device.port, queue, frame, dhcp(true, 0));
		assert_for(UNTAGGED);
		m = softport_mbuf(device.port, frame, dhcp(true, -1)); // the NIC stripped the tag
		m->ol_flags |= RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED;
		m->vlan_tci = VLAN;
		softport_put_mbuf(device.port, queue, m);
		assert_for(TAGGED);
	}
	assert_int_equal(carry[UNTAGGED].carried[0], 4);
	assert_int_equal(carry[TAGGED].carried[0], 4);
	close_ways();
}

static void an_untagged_network_that_learns_nothing_gets_nothing(void **state)
{
	open_ways(false);
	softport_put(device.port, 0, frame, dhcp(true, -1));
	assert_for(-1);
	softport_put(device.port, 0, frame, dhcp(true, VLAN));
	assert_for(TAGGED);
	close_ways();
}

static void frames_of_the_kernel_get_the_tag_of_its_network(void **state)
{
	size_t len;

	open_ways(true);
	for (unsigned int i = 0; i < 2; i++) {
		softport_put(kernel[i], 0, frame, dhcp(false, -1));
		assert_int_equal(carried(), 1);
		len = dhcp(false, i == TAGGED ? VLAN : -1);
		assert_int_equal(softport_take(device.port, got, sizeof(got)), len);
		assert_memory_equal(got, frame, len);
		assert_int_equal(carry[i].carried[1], 1);
	}
	softport_put(kernel[0], 0, frame, dhcp(true, -1)); // the kernel is not a server
	assert_int_equal(carried(), 1);
	assert_int_equal(softport_take(device.port, got, sizeof(got)), 0);
	close_ways();
}

// Any host on the link can send ARP without end. It is limited, and takes no room from DHCP.
static void a_flood_of_arp_leaves_room_for_dhcp(void **state)
{
	unsigned int arps = 0, dhcps = 0;
	const unsigned int seconds = 3;

	open_ways(true);
	for (unsigned int ms = 0; ms < seconds * 1000; ms++) {
		const size_t len = arp();

		for (unsigned int i = 0; i < 10; i++)
			softport_put(device.port, 0, frame, len);
		if (ms % 100 == 99)
			softport_put(device.port, 0, frame, dhcp(true, -1));
		carried();
		for (size_t n; (n = softport_take(kernel[0], got, sizeof(got))) > 0;)
			*(n == len ? &arps : &dhcps) += 1;
		now_ns += 1000000;
	}
	assert_int_equal(dhcps, seconds * 10);
	assert_true(arps >= seconds * RATE && arps <= (seconds + 1) * RATE);
	close_ways();
}

// A bond has not negotiated yet: LACP runs on every queue, as long as it takes.
static void a_waiting_device_still_gets_its_ticks(void **state)
{
	uint64_t before;

	open_ways(true);
	softport_use(device.port, 0); // no member carries traffic
	before = softport_ticks(device.port);
	for (unsigned int ms = 0; ms < 10; ms++) {
		for (unsigned int round = 0; round < 3; round++)
			carried();
		now_ns += 1000000;
	}
	assert_int_equal(softport_ticks(device.port) - before, 10 * 2);
	close_ways();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_frame_is_for_the_network_of_its_tag),
		cmocka_unit_test(an_untagged_network_that_learns_nothing_gets_nothing),
		cmocka_unit_test(frames_of_the_kernel_get_the_tag_of_its_network),
		cmocka_unit_test(a_flood_of_arp_leaves_room_for_dhcp),
		cmocka_unit_test(a_waiting_device_still_gets_its_ticks),
	};

	world_eal();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
