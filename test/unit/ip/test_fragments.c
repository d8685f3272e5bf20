// SPDX-License-Identifier: BSD-3-Clause
// Datagrams longer than the MTU through the whole data path: fragmented datagrams of clients and
// peers arrive complete, for every pair of families and every assignment to workers; those that may
// not be fragmented do not leave; and every fragment and datagram is accounted for.
#include "bytes.h"
#include "datapath.h"
#include "drop_of.h"
#include "dp_world.h"

#include <rte_mempool.h>

#define CHANNEL 0x4001
#define CLIENTS 4

static struct dp_world world;
static struct world_client client[CLIENTS];
static struct endpoint peer[CLIENTS];
static struct ip_long in, out;
static uint8_t message[66000];

static void with_fragments(struct dp_world *w)
{
	w->conf.fragments = (struct conf_fragments){.flows = 16,
		.per_source = 4,
		.longest = 9000,
		.buffers = 8,
		.timeout_ms = 1000,
		.rate = 10000};
	w->conf.turn.limits.permissions = 16;
}

static const struct world_setup one = {
	.workers = 1, .rx_queues = 1, .tx_queues = 1, .change = with_fragments};
static const struct world_setup two = {
	.workers = 2, .rx_queues = 2, .tx_queues = 2, .change = with_fragments};
static const struct world_setup two_with_nic = {.workers = 2,
	.rx_queues = 2,
	.tx_queues = 1,
	.nic = true,
	.relays = 2,
	.change = with_fragments};

// Opens client i and its peer for every pair of families, with a channel or with a permission
// alone.
static void open_world(const struct world_setup *s, bool channels)
{
	static const char *const clients[] = {"10.99.0.20", "fd99::20"};
	static const char *const peers[] = {"10.99.0.30", "fd99::30"};

	world_open(&world, s);
	for (unsigned int i = 0; i < CLIENTS; i++) {
		peer[i] = world_endpoint(peers[i / 2], (uint16_t)(7000 + i));
		world_client(&world, &client[i], clients[i % 2], (uint16_t)(40000 + i));
		assert_int_equal(
			client_allocate(&world, &client[i], addr_is_v4(&peer[i].addr) ? 4 : 6), 0);
		if (channels)
			assert_int_equal(client_bind(&world, &client[i], CHANNEL, &peer[i]), 0);
		else
			assert_int_equal(client_permit(&world, &client[i], &peer[i]), 0);
	}
}

static void address(const struct endpoint *src, const struct endpoint *dst, uint32_t len)
{
	memset(&in, 0, offsetof(struct ip_long, data));
	in.src = *src;
	in.dst = *dst;
	in.len = len;
	in.tos = 0xb9;
	in.ttl = 17;
	in.id = (uint32_t)test_rand(&world.rand);
}

// Writes the datagram that client i sends to its peer into `in`: len random bytes in ChannelData or
// a Send indication. Returns the offset of these bytes.
static uint32_t make_up(unsigned int i, uint32_t len, bool channel)
{
	struct stun_writer w;

	test_rand_fill(&world.rand, message, len);
	if (channel) {
		address(&client[i].endpoint, &client[i].server, len + 4);
		store_be16(in.data, CHANNEL);
		store_be16(in.data + 2, (uint16_t)len);
		memcpy(in.data + 4, message, len);
		return 4;
	}
	stun_begin(&w, in.data, sizeof(in.data), STUN_INDICATION, STUN_SEND, message);
	stun_put_xor_addr(&w, STUN_XOR_PEER_ADDRESS, &peer[i]);
	stun_put(&w, STUN_DATA_ATTR, message, len);
	address(&client[i].endpoint, &client[i].server, stun_end(&w));
	assert_int_not_equal(in.len, 0);
	return 0;
}

static void make_down(unsigned int i, uint32_t len)
{
	test_rand_fill(&world.rand, message, len);
	address(&peer[i], &client[i].relay, len);
	memcpy(in.data, message, len);
}

static void peer_gets(unsigned int i, uint32_t len)
{
	assert_true(world_take_long(&world, &peer[i], &out));
	assert_true(endpoint_eq(&out.src, &client[i].relay));
	assert_int_equal(out.len, len);
	assert_memory_equal(out.data, message, len);
	assert_int_equal(out.tos, 0xb9);
	assert_int_equal(out.ttl, 16);
}

static void client_gets(unsigned int i, uint32_t len, bool channel)
{
	struct stun_msg m;

	assert_true(world_take_long(&world, &client[i].endpoint, &out));
	assert_true(endpoint_eq(&out.src, &client[i].server));
	if (channel) {
		assert_int_equal(out.len, len + 4);
		assert_int_equal(load_be16(out.data), CHANNEL);
		assert_int_equal(load_be16(out.data + 2), len);
		assert_memory_equal(out.data + 4, message, len);
		return;
	}
	assert_int_equal(stun_parse(out.data, (uint16_t)out.len, &m), 0);
	assert_int_equal(load_be16(out.data), 0x0017);
	assert_int_equal(m.alen[STUN_DATA_ATTR], len);
	assert_memory_equal(out.data + m.off[STUN_DATA_ATTR], message, len);
}

// Over IPv6 no fragment is longer than 1280 bytes (RFC 8656 section 13.2).
static void cut_well(const struct addr *dst)
{
	const bool is_v4 = addr_is_v4(dst);
	const uint32_t each = is_v4 ? 1480 : 1232, most = is_v4 ? 1500 : 1280;

	assert_in_range(out.longest, most - 7, most);
	assert_int_equal(out.pieces, (out.len + 8 + each - 1) / each);
}

static void both_ways(const struct world_setup *s, bool channels)
{
	uint64_t pieces = 0, made = 0, datagrams = 0;

	open_world(s, channels);
	for (unsigned int n = 0; n < 60; n++) {
		const unsigned int i = n % CLIENTS;
		const uint32_t len = 2000 + test_rand_below(&world.rand, 6900);

		make_up(i, len, channels);
		world_send_long(&world, &in, 1500, n % 3 == 0);
		world_run(&world);
		peer_gets(i, len);
		cut_well(&peer[i].addr);
		made += out.pieces;
		make_down(i, len);
		world_send_long(&world, &in, 1500, n % 3 == 1);
		world_run(&world);
		client_gets(i, len, channels);
		cut_well(&client[i].endpoint.addr);
		made += out.pieces;
		datagrams += 2;
		pieces += world_stats(&world).fragments_in;
	}
	assert_int_equal(world_drops(&world), 0);
	assert_int_equal(world_stats(&world).reassembled, datagrams);
	assert_int_equal(world_stats(&world).fragments_out, made);
	assert_int_equal(world_stats(&world).held, 0);
	assert_int_equal(world.nb_seen, 0);
	assert_int_equal(world.nb_longs, 0);
	assert_true(pieces > datagrams);
	world_close(&world);
}

static void channels(void **state)
{
	both_ways(&one, true);
	both_ways(&two, true);
	both_ways(&two_with_nic, true);
}

static void indications(void **state)
{
	both_ways(&one, false);
	both_ways(&two, false);
	both_ways(&two_with_nic, false);
}

// The shortest datagrams that come in fragments: they leave whole where they fit, without a
// Fragment header.
static void short_ones(void **state)
{
	struct world_datagram got;

	open_world(&two, true);
	for (unsigned int n = 0; n < 80; n++) {
		const unsigned int i = n % CLIENTS;
		const uint32_t len = 1240 + test_rand_below(&world.rand, 200);

		make_up(i, len, true);
		world_send_long(&world, &in, 1280 - 8 * test_rand_below(&world.rand, 80), n & 4);
		world_run(&world);
		assert_true(world_take(&world, &peer[i], &got));
		assert_int_equal(got.len, len);
		assert_memory_equal(got.data, message, len);
		assert_false(got.df);
	}
	assert_int_equal(world_drops(&world), 0);
	// all long buffers are back at the flows: such datagrams need no long buffer
	assert_in_range(rte_mempool_in_use_count(world.dp->datagrams), 1, 32);
	world_close(&world);
}

// Datagrams that came after the fragments of a datagram do not overtake it, and those that came
// before do not fall behind: whole and fragmented datagrams alternate in one burst.
static void in_order(void **state)
{
	static const struct world_setup one_queue = {
		.workers = 2, .rx_queues = 1, .tx_queues = 1, .change = with_fragments};
	struct world_datagram got;

	for (unsigned int round = 0; round < 2; round++) {
		open_world(round == 0 ? &one : &one_queue, true);
		for (unsigned int i = 0; i < CLIENTS; i++) {
			for (uint32_t n = 0; n < 6; n++) {
				make_up(i, n % 2 == 0 ? 100 + n : 1300 + n, true);
				world_send_long(&world, &in, 1280, n == 3);
			}
			world_run(&world);
			for (uint32_t n = 0; n < 6; n++) {
				assert_true(world_take(&world, &peer[i], &got));
				assert_int_equal(got.len, n % 2 == 0 ? 100 + n : 1300 + n);
			}
		}
		assert_int_equal(world_drops(&world), 0);
		assert_int_equal(world_stats(&world).reassembled, 3 * CLIENTS);
		world_close(&world);
	}
}

static void drops_with(enum net_drop reason, uint64_t before)
{
	assert_int_equal(world_dropped(&world, drop_of_net(reason)), before + 1);
}

// A reassembled but invalid datagram is recognized like any other.
static void invalid_whole_datagrams(void **state)
{
	open_world(&one, true);
	for (unsigned int i = 0; i < CLIENTS; i++) {
		static struct ip_pieces p;
		const struct port *port = world.dp->port[0].port;
		uint8_t macs[12] = {[6] = 2, 9, 9, 9, 9, 9};
		const size_t l4 = i % 2 == 0 ? 34 : 62;

		memcpy(macs, port->mac, 6);
		for (unsigned int wrong = 0; wrong < 3; wrong++) {
			static const enum net_drop drops[] = {
				NET_DROP_UDP_CHECKSUM, NET_DROP_UDP_LENGTH, NET_DROP_PORT_ZERO};
			const uint64_t before = world_dropped(&world, drop_of_net(drops[wrong]));

			make_up(i, 4000, true);
			ip_pieces_cut(&p, &in, macs, 1500);
			if (wrong == 0)
				p.frame[1][100] ^= 1;
			else if (wrong == 1)
				p.frame[0][l4 + 5]--;
			else
				store_be16(p.frame[0] + l4, 0);
			for (unsigned int k = 0; k < p.n; k++)
				world_inject(&world, 0, p.frame[k], p.len[k]);
			world_run(&world);
			drops_with(drops[wrong], before);
			assert_int_equal(world.nb_longs, 0);
		}
	}
	world_close(&world);
}

// A datagram to nobody is not kept: its first fragment shows that. The other fragments wait in
// vain.
static void datagrams_to_nobody_are_not_kept(void **state)
{
	open_world(&one, true);
	make_up(0, 4000, true);
	in.dst.port = 3479;
	world_send_long(&world, &in, 1500, false);
	world_run(&world);
	assert_int_equal(world_dropped(&world, DP_DROP_NO_LISTENER), 1);
	assert_int_equal(world_stats(&world).held, 2);
	world_wait(&world, 1000);
	assert_int_equal(world_dropped(&world, drop_of_net(NET_DROP_FRAGMENT_TIMEOUT)), 2);
	assert_int_equal(world_stats(&world).held, 0);
	make_up(0, 4000, true);
	in.dst.addr.b[15] = 77;
	world_send_long(&world, &in, 1500, false);
	world_run(&world);
	assert_int_equal(world_dropped(&world, drop_of_net(NET_DROP_NOT_FOR_US)), 3);
	make_up(0, 4000, true);
	in.src.addr = client[0].server.addr;
	in.src.addr.b[15] = 255; // the broadcast address
	world_send_long(&world, &in, 1500, false);
	world_run(&world);
	assert_int_equal(world_dropped(&world, drop_of_net(NET_DROP_MARTIAN_SOURCE)), 3);
	world_close(&world);
}

// With fragments.flows 0 none of this is active.
static void off(void **state)
{
	const struct world_setup s = {.workers = 1, .rx_queues = 1, .tx_queues = 1};

	open_world(&s, true);
	for (unsigned int i = 0; i < 2; i++) {
		make_up(i, 4000, true);
		world_send_long(&world, &in, 1500, false);
	}
	world_run(&world);
	assert_int_equal(world_dropped(&world, drop_of_net(NET_DROP_FRAGMENT)), 3 + 3);
	assert_null(world.dp->datagrams);
	world_close(&world);
}

// A datagram that came whole and becomes too long through the header of a Data indication: RFC 8656
// sections 13 and 14. To IPv4 it leaves in fragments unless it had DF, and to IPv6 if it was IPv4
// without DF. Between IPv6 addresses it is dropped.
static void grown(void **state)
{
	open_world(&one, false);
	for (unsigned int i = 0; i < CLIENTS; i++) {
		for (unsigned int df = 0; df < 2; df++) {
			const bool from_v4 = addr_is_v4(&peer[i].addr);
			const bool to_v4 = addr_is_v4(&client[i].endpoint.addr);
			const bool fits = from_v4 ? df == 0 : to_v4;
			const uint16_t len = from_v4 ? 1460 : 1440;
			const uint64_t before = world_dropped(&world, DP_DROP_MTU);
			struct world_datagram d = {.src = peer[i],
				.dst = client[i].relay,
				.len = len,
				.df = from_v4 && df == 1,
				.tos = 0xb9,
				.ttl = 17};

			test_rand_fill(&world.rand, message, len);
			memcpy(d.data, message, len);
			world_send(&world, &d);
			world_run(&world);
			assert_int_equal(world_dropped(&world, DP_DROP_MTU), before + !fits);
			if (fits)
				client_gets(i, len, false);
			assert_int_equal(world.nb_longs, 0);
		}
	}
	world_close(&world);
}

// DONT-FRAGMENT of a Send indication that came in fragments itself: it applies between IPv4
// addresses, and is ignored where one side is IPv6 (RFC 8656 sections 13 and 14).
static void dont_fragment(void **state)
{
	open_world(&one, false);
	for (unsigned int i = 0; i < CLIENTS; i++) {
		struct stun_writer w;

		test_rand_fill(&world.rand, message, 3000);
		stun_begin(&w, in.data, sizeof(in.data), STUN_INDICATION, STUN_SEND, message);
		stun_put_xor_addr(&w, STUN_XOR_PEER_ADDRESS, &peer[i]);
		stun_put(&w, STUN_DONT_FRAGMENT, "", 0);
		stun_put(&w, STUN_DATA_ATTR, message, 3000);
		address(&client[i].endpoint, &client[i].server, stun_end(&w));
		world_send_long(&world, &in, 1500, false);
		world_run(&world);
		if (i == 0)
			assert_int_equal(world.nb_longs, 0);
		else
			peer_gets(i, 3000);
	}
	assert_int_equal(world_dropped(&world, DP_DROP_MTU), 1);
	world_close(&world);
}

// To a peer that is another client's relayed transport address, in process: the datagram stays
// whole inside, and leaves in fragments to the other client.
static void hairpin(void **state)
{
	for (unsigned int workers = 1; workers <= 2; workers++) {
		open_world(workers == 1 ? &one : &two, false);
		for (unsigned int pair = 0; pair < 2; pair++) { // over IPv4, then IPv6
			const unsigned int a = 3 * pair, b = 2 * pair + !pair;

			// b is the other client, with a relayed transport address of the same
			// family
			assert_int_equal(client_permit(&world, &client[a], &client[b].relay), 0);
			assert_int_equal(client_permit(&world, &client[b], &client[a].relay), 0);
			peer[a] = client[b].relay;
			make_up(a, 5000, false);
			world_send_long(&world, &in, 1500, true);
			world_run(&world);
			client_gets(b, 5000, false);
		}
		assert_int_equal(world_drops(&world), 0);
		world_close(&world);
	}
}

// A client over TCP gets a peer's fragmented datagram as one message, and the thread does not keep
// the long buffer.
static void stream(void **state)
{
	struct world_setup s = two;
	struct world_client c;
	struct endpoint sender = world_endpoint("10.99.0.30", 7000);
	unsigned int in_use = 0;

	s.stream_ring = 256;
	world_open(&world, &s);
	world_stream_client(&world, &c, "203.0.113.5", 40000);
	assert_int_equal(client_allocate(&world, &c, 4), 0);
	assert_int_equal(client_bind(&world, &c, CHANNEL, &sender), 0);
	for (unsigned int n = 0; n < 200; n++) {
		test_rand_fill(&world.rand, message, 4000);
		address(&sender, &c.relay, 4000);
		memcpy(in.data, message, 4000);
		world_send_long(&world, &in, 1500, n & 1);
		world_run(&world);
		assert_true(world_take_long(&world, &c.endpoint, &out));
		assert_int_equal(out.len, 4004);
		assert_memory_equal(out.data + 4, message, 4000);
		if (n == 20)
			in_use = rte_mempool_in_use_count(world.dp->datagrams);
	}
	assert_in_range(rte_mempool_in_use_count(world.dp->datagrams), 0, in_use + 2);
	assert_int_equal(world_drops(&world), 0);
	world_close(&world);
}

// Fragmented datagrams to one host: no identification is repeated, and they are not sequential.
static void identifications(void **state)
{
	static uint32_t id[400];
	unsigned int steps = 0;

	open_world(&one, true);
	for (unsigned int i = 0; i < CLIENTS; i += 2) { // peers of both families
		for (unsigned int n = 0; n < RTE_DIM(id); n++) {
			make_up(i, 2000, true);
			world_send_long(&world, &in, 1500, false);
			world_wait(&world, 1);
			peer_gets(i, 2000);
			id[n] = out.id;
			for (unsigned int k = 0; k < n; k++)
				assert_int_not_equal(id[k], id[n]);
			steps += n > 0 && id[n] == id[n - 1] + 1;
		}
	}
	assert_in_range(steps, 0, 2);
	world_close(&world);
}

// All fragments leave or none does: seven come in and leave their buffers, eight would have to
// leave.
static void no_buffers(void **state)
{
	static struct rte_mbuf *taken[8191];
	unsigned int n = 0;

	open_world(&one, true);
	make_up(2, 8900, true);
	world_send_long(&world, &in, 1500, false);
	while (n < RTE_DIM(taken) && (taken[n] = rte_pktmbuf_alloc(world.dp->pool)) != NULL)
		n++;
	world_run(&world);
	assert_int_equal(world.nb_longs, 0);
	assert_int_equal(world_dropped(&world, DP_DROP_NO_MBUF), 1);
	assert_int_equal(world_stats(&world).fragments_out, 0);
	rte_pktmbuf_free_bulk(taken, n);
	make_up(2, 8900, true);
	world_send_long(&world, &in, 1500, false);
	world_run(&world);
	peer_gets(2, 8900);
	world_close(&world);
}

// To a neighbour that must be resolved first, all fragments wait, or none does: it holds 16.
static void unknown_neighbour(void **state)
{
	const struct endpoint deaf_peer = world_endpoint("10.99.0.77", 7000);
	const uint32_t lens[] = {8000, 8000, 8000, 4000, 4000};
	uint64_t refused = 0;

	struct world_setup s = one;

	s.neigh_held_each = 16;
	open_world(&s, true);
	assert_int_equal(client_bind(&world, &client[0], CHANNEL + 1, &deaf_peer), 0);
	world.deaf = true;
	for (unsigned int n = 0; n < RTE_DIM(lens); n++) { // of 6 and 3 fragments
		make_up(0, lens[n], true);
		store_be16(in.data, CHANNEL + 1);
		world_send_long(&world, &in, 1500, false);
		world_round(&world);
		refused += n == 2 || n == 4;
		assert_int_equal(world_dropped(&world, DP_DROP_NEIGH_HELD), refused);
	}
	assert_int_equal(world_stats(&world).fragments_out, 6 + 6 + 3);
	world.deaf = false;
	world_wait(&world, 2000);
	for (unsigned int n = 0; n < RTE_DIM(lens); n++) {
		if (n == 2 || n == 4)
			continue;
		assert_true(world_take_long(&world, &deaf_peer, &out));
		assert_int_equal(out.len, lens[n]);
	}
	assert_int_equal(world.nb_longs, 0);
	world_close(&world);
}

// Fragments under way when the appliance stops are dropped like all other packets.
static void stopping(void **state)
{
	static struct ip_pieces p;
	uint8_t macs[12] = {[6] = 2, 9, 9, 9, 9, 9};

	open_world(&one, true);
	make_up(0, 4000, true);
	memcpy(macs, world.dp->port[0].port->mac, 6);
	ip_pieces_cut(&p, &in, macs, 1500);
	for (unsigned int k = 0; k < 2; k++)
		world_inject(&world, 0, p.frame[k], p.len[k]);
	world_run(&world);
	assert_int_equal(world_stats(&world).held, 2);
	dp_quiesce(world.dp);
	world_balance(&world, 0);
	assert_int_equal(world_dropped(&world, DP_DROP_STOPPING), 2);
	world_close(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(channels),
		cmocka_unit_test(indications),
		cmocka_unit_test(short_ones),
		cmocka_unit_test(in_order),
		cmocka_unit_test(invalid_whole_datagrams),
		cmocka_unit_test(datagrams_to_nobody_are_not_kept),
		cmocka_unit_test(off),
		cmocka_unit_test(grown),
		cmocka_unit_test(dont_fragment),
		cmocka_unit_test(hairpin),
		cmocka_unit_test(stream),
		cmocka_unit_test(identifications),
		cmocka_unit_test(no_buffers),
		cmocka_unit_test(unknown_neighbour),
		cmocka_unit_test(stopping),
	};

	world_eal();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
