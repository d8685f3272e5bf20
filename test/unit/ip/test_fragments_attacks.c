// SPDX-License-Identifier: BSD-3-Clause
// Attacks with fragments other than floods (test_fragments_bomb.c): fragments that come from a
// network that does not lead to their source, and long requests that take buffers for long
// datagrams.
#include "bytes.h"
#include "datapath.h"
#include "drop_of.h"
#include "dp_world.h"
#include "path/worker.h"

#include <rte_mempool.h>

#define CHANNEL 0x4001
#define WAN 0
#define SIDE_ID 100
#define FLOWS 16
#define LENT 8 // fragments.buffers
#define FLOOD 4 // long requests per round
#define LONG 3000 // bytes of one request

static struct dp_world world;
static struct world_client client;
static struct endpoint peer;
static struct ip_long in, got;
static struct ip_pieces pieces;

static void with_fragments(struct dp_world *w)
{
	w->conf.fragments = (struct conf_fragments){.flows = FLOWS,
		.per_source = 4,
		.longest = 9000,
		.buffers = LENT,
		.timeout_ms = 1000,
		.rate = 10000};
}

// --- networks ------------------------------------------------------------------------------------

static const struct world_setup vlans = {.workers = 1,
	.rx_queues = 1,
	.tx_queues = 1,
	.two_ports = true,
	.side_vlan = SIDE_ID,
	.change = with_fragments};

// Sends a host's Binding request to the listener of wan, in two fragments, both untagged.
static void cut_binding(const char *source, uint32_t id)
{
	const uint8_t tid[STUN_TID_LEN] = {1};
	const struct port *p = world.dp->port[WAN].port;
	uint8_t macs[12] = {[6] = 2, 9, 9, 9, 9, 9};
	struct stun_writer w;

	memset(&in, 0, offsetof(struct ip_long, data));
	in.src = world_endpoint(source, 5000);
	in.dst = world_endpoint("10.99.0.1", 3478);
	in.id = id;
	in.ttl = 60;
	stun_begin(&w, in.data, sizeof(in.data), STUN_REQUEST, STUN_BINDING, tid);
	in.len = stun_end(&w);
	memcpy(macs, p->mac, 6);
	ip_pieces_cut(&pieces, &in, macs, 36);
	assert_int_equal(pieces.n, 2);
}

static void put(const uint8_t *frame, size_t len)
{
	softport_put(world.dp->port[WAN].port, 0, frame, len);
	world_run(&world);
}

// Puts a frame on side's VLAN.
static void put_tagged(const uint8_t *frame, size_t len)
{
	uint8_t tagged[1600];

	memcpy(tagged, frame, 12);
	store_be16(tagged + 12, 0x8100);
	store_be16(tagged + 14, SIDE_ID);
	memcpy(tagged + 16, frame + 12, len - 12);
	put(tagged, len + 4);
}

static unsigned int answers(void)
{
	const unsigned int n = world.nb_seen;

	world.nb_seen = 0;
	return n;
}

static uint64_t dropped(enum net_drop reason)
{
	return world_dropped(&world, drop_of_net(reason));
}

// One of the two fragments comes by a VLAN that does not lead to the source. Then the datagram is
// not reassembled, whichever fragment comes last.
static void fragments_come_the_way_of_their_source(void **state)
{
	world_open(&world, &vlans);
	cut_binding("10.99.0.20", 1);
	put(pieces.frame[0], pieces.len[0]);
	put(pieces.frame[1], pieces.len[1]);
	assert_int_equal(answers(), 1);
	for (unsigned int first = 0; first < 2; first++) { // by the wrong VLAN
		cut_binding("10.99.0.20", 2 + first);
		put_tagged(pieces.frame[first], pieces.len[first]);
		assert_int_equal(dropped(NET_DROP_NOT_FOR_US), first + 1);
		assert_int_equal(world_stats(&world).held, first);
		put(pieces.frame[1 - first], pieces.len[1 - first]);
		assert_int_equal(answers(), 0);
		assert_int_equal(world_stats(&world).held, first + 1);
	}
	// from a host of side, to an address of wan, on wan: the address is right, the source is
	// not there
	cut_binding("10.98.0.20", 9);
	put(pieces.frame[0], pieces.len[0]);
	assert_int_equal(dropped(NET_DROP_MARTIAN_SOURCE), 1);
	world_close(&world);
}

// Eight bytes from another network would be an overlap.
static void fragments_of_another_network_spoil_nothing(void **state)
{
	uint8_t junk[1600];

	world_open(&world, &vlans);
	cut_binding("10.99.0.20", 1);
	memcpy(junk, pieces.frame[1], pieces.len[1]);
	memset(junk + pieces.len[1] - 8, 0x5a, 8);
	put_tagged(junk, pieces.len[1]);
	assert_int_equal(dropped(NET_DROP_NOT_FOR_US), 1);
	put(pieces.frame[0], pieces.len[0]);
	put_tagged(junk, pieces.len[1]);
	put(pieces.frame[1], pieces.len[1]);
	assert_int_equal(answers(), 1);
	assert_int_equal(dropped(NET_DROP_FRAGMENT_OVERLAP), 0);
	world_close(&world);
}

// --- long requests -------------------------------------------------------------------------------

static const struct world_setup one = {.workers = 1,
	.rx_queues = 1,
	.tx_queues = 1,
	.requests = 1,
	.backlog = 256,
	.change = with_fragments};

static void cut_and_inject(void)
{
	uint8_t macs[12] = {[6] = 2, 9, 9, 9, 9, 9};

	memcpy(macs, world.dp->port[0].port->mac, 6);
	ip_pieces_cut(&pieces, &in, macs, 1500);
	for (unsigned int i = 0; i < pieces.n; i++)
		world_inject(&world, 0, pieces.frame[i], pieces.len[i]);
}

// Sends an Allocate request that is long because of a comprehension-optional attribute.
static void send_long_request(const struct endpoint *src, uint32_t id)
{
	memset(&in, 0, offsetof(struct ip_long, data));
	in.src = *src;
	in.dst = client.server;
	in.len = LONG;
	in.id = id;
	in.ttl = 60;
	memset(in.data, 0, LONG);
	store_be16(in.data, 0x0003);
	store_be16(in.data + 2, LONG - 20);
	store_be32(in.data + 4, 0x2112a442);
	store_be32(in.data + 8, id);
	store_be16(in.data + 20, 0x8022);
	store_be16(in.data + 22, LONG - 24);
	cut_and_inject();
}

static void send_spoofed(uint32_t n)
{
	struct endpoint spoofed = world_endpoint("198.51.0.0", (uint16_t)(1024 + n));

	store_be16(spoofed.addr.b + 14, (uint16_t)n);
	send_long_request(&spoofed, n);
}

// Sends media of the peer in two fragments.
static void send_media(uint32_t id, uint32_t len)
{
	memset(&in, 0, offsetof(struct ip_long, data));
	in.src = peer;
	in.dst = client.relay;
	in.len = len;
	in.id = id;
	in.ttl = 60;
	memset(in.data, 'm', len);
	cut_and_inject();
}

static void open_call(const struct world_setup *s)
{
	world_open(&world, s);
	peer = world_endpoint("10.99.0.30", 7000);
	world_client(&world, &client, "10.99.0.20", 40000);
	assert_int_equal(client_allocate(&world, &client, 4), 0);
	assert_int_equal(client_bind(&world, &client, CHANNEL, &peer), 0);
}

static unsigned int long_in_use(void)
{
	return rte_mempool_in_use_count(world.dp->datagrams);
}

// Runs rounds in which strangers ask more than is answered while a call continues. Returns how many
// of 50 datagrams of len bytes came through.
static unsigned int under_long_requests(uint32_t len)
{
	unsigned int came = 0;

	for (unsigned int round = 0; round < 200; round++) {
		client_channel_data(&world, &client, CHANNEL, "x", 1);
		for (unsigned int i = 0; i < FLOOD; i++)
			send_spoofed(round * FLOOD + i);
		if (round % 4 == 0)
			send_media(50000 + round, len);
		world_round(&world);
		while (world_take_long(&world, &client.endpoint, &got))
			came += got.len == len + 4;
		world.nb_longs = world.nb_seen = 0;
		assert_in_range(long_in_use(), FLOWS, FLOWS + 2);
	}
	return came;
}

static void long_requests_take_nothing_from_datagrams_in_fragments(void **state)
{
	open_call(&one);
	assert_int_equal(long_in_use(), FLOWS);
	assert_int_equal(under_long_requests(1600), 50);
	assert_int_equal(under_long_requests(4000), 50); // these need long buffers themselves
	assert_int_equal(dropped(NET_DROP_FRAGMENT_FULL), 0);
	assert_int_equal(world_dropped(&world, DP_DROP_NO_MBUF), 0);
	// all excess requests are counted
	assert_in_range(world_dropped(&world, DP_DROP_BACKLOG), 1000, 1600);
	world_close(&world);
}

// A long request is answered like any other. The request that waits after it may be long as well,
// and finds the place taken.
static void a_long_request_is_answered(void **state)
{
	const struct endpoint client_end = world_endpoint("10.99.0.40", 40001);

	open_call(&one);
	for (uint32_t n = 1; n <= 20; n++) {
		send_long_request(&client_end, n);
		world_run(&world);
		assert_int_equal(answers(), 1);
	}
	assert_int_equal(world_drops(&world), 0);
	// a known client has a place of its own
	for (uint32_t n = 21; n <= 23; n++)
		send_spoofed(n);
	send_long_request(&client.endpoint, 24);
	send_long_request(&client.endpoint, 25);
	world_run(&world);
	assert_int_equal(answers(), 2);
	assert_int_equal(world_dropped(&world, DP_DROP_BACKLOG), 2);
	assert_int_equal(world_dropped(&world, DP_DROP_BACKLOG_KNOWN), 1);
	assert_int_equal(long_in_use(), FLOWS);
	world_close(&world);
}

// When all buffers to be lent are in use, only datagrams that need one are dropped.
static void lent_buffers_are_not_those_of_flows(void **state)
{
	static struct rte_mbuf *taken[FLOWS + LENT + 8];
	unsigned int n = 0;
	uint64_t before;

	open_call(&one);
	while (n < RTE_DIM(taken) && (taken[n] = rte_pktmbuf_alloc(world.dp->datagrams)) != NULL)
		n++;
	assert_int_equal(n, LENT + 2); // two may wait in the backlog
	for (uint32_t id = 0; id < 3 * FLOWS; id++) {
		before = world_dropped(&world, DP_DROP_NO_MBUF);
		send_media(id, 4000);
		send_media(1000 + id, 1600);
		world_run(&world);
		assert_int_equal(world_dropped(&world, DP_DROP_NO_MBUF), before + 1);
		assert_true(world_take_long(&world, &client.endpoint, &got));
		assert_int_equal(got.len, 1604);
		assert_int_equal(world.nb_longs, 0);
	}
	rte_pktmbuf_free_bulk(taken, n);
	send_media(9999, 4000);
	world_run(&world);
	assert_true(world_take_long(&world, &client.endpoint, &got));
	world_close(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fragments_come_the_way_of_their_source),
		cmocka_unit_test(fragments_of_another_network_spoil_nothing),
		cmocka_unit_test(long_requests_take_nothing_from_datagrams_in_fragments),
		cmocka_unit_test(a_long_request_is_answered),
		cmocka_unit_test(lent_buffers_are_not_those_of_flows),
	};

	world_eal();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
