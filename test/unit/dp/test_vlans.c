// SPDX-License-Identifier: BSD-3-Clause
// Several VLANs on one device: frames are sorted by their tags, the box is a separate host on each
// network, and a frame of one network never counts as one of another. Port wan is untagged, side is
// VLAN 100, and lab, 10.97.0.1/24, is VLAN 356 on the same device.
#include "bytes.h"
#include "datapath.h"
#include "drop_of.h"
#include "dp_world.h"
#include "sender.h"

#include <rte_mempool.h>

#define CHANNEL 0x4001
#define WAN 0
#define SIDE 1
#define LAB 2
#define SIDE_ID 100
#define LAB_ID 356 // its lower byte equals that of SIDE_ID
#define STRIP (RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED)

static struct dp_world world;
static struct conf_port ports[3];
static struct conf_address lab;

static struct turn_local local(const char *addr, const char *subnet, uint8_t port)
{
	struct turn_local l = {.addr = world_endpoint(addr, 0).addr, .port = port};

	assert_int_equal(addr_prefix_parse(subnet, &l.subnet), 0);
	return l;
}

static void add_lab(struct dp_world *w)
{
	lab = (struct conf_address){world_endpoint("10.97.0.1", 0).addr, .prefix_len = 96 + 24};
	ports[WAN] = w->ports[WAN];
	ports[SIDE] = w->ports[SIDE];
	ports[LAB] = w->ports[SIDE];
	ports[LAB].name = "lab";
	ports[LAB].addresses = &lab;
	ports[LAB].vlan = LAB_ID;
	w->conf.ports = ports;
	w->conf.nb_ports = 3;
	w->locals[w->conf.turn.nb_local++] = local("10.97.0.1", "10.97.0.0/24", LAB);
	w->listeners[w->conf.turn.nb_listeners++] =
		(struct turn_listener){{lab.addr, 3478}, TURN_OVER_UDP};
	assert_int_equal(addr_prefix_parse("10.97.0.0/24", &w->allow[4]), 0);
	w->conf.turn.nb_allow = 5;
}

#define SETUP(n, queues)                                                           \
	.workers = n, .rx_queues = queues, .tx_queues = queues, .two_ports = true, \
	.side_vlan = SIDE_ID, .icmp_rate = 1000, .change = add_lab

static struct world_setup setups[] = {
	{SETUP(1, 1)}, {SETUP(2, 1)}, {SETUP(3, 3)}, {SETUP(2, 2), .rss = true}};

// --- receiving -----------------------------------------------------------------------------------

static struct port *device(void)
{
	return world.dp->port[WAN].port;
}

static uint64_t dropped(enum net_drop reason)
{
	return world_dropped(&world, drop_of_net(reason));
}

static uint64_t all_drops(void)
{
	uint64_t n = 0;

	for (unsigned int i = 0; i < DP_DROP_END; i++)
		n += world_dropped(&world, i);
	return n;
}

// Number of frames received, without answers of neighbours.
static uint64_t received(void)
{
	const struct dp_stats s = world_stats(&world);

	return s.rx - s.consumed;
}

static size_t frame_to(unsigned int port, const struct endpoint *src, const struct endpoint *dst,
	const char *text, uint8_t frame[2048])
{
	struct world_datagram d = {.src = *src, .dst = *dst, .len = (uint16_t)strlen(text)};

	memcpy(d.data, text, d.len);
	return world_frame_by(&world, port, &d, frame);
}

static void send_by(
	unsigned int port, const struct endpoint *src, const struct endpoint *dst, const char *text)
{
	uint8_t frame[2048];

	world_inject(&world, port, frame, frame_to(port, src, dst, text, frame));
}

// A Binding request to the listener of a port, as a frame on the wire.
static size_t binding(unsigned int port, const char *source, uint8_t frame[2048])
{
	static const char *const servers[] = {"10.99.0.1", "10.98.0.1", "10.97.0.1"};
	const uint8_t tid[STUN_TID_LEN] = {1};
	struct world_datagram d = {
		.src = world_endpoint(source, 5000), .dst = world_endpoint(servers[port], 3478)};
	struct stun_writer w;

	stun_begin(&w, d.data, sizeof(d.data), STUN_REQUEST, STUN_BINDING, tid);
	d.len = stun_end(&w);
	return world_frame_by(&world, port, &d, frame);
}

// Receives a frame on the device with these offload flags. True if it was answered; otherwise it
// was dropped.
static bool answered(const uint8_t *frame, size_t len, uint64_t flags, uint16_t tci)
{
	struct rte_mbuf *m = softport_mbuf(device(), frame, len);
	const uint64_t drops = all_drops();
	unsigned int seen;

	m->ol_flags |= flags;
	m->vlan_tci = tci;
	softport_put_mbuf(device(), 0, m);
	world_run(&world);
	seen = world.nb_seen;
	world.nb_seen = 0;
	assert_int_equal(seen, all_drops() == drops);
	return seen == 1;
}

static size_t strip_tag(uint8_t *frame, size_t len)
{
	memmove(frame + 12, frame + 16, len - 16);
	return len - 4;
}

static size_t add_tag(uint8_t *frame, size_t len, uint16_t tci)
{
	memmove(frame + 16, frame + 12, len - 12);
	store_be16(frame + 12, 0x8100);
	store_be16(frame + 14, tci);
	return len + 4;
}

// --- destination of a frame ----------------------------------------------------------------------

static void tags_say_which_network_a_frame_is_for(void **state)
{
	static const char *const hosts[] = {"10.99.0.20", "10.98.0.20", "10.97.0.20"};
	static const uint16_t ids[] = {0, SIDE_ID, LAB_ID};
	uint8_t frame[2048];

	world_open(&world, *state);
	for (unsigned int port = WAN; port <= LAB; port++) {
		size_t len = binding(port, hosts[port], frame);

		assert_true(answered(frame, len, 0, 0));
		if (port != WAN) {
			frame[14] |= 0xe0; // priority 7 does not change the VLAN
			assert_true(answered(frame, len, 0, 0));
			len = strip_tag(frame, len);
		}
		// without its tag, with another network's tag, and with an unknown tag
		for (unsigned int i = WAN; i <= LAB; i++)
			assert_int_equal(
				answered(frame, len, i != WAN ? STRIP : 0, ids[i]), i == port);
		assert_false(answered(frame, len, STRIP, 300));
		len = add_tag(frame, len, 300);
		assert_false(answered(frame, len, 0, 0));
		store_be16(frame + 14, 4095);
		assert_false(answered(frame, len, 0, 0));
	}
	assert_int_equal(dropped(NET_DROP_VLAN), 9); // the other ports judge known tags
	world_close(&world);
}

static void a_priority_tag_is_no_vlan(void **state)
{
	uint8_t frame[2048];
	size_t len;

	world_open(&world, *state);
	len = add_tag(frame, binding(WAN, "10.99.0.20", frame), 0xa000);
	assert_true(answered(frame, len, 0, 0));
	len = strip_tag(frame, len);
	assert_true(answered(frame, len, STRIP, 0xe000));
	len = add_tag(frame, strip_tag(frame, binding(SIDE, "10.98.0.20", frame)), 0xa000);
	assert_false(answered(frame, len, 0, 0));
	world_close(&world);
}

static void two_tags_are_one_too_many(void **state)
{
	uint8_t frame[2048];
	size_t len;

	world_open(&world, *state);
	len = add_tag(frame, binding(SIDE, "10.98.0.20", frame), SIDE_ID);
	assert_false(answered(frame, len, 0, 0));
	store_be16(frame + 14, LAB_ID);
	assert_false(answered(frame, len, 0, 0));
	store_be16(frame + 12, 0x88a8); // of a provider
	assert_false(answered(frame, len, 0, 0));
	len = strip_tag(frame, len); // SIDE_ID in the frame, another tag stripped
	assert_false(answered(frame, len, STRIP, LAB_ID));
	assert_false(answered(frame, len, STRIP, SIDE_ID));
	assert_false(answered(frame, len, STRIP | RTE_MBUF_F_RX_QINQ_STRIPPED, SIDE_ID));
	assert_int_equal(dropped(NET_DROP_VLAN), 6);
	// too short for a tag, whatever its type is
	assert_false(answered(frame, 15, 0, 0));
	assert_false(answered(frame, 17, 0, 0));
	assert_false(answered(frame, 11, STRIP, LAB_ID));
	assert_int_equal(dropped(NET_DROP_SHORT), 3);
	world_close(&world);
}

// The carrier has no untagged addresses: it is not a host.
static void only_tags(struct dp_world *w)
{
	struct turn_config *t = &w->conf.turn;

	w->ports[WAN].nb_addresses = w->ports[WAN].nb_gateways = 0;
	w->ports[WAN].tagged_only = true;
	t->listeners = &w->listeners[2];
	t->nb_listeners = 1;
	t->local[0] = local("10.98.0.1", "10.98.0.0/24", SIDE);
	t->relay[0] = t->local[0].addr;
	t->nb_local = t->nb_relay = 1;
	t->nb_gateways = 0;
}

static void a_device_may_have_only_vlans(void **state)
{
	struct world_setup s = {SETUP(1, 1)};
	struct net_l2 l2 = {.src = {2, 0xbb, 1, 2, 3, 4}};
	struct addr host = world_endpoint("fe80::7", 0).addr, mine;
	uint8_t frame[2048];
	size_t len;

	s.change = only_tags;
	world_open(&world, &s);
	mine = world.dp->port[WAN].link_local;
	len = binding(SIDE, "10.98.0.20", frame);
	assert_true(answered(frame, len, 0, 0));
	len = strip_tag(frame, len);
	assert_false(answered(frame, len, 0, 0));
	assert_false(answered(frame, len, STRIP, 0xe000));
	assert_false(answered(frame, len, STRIP, LAB_ID));
	len = net_write_ask(frame, &l2, &host, &mine, NULL);
	assert_false(answered(frame, len, 0, 0));
	assert_int_equal(dropped(NET_DROP_VLAN), 4);
	l2.vlan = SIDE_ID; // lab has that address
	len = net_write_ask(frame, &l2, &host, &mine, NULL);
	world_inject(&world, SIDE, frame, len);
	world_run(&world);
	assert_int_equal(world.answers, 1);
	world_close(&world);
}

// --- relaying ------------------------------------------------------------------------------------

// A client on one VLAN and a peer on another, through a relay address that is on neither. Each host
// is resolved on its own VLAN; otherwise the world's answers would not be believed.
static void media_goes_from_vlan_to_vlan(void **state)
{
	const struct endpoint peer = world_endpoint("10.97.0.30", 7000);
	struct world_client c;
	struct world_datagram got;

	world_open(&world, *state);
	world_client(&world, &c, "10.98.0.20", 40000);
	c.server = world_endpoint("10.98.0.1", 3478);
	assert_int_equal(client_allocate(&world, &c, 4), 0);
	for (unsigned int i = 0; i < 40; i++) {
		if (i == 20)
			assert_int_equal(client_bind(&world, &c, CHANNEL, &peer), 0);
		if (i == 0)
			assert_int_equal(client_permit(&world, &c, &peer), 0);
		if (i >= 20) {
			client_channel_data(&world, &c, CHANNEL, "ping", 4);
			world_run(&world);
			assert_true(world_take(&world, &peer, &got));
			assert_int_equal(got.port, LAB);
			assert_true(endpoint_eq(&got.src, &c.relay));
			assert_memory_equal(got.data, "ping", 4);
		}
		send_by(LAB, &peer, &c.relay, "pong");
		world_run(&world);
		assert_true(world_take(&world, &c.endpoint, &got));
		assert_int_equal(got.port, SIDE);
		assert_memory_equal(got.data + got.len - 4, "pong", 4);
	}
	assert_int_equal(world_drops(&world), 0);
	world_close(&world);
}

// A host on one VLAN spoofs a host of another. An allocation does not believe it, with a channel or
// without, and its request is not answered.
static void a_source_behind_one_vlan_is_a_martian_on_another(void **state)
{
	const struct endpoint peer = world_endpoint("10.97.0.30", 7000);
	struct world_client c;
	struct world_datagram got;
	uint8_t frame[2048];
	uint64_t tx;

	world_open(&world, *state);
	world_client(&world, &c, "10.99.0.20", 40000);
	assert_int_equal(client_allocate(&world, &c, 4), 0);
	assert_int_equal(client_permit(&world, &c, &peer), 0);
	for (unsigned int i = 0; i < 2; i++) {
		send_by(LAB, &peer, &c.relay, "true");
		world_run(&world);
		assert_true(world_take(&world, &c.endpoint, &got));
		tx = world_stats(&world).tx;
		send_by(SIDE, &peer, &c.relay, "false");
		world_run(&world);
		assert_int_equal(world_stats(&world).tx, tx);
		assert_int_equal(dropped(NET_DROP_NOT_FOR_US), i + 1); // neither has the address
		assert_int_equal(client_bind(&world, &c, CHANNEL, &peer), 0);
	}
	world_inject(&world, SIDE, frame, binding(SIDE, "10.97.0.20", frame));
	world_run(&world);
	assert_int_equal(dropped(NET_DROP_MARTIAN_SOURCE), 1);
	assert_int_equal(world.nb_seen, 0);
	world_close(&world);
}

// Bursts of all networks, shuffled: nothing is lost or reordered within a flow.
static void bursts_of_many_networks_keep_the_order_of_flows(void **state)
{
	static const char *const hosts[] = {"10.99.0.30", "10.98.0.30", "10.97.0.30"};
	unsigned int next[3] = {0, 0, 0}, sent[3] = {0, 0, 0}, foreign = 0;
	struct endpoint peer[3];
	struct world_client c;
	struct world_datagram got;
	uint8_t frame[2048];
	uint64_t before;

	world_open(&world, *state);
	world_client(&world, &c, "10.99.0.20", 40000);
	assert_int_equal(client_allocate(&world, &c, 4), 0);
	for (unsigned int i = 0; i < 3; i++) {
		peer[i] = world_endpoint(hosts[i], 7000);
		assert_int_equal(client_bind(&world, &c, (uint16_t)(CHANNEL + i), &peer[i]), 0);
	}
	before = received();
	for (unsigned int i = 0; i < 200; i++) {
		const unsigned int k = test_rand_below(&world.rand, 4), net = k % 3;
		char text[16];
		size_t len;

		snprintf(text, sizeof(text), "%06u", sent[net]);
		len = frame_to(net, &peer[net], &c.relay, text, frame);
		if (k == 3) { // on an unknown VLAN
			len = add_tag(frame, len, 7);
			foreign++;
		} else {
			sent[net]++;
		}
		softport_put(device(), 0, frame, len); // one queue, to keep the order
	}
	world_run(&world);
	while (world_take(&world, &c.endpoint, &got)) {
		const unsigned int net = load_be16(got.data) - CHANNEL;
		char text[16];

		snprintf(text, sizeof(text), "%06u", next[net]++);
		assert_memory_equal(got.data + 4, text, 6);
	}
	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(next[i], sent[i]);
	assert_int_equal(dropped(NET_DROP_VLAN), foreign);
	assert_int_equal(received() - before, 200);
	world_close(&world);
}

// --- the box as a host ---------------------------------------------------------------------------

static void neighbours_are_answered_on_their_vlan_alone(void **state)
{
	static const char *const local_text[] = {"10.99.0.1", "10.98.0.1", "10.97.0.1"};
	static const char *const hosts[] = {"10.99.0.7", "10.98.0.7", "10.97.0.7"};
	uint8_t frame[NET_ND_FRAME_MAX];

	world_open(&world, *state);
	for (unsigned int on = WAN; on <= LAB; on++) {
		for (unsigned int owner = WAN; owner <= LAB; owner++) {
			const struct addr us = world_endpoint(local_text[owner], 0).addr;
			const struct addr host = world_endpoint(hosts[on], 0).addr;
			const struct net_l2 l2 = {.src = {2, 0xaa, 10, 9, 0, 7},
				.vlan = world.dp->port[on].port->vlan};
			const unsigned int answers = world.answers;

			world_inject(
				&world, on, frame, net_write_ask(frame, &l2, &host, &us, NULL));
			world_run(&world);
			assert_int_equal(world.answers - answers, on == owner);
			if (on == owner) // with the tag of the request
				assert_int_equal(sender_of(&world, WAN, world.last), on);
		}
	}
	assert_int_equal(world_dropped(&world, DP_DROP_ARP), 6);
	world_close(&world);
}

static unsigned int announced[3]; // by the port of the tag

// Records gratuitous ARP and NA, each of which must announce an address of its network.
static bool watch(struct dp_world *w, unsigned int port)
{
	uint8_t frame[2048];
	size_t len;
	unsigned int sender;

	if (w->dp->port[port].port->on != NULL)
		return false;
	len = softport_take(w->dp->port[port].port, frame, sizeof(frame));
	if (len == 0)
		return false;
	sender = sender_of(w, port, frame);
	if ((frame[0] & 1) == 0)
		return true;
	for (uint32_t i = 0; i < w->dp->port[sender].conf->nb_addresses; i++) {
		const struct addr *a = &w->dp->port[sender].conf->addresses[i].addr;
		struct net_frame f;
		struct net_neigh_msg msg;
		struct net_rx rx = {.vlan = w->dp->port[sender].port->vlan};

		assert_int_equal(net_frame_parse(frame, len, &rx, &f), NET_OK);
		net_neigh_parse(frame, len, &f, &msg);
		announced[sender] += msg.type == NET_NEIGH_ANSWER && addr_eq(&msg.target, a);
	}
	return true;
}

static void a_link_that_comes_up_is_told_on_every_vlan(void **state)
{
	struct world_setup s = {SETUP(2, 2)};

	memset(announced, 0, sizeof(announced));
	s.receive = watch;
	world_open(&world, &s);
	softport_link(device(), false);
	dp_tick(world.dp);
	world_wait(&world, 100);
	softport_link(device(), true);
	dp_tick(world.dp);
	for (unsigned int i = WAN; i <= LAB; i++)
		assert_int_equal(announced[i], 0);
	world_wait(&world, 900);
	assert_int_equal(announced[WAN], 2); // of both families
	assert_int_equal(announced[SIDE], 1);
	assert_int_equal(announced[LAB], 1);
	world_close(&world);
}

// --- sizes, super-frames -------------------------------------------------------------------------

static void every_vlan_has_its_mtu(void **state)
{
	struct world_setup s = {SETUP(2, 1), .mtu = 1500, .side_mtu = 1280};
	const struct endpoint near = world_endpoint("10.98.0.30", 7000),
			      far = world_endpoint("10.97.0.30", 7000);
	static char text[1400];
	struct world_client c;
	struct world_datagram got;
	struct ip_long whole;

	memset(text, 'x', 1300); // 1328 bytes with headers
	world_open(&world, &s);
	ports[LAB].mtu = 1500;
	world.dp->port[LAB].port->mtu = 1500; // add_lab took side's
	world_client(&world, &c, "10.99.0.20", 40000);
	assert_int_equal(client_allocate(&world, &c, 4), 0);
	assert_int_equal(client_bind(&world, &c, CHANNEL, &near), 0);
	assert_int_equal(client_bind(&world, &c, CHANNEL + 1, &far), 0);
	client_channel_data(&world, &c, CHANNEL, text, 1300);
	client_channel_data(&world, &c, CHANNEL + 1, text, 1300);
	world_run(&world);
	assert_true(world_take(&world, &far, &got));
	assert_false(world_take(&world, &near, &got));
	assert_true(world_take_long(&world, &near, &whole)); // it came in fragments
	assert_int_equal(whole.len, 1300);
	assert_int_equal(world_stats(&world).fragments_out, 2);
	send_by(SIDE, &near, &c.relay, text);
	send_by(LAB, &far, &c.relay, text);
	world_run(&world);
	assert_true(world_take(&world, &c.endpoint, &got));
	assert_int_equal(load_be16(got.data), CHANNEL + 1);
	assert_false(world_take(&world, &c.endpoint, &got));
	assert_int_equal(world_dropped(&world, DP_DROP_RX_OVERSIZE), 1);
	world_close(&world);
}

// Two Binding requests in one super-frame, tagged or with the tag stripped.
static struct rte_mbuf *super_of(unsigned int port, const char *source)
{
	uint8_t frame[2048], *ip;
	size_t len = binding(port, source, frame);
	const size_t headers = len - 20;
	struct rte_mbuf *m;

	memcpy(frame + len, frame + headers, 20);
	frame[len + 19]++; // another transaction
	ip = frame + headers - 28;
	store_be16(ip + 2, 20 + 8 + 40);
	store_be16(ip + 10, 0);
	store_be16(ip + 10, (uint16_t)~csum_fold(csum_add(0, ip, 20)));
	store_be16(ip + 24, 8 + 40);
	m = softport_mbuf(device(), frame, len + 20);
	m->ol_flags |= RTE_MBUF_F_RX_LRO | RTE_MBUF_F_RX_L4_CKSUM_GOOD;
	m->tso_segsz = 20;
	return m;
}

static void super_frames_are_sorted_whole(void **state)
{
	static const char *const hosts[] = {"10.99.0.20", "10.98.0.20", "10.97.0.20"};
	struct rte_mbuf *m;
	uint64_t before;

	world_open(&world, *state);
	device()->rx_super = true;
	before = received();
	for (unsigned int port = WAN; port <= LAB; port++)
		softport_put_mbuf(device(), 0, super_of(port, hosts[port]));
	world_run(&world);
	assert_int_equal(world.nb_seen, 6);
	for (unsigned int i = 0; i < 6; i++)
		assert_int_equal(world.seen[i].port,
			world.seen[i].dst.addr.b[13] == 99           ? WAN
				: world.seen[i].dst.addr.b[13] == 98 ? SIDE
								     : LAB);
	m = super_of(LAB, hosts[LAB]);
	store_be16(rte_pktmbuf_mtod_offset(m, uint8_t *, 14), 300);
	softport_put_mbuf(device(), 0, m);
	world_run(&world);
	assert_int_equal(dropped(NET_DROP_VLAN), 2);
	assert_int_equal(received() - before, 8);
	world_close(&world);
}

// A VLAN sends super-frames like its device does, until the device finds out that it cannot.
static void a_vlan_sends_super_frames_as_its_device_does(void **state)
{
	static const struct port_super limits = {.segments = 64, .bufs = 64, .bytes = 65535};
	const struct endpoint peer = world_endpoint("10.98.0.30", 7000);
	struct world_client c;
	struct world_datagram got;
	uint8_t frame[2048];
	uint64_t datagrams = 0;

	world_open(&world, *state);
	world_client(&world, &c, "10.99.0.20", 40000);
	assert_int_equal(client_allocate(&world, &c, 4), 0);
	assert_int_equal(client_bind(&world, &c, CHANNEL, &peer), 0);
	softport_uso(device(), &limits, 2);
	world.dp->port[SIDE].port->uso = limits;
	for (unsigned int burst = 0; burst < 3; burst++) {
		for (unsigned int i = 0; i < 8; i++) {
			struct world_datagram d = {
				.src = c.endpoint, .dst = c.server, .len = 8, .df = true};

			memcpy(d.data, "\x40\x01\0\4data", 8);
			d.data[7] = (uint8_t)i;
			softport_put(device(), 0, frame, world_frame(&world, &d, frame));
		}
		world_run(&world);
		for (unsigned int i = 0; i < 8; i++) {
			assert_true(world_take(&world, &peer, &got));
			assert_int_equal(got.port, SIDE);
			assert_int_equal(got.data[3], i);
		}
	}
	assert_true(softport_supers(device(), &datagrams) == 1 && datagrams > 1);
	assert_int_equal(world.dp->port[SIDE].port->uso.segments, 0);
	assert_int_equal(world.dp->port[LAB].port->uso.segments, 0);
	world_close(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_CASE(tags_say_which_network_a_frame_is_for, setups, 0),
		WORLD_CASE(tags_say_which_network_a_frame_is_for, setups, 1),
		WORLD_CASE(a_priority_tag_is_no_vlan, setups, 0),
		WORLD_CASE(two_tags_are_one_too_many, setups, 0),
		WORLD_CASE(a_device_may_have_only_vlans, setups, 0),
		WORLD_CASE(media_goes_from_vlan_to_vlan, setups, 0),
		WORLD_CASE(media_goes_from_vlan_to_vlan, setups, 1),
		WORLD_CASE(media_goes_from_vlan_to_vlan, setups, 2),
		WORLD_CASE(media_goes_from_vlan_to_vlan, setups, 3),
		WORLD_CASE(a_source_behind_one_vlan_is_a_martian_on_another, setups, 0),
		WORLD_CASE(a_source_behind_one_vlan_is_a_martian_on_another, setups, 2),
		WORLD_CASE(bursts_of_many_networks_keep_the_order_of_flows, setups, 0),
		WORLD_CASE(bursts_of_many_networks_keep_the_order_of_flows, setups, 1),
		WORLD_CASE(neighbours_are_answered_on_their_vlan_alone, setups, 0),
		WORLD_CASE(neighbours_are_answered_on_their_vlan_alone, setups, 2),
		WORLD_CASE(a_link_that_comes_up_is_told_on_every_vlan, setups, 0),
		WORLD_CASE(every_vlan_has_its_mtu, setups, 0),
		WORLD_CASE(super_frames_are_sorted_whole, setups, 0),
		WORLD_CASE(super_frames_are_sorted_whole, setups, 1),
		WORLD_CASE(a_vlan_sends_super_frames_as_its_device_does, setups, 0),
	};

	world_eal();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
