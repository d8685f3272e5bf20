// SPDX-License-Identifier: BSD-3-Clause
// Another host uses our address: management learns which address and which host, and a flood of
// such claims costs no more than the drops.
#include "datapath.h"
#include "dp_world.h"
#include "drop_of.h"
#include "link/conflicts.h"
#include "path/worker.h"

static struct dp_world world;
static const struct world_setup one = {
	.workers = 1, .rx_queues = 1, .tx_queues = 1, .two_ports = true};

static int setup(void **state)
{
	world_open(&world, &one);
	world_run(&world);
	return 0;
}

static int teardown(void **state)
{
	world_close(&world);
	return 0;
}

// An answer, or a request in which a host asks for its own address.
static void claim(const struct addr *a, uint8_t host, bool asks)
{
	const struct addr third_host =
		world_endpoint(addr_is_v4(a) ? "10.99.0.77" : "fd99::77", 0).addr;
	const struct net_l2 l2 = {.src = {2, 0, 0, 0, 0, host}};
	uint8_t frame[NET_ND_FRAME_MAX];
	const size_t len = asks ? net_write_ask(frame, &l2, a, &third_host, NULL)
				: net_write_answer(frame, &l2, a, NULL);

	world_inject(&world, 0, frame, len);
	world_run(&world);
}

static void told(const struct addr *a, uint8_t host)
{
	const uint8_t mac[6] = {2, 0, 0, 0, 0, host};
	struct dp_conflict c;

	assert_true(dp_conflict(world.dp, 0, &c));
	assert_true(addr_eq(&c.addr, a));
	assert_int_equal(c.port, 0);
	assert_memory_equal(c.mac, mac, 6);
}

static void each_family_is_told(void **state)
{
	struct dp_conflict c;

	for (unsigned int i = 0; i < 2; i++) {
		const struct addr *a = &world.addresses[i].addr;

		claim(a, 0x66, false);
		told(a, 0x66);
		claim(a, 0x67, true);
		told(a, 0x67);
	}
	assert_false(dp_conflict(world.dp, 0, &c));
	assert_int_equal(world_dropped(&world, drop_of_net(NET_DROP_MARTIAN_SOURCE)), 4);
}

static void a_flood_leaves_room_for_others(void **state)
{
	struct dp_conflict c;

	for (unsigned int n = 0; n < 1000; n++)
		claim(&world.addresses[0].addr, (uint8_t)n, false);
	claim(&world.addresses[1].addr, 0x66, false);
	told(&world.addresses[0].addr, 0); // the first report
	told(&world.addresses[1].addr, 0x66);
	assert_false(dp_conflict(world.dp, 0, &c));
	claim(&world.addresses[0].addr, 0x68, false); // a report may follow a report
	told(&world.addresses[0].addr, 0x68);
}

// Our own announcements: one that a switch has sent back, and one of another port on that link.
static void our_announcements_are_no_conflict(void **state)
{
	const struct addr *a = &world.addresses[0].addr;
	uint8_t frame[NET_ND_FRAME_MAX];
	struct net_l2 l2 = {0};
	struct dp_conflict c;

	assert_memory_not_equal(world.dp->port[0].l2.src, world.dp->port[1].l2.src, 6);
	for (unsigned int port = 0; port < 2; port++) {
		memcpy(l2.src, world.dp->port[port].l2.src, 6);
		world_inject(&world, 0, frame, net_write_answer(frame, &l2, a, NULL));
		world_run(&world);
	}
	assert_false(dp_conflict(world.dp, 0, &c));
	assert_int_equal(world_dropped(&world, drop_of_net(NET_DROP_MARTIAN_SOURCE)), 2);
}

static void conflicts_past_the_room_are_dropped(void **state)
{
	struct worker *w = world.dp->worker[0];
	static const uint8_t mac[6] = {2};
	struct dp_conflict c;

	for (unsigned int round = 0; round < 3; round++) {
		for (unsigned int i = 0; i < CONFLICTS + 5; i++) {
			const struct addr a = addr_from_v4((const uint8_t[]){10, 1, 2, (uint8_t)i});

			conflicts_note(w, 0, &a, mac);
		}
		for (unsigned int i = 0; i < CONFLICTS; i++) {
			assert_true(dp_conflict(world.dp, 0, &c));
			assert_int_equal(c.addr.b[15], i);
		}
		assert_false(dp_conflict(world.dp, 0, &c));
	}
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(each_family_is_told),
		CASE(a_flood_leaves_room_for_others),
		CASE(our_announcements_are_no_conflict),
		CASE(conflicts_past_the_room_are_dropped),
	};

	world_eal();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
