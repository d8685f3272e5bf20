// SPDX-License-Identifier: BSD-3-Clause
// The box as a host on its link: ARP, ND, echo, held packets, announcements, and refused packets
// with the name of each drop.
#include "bytes.h"
#include "datapath.h"
#include "drop_of.h"
#include "dp_world.h"
#include "link/tx.h"
#include "path/worker.h"

static struct dp_world world;
static const struct world_setup one = {
	.workers = 1, .rx_queues = 1, .tx_queues = 1, .icmp_rate = 1000};
static const struct world_setup two = {.workers = 2, .rx_queues = 2, .tx_queues = 2};

// Asserts that nothing else has been dropped.
static void only(unsigned int reason, uint64_t n)
{
	assert_int_equal(world_dropped(&world, reason), n);
	assert_int_equal(world_drops(&world), n);
}

static struct world_datagram binding(const char *address, uint16_t port)
{
	static const uint8_t tid[STUN_TID_LEN] = "abcdefghijk";
	const struct endpoint src = world_endpoint(address, port);
	struct world_datagram d = {
		.src = src, .dst = world.listeners[addr_is_v4(&src.addr) ? 0 : 1].endpoint};
	struct stun_writer w;

	stun_begin(&w, d.data, sizeof(d.data), STUN_REQUEST, STUN_BINDING, tid);
	d.len = stun_end(&w);
	return d;
}

static void send_on(unsigned int port, const struct world_datagram *d)
{
	uint8_t frame[2048];
	const size_t len = world_frame(&world, d, frame);

	memcpy(frame, world.dp->port[port].port->mac, 6);
	world_inject(&world, port, frame, len);
}

// --- requests for our addresses -----------------------------------------------------------------

static const uint8_t asker_mac[6] = {2, 0, 0, 0, 0, 0x77};

static void ask(unsigned int port, const char *sender, const char *target)
{
	const struct net_l2 l2 = {.src = {2, 0, 0, 0, 0, 0x77}};
	const struct addr s = world_endpoint(sender, 0).addr, t = world_endpoint(target, 0).addr;
	uint8_t frame[NET_ND_FRAME_MAX];

	world_inject(&world, port, frame, net_write_ask(frame, &l2, &s, &t, NULL));
	world_run(&world);
}

// Asserts that the last frame is the answer that target has our MAC.
static void answered(const char *target, const char *asker_text)
{
	struct net_l2 l2 = world.dp->port[0].l2;
	const struct addr t = world_endpoint(target, 0).addr,
			  asker = world_endpoint(asker_text, 0).addr;
	uint8_t frame[NET_ND_FRAME_MAX];
	size_t len;

	memcpy(l2.dst, asker_mac, 6);
	len = net_write_answer(frame, &l2, &t, &asker);
	assert_int_equal(world.last_len, len);
	assert_memory_equal(world.last, frame, len);
}

static void test_answers(void **state)
{
	struct world_setup s = one;
	char ll[ADDR_TEXT_LEN];

	s.two_ports = true;
	world_open(&world, &s);
	world_run(&world);
	ask(0, "10.99.0.77", "10.99.0.1");
	answered("10.99.0.1", "10.99.0.77");
	ask(0, "fd99::77", "fd99::1");
	answered("fd99::1", "fd99::77");
	addr_format(&world.dp->port[0].link_local, ll, sizeof(ll));
	ask(0, "fe80::77", ll);
	answered(ll, "fe80::77");
	ask(0, "0.0.0.0", "10.99.0.1"); // address probe (RFC 5227)
	answered("10.99.0.1", "0.0.0.0");
	assert_int_equal(world.answers, 4);
	ask(0, "::", "fd99::1"); // DAD: answered to all nodes (RFC 4861 7.2.4)
	assert_int_equal(world.announcements, 1);
	assert_int_equal(world_drops(&world), 0);
	// not our address, or not on this port
	ask(0, "10.99.0.77", "10.99.0.2");
	ask(0, "10.99.0.77", "10.98.0.1");
	ask(1, "10.99.0.77", "10.99.0.1");
	assert_int_equal(world_dropped(&world, DP_DROP_ARP), 3);
	ask(0, "fd99::77", "fd99::2");
	assert_int_equal(world_dropped(&world, DP_DROP_ICMP), 1);
	assert_int_equal(world_drops(&world), 4);
	world_close(&world);
}

// Returns the source address of our ARP or ND request for a target.
static struct addr asks_from(unsigned int port, const char *target)
{
	const struct neigh_ask ask = {
		.target = world_endpoint(target, 0).addr, .port = (uint8_t)port};
	struct worker *w = world.dp->worker[0];
	uint8_t frame[2048];
	size_t len;

	host_ask(w, &ask);
	tx_flush(w);
	len = softport_take(world.dp->port[port].port, frame, sizeof(frame));
	assert_in_range(len, NET_ETH_LEN + 28, sizeof(frame));
	return addr_is_v4(&ask.target) ? addr_from_v4(frame + NET_ETH_LEN + 14)
				       : addr_from_v6(frame + NET_ETH_LEN + 8);
}

static void test_asker(void **state)
{
	static const struct {
		unsigned int port;
		const char *target, *source;
	} rows[] = {
		{0, "10.99.0.77", "10.99.0.1"}, // the first address that is on its link
		{0, "10.97.0.77", "10.97.0.1"}, // also if it is the last of all
		{0, "fd99::77", "fd99::1"},
		{0, "203.0.113.7", "10.99.0.1"}, // off-link: the first address of its family
		{0, "2001:db8::7", "fd99::1"},
		{1, "203.0.113.7", "10.98.0.1"},
	};
	struct world_setup s = one;
	struct addr source, expected;

	s.two_ports = true;
	s.relays = 3;
	world_open(&world, &s);
	world_run(&world);
	// one more subnet
	world.addresses[6].addr = world_endpoint("10.97.0.1", 0).addr;
	for (size_t i = 0; i < RTE_DIM(rows); i++) {
		source = asks_from(rows[i].port, rows[i].target);
		expected = world_endpoint(rows[i].source, 0).addr;
		assert_memory_equal(&source, &expected, sizeof(source));
	}
	// a port without an address of the family
	source = asks_from(1, "2001:db8::7");
	assert_true(addr_eq(&source, &world.dp->port[1].link_local));
	world_close(&world);
}

// --- echo ---------------------------------------------------------------------------------------

static size_t echo_frame(const char *src_text, const char *dst_text, uint8_t *frame)
{
	const struct addr src = world_endpoint(src_text, 0).addr,
			  dst = world_endpoint(dst_text, 0).addr;
	const bool is_v4 = addr_is_v4(&src);
	const struct endpoint s = {src, 1}, d = {dst, 1};
	struct net_l2 l2 = {.src = {2, 0, 0, 0, 0, 0x77}};
	const uint16_t len = 24, l4 = (uint16_t)(net_headers_len(is_v4, 0) - NET_UDP_LEN);
	uint8_t *icmp = frame + l4;
	uint32_t sum = 0;

	memcpy(l2.dst, world.dp->port[0].port->mac, 6);
	net_write_udp(frame + l4 + 8, len - 8, &l2, &s, &d, &(struct net_ip){.ttl = 9}, 0);
	memset(icmp, 0, len);
	icmp[0] = is_v4 ? 8 : 128;
	frame[NET_ETH_LEN + (is_v4 ? 9 : 6)] = is_v4 ? 1 : 58;
	if (is_v4) {
		store_be16(frame + NET_ETH_LEN + 10, 0);
		store_be16(frame + NET_ETH_LEN + 10,
			(uint16_t)~csum_fold(csum_add(0, frame + NET_ETH_LEN, NET_IP4_LEN)));
	} else {
		sum = csum_addrs(&src, &dst) + 58 + len;
	}
	store_be16(icmp + 2, (uint16_t)~csum_fold(csum_add(sum, icmp, len)));
	return (size_t)l4 + len;
}

static void ping(const char *src_text, const char *dst_text)
{
	uint8_t frame[256] = {0};
	const size_t len = echo_frame(src_text, dst_text, frame);

	// with the padding of a short frame, which must not be returned
	world_inject(&world, 0, frame, len + 6);
	world_run(&world);
}

static void test_echo(void **state)
{
	char ll[ADDR_TEXT_LEN];

	world_open(&world, &one);
	world_run(&world);
	ping("10.99.0.77", "10.99.0.1");
	assert_int_equal(world.echoes, 1);
	assert_int_equal(world.last_len, NET_ETH_LEN + NET_IP4_LEN + 24);
	assert_memory_equal(world.last, asker_mac, 6);
	assert_int_equal(world.last[NET_ETH_LEN + NET_IP4_LEN], 0);
	ping("fd99::77", "fd99::1");
	assert_int_equal(world.echoes, 2);
	assert_int_equal(world.last_len, NET_ETH_LEN + NET_IP6_LEN + 24);
	assert_int_equal(world.last[NET_ETH_LEN + NET_IP6_LEN], 129);
	addr_format(&world.dp->port[0].link_local, ll, sizeof(ll));
	ping("fe80::77", ll);
	assert_int_equal(world.echoes, 3);
	assert_int_equal(world_drops(&world), 0);
	ping("10.99.0.77", "10.99.0.2");
	only(drop_of_net(NET_DROP_NOT_FOR_US), 1);
	world_close(&world);
}

static void test_echo_rate(void **state)
{
	struct world_setup s = two;
	uint8_t frame[256] = {0};
	size_t len;

	s.icmp_rate = 20;
	world_open(&world, &s);
	world_run(&world);
	len = echo_frame("10.99.0.77", "10.99.0.1", frame);
	for (unsigned int i = 0; i < 300; i++)
		softport_put(world.dp->port[0].port, i % 2, frame, len);
	world_run(&world);
	// a burst of 50 for each worker, and almost nothing for the few milliseconds it took
	assert_in_range(world.echoes, 100, 102);
	only(DP_DROP_ICMP_RATE, 300 - world.echoes);
	world_wait(&world, 1000); // 10 tokens more for each
	for (unsigned int i = 0; i < 100; i++)
		softport_put(world.dp->port[0].port, i % 2, frame, len);
	world.echoes = 0;
	world_run(&world);
	assert_in_range(world.echoes, 20, 22);
	world_close(&world);
	s.icmp_rate = 0;
	world_open(&world, &s);
	ping("10.99.0.77", "10.99.0.1");
	only(DP_DROP_ICMP_RATE, 1);
	world_close(&world);
}

// --- neighbours ---------------------------------------------------------------------------------

// Packets that arrive before the neighbour is known are held, and sent in order when it answers.
static void test_hold(void **state)
{
	struct world_datagram got, d;

	world_open(&world, &one);
	world_run(&world);
	world.deaf = true;
	for (uint16_t i = 0; i < 5; i++) {
		d = binding("10.99.0.20", (uint16_t)(5000 + i));
		world_send(&world, &d);
	}
	world_run(&world);
	assert_int_equal(world.nb_seen, 0);
	assert_int_equal(world_stats(&world).held, 5);
	world.deaf = false;
	world_wait(&world, 1100); // the request is repeated after a second
	assert_int_equal(world.nb_seen, 5);
	assert_int_equal(world_stats(&world).held, 0);
	for (uint16_t i = 0; i < 5; i++) {
		assert_int_equal(world.seen[0].dst.port, 5000 + i);
		assert_true(world_take(&world, &world.seen[0].dst, &got));
	}
	assert_int_equal(world_drops(&world), 0);
	world_close(&world);
}

static void test_hold_bounds(void **state)
{
	struct world_setup s = one;
	struct world_datagram d;

	s.neigh_held_each = 4;
	world_open(&world, &s);
	world_run(&world);
	world.deaf = true;
	for (uint16_t i = 0; i < 6; i++) {
		d = binding("10.99.0.20", (uint16_t)(5000 + i));
		world_send(&world, &d);
	}
	world_run(&world);
	only(DP_DROP_NEIGH_HELD, 2);
	assert_int_equal(world_stats(&world).held, 4);
	world.asks = 0;
	world_wait(&world, 3500);
	assert_in_range(world.asks, 2, 2); // three requests in all, then resolution has failed
	assert_int_equal(world_dropped(&world, DP_DROP_NEIGH_FAILED), 4);
	assert_int_equal(world_stats(&world).held, 0);
	d = binding("10.99.0.20", 5000);
	world_send(&world, &d);
	world_run(&world);
	assert_int_equal(world_dropped(&world, DP_DROP_NEIGH_FAILED), 5); // cached for a second
	world_close(&world);
}

// A channel's peer is resolved when the channel is bound, so the first burst finds it known,
// however few packets can be held.
static void test_bind_resolves(void **state)
{
	const struct endpoint peer = world_endpoint("10.99.0.30", 7000);
	struct world_setup s = one;
	struct world_client c;

	s.neigh_held_each = 1;
	world_open(&world, &s);
	world_client(&world, &c, "10.99.0.20", 5000);
	assert_int_equal(client_allocate(&world, &c, 4), 0);
	assert_int_equal(client_bind(&world, &c, 0x4000, &peer), 0);
	world_wait(&world, 5);
	world.deaf = true;
	for (unsigned int i = 0; i < 100; i++)
		client_channel_data(&world, &c, 0x4000, "media", 5);
	world_run(&world);
	assert_int_equal(world.nb_seen, 100);
	assert_int_equal(world_drops(&world), 0);
	world_close(&world);
}

// With channels to many hosts of a subnet the box resolves some of them a second, counts the rest;
// another client's peer is still found, and so are hosts that need an answer.
static void test_ask_rate(void **state)
{
	const struct endpoint peer = world_endpoint("10.99.0.250", 7000);
	struct world_setup s = one;
	struct world_client hog, bystander;
	struct world_datagram d;
	unsigned int apart = 0;

	s.ask_rate = 160; // ten a second for a share
	world_open(&world, &s);
	world_client(&world, &hog, "203.0.113.1", 5000);
	assert_int_equal(client_allocate(&world, &hog, 4), 0);
	world_wait(&world, 1000);
	world.asks = 0;
	for (unsigned int i = 0; i < 16; i++) {
		struct endpoint target = world_endpoint("10.99.0.30", 7000);

		target.addr.b[15] = (uint8_t)(30 + i);
		assert_int_equal(client_bind(&world, &hog, (uint16_t)(0x4000 + i), &target), 0);
	}
	for (unsigned int i = 0; i < 16; i++)
		client_channel_data(&world, &hog, (uint16_t)(0x4000 + i), "x", 1);
	world_run(&world);
	assert_in_range(world.asks, 3, 6);
	assert_in_range(world_dropped(&world, DP_DROP_NEIGH_RATE), 8, 13);
	assert_int_equal(world_drops(&world), world_dropped(&world, DP_DROP_NEIGH_RATE));
	for (uint16_t i = 0; i < 16 && apart == 0; i++) { // one of them has another share
		world_client(&world, &bystander, "203.0.113.2", (uint16_t)(6000 + i));
		bystander.endpoint.addr.b[15] = (uint8_t)(2 + i);
		assert_int_equal(client_allocate(&world, &bystander, 4), 0);
		world.nb_seen = 0;
		assert_int_equal(client_bind(&world, &bystander, 0x4000, &peer), 0);
		client_channel_data(&world, &bystander, 0x4000, "y", 1);
		world_run(&world);
		while (world_take(&world, &peer, &d))
			apart++;
	}
	assert_int_not_equal(apart, 0);
	world_client(&world, &bystander, "10.99.0.251", 5000);
	assert_int_equal(client_allocate(&world, &bystander, 4), 0);
	world_close(&world);
}

// The answer comes in at a worker that has not asked; the worker that asked learns it, too.
static void test_answer_elsewhere(void **state)
{
	struct world_datagram got, d;

	world_open(&world, &two);
	world_run(&world);
	for (unsigned int i = 0; i < 40; i++) {
		char host[ADDR_TEXT_LEN];
		const uint64_t ms = world.ms;

		snprintf(host, sizeof(host), i % 2 != 0 ? "10.99.0.%u" : "fd99::%u", 100 + i);
		d = binding(host, 5000);
		world_send(&world, &d);
		world_run(&world);
		assert_true(world_take(&world, &d.src, &got));
		assert_true(world.ms - ms < 50); // not only by asking again
	}
	assert_int_equal(world_drops(&world), 0);
	world_close(&world);
}

// Another host claims the client's address: traffic stays where it was.
static void test_spoofed_answer(void **state)
{
	const struct net_l2 l2 = {.src = {2, 0, 0, 0, 0, 0x66}};
	struct world_datagram d, got;
	uint8_t frame[NET_ND_FRAME_MAX];
	struct net_l2 unicast = l2;

	world_open(&world, &two);
	d = binding("10.99.0.20", 5000);
	world_send(&world, &d);
	world_run(&world);
	assert_true(world_take(&world, &d.src, &got));
	memcpy(unicast.dst, world.dp->port[0].port->mac, 6);
	world_inject(
		&world, 0, frame, net_write_answer(frame, &l2, &d.src.addr, NULL)); // gratuitous
	world_inject(&world, 0, frame,
		net_write_answer(frame, &unicast, &d.src.addr, &world.addresses[0].addr));
	world_run(&world);
	for (unsigned int i = 0; i < 8; i++) { // the world asserts the MAC of every frame
		world_send(&world, &d);
		world_run(&world);
		assert_true(world_take(&world, &d.src, &got));
	}
	world_close(&world);
}

static void test_our_address_claimed(void **state)
{
	const struct net_l2 l2 = {.src = {2, 0, 0, 0, 0, 0x66}};
	uint8_t frame[NET_ND_FRAME_MAX];

	world_open(&world, &one);
	for (unsigned int i = 0; i < 2; i++) {
		const size_t len = net_write_answer(frame, &l2, &world.addresses[i].addr, NULL);

		world_inject(&world, 0, frame, len);
	}
	world_run(&world);
	only(drop_of_net(NET_DROP_MARTIAN_SOURCE), 2);
	world_close(&world);
}

static void test_announce(void **state)
{
	world_open(&world, &two);
	softport_link(world.dp->port[0].port, false);
	dp_tick(world.dp);
	world_wait(&world, 100);
	assert_int_equal(world.announcements, 0);
	softport_link(world.dp->port[0].port, true);
	dp_tick(world.dp);
	world_wait(&world, 900);
	assert_int_equal(world.announcements, 2); // both addresses
	dp_tick(world.dp); // nothing changed
	world_wait(&world, 1000);
	assert_int_equal(world.announcements, 4);
	world_wait(&world, 5000);
	assert_int_equal(world.announcements, 6);
	softport_link(world.dp->port[0].port, false);
	dp_tick(world.dp);
	softport_link(world.dp->port[0].port, true);
	dp_tick(world.dp);
	world_wait(&world, 5000);
	assert_int_equal(world.announcements, 12);
	world_close(&world);
}

// The gateway is known before the first packet needs it, and stays known.
static void test_gateway_kept(void **state)
{
	struct world_datagram d, got;

	world_open(&world, &one);
	world_run(&world);
	assert_int_equal(world.asks, 2);
	world_wait(&world, 100 * 1000);
	assert_true(world.asks >= 2 + 2 * 2); // reachable for 30 s, then probed
	world.deaf = true;
	d = binding("198.51.100.9", 5000);
	world_send(&world, &d);
	world_run(&world);
	assert_true(world_take(&world, &d.src, &got));
	world_close(&world);
}

// --- refused packets ----------------------------------------------------------------------------

// Another host claims our MAC: if it was believed, we would send frames to ourselves.
static void own_mac_claimed(bool v6)
{
	const struct addr theirs = world_endpoint(v6 ? "fd99::77" : "10.99.0.77", 0).addr,
			  ours = world_endpoint(v6 ? "fd99::1" : "10.99.0.1", 0).addr;
	uint8_t frame[NET_ND_FRAME_MAX];
	struct net_l2 l2 = {0};

	memcpy(l2.src, world.dp->port[0].l2.src, 6);
	memcpy(l2.dst, l2.src, 6);
	for (unsigned int i = 0; i < 2; i++) {
		const size_t len = i == 0 ? net_write_ask(frame, &l2, &theirs, &ours, NULL)
					  : net_write_answer(frame, &l2, &theirs, &ours);
		memcpy(frame + 6, (const uint8_t[]){2, 0, 0, 0, 0, 0x77}, 6);
		world_inject(&world, 0, frame, len);
		world_run(&world);
	}
	assert_int_equal(world.answers, 0);
}

static void test_own_mac_claimed(void **state)
{
	world_open(&world, &one);
	world_run(&world);
	own_mac_claimed(false);
	own_mac_claimed(true);
	only(drop_of_net(NET_DROP_MARTIAN_SOURCE), 4);
	world_close(&world);
}

static void test_martians(void **state)
{
	static const struct {
		const char *src, *dst;
		uint16_t port;
		unsigned int reason;
	} cases[] = {
		{"10.98.0.1", "10.99.0.1", 3478, DP_DROP_NET + NET_DROP_MARTIAN_SOURCE - 1},
		{"10.99.0.255", "10.99.0.1", 3478, DP_DROP_NET + NET_DROP_MARTIAN_SOURCE - 1},
		{"10.99.0.20", "10.99.0.2", 3478, DP_DROP_NET + NET_DROP_NOT_FOR_US - 1},
		{"10.99.0.20", "10.99.0.255", 3478, DP_DROP_NET + NET_DROP_MARTIAN_DESTINATION - 1},
		// an address of the other port, which does not lead to 198.51.100.9
		{"198.51.100.9", "10.98.0.1", 3478, DP_DROP_NET + NET_DROP_NOT_FOR_US - 1},
		{"fd99::20", "fd99::2", 3478, DP_DROP_NET + NET_DROP_NOT_FOR_US - 1},
		{"10.99.0.20", "10.99.0.1", 3479, DP_DROP_NO_LISTENER},
		{"10.99.0.20", "10.99.0.1", 49999, DP_DROP_NO_LISTENER},
		{"10.99.0.20", "10.99.0.1", 50000, DP_DROP_TURN + TURN_DROP_PEER_NO_ALLOCATION - 1},
		{"fd99::20", "fd99::1", 50001, DP_DROP_TURN + TURN_DROP_PEER_NO_ALLOCATION - 1},
	};
	struct world_setup s = two;

	s.two_ports = true;
	world_open(&world, &s);
	for (unsigned int i = 0; i < RTE_DIM(cases); i++) {
		const uint64_t before = world_dropped(&world, cases[i].reason);
		struct world_datagram d = binding(cases[i].src, 5000);

		d.dst = world_endpoint(cases[i].dst, cases[i].port);
		send_on(0, &d);
		world_run(&world);
		assert_int_equal(world_dropped(&world, cases[i].reason), before + 1);
		assert_int_equal(world.nb_seen, 0);
	}
	assert_int_equal(world_drops(&world), RTE_DIM(cases));
	world_close(&world);
}

static void test_no_route(void **state)
{
	struct world_setup s = one;
	struct world_datagram d, got;

	s.two_ports = true;
	world_open(&world, &s);
	d = binding("10.98.0.20", 5000);
	d.dst = world.listeners[2].endpoint;
	send_on(1, &d);
	world_run(&world);
	assert_true(world_take(&world, &d.src, &got)); // on-link
	d = binding("198.51.100.9", 5000); // off-link, and this port has no gateway
	d.dst = world.listeners[2].endpoint;
	send_on(1, &d);
	world_run(&world);
	only(DP_DROP_NO_ROUTE, 1);
	world_close(&world);
}

static void test_sizes(void **state)
{
	struct world_setup s = one;
	struct world_client c;
	const struct endpoint peer = world_endpoint("10.99.0.30", 7000);
	struct world_datagram d = {.src = peer}, got;

	s.mtu = 1300;
	world_open(&world, &s);
	world_client(&world, &c, "10.99.0.20", 5000);
	assert_int_equal(client_allocate(&world, &c, 4), 0);
	assert_int_equal(client_permit(&world, &c, &peer), 0);
	d.dst = c.relay;
	d.len = 1300 - 28 - 36; // as a Data indication it fits exactly
	world_send(&world, &d);
	world_run(&world);
	assert_true(world_take(&world, &c.endpoint, &got));
	assert_int_equal(got.len, 1300 - 28);
	d.len++;
	d.df = true; // otherwise it would leave in fragments
	world_send(&world, &d);
	world_run(&world);
	only(DP_DROP_MTU, 1);
	d.len = 1300 - 28 + 1;
	world_send(&world, &d);
	world_run(&world);
	assert_int_equal(world_dropped(&world, DP_DROP_RX_OVERSIZE), 1);
	assert_int_equal(world.nb_seen, 0);
	world_close(&world);
}

static void test_segmented(void **state)
{
	struct world_datagram d;
	struct rte_mbuf *head, *tail;
	uint8_t frame[2048];
	size_t len;

	world_open(&world, &one);
	d = binding("10.99.0.20", 5000);
	len = world_frame(&world, &d, frame);
	head = rte_pktmbuf_alloc(world.dp->pool);
	tail = rte_pktmbuf_alloc(world.dp->pool);
	memcpy(rte_pktmbuf_append(head, 50), frame, 50);
	memcpy(rte_pktmbuf_append(tail, (uint16_t)(len - 50)), frame + 50, len - 50);
	assert_int_equal(rte_pktmbuf_chain(head, tail), 0);
	softport_put_mbuf(world.dp->port[0].port, 0, head);
	world_run(&world);
	only(DP_DROP_SEGMENTED, 1);
	world_close(&world);
}

static void test_tx_full(void **state)
{
	struct world_datagram d, got;

	world_open(&world, &one);
	d = binding("10.99.0.20", 5000);
	world_send(&world, &d);
	world_run(&world);
	assert_true(world_take(&world, &d.src, &got));
	softport_limit(world.dp->port[0].port, 10);
	for (unsigned int i = 0; i < 25; i++)
		world_send(&world, &d);
	world_run(&world);
	assert_int_equal(world.nb_seen, 10);
	only(DP_DROP_TX_FULL, 15);
	// eleven answers, ARP for the client and the IPv4 gateway, ND for the IPv6 gateway
	assert_int_equal(world_stats(&world).tx_bytes,
		11u * (NET_ETH_LEN + NET_IP4_LEN + NET_UDP_LEN + got.len) + 2 * (NET_ETH_LEN + 28) +
			NET_ETH_LEN + NET_IP6_LEN + 32);
	world_close(&world);
}

// Worker 0 receives for worker 1, which does not run: drops of a full ring have a name.
static void test_handover_full(void **state)
{
	struct world_setup s = two;
	struct dp_stats st;

	s.handover_ring = 64;
	world_open(&world, &s);
	world_run(&world);
	for (uint16_t i = 0; i < 400; i++) {
		const struct world_datagram d = binding("10.99.0.20", (uint16_t)(5000 + i));
		uint8_t frame[2048];

		softport_put(world.dp->port[0].port, 0, frame, world_frame(&world, &d, frame));
	}
	for (unsigned int i = 0; i < 20; i++)
		worker_round(world.dp->worker[0],
			world.dp->tsc_start + ++world.ms * world.dp->tsc_per_ms);
	stats_publish(world.dp->worker[0]);
	assert_true(dp_worker_stats(world.dp, 0, &st));
	assert_in_range(st.handed_out, 63, 64);
	assert_in_range(st.drop[DP_DROP_HANDOVER_FULL], 50, 336);
	world_run(&world);
	assert_int_equal(world.nb_seen,
		400 - st.drop[DP_DROP_HANDOVER_FULL] - world_dropped(&world, DP_DROP_NEIGH_HELD));
	world_close(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_asker),
		cmocka_unit_test(test_echo),
		cmocka_unit_test(test_echo_rate),
		cmocka_unit_test(test_hold),
		cmocka_unit_test(test_hold_bounds),
		cmocka_unit_test(test_bind_resolves),
		cmocka_unit_test(test_ask_rate),
		cmocka_unit_test(test_answer_elsewhere),
		cmocka_unit_test(test_spoofed_answer),
		cmocka_unit_test(test_our_address_claimed),
		cmocka_unit_test(test_announce),
		cmocka_unit_test(test_gateway_kept),
		cmocka_unit_test(test_own_mac_claimed),
		cmocka_unit_test(test_martians),
		cmocka_unit_test(test_no_route),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_segmented),
		cmocka_unit_test(test_tx_full),
		cmocka_unit_test(test_handover_full),
	};

	world_eal();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
