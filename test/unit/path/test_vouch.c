// SPDX-License-Identifier: BSD-3-Clause
// Datagrams that no line may vouch for: with allocations and channels present, every datagram that
// the parser or the state machine refuses is still refused, and counted by the same name.
#include "bytes.h"
#include "datapath.h"
#include "drop_of.h"
#include "line_world.h"
#include "path/worker.h"

// --- datagrams that no line vouches for ---------------------------------------------------------

static const char *const bad_sources[] = {"10.99.0.1", "10.99.0.255", "127.0.0.1", "0.1.2.3",
	"224.0.0.1", "240.0.0.1", "255.255.255.255", "fd99::1", "::1", "ff02::1", "fe80::5", "::"};

static void spoof(unsigned int i)
{
	struct world_datagram d;

	for (unsigned int n = 0; n < RTE_DIM(bad_sources); n++) {
		const struct addr bad = world_endpoint(bad_sources[n], 0).addr;

		d = line_up(i);
		line_data(&d, 20);
		if (addr_is_v4(&bad) == addr_is_v4(&d.src.addr)) {
			d.src.addr = bad;
			line_dropped(&d, drop_of_net(NET_DROP_MARTIAN_SOURCE));
		}
		d = line_down(i);
		d.len = 20;
		if (addr_is_v4(&bad) == addr_is_v4(&d.src.addr)) {
			d.src.addr = bad;
			line_dropped(&d, drop_of_net(NET_DROP_MARTIAN_SOURCE));
		}
	}
	for (unsigned int n = 0; n < 4; n++) {
		d = n < 2 ? line_up(i) : line_down(i);
		line_data(&d, 20);
		*(n % 2 == 0 ? &d.src.port : &d.dst.port) = 0;
		line_dropped(&d, drop_of_net(NET_DROP_PORT_ZERO));
	}
}

static void test_spoofed(void **state)
{
	const struct world_setup *s = *state;

	line_open(s, 4);
	for (unsigned int i = 0; i < 4; i++)
		spoof(i);
	world_close(&world);
}

// Strangers to an allocation with a channel.
static void test_strangers(void **state)
{
	const struct world_setup *s = *state;
	struct world_datagram d;

	line_open(s, 2);
	for (unsigned int i = 0; i < 2; i++) {
		d = line_down(i);
		d.len = 20;
		d.src.addr.b[15]++;
		line_dropped(&d, drop_of_turn(TURN_DROP_PEER_NO_PERMISSION));
		d = line_down(i);
		d.len = 20;
		d.dst.port ^= 2;
		line_dropped(&d, drop_of_turn(TURN_DROP_PEER_NO_ALLOCATION));
		d = line_up(i);
		line_data(&d, 20);
		d.src.port++;
		line_dropped(&d, drop_of_turn(TURN_DROP_NO_ALLOCATION));
		d = line_up(i);
		line_data(&d, 20);
		d.src.addr.b[14]++;
		line_dropped(&d, drop_of_turn(TURN_DROP_NO_ALLOCATION));
		d = line_up(i);
		line_data(&d, 20);
		d.dst = client[i].relay;
		line_dropped(&d, drop_of_turn(TURN_DROP_PEER_NO_PERMISSION));
	}
	world_close(&world);
}

// A relay address without a listener: port 0 is not a listener of it either.
static void test_no_listener(void **state)
{
	const struct world_setup s = {.workers = 1, .rx_queues = 1, .tx_queues = 1, .relays = 1};
	struct world_datagram d;

	line_open(&s, 2);
	for (unsigned int i = 0; i < 2; i++) {
		d = line_up(i);
		line_data(&d, 20);
		d.dst.addr = client[i].relay.addr;
		d.dst.port = 0;
		line_dropped(&d, drop_of_net(NET_DROP_PORT_ZERO));
		d.dst.port = 3478;
		line_dropped(&d, DP_DROP_NO_LISTENER);
	}
	world_close(&world);
}

// Unknown addresses, and addresses of other hosts: many share a place in the table with one of our
// addresses.
static void test_not_for_us(void **state)
{
	struct world_datagram d;

	line_open(&line_one, 2);
	for (uint8_t last = 2; last < 120; last++) {
		for (unsigned int i = 0; i < 2; i++) {
			d = line_up(i);
			line_data(&d, 20);
			d.dst.addr.b[15] = last;
			if (!addr_eq(&d.dst.addr, &d.src.addr)) // otherwise a LAND packet
				line_dropped(&d, drop_of_net(NET_DROP_NOT_FOR_US));
			d = line_down(i);
			d.len = 20;
			d.dst.addr.b[15] = last;
			if (!addr_eq(&d.dst.addr, &d.src.addr)) // otherwise a LAND packet
				line_dropped(&d, drop_of_net(NET_DROP_NOT_FOR_US));
		}
	}
	world_close(&world);
}

// A whole datagram in the first of two buffers.
static void test_segmented(void **state)
{
	struct world_datagram d;
	struct port *p;
	struct rte_mbuf *m;
	uint8_t frame[2048];
	size_t len;

	line_open(&line_one, 1);
	p = world.dp->port[0].port;
	d = line_up(0);
	line_data(&d, 20);
	len = world_frame(&world, &d, frame);
	m = softport_mbuf(p, frame, len);
	assert_int_equal(rte_pktmbuf_chain(m, softport_mbuf(p, "tail", 4)), 0);
	softport_put_mbuf(p, 0, m);
	world_run(&world);
	assert_int_equal(world_stats(&world).drop[DP_DROP_SEGMENTED], 1);
	assert_int_equal(world.nb_seen, 0);
	world_close(&world);
}

// Our IPv4 addresses, and those of clients and peers, as IPv4-mapped ones in IPv6 (RFC 4291
// 2.5.5.2): equal in memory, but no such packet may be on a wire.
static void test_mapped(void **state)
{
	struct world_datagram d;

	line_open(&line_one, 4);
	for (unsigned int leg = 0; leg < 2; leg++) {
		for (unsigned int i = 0; i < 4; i++) {
			const struct world_datagram real = leg == 0 ? line_up(i) : line_down(i);
			const unsigned int reason = drop_of_net(NET_DROP_MARTIAN_SOURCE);
			struct dp_stats before = world_stats(&world);
			uint8_t frame[2048];
			size_t len;

			if (!addr_is_v4(&real.src.addr))
				continue;
			d = (struct world_datagram){.src = {client[1].endpoint.addr, real.src.port},
				.dst = {client[1].server.addr, real.dst.port}};
			line_data(&d, 20);
			len = world_frame(&world, &d, frame);
			memcpy(frame + 22, &real.src.addr, 16);
			memcpy(frame + 38, &real.dst.addr, 16);
			frame_set_checksums(frame);
			world_inject(&world, 0, frame, len);
			world_run(&world);
			assert_int_equal(world.nb_seen, 0);
			assert_int_equal(world_stats(&world).drop[reason], before.drop[reason] + 1);
		}
	}
	world_close(&world);
}

// --- when the fast path is closed ---------------------------------------------------------------

static void test_closed(void **state)
{
	const struct world_setup queue = {.workers = 2, .rx_queues = 2, .tx_queues = 1};
	const struct world_setup tagged = {.workers = 1, .rx_queues = 1, .tx_queues = 1, .vlan = 7};

	world_open(&world, &line_one);
	assert_int_equal(world.dp->worker[0]->plain_max, 1500 + NET_ETH_LEN - CHANNEL_HEADER_LEN);
	world_close(&world);
	world_open(&world, &queue);
	assert_int_not_equal(world.dp->worker[0]->plain_max, 0);
	assert_int_equal(world.dp->worker[1]->plain_max, 0);
	world_close(&world);
	world_open(&world, &tagged);
	assert_int_equal(world.dp->worker[0]->plain_max, 0);
	world_close(&world);
}

static const struct world_setup two = {.workers = 2, .rx_queues = 2, .tx_queues = 2};
static const struct world_setup four = {.workers = 4, .rx_queues = 2, .tx_queues = 2};

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_prestate(test_spoofed, (void *)&line_one),
		cmocka_unit_test_prestate(test_spoofed, (void *)&two),
		cmocka_unit_test_prestate(test_spoofed, (void *)&four),
		cmocka_unit_test_prestate(test_strangers, (void *)&line_one),
		cmocka_unit_test_prestate(test_strangers, (void *)&four),
		cmocka_unit_test(test_no_listener),
		cmocka_unit_test(test_not_for_us),
		cmocka_unit_test(test_segmented),
		cmocka_unit_test(test_mapped),
		cmocka_unit_test(test_closed),
	};

	world_eal();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
