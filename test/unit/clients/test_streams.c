// SPDX-License-Identifier: BSD-3-Clause
// Clients over streams as the workers serve them; the world plays the stream thread, the only part
// of lib/stream that workers deal with.
#include "feature_names.h"
#include "bytes.h"
#include "clients/streams.h"
#include "datapath.h"
#include "dp_world.h"
#include "see/stats.h"
#include "path/worker.h"

#define CHANNEL 0x4001
#define RING 64
#define PIPELINED 400

static struct dp_world world;
static bool dead; // all connections have ended

bool __wrap_stream_alive(const struct streams *s, uint64_t conn);
void __wrap_stream_wake(struct streams *s, unsigned int thread);

bool __wrap_stream_alive(const struct streams *s, uint64_t conn)
{
	return !dead;
}

void __wrap_stream_wake(struct streams *s, unsigned int thread)
{
}

static void open_world(unsigned int workers)
{
	const struct world_setup s = {.workers = workers,
		.rx_queues = workers,
		.tx_queues = workers,
		.two_ports = workers == 2,
		.stream_ring = RING};

	world_open(&world, &s);
	world.dp->streams = (struct streams *)1; // only ever passed to the two functions above
}

static void close_world(void)
{
	world.dp->streams = NULL;
	world_close(&world);
}

static uint64_t allocations(void)
{
	world_run(&world);
	return world_stats(&world).turn.allocations;
}

// --- relaying -----------------------------------------------------------------------------------

// RFC 8656 15: the peer's datagram has the DSCP of the connection, and no other header field of
// TCP's.
static void expect_at_peer(const struct world_client *c, const struct endpoint *peer,
	const uint8_t *data, uint16_t len, bool df)
{
	struct world_datagram got;

	world_run(&world);
	assert_true(world_take(&world, peer, &got));
	assert_true(endpoint_eq(&got.src, &c->relay));
	assert_int_equal(got.len, len);
	assert_memory_equal(got.data, data, len);
	assert_int_equal(got.tos, c->tos);
	assert_int_equal(got.ttl, 64);
	assert_int_equal(got.df, df && addr_is_v4(&peer->addr));
	assert_false(got.no_checksum);
}

// RFC 8656 12.5: padded with zeros.
static void expect_channel(const struct world_client *c, const uint8_t *data, uint16_t len)
{
	static const uint8_t zero[3];
	struct world_datagram got;

	world_run(&world);
	assert_true(world_take(&world, &c->endpoint, &got));
	assert_int_equal(load_be16(got.data), CHANNEL);
	assert_int_equal(load_be16(got.data + 2), len);
	assert_int_equal(got.len, (4 + len + 3) / 4 * 4);
	assert_memory_equal(got.data + 4, data, len);
	assert_memory_equal(got.data + 4 + len, zero, got.len - 4u - len);
}

static void relay_channel(struct world_client *c, const struct endpoint *peer)
{
	static const uint16_t lens[] = {0, 1, 2, 3, 4, 160, 161, 1199, 1200};

	for (unsigned int i = 0; i < RTE_DIM(lens); i++) {
		struct world_datagram d = {.src = *peer,
			.dst = c->relay,
			.len = lens[i],
			.ttl = 9,
			.tos = 0x2e << 2 | 1,
			.df = i % 2 == 0 && addr_is_v4(&peer->addr),
			.no_checksum = i % 3 == 0 && addr_is_v4(&peer->addr)};

		test_rand_fill(&world.rand, d.data, d.len);
		world_send(&world, &d);
		expect_channel(c, d.data, d.len);
		client_channel_data(&world, c, CHANNEL, d.data, d.len);
		expect_at_peer(c, peer, d.data, d.len, false);
	}
}

static void send_indication(struct world_client *c, const struct endpoint *peer,
	const uint8_t *data, uint16_t len, bool df)
{
	static const uint8_t tid[STUN_TID_LEN] = {1};
	struct stun_writer w;
	uint8_t message[1400];

	stun_begin(&w, message, sizeof(message), STUN_INDICATION, STUN_SEND, tid);
	stun_put_xor_addr(&w, STUN_XOR_PEER_ADDRESS, peer);
	if (df)
		stun_put(&w, STUN_DONT_FRAGMENT, NULL, 0);
	stun_put(&w, STUN_DATA_ATTR, data, len);
	assert_true(world_stream_send(&world, c, message, stun_end(&w)));
}

static void relay_indications(struct world_client *c, const struct endpoint *peer)
{
	for (uint16_t len = 0; len < 9; len++) {
		struct world_datagram d = {.src = *peer, .dst = c->relay, .len = len, .ttl = 9},
				      got;
		struct stun_msg m;
		struct endpoint sender;
		int family;

		test_rand_fill(&world.rand, d.data, d.len);
		send_indication(c, peer, d.data, d.len, len % 2 == 0);
		expect_at_peer(c, peer, d.data, d.len, len % 2 == 0);
		world_send(&world, &d);
		world_run(&world);
		assert_true(world_take(&world, &c->endpoint, &got));
		assert_int_equal(stun_parse(got.data, got.len, &m), 0);
		assert_true(m.cls == STUN_INDICATION && m.method == STUN_DATA);
		assert_true(stun_decode_xor_addr(&m, m.off[STUN_XOR_PEER_ADDRESS],
			m.alen[STUN_XOR_PEER_ADDRESS], &sender, &family));
		assert_true(endpoint_eq(&sender, peer));
		assert_int_equal(m.alen[STUN_DATA_ATTR], len);
		assert_memory_equal(got.data + m.off[STUN_DATA_ATTR], d.data, len);
	}
}

static void test_relay(void **state)
{
	static const char *const clients[] = {"203.0.113.5", "2001:db8:7::5", "10.99.0.20"};
	static const char *const peers[] = {"10.99.0.30", "fd99::30", "198.51.100.9"};

	for (unsigned int workers = 1; workers <= 4; workers *= 2) {
		open_world(workers);
		for (unsigned int i = 0; i < 9; i++) {
			const struct endpoint bound =
				world_endpoint(peers[i % 3], (uint16_t)(7000 + i));
			const struct endpoint unbound =
				world_endpoint(peers[i % 3], (uint16_t)(8000 + i));
			struct world_client c;

			world_stream_client(&world, &c, clients[i / 3], (uint16_t)(40000 + i));
			c.tos = (uint8_t)(i * 28); // a DSCP
			assert_int_equal(client_allocate(&world, &c, i % 3 == 1 ? 6 : 4), 0);
			assert_int_equal(client_bind(&world, &c, CHANNEL, &bound), 0);
			relay_channel(&c, &bound);
			relay_indications(&c, &unbound);
		}
		assert_int_equal(world_drops(&world), 0);
		close_world();
	}
}

// A client over a stream and a client over UDP that are each other's peers.
static void test_hairpin(void **state)
{
	struct world_client a, b;
	struct world_datagram got;

	open_world(2);
	world_stream_client(&world, &a, "203.0.113.5", 40000);
	world_client(&world, &b, "10.99.0.20", 40001);
	assert_int_equal(client_allocate(&world, &a, 4) + client_allocate(&world, &b, 4), 0);
	assert_int_equal(client_bind(&world, &a, CHANNEL, &b.relay), 0);
	assert_int_equal(client_bind(&world, &b, CHANNEL, &a.relay), 0);
	client_channel_data(&world, &a, CHANNEL, "there", 5);
	world_run(&world);
	assert_true(world_take(&world, &b.endpoint, &got));
	assert_int_equal(got.len, 9);
	assert_memory_equal(got.data + 4, "there", 5);
	client_channel_data(&world, &b, CHANNEL, "and back", 8);
	expect_channel(&a, (const uint8_t *)"and back", 8);
	assert_int_equal(world_drops(&world), 0);
	close_world();
}

// A client over a stream and a client over UDP as peers, on relay ports that all clients share.
static void test_shared(void **state)
{
	const struct world_setup s = {.workers = 2,
		.rx_queues = 2,
		.tx_queues = 2,
		.shared = WORLD_SHARED(8),
		.stream_ring = RING};

	world_open(&world, &s);
	for (uint16_t i = 0; i < 12; i++) {
		const struct endpoint peer = world_endpoint("10.99.0.30", (uint16_t)(7000 + i));
		struct world_client c;

		world_stream_client(&world, &c, "203.0.113.5", (uint16_t)(40000 + i));
		assert_int_equal(client_allocate(&world, &c, 4), 0);
		assert_int_equal(client_bind(&world, &c, CHANNEL, &peer), 0);
		relay_channel(&c, &peer);
	}
	assert_int_equal(world_drops(&world), 0);
	world_close(&world);
}

// A slot that had a stream client gets a UDP client, and vice versa.
static void test_slot_changes_hands(void **state)
{
	const struct endpoint peer = world_endpoint("10.99.0.30", 7000);
	const struct world_setup s = {.workers = 1,
		.rx_queues = 1,
		.tx_queues = 1,
		.relay_ports = 2,
		.stream_ring = RING};
	struct world_datagram got;
	struct world_client c;

	world_open(&world, &s);
	for (unsigned int i = 0; i < 12; i++) {
		const uint16_t port = (uint16_t)(40000 + i);

		if (i % 2 == 0)
			world_stream_client(&world, &c, "10.99.0.20", port);
		else
			world_client(&world, &c, "10.99.0.20", port);
		assert_int_equal(client_allocate(&world, &c, 4), 0);
		assert_int_equal(client_bind(&world, &c, CHANNEL, &peer), 0);
		world_send_bytes(&world, &peer, &c.relay, "abc", 3);
		world_run(&world);
		assert_true(world_take(&world, &c.endpoint, &got));
		assert_int_equal(got.len, i % 2 == 0 ? 8 : 7);
		client_begin(&world, &c, STUN_REFRESH);
		stun_put_u32(&c.w, STUN_LIFETIME, 0);
		assert_int_equal(client_ask(&world, &c), 0);
		world_wait(&world, 1100); // the port has rested
	}
	assert_int_equal(world_drops(&world), 0);
	world_close(&world);
}

// --- the end of a connection --------------------------------------------------------------------

static void test_end(void **state)
{
	const struct endpoint peer = world_endpoint("10.99.0.30", 7000);
	struct world_client c, second, udp;

	open_world(4);
	world_stream_client(&world, &c, "203.0.113.5", 40000);
	world_stream_client(&world, &second, "203.0.113.5", 40001);
	world_client(&world, &udp, "10.99.0.20", 40000);
	assert_int_equal(client_allocate(&world, &c, 4), 0);
	assert_int_equal(client_allocate(&world, &second, 4), 0);
	assert_int_equal(client_allocate(&world, &udp, 4), 0);
	assert_int_equal(client_bind(&world, &c, CHANNEL, &peer), 0);
	// its last data is in this burst, too
	client_channel_data(&world, &c, CHANNEL, "bye", 3);
	world_stream_end(&world, &c);
	expect_at_peer(&c, &peer, (const uint8_t *)"bye", 3, false);
	assert_int_equal(allocations(), 2);
	world_send_bytes(&world, &peer, &c.relay, "abc", 3);
	world_run(&world);
	assert_int_equal(world_dropped(&world, DP_DROP_TURN + TURN_DROP_PEER_NO_ALLOCATION - 1), 1);
	close_world();
}

// Another connection has the 5-tuple by now: the report of the first one's end comes too late.
static void test_late_end(void **state)
{
	struct world_client c;

	open_world(2);
	world_stream_client(&world, &c, "203.0.113.5", 40000);
	assert_int_equal(client_allocate(&world, &c, 4), 0);
	c.conn += UINT64_C(1) << 32;
	world_stream_end(&world, &c);
	assert_int_equal(allocations(), 1);
	c.conn -= UINT64_C(1) << 32;
	world_stream_end(&world, &c);
	assert_int_equal(allocations(), 0);
	world_stream_end(&world, &c); // nothing is left to end
	assert_int_equal(allocations(), 0);
	close_world();
}

// A request that waited while its connection ended leaves no allocation.
static void test_made_after_end(void **state)
{
	struct world_client c;

	open_world(2);
	world_stream_client(&world, &c, "203.0.113.5", 40000);
	dead = true;
	assert_int_equal(client_allocate(&world, &c, 4), 0);
	assert_int_equal(allocations(), 0);
	dead = false;
	assert_int_equal(client_allocate(&world, &c, 4), 0);
	assert_int_equal(allocations(), 1);
	close_world();
}

#ifdef FEATURE_RESERVATIONS
// Makes two clients; the second one uses the port that the first one reserved. False if the worker
// of that port is the second client's home.
static bool make_elsewhere(struct world_client *first, struct world_client *second, uint16_t port)
{
	world_stream_client(&world, first, "203.0.113.5", port);
	world_stream_client(&world, second, "203.0.113.6", port);
	client_begin(&world, first, STUN_ALLOCATE);
	stun_put_u32(&first->w, STUN_REQUESTED_TRANSPORT, 17u << 24);
	stun_put(&first->w, STUN_EVEN_PORT, "\x80", 1);
	assert_int_equal(client_ask(&world, first), 0);
	client_begin(&world, second, STUN_ALLOCATE);
	stun_put_u32(&second->w, STUN_REQUESTED_TRANSPORT, 17u << 24);
	stun_put(&second->w, STUN_RESERVATION_TOKEN,
		first->answer + first->reply.off[STUN_RESERVATION_TOKEN], 8);
	assert_int_equal(client_ask(&world, second), 0);
	assert_true(
		stun_decode_xor_addr(&second->reply, second->reply.off[STUN_XOR_RELAYED_ADDRESS],
			second->reply.alen[STUN_XOR_RELAYED_ADDRESS], &second->relay, &(int){0}));
	return world_stats(&world).turn.redirects > 0;
}

// A reserved port of another worker: the allocation is there, the connection here, and its end
// closes both allocation and redirect.
static void test_end_elsewhere(void **state)
{
	const struct endpoint peer = world_endpoint("10.99.0.30", 7000);
	unsigned int elsewhere = 0;

	open_world(4);
	for (uint16_t i = 0; i < 16; i++) {
		struct world_client first, second;

		elsewhere += make_elsewhere(&first, &second, (uint16_t)(40000 + i));
		assert_int_equal(client_bind(&world, &second, CHANNEL, &peer), 0);
		world_send_bytes(&world, &peer, &second.relay, "abc", 3);
		expect_channel(&second, (const uint8_t *)"abc", 3);
		client_channel_data(&world, &second, CHANNEL, "def", 3);
		expect_at_peer(&second, &peer, (const uint8_t *)"def", 3, false);
		world_stream_end(&world, &second);
		assert_int_equal(allocations(), 1);
		assert_int_equal(world_stats(&world).turn.redirects, 0);
		world_stream_end(&world, &first);
		assert_int_equal(allocations(), 0);
	}
	assert_true(elsewhere > 0); // three in four
	close_world();
}
#endif

// --- back-pressure ------------------------------------------------------------------------------

// A thread that takes nothing: messages without room are dropped and counted, and the rest comes
// later. One allocation uses no more than its share of the room.
static void test_thread_is_slow(void **state)
{
	const struct endpoint peer = world_endpoint("10.99.0.30", 7000);
	struct worker *worker;
	struct world_client c;
	struct world_datagram got;
	unsigned int n = 0;

	open_world(1);
	world_stream_client(&world, &c, "203.0.113.5", 40000);
	assert_int_equal(client_allocate(&world, &c, 4), 0);
	assert_int_equal(client_bind(&world, &c, CHANNEL, &peer), 0);
	worker = world.dp->worker[0];
	for (unsigned int i = 0; i < 3 * RING; i++) {
		world_send_bytes(&world, &peer, &c.relay, "abc", 3);
		worker_round(worker, world.dp->tsc_start + world.ms * world.dp->tsc_per_ms);
	}
	stats_publish(worker);
	world_balance(&world, 0);
	world_run(&world);
	while (world_take(&world, &c.endpoint, &got))
		n++;
	assert_int_equal(n, RING / 2);
	assert_int_equal(world_dropped(&world, DP_DROP_STREAM_FULL), 3 * RING - n);
	close_world();
}

// Workers that take nothing: the thread waits, and nothing is lost.
static void test_worker_is_slow(void **state)
{
	const struct endpoint peer = world_endpoint("10.99.0.30", 7000);
	struct world_client c;
	struct world_datagram got;
	unsigned int sent = 0, n = 0;

	open_world(1);
	world_stream_client(&world, &c, "203.0.113.5", 40000);
	assert_int_equal(client_allocate(&world, &c, 4), 0);
	assert_int_equal(client_bind(&world, &c, CHANNEL, &peer), 0);
	while (world_stream_send(&world, &c, "\x40\x01\x00\x03yes", 7))
		sent++;
	assert_in_range(sent, RING, 4 * RING);
	world_run(&world);
	while (world_take(&world, &peer, &got))
		n++;
	assert_int_equal(n, sent);
	assert_true(world_stream_send(&world, &c, "\x40\x01\x00\x03yes", 7));
	close_world();
}

// Empty buffers that wait for the threads leave the pool to packets, and each worker has some, even
// with the smallest pool that the configuration allows.
static void packets_find_buffers_beside_idle_threads(void **state)
{
	static const struct world_setup s = {.workers = 2,
		.rx_queues = 2,
		.tx_queues = 2,
		.two_ports = true,
		.stream_ring = RING,
		.mbufs = 1024};
	struct stream_message m;

	world_open(&world, &s);
	world.dp->streams = (struct streams *)1;
	world_wait(&world, 200);
	assert_in_range(rte_mempool_in_use_count(world.dp->pool), 2, 1024 / 8);
	for (unsigned int w = 0; w < 2; w++) {
		assert_true(streams_ops.take(world.dp, 0, w, &m));
		streams_ops.release(world.dp, 0, w, m.buf);
	}
	close_world();
}

// TCP does not send a request again: requests that come faster than they are answered are not
// dropped, messages after them are processed in order, and a call continues meanwhile.
static void test_pipelined(void **state)
{
	const struct world_setup s = {.workers = 1,
		.rx_queues = 1,
		.tx_queues = 1,
		.requests = 2,
		.backlog = 32,
		.stream_ring = RING};
	const struct endpoint peer = world_endpoint("10.99.0.30", 7000);
	const struct endpoint call_peer = world_endpoint("10.99.0.31", 7000);
	struct world_client c, call;
	unsigned int sent = 0, round = 0, answers = 0, media = 0;
	struct world_datagram got;

	world_open(&world, &s);
	world_stream_client(&world, &c, "203.0.113.5", 40000);
	world_stream_client(&world, &call, "203.0.113.6", 40000);
	assert_int_equal(client_allocate(&world, &c, 4) + client_allocate(&world, &call, 4), 0);
	assert_int_equal(client_bind(&world, &c, CHANNEL, &peer), 0);
	assert_int_equal(client_bind(&world, &call, CHANNEL, &call_peer), 0);
	for (; answers < 3 * PIPELINED / 4 || media < PIPELINED / 4; round++) {
		assert_in_range(round, 0, 10 * PIPELINED);
		for (bool room = true; room && sent < PIPELINED;) {
			client_begin(&world, &c, STUN_BINDING);
			room = sent % 4 == 3
				? world_stream_send(&world, &c, "\x40\x01\x00\x04last", 8)
				: world_stream_send(&world, &c, c.message, stun_end(&c.w));
			sent += room;
		}
		client_channel_data(&world, &call, CHANNEL, "call", 4);
		world_round(&world);
		assert_true(world_take(&world, &call_peer, &got)); // in the round in which it came
		while (world_take(&world, &c.endpoint, &got))
			answers++;
		for (; world_take(&world, &peer, &got); media++)
			assert_in_range(answers, 3 * media, 3 * media + 6);
	}
	assert_int_equal(world_dropped(&world, DP_DROP_BACKLOG), 0);
	world_close(&world);
}

#ifdef FEATURE_RESERVATIONS
// Returns the worker of the allocation that a UDP client makes.
static unsigned int allocate_udp(struct world_client *c, uint16_t port)
{
	uint64_t before[4];
	unsigned int i;

	for (i = 0; i < world.dp->nb_workers; i++)
		before[i] = world.dp->worker[i]->page.stats.turn.allocations;
	world_client(&world, c, "10.99.0.21", port);
	assert_int_equal(client_allocate(&world, c, 4), 0);
	for (i = 0; i < world.dp->nb_workers; i++)
		if (world.dp->worker[i]->page.stats.turn.allocations > before[i])
			return i;
	fail();
	return 0;
}
#endif

// A thread that takes no answers while media fills the ring to it: it asks only as much as there is
// room for answers, and no answer is dropped.
static void test_answers_have_room(void **state)
{
	const struct endpoint peer = world_endpoint("10.99.0.30", 7000);
	struct worker *worker;
	struct world_client c;
	struct world_datagram got;
	unsigned int sent = 0, answers = 0, media = 0;

	open_world(1);
	world_stream_client(&world, &c, "203.0.113.5", 40000);
	assert_int_equal(client_allocate(&world, &c, 4), 0);
	assert_int_equal(client_bind(&world, &c, CHANNEL, &peer), 0);
	worker = world.dp->worker[0];
	for (unsigned int i = 0; i < 4 * RING; i++) {
		world_send_bytes(&world, &peer, &c.relay, "abc", 3);
		client_begin(&world, &c, STUN_BINDING);
		sent += world_stream_send(&world, &c, c.message, stun_end(&c.w));
		worker_round(worker, world.dp->tsc_start + world.ms * world.dp->tsc_per_ms);
	}
	assert_in_range(sent, 1, 4 * RING - 1); // it had to stop
	world_run(&world);
	while (world_take(&world, &c.endpoint, &got))
		*(got.data[0] < 4 ? &answers : &media) += 1;
	assert_int_equal(answers, sent);
	assert_int_equal(media + world_dropped(&world, DP_DROP_STREAM_FULL), 4 * RING);
	assert_true(media > 0 && media + answers >= RING);
	client_begin(&world, &c, STUN_BINDING);
	assert_int_equal(client_ask(&world, &c), 0);
	close_world();
}

#ifdef FEATURE_RESERVATIONS
// Pipelined requests that an idle worker hands to workers that are slow because they relay a call:
// the requests have waited at home, and do not wait again.
static void test_pipelined_elsewhere(void **state)
{
	const struct world_setup s = {.workers = 4,
		.rx_queues = 1,
		.tx_queues = 1,
		.requests = 1,
		.backlog = 32,
		.stream_ring = RING};
	const struct endpoint peer = world_endpoint("10.99.0.30", 7000);
	struct world_client first, c, call[16];
	unsigned int owner[16], home;
	unsigned int sent = 0, answers = 0;
	uint16_t port = 40000;
	struct world_datagram got;

	world_open(&world, &s);
	for (unsigned int i = 0; i < RTE_DIM(call); i++) { // some of them on every worker
		owner[i] = allocate_udp(&call[i], (uint16_t)(30000 + i));
		assert_int_equal(client_bind(&world, &call[i], CHANNEL, &peer), 0);
	}
	while (!make_elsewhere(&first, &c, port))
		port++;
	home = streams_ops.home(world.dp, &c.endpoint, (uint8_t)(world.conf.turn.nb_listeners - 1));
	for (unsigned int round = 0; answers < PIPELINED; round++) {
		assert_in_range(round, 0, 20 * PIPELINED);
		for (bool room = true; room && sent < PIPELINED; sent += room) {
			client_begin(&world, &c, STUN_BINDING);
			room = world_stream_send(&world, &c, c.message, stun_end(&c.w));
		}
		for (unsigned int i = 0; i < RTE_DIM(call); i++)
			if (owner[i] != home)
				client_channel_data(&world, &call[i], CHANNEL, "call", 4);
		world_round(&world);
		while (world_take(&world, &c.endpoint, &got))
			answers++;
		world.nb_seen = 0; // datagrams that the calls' peer received
	}
	assert_int_equal(world_dropped(&world, DP_DROP_BACKLOG), 0);
	world_close(&world);
}
#endif

// A message longer than a datagram may be leaves in fragments, unless the client forbids that (RFC
// 8656 section 15).
static void test_oversize(void **state)
{
	const struct endpoint peer = world_endpoint("10.99.0.30", 7000);
	struct world_client c;
	uint8_t message[1600] = {0x40, 0x01, 1500 >> 8, 1500 & 0xff}, send[1700];
	static struct ip_long got;
	struct stun_writer writer;

	open_world(1);
	world_stream_client(&world, &c, "203.0.113.5", 40000);
	assert_int_equal(client_allocate(&world, &c, 4), 0);
	assert_int_equal(client_bind(&world, &c, CHANNEL, &peer), 0);
	test_rand_fill(&world.rand, message + 4, 1500);
	assert_true(world_stream_send(&world, &c, message, 1504));
	world_run(&world);
	assert_int_equal(world_dropped(&world, DP_DROP_MTU), 0);
	assert_true(world_take_long(&world, &peer, &got));
	assert_int_equal(got.pieces, 2);
	assert_int_equal(got.len, 1500);
	assert_memory_equal(got.data, message + 4, 1500);
	for (unsigned int dont = 0; dont < 2; dont++) {
		stun_begin(&writer, send, sizeof(send), STUN_INDICATION, STUN_SEND, got.data);
		stun_put_xor_addr(&writer, STUN_XOR_PEER_ADDRESS, &peer);
		if (dont == 1)
			stun_put(&writer, STUN_DONT_FRAGMENT, "", 0);
		stun_put(&writer, STUN_DATA_ATTR, message, 1500);
		assert_true(world_stream_send(&world, &c, send, stun_end(&writer)));
		world_run(&world);
		assert_int_equal(world_take_long(&world, &peer, &got), dont == 0);
		assert_int_equal(world_dropped(&world, DP_DROP_MTU), dont);
	}
	close_world();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_relay),
		cmocka_unit_test(test_hairpin),
		cmocka_unit_test(test_shared),
		cmocka_unit_test(test_slot_changes_hands),
		cmocka_unit_test(test_end),
		cmocka_unit_test(test_late_end),
		cmocka_unit_test(test_made_after_end),
#ifdef FEATURE_RESERVATIONS
		cmocka_unit_test(test_end_elsewhere),
#endif
		cmocka_unit_test(test_thread_is_slow),
		cmocka_unit_test(test_worker_is_slow),
		cmocka_unit_test(packets_find_buffers_beside_idle_threads),
		cmocka_unit_test(test_pipelined),
#ifdef FEATURE_RESERVATIONS
		cmocka_unit_test(test_pipelined_elsewhere),
#endif
		cmocka_unit_test(test_answers_have_room),
		cmocka_unit_test(test_oversize),
	};

	world_eal();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
