// SPDX-License-Identifier: BSD-3-Clause
// Bonds over members whose far end is in this test: rings, on which the test plays the switch. Its
// messages as an LACP partner follow IEEE 802.1AX, 6.4.2.3.
#include <time.h>

#include <rte_bus_vdev.h>
#include <rte_eal.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_lcore.h>

#include "clock.h"
#include "dpdk_compat.h"
#include "port.h"
#include "test.h"

#define MEMBERS 2
#define RING 256

// States of LACP (6.4.2.3.2): activity, timeout, aggregation, synchronization, collecting,
// distributing, defaulted, expired.
#define IN_SYNC 0x3d // all from activity to distributing; the timeout is long

#define LACP_LEN 124
#define ACTOR_AT 16 // of the TLV's first byte
#define PARTNER_AT 36
#define STATE_AT 16 // in a TLV of actor or partner

// Frames that leave and come in by a member.
struct wire {
	struct rte_ring *out, *in;
	uint16_t id;
	uint8_t mac[6]; // that the NIC would accept
	char name[32];
};

static struct wire wire[MEMBERS];
static struct rte_ether_addr bond_mac = {{2, 0, 0, 0xbb, 0xbb, 0xbb}};
static struct rte_mempool *pool;
static char error[256];

// Replaces DPDK's function: rings have no MAC to set, and the bonding driver insists on one.
int rte_eth_dev_default_mac_addr_set(uint16_t id, struct rte_ether_addr *mac)
{
	for (unsigned int i = 0; i < MEMBERS; i++)
		if (wire[i].id == id)
			memcpy(wire[i].mac, mac->addr_bytes, sizeof(wire[i].mac));
	return 0;
}

static struct port_config config(const struct port_bond *bond)
{
	return (struct port_config){
		.name = "wan",
		.device = "bond:wan",
		.bond = bond,
		.queues = 1,
		.mtu = 1500,
		.rx_ring = 256,
		.tx_ring = 256,
		.pool = pool,
		.socket = SOCKET_ID_ANY,
	};
}

static struct port_bond bond_of(enum port_bond_mode mode, int primary)
{
	struct port_bond b = {.mode = mode, .nb_members = MEMBERS, .primary = primary};

	for (unsigned int i = 0; i < MEMBERS; i++)
		b.member[i].device = wire[i].name;
	return b;
}

static struct port *start(enum port_bond_mode mode, int primary)
{
	const struct port_bond b = bond_of(mode, primary);
	const struct port_config c = config(&b);
	struct port *p = port_open(&c, error, sizeof(error));

	if (p == NULL)
		fail_msg("%s", error);
	// a ring's MAC is zero, which is not a valid LACP system
	if (mode == PORT_BOND_LACP)
		assert_int_equal(rte_eth_bond_mac_address_set(p->dpdk_id, &bond_mac), 0);
	assert_int_equal(p->ops->start(p), 0);
	return p;
}

static void stop(struct port *p)
{
	struct rte_mbuf *m;

	p->ops->stop(p);
	p->ops->close(p);
	for (unsigned int i = 0; i < MEMBERS; i++) {
		while (rte_ring_dequeue(wire[i].out, (void **)&m) == 0)
			rte_pktmbuf_free(m);
		while (rte_ring_dequeue(wire[i].in, (void **)&m) == 0)
			rte_pktmbuf_free(m);
	}
}

// The members in use, as bits.
static uint32_t used(struct port *p)
{
	struct port_member m[PORT_MEMBERS_MAX];
	uint32_t bits = 0;

	assert_int_equal(p->ops->members(p, m), MEMBERS);
	for (unsigned int i = 0; i < MEMBERS; i++) {
		assert_string_equal(m[i].name, wire[i].name);
		bits |= (uint32_t)m[i].used << i;
	}
	return bits;
}

// Calls the ops of a worker without packets, for a millisecond.
static void idle(struct port *p)
{
	const struct timespec ms = {.tv_nsec = 1000000};
	struct rte_mbuf *m[32];

	assert_int_equal(port_rx(p, 0, m, 32), 0);
	p->ops->tick(p, 0);
	nanosleep(&ms, NULL);
}

static void wait_used(struct port *p, uint32_t bits)
{
	const uint64_t end = clock_monotonic_ms() + 5000;

	while (used(p) != bits) {
		if (clock_monotonic_ms() > end)
			fail_msg("members in use: %x, not %x", used(p), bits);
		idle(p);
	}
}

static struct rte_mbuf *frame(const uint8_t dst[6], uint8_t mark)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(pool);
	uint8_t *b = (uint8_t *)rte_pktmbuf_append(m, 60);

	memset(b, mark, 60);
	memcpy(b, dst, 6);
	b[12] = 8;
	b[13] = 0;
	return m;
}

static bool send_one(struct port *p)
{
	static const uint8_t peer[6] = {2, 0, 0, 0, 0, 9};
	struct rte_mbuf *m = frame(peer, 1);

	if (port_tx(p, 0, &m, 1) == 1)
		return true;
	rte_pktmbuf_free(m);
	return false;
}

// Takes the frames that have left by a member; returns how many.
static unsigned int left_by(unsigned int member)
{
	struct rte_mbuf *m;
	unsigned int n = 0;

	for (; rte_ring_dequeue(wire[member].out, (void **)&m) == 0; n++)
		rte_pktmbuf_free(m);
	return n;
}

static void link_set(unsigned int member, bool up)
{
	assert_int_equal(up ? rte_eth_dev_set_link_up(wire[member].id)
			    : rte_eth_dev_set_link_down(wire[member].id),
		0);
}

// --- active-backup -------------------------------------------------------------------------------

static void packets_leave_by_the_link_that_is_up(void **state)
{
	struct port *p = start(PORT_BOND_ACTIVE_BACKUP, -1);

	wait_used(p, 1);
	assert_true(p->ops->link(p));
	assert_true(send_one(p));
	assert_int_equal(left_by(0), 1);
	link_set(0, false);
	wait_used(p, 2);
	assert_true(send_one(p));
	assert_int_equal(left_by(0), 0);
	assert_int_equal(left_by(1), 1);
	link_set(0, true); // no member is preferred: the active one stays
	for (unsigned int i = 0; i < 100; i++)
		idle(p);
	assert_int_equal(used(p), 2);
	link_set(1, false);
	wait_used(p, 1);
	assert_true(send_one(p));
	assert_int_equal(left_by(0), 1);
	link_set(0, false);
	wait_used(p, 0);
	assert_false(p->ops->link(p));
	assert_false(send_one(p));
	link_set(1, true);
	wait_used(p, 2);
	assert_true(p->ops->link(p));
	link_set(0, true);
	stop(p);
}

static void the_preferred_member_is_used_again_when_it_is_back(void **state)
{
	struct rte_ether_addr mac;
	struct port *p = start(PORT_BOND_ACTIVE_BACKUP, 1);

	wait_used(p, 2);
	assert_int_equal(rte_eth_macaddr_get(p->dpdk_id, &mac), 0);
	assert_memory_equal(p->mac, mac.addr_bytes, 6); // no other MAC once it runs
	link_set(1, false);
	wait_used(p, 1);
	assert_memory_equal(p->mac, wire[0].mac, 6);
	link_set(1, true);
	wait_used(p, 2);
	assert_memory_equal(p->mac, wire[1].mac, 6);
	stop(p);
}

// Frames that were flooded to the backup link are not received again when it takes over.
static void nothing_old_comes_in_when_a_member_takes_over(void **state)
{
	struct port *p = start(PORT_BOND_ACTIVE_BACKUP, -1);
	struct rte_mbuf *m;

	wait_used(p, 1);
	for (unsigned int i = 0; i < 40; i++)
		assert_int_equal(rte_ring_enqueue(wire[1].in, frame(p->mac, 2)), 0);
	idle(p);
	idle(p);
	assert_true(rte_ring_empty(wire[1].in));
	link_set(0, false);
	wait_used(p, 2);
	assert_int_equal(rte_ring_enqueue(wire[1].in, frame(p->mac, 3)), 0);
	p->ops->tick(p, 0); // the member in use is not a backup
	assert_int_equal(port_rx(p, 0, &m, 1), 1);
	assert_int_equal(*rte_pktmbuf_mtod_offset(m, uint8_t *, 20), 3);
	rte_pktmbuf_free(m);
	link_set(0, true);
	stop(p);
}

// --- balance and LACP ----------------------------------------------------------------------------

static void a_static_group_uses_all_links_that_are_up(void **state)
{
	struct port *p = start(PORT_BOND_BALANCE, -1);

	wait_used(p, 3);
	link_set(1, false);
	wait_used(p, 1);
	link_set(1, true);
	wait_used(p, 3);
	stop(p);
}

// Answers LACP on a member as its partner; returns how many LACP frames the member had sent.
static unsigned int partner(unsigned int member)
{
	static const uint8_t slow[6] = {0x01, 0x80, 0xc2, 0, 0, 2};
	static const uint8_t system[6] = {2, 0, 0, 0xaa, 0xaa, 0xaa};
	struct rte_mbuf *m;
	unsigned int n = 0;

	for (; rte_ring_dequeue(wire[member].out, (void **)&m) == 0; n++) {
		uint8_t *b = rte_pktmbuf_mtod(m, uint8_t *);

		assert_int_equal(m->pkt_len, LACP_LEN);
		assert_memory_equal(b, slow, 6);
		assert_memory_equal(
			b + 12, "\x88\x09\x01\x01", 4); // slow protocols, LACP, version 1
		assert_memory_equal(b + ACTOR_AT, "\x01\x14", 2);
		memcpy(b + PARTNER_AT, b + ACTOR_AT, 20);
		b[PARTNER_AT] = 2;
		memset(b + ACTOR_AT + 2, 0, 18);
		b[ACTOR_AT + 2] = 0x80; // priority
		memcpy(b + ACTOR_AT + 4, system, 6);
		b[ACTOR_AT + 11] = 7; // key
		b[ACTOR_AT + 15] = (uint8_t)(member + 1); // port
		b[ACTOR_AT + STATE_AT] = IN_SYNC;
		memcpy(b + 6, system, 6);
		assert_int_equal(rte_ring_enqueue(wire[member].in, m), 0);
	}
	return n;
}

static void nothing_is_sent_before_the_other_end_has_agreed(void **state)
{
	struct port *p = start(PORT_BOND_LACP, -1);
	const uint64_t end = clock_monotonic_ms() + 3500;

	while (clock_monotonic_ms() < end) {
		idle(p);
		assert_int_equal(used(p), 0);
		assert_false(send_one(p));
	}
	assert_false(p->ops->link(p));
	// it still asks for a partner, without a packet to send
	assert_true(left_by(0) > 0);
	assert_true(left_by(1) > 0);
	stop(p);
}

static void links_are_used_once_lacp_has_brought_them_into_the_group(void **state)
{
	struct port *p = start(PORT_BOND_LACP, -1);
	const uint64_t end = clock_monotonic_ms() + 10000;
	struct rte_mbuf *m;

	while (used(p) != 3) {
		if (clock_monotonic_ms() > end)
			fail_msg("members in use: %x", used(p));
		idle(p); // no LACP frame gets here
		partner(0);
		partner(1);
	}
	assert_true(p->ops->link(p));
	assert_true(send_one(p));
	assert_int_equal(left_by(0) + left_by(1), 1);
	assert_int_equal(rte_ring_enqueue(wire[1].in, frame(bond_mac.addr_bytes, 4)), 0);
	assert_int_equal(port_rx(p, 0, &m, 1), 1);
	rte_pktmbuf_free(m);
	link_set(0, false);
	wait_used(p, 2);
	assert_true(send_one(p));
	assert_int_equal(left_by(1), 1);
	link_set(0, true);
	stop(p);
}

// --- opening -------------------------------------------------------------------------------------

static void a_member_that_is_not_there_is_named(void **state)
{
	struct port_bond b = {.mode = PORT_BOND_LACP, .nb_members = 2, .primary = -1};
	const struct port_config c = config(&b);
	struct port *p;

	b.member[0].device = "net_null8";
	b.member[1].device = "net_none9,x=1";
	p = port_open(&c, error, sizeof(error));
	assert_null(p);
	assert_non_null(strstr(error, "port wan: device net_none9,x=1: DPDK refuses it"));
	b.member[1].device = "net_null9"; // nothing remains of the failure
	p = port_open(&c, error, sizeof(error));
	assert_non_null(p);
	assert_string_equal(p->ops->kind, "bond");
	p->ops->close(p);
}

static void a_member_is_in_one_bond(void **state)
{
	struct port_bond b = bond_of(PORT_BOND_LACP, -1);
	const struct port_config c = config(&b);

	b.member[1].device = b.member[0].device;
	assert_null(port_open(&c, error, sizeof(error)));
	assert_non_null(strstr(error, "port wan: device net_ring_m0: already in use by another"));
}

static void members_that_we_plugged_are_removed_with_the_bond(void **state)
{
	struct port_bond b = {.mode = PORT_BOND_BALANCE, .nb_members = 2, .primary = -1};
	const struct port_config c = config(&b);
	uint16_t id;

	b.member[0].device = "net_null8";
	b.member[0].devargs = "size=128";
	b.member[1].device = "net_null9,size=128";
	for (unsigned int i = 0; i < 2; i++) {
		struct port *p = port_open(&c, error, sizeof(error));

		if (p == NULL)
			fail_msg("%s", error);
		assert_string_equal(p->driver, "net_null");
		assert_int_equal(rte_eth_dev_get_port_by_name("net_null8", &id), 0);
		assert_int_equal(p->ops->start(p), 0);
		p->ops->stop(p);
		p->ops->close(p);
		assert_int_not_equal(rte_eth_dev_get_port_by_name("net_null8", &id), 0);
		assert_int_not_equal(rte_eth_dev_get_port_by_name("net_null9", &id), 0);
	}
}

static void no_member_may_be_too_small_for_the_mtu(void **state)
{
	const struct port_bond b = bond_of(PORT_BOND_LACP, -1);
	struct port_config c = config(&b);

	c.mtu = 9000;
	assert_null(port_open(&c, error, sizeof(error)));
	assert_non_null(strstr(error, "port wan: device bond:wan: mtu 9000: frames of 9022 bytes"));
}

static void wires_make(void)
{
	for (unsigned int i = 0; i < MEMBERS; i++) {
		char name[32];
		int id;

		snprintf(name, sizeof(name), "out%u", i);
		wire[i].out = rte_ring_create(name, RING, SOCKET_ID_ANY, 0);
		snprintf(name, sizeof(name), "in%u", i);
		wire[i].in = rte_ring_create(name, RING, SOCKET_ID_ANY, 0);
		snprintf(name, sizeof(name), "m%u", i);
		id = rte_eth_from_rings(name, &wire[i].in, 1, &wire[i].out, 1, 0);
		assert_true(id >= 0);
		wire[i].id = (uint16_t)id;
		snprintf(wire[i].name, sizeof(wire[i].name), "net_ring_m%u", i);
	}
}

// A port closes its members along with itself, so every test gets new ones.
static int begin(void **state)
{
	wires_make();
	return 0;
}

static int end(void **state)
{
	for (unsigned int i = 0; i < MEMBERS; i++) {
		rte_vdev_uninit(wire[i].name);
		rte_ring_free(wire[i].out);
		rte_ring_free(wire[i].in);
	}
	return 0;
}

static int start_eal(void **state)
{
	char *argv[] = {"test_bond", "--no-huge", "-m", "256", "--no-pci", "--no-shconf",
		"--no-telemetry", "--lcores", "0@0", "--log-level=notice", NULL};

	if (rte_eal_init(sizeof(argv) / sizeof(argv[0]) - 1, argv) < 0)
		return -1;
	pool = rte_pktmbuf_pool_create(
		"pool", 8191, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, (int)rte_socket_id());
	return pool != NULL ? 0 : -1;
}

static int stop_eal(void **state)
{
	return rte_eal_cleanup();
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(packets_leave_by_the_link_that_is_up),
		TEST(the_preferred_member_is_used_again_when_it_is_back),
		TEST(nothing_old_comes_in_when_a_member_takes_over),
		TEST(a_static_group_uses_all_links_that_are_up),
		TEST(nothing_is_sent_before_the_other_end_has_agreed),
		TEST(links_are_used_once_lacp_has_brought_them_into_the_group),
		TEST(a_member_that_is_not_there_is_named),
		TEST(a_member_is_in_one_bond),
		TEST(members_that_we_plugged_are_removed_with_the_bond),
		TEST(no_member_may_be_too_small_for_the_mtu),
	};

	return cmocka_run_group_tests(tests, start_eal, stop_eal);
}
