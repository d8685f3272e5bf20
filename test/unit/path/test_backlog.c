// SPDX-License-Identifier: BSD-3-Clause
// Requests wait while a worker relays: a storm of them makes no round long and loses no relayed
// datagram, every lost request is counted, and no client's datagrams are reordered.
#include "bytes.h"
#include "datapath.h"
#include "dp_burst.h"
#include "drop_of.h"
#include "dp_world.h"
#include "path/worker.h"

#define STORM 200
#define CHANNEL 0x4001
#define PACE 10 // datagrams per round, of the call per direction and of the storm: below a burst

static struct dp_world world;
static struct world_client storm[STORM], call;
static struct endpoint peer;

static void sign(struct world_client *c)
{
	stun_put(&c->w, STUN_USERNAME, "ivan", 4);
	stun_put(&c->w, STUN_REALM, "turn.test", 9);
	stun_put(&c->w, STUN_NONCE, c->nonce, c->nonce_len);
	stun_put_integrity(&c->w, world.crypto, STUN_ALG_MD5, &c->key);
}

// Sends the message in c->w without waiting for an answer.
static void post(struct world_client *c)
{
	const uint16_t len = stun_end(&c->w);

	assert_int_not_equal(len, 0);
	world_send_bytes(&world, &c->endpoint, &c->server, c->message, len);
}

static void post_allocate(struct world_client *c)
{
	client_begin(&world, c, STUN_ALLOCATE);
	stun_put_u32(&c->w, STUN_REQUESTED_TRANSPORT, 17u << 24);
	sign(c);
	post(c);
}

static void post_lifetime(struct world_client *c, uint32_t lifetime_s)
{
	client_begin(&world, c, STUN_REFRESH);
	stun_put_u32(&c->w, STUN_LIFETIME, lifetime_s);
	sign(c);
	post(c);
}

static void post_bind(struct world_client *c, uint16_t channel, const struct endpoint *target)
{
	client_begin(&world, c, STUN_CHANNEL_BIND);
	stun_put_u32(&c->w, STUN_CHANNEL_NUMBER, (uint32_t)channel << 16);
	stun_put_xor_addr(&c->w, STUN_XOR_PEER_ADDRESS, target);
	sign(c);
	post(c);
}

// A client that has a nonce but no allocation.
static void prepare(struct world_client *c, uint16_t port)
{
	world_client(&world, c, "10.99.0.20", port);
	assert_int_equal(client_permit(&world, c, &peer), 437);
}

static void open(const struct world_setup *s, unsigned int nb)
{
	world_open(&world, s);
	peer = world_endpoint("10.99.0.30", 7000);
	world_client(&world, &call, "10.99.0.21", 30000);
	assert_int_equal(client_allocate(&world, &call, 4), 0);
	assert_int_equal(client_bind(&world, &call, CHANNEL, &peer), 0);
	for (unsigned int i = 0; i < nb; i++)
		prepare(&storm[i], (uint16_t)(40000 + i));
}

static uint64_t backlog_drops(void)
{
	return world_stats(&world).drop[DP_DROP_BACKLOG];
}

// Takes all datagrams that arrived at an endpoint. Returns how many.
static unsigned int take_all(const struct endpoint *dst)
{
	struct world_datagram d;
	unsigned int n = 0;

	while (world_take(&world, dst, &d))
		n++;
	return n;
}

// A round during a call: every datagram of the call leaves in the round in which it came. Returns
// how many answers to requests left.
static unsigned int round_with_call(void)
{
	unsigned int answers = 0;

	for (unsigned int i = 0; i < PACE; i++) {
		client_channel_data(&world, &call, CHANNEL, "up", 2);
		world_send_bytes(&world, &peer, &call.relay, "down", 4);
	}
	world_round(&world);
	assert_int_equal(take_all(&peer), PACE);
	assert_int_equal(take_all(&call.endpoint), PACE);
	answers = world.nb_seen;
	world.nb_seen = 0;
	return answers;
}

// --- order --------------------------------------------------------------------------------------

// A client that does not wait for answers: each datagram sees the effect of all datagrams before
// it.
static void test_order(void **state)
{
	const struct world_setup s = {.workers = 1, .rx_queues = 1, .tx_queues = 1, .requests = 1};
	struct world_client *c = &storm[0];
	struct world_datagram d;

	open(&s, 2);
	for (unsigned int i = 0; i < 3; i++) {
		prepare(c, (uint16_t)(41000 + i));
		post_allocate(c);
		post_allocate(&storm[1]); // another client in between
		post_bind(c, CHANNEL, &peer);
		client_channel_data(&world, c, CHANNEL, "one", 3);
		client_channel_data(&world, c, CHANNEL, "two", 3);
		post_lifetime(c, 0);
		client_channel_data(&world, c, CHANNEL, "late", 4);
		world_run(&world);
		assert_true(world_take(&world, &peer, &d));
		assert_memory_equal(d.data, "one", 3);
		assert_true(world_take(&world, &peer, &d));
		assert_memory_equal(d.data, "two", 3);
		assert_false(world_take(&world, &peer, &d));
		assert_int_equal(take_all(&c->endpoint), 3);
		assert_int_equal(
			world_stats(&world).drop[drop_of_turn(TURN_DROP_NO_ALLOCATION)], i + 1);
	}
	assert_int_equal(backlog_drops(), 0);
	assert_int_equal(world_stats(&world).turn.allocations, 2);
	world_close(&world);
}

// The first of two requests has been answered, and its buffer has been reused.
static void test_second_waits(void **state)
{
	const struct world_setup s = {.workers = 1, .rx_queues = 1, .tx_queues = 1, .requests = 1};
	struct world_client *c = &storm[0];
	struct world_datagram d;

	open(&s, 10);
	for (unsigned int k = 0; k < 10; k++) // all in one queue
		assert_int_equal(client_allocate(&world, &storm[k], 4), 0);
	for (uint16_t i = 0; i < 5; i++) {
		const struct endpoint target = world_endpoint("10.99.0.40", (uint16_t)(8000 + i));

		post_lifetime(c, 600);
		post_bind(c, (uint16_t)(CHANNEL + i), &target);
		round_with_call();
		for (unsigned int k = 1; k < 10; k++)
			post_lifetime(&storm[k], 600);
		client_channel_data(&world, c, (uint16_t)(CHANNEL + i), "one", 3);
		round_with_call();
		world_run(&world);
		assert_true(world_take(&world, &target, &d));
		world.nb_seen = 0;
	}
	assert_int_equal(world_drops(&world), 0);
	world_close(&world);
}

// --- storms -------------------------------------------------------------------------------------

// All requests of a storm are answered, a few per round, without an effect on the call.
static void test_storm(void **state)
{
	const struct world_setup s = {.workers = 1, .rx_queues = 1, .tx_queues = 1, .requests = 4};
	unsigned int answers, all = 0, rounds = 0;

	open(&s, STORM);
	while (all < STORM) {
		for (unsigned int i = rounds * PACE; i < (rounds + 1) * PACE && i < STORM; i++)
			post_allocate(&storm[i]);
		answers = round_with_call();
		assert_int_equal(answers, 4);
		all += answers;
		rounds++;
	}
	assert_int_equal(rounds, STORM / 4);
	assert_int_equal(backlog_drops(), 0);
	assert_int_equal(world_stats(&world).turn.allocations, STORM + 1);
	assert_int_equal(world_stats(&world).held, 0);
	world_close(&world);
}

// Requests that find no room are counted; no datagram of the call is lost.
static void test_full(void **state)
{
	const struct world_setup s = {
		.workers = 1, .rx_queues = 1, .tx_queues = 1, .requests = 2, .backlog = 32};
	unsigned int answers = 0;

	open(&s, STORM);
	for (unsigned int i = 0; i < STORM; i++) {
		post_allocate(&storm[i]);
		if (i % PACE == PACE - 1)
			answers += round_with_call();
	}
	for (unsigned int i = 0; i < 32; i++)
		answers += round_with_call();
	// two per round, and at the end the 32 that waited
	assert_in_range(answers, 2 * STORM / PACE + 28, 2 * STORM / PACE + 32);
	assert_int_equal(answers + backlog_drops(), STORM);
	assert_int_equal(world_drops(&world), backlog_drops());
	world_close(&world);
}

// Without anything to relay, a storm is answered a burst at a time, after each burst was received.
static void test_alone(void **state)
{
	const struct world_setup s = {.workers = 1, .rx_queues = 1, .tx_queues = 1, .requests = 1};
	const unsigned int bursts = STORM / DP_BURST;

	open(&s, STORM);
	for (unsigned int i = 0; i < STORM; i++)
		post_allocate(&storm[i]);
	for (unsigned int i = 1; i <= bursts; i++) {
		world_round(&world);
		assert_int_equal(world.nb_seen, i); // more may wait after a full burst
	}
	for (unsigned int i = 1; i <= bursts; i++) {
		world_round(&world);
		assert_int_equal(world.nb_seen, bursts + i * DP_BURST);
	}
	world_run(&world);
	assert_int_equal(world.nb_seen, STORM);
	assert_int_equal(world_drops(&world), 0);
	world_close(&world);
}

// On several workers, with redirects and hand-overs: each request is answered or counted.
static void test_workers(void **state)
{
	const struct world_setup s = {.workers = 4, .rx_queues = 2, .tx_queues = 1, .requests = 3};
	unsigned int answers = 0;

	open(&s, STORM);
	for (unsigned int i = 0; i < STORM; i++)
		post_allocate(&storm[i]);
	while (world_round(&world))
		assert_in_range(world.nb_seen, 0, STORM);
	world_run(&world);
	for (unsigned int i = 0; i < STORM; i++)
		answers += take_all(&storm[i].endpoint);
	assert_int_equal(answers, STORM);
	assert_int_equal(world_drops(&world), 0);
	assert_int_equal(world_stats(&world).held, 0);
	world_close(&world);
}

// One client alone cannot take the room of others, neither with requests nor with datagrams after
// them.
static void test_one_client(void **state)
{
	const struct world_setup s = {
		.workers = 1, .rx_queues = 1, .tx_queues = 1, .requests = 1, .backlog = 64};

	open(&s, 20);
	for (unsigned int i = 0; i < 150; i++) {
		if (i % 3 == 0)
			post_lifetime(&storm[0], 600);
		else
			client_channel_data(&world, &storm[0], CHANNEL, "x", 1);
		if (i % PACE == PACE - 1)
			round_with_call();
		assert_in_range(world_stats(&world).held, 0, 32);
	}
	// of 150; each round processed a request and two more datagrams
	assert_in_range(world_stats(&world).drop[DP_DROP_BACKLOG_CLIENT], 50, 100);
	assert_int_equal(backlog_drops(), 0);
	for (unsigned int i = 1; i < 20; i++)
		post_allocate(&storm[i]);
	world_run(&world);
	for (unsigned int i = 1; i < 20; i++)
		assert_int_equal(take_all(&storm[i].endpoint), 1);
	assert_int_equal(world_stats(&world).turn.allocations, 20);
	world_close(&world);
}

// --- known clients and strangers ----------------------------------------------------------------

// Number of answers to the clients [first, end) of the storm among the frames seen.
static unsigned int answers_to(unsigned int first, unsigned int end)
{
	unsigned int n = 0;

	for (unsigned int i = first; i < end; i++)
		n += take_all(&storm[i].endpoint);
	return n;
}

// One round during the call; its answers stay queued.
static void round_beside_call(void)
{
	client_channel_data(&world, &call, CHANNEL, "up", 2);
	world_round(&world);
	assert_int_equal(take_all(&peer), 1);
}

// Clients with an allocation come before clients without one that asked earlier, and the latter
// still have their turn. Datagrams that a client sent after its request go with it.
static void test_known_first(void **state)
{
	const struct world_setup s = {.workers = 1, .rx_queues = 1, .tx_queues = 1, .requests = 4};
	const unsigned int known = 9;

	open(&s, 2 * known);
	for (unsigned int i = 0; i < known; i++)
		assert_int_equal(client_allocate(&world, &storm[i], 4), 0);
	assert_int_equal(client_bind(&world, &storm[0], CHANNEL, &peer), 0);
	for (unsigned int i = 2 * known; i-- > 0;)
		post_lifetime(&storm[i], 600); // strangers first
	client_channel_data(&world, &storm[0], CHANNEL, "behind", 6);
	for (unsigned int i = 0; i < 3; i++) {
		if (i == 2)
			assert_int_equal(take_all(&peer), 0);
		client_channel_data(&world, &call, CHANNEL, "up", 2);
		world_round(&world);
		assert_int_equal(answers_to(0, known), 3);
		assert_int_equal(answers_to(known, 2 * known), 1);
		assert_int_equal(take_all(&peer), i == 2 ? 2 : 1);
	}
	for (unsigned int i = 0; i < 2; i++) { // no other client is left
		round_beside_call();
		assert_int_equal(answers_to(known, 2 * known), i == 0 ? 4 : 2);
	}
	assert_int_equal(world_drops(&world), 0);
	world_close(&world);
}

// A client with a connection counts as known even without an allocation.
static void test_known_stream(void **state)
{
	const struct world_setup s = {
		.workers = 1, .rx_queues = 1, .tx_queues = 1, .requests = 2, .stream_ring = 256};
	struct world_client c;

	open(&s, 8);
	world_stream_client(&world, &c, "203.0.113.5", 40000);
	for (unsigned int i = 0; i < 8; i++)
		post_lifetime(&storm[i], 600);
	round_beside_call(); // two are answered, six wait
	assert_int_equal(answers_to(0, 8), 2);
	client_begin(&world, &c, STUN_BINDING);
	assert_true(world_stream_send(&world, &c, c.message, stun_end(&c.w)));
	round_beside_call();
	assert_int_equal(take_all(&c.endpoint), 1);
	assert_int_equal(answers_to(0, 8), 1);
	world_run(&world);
	assert_int_equal(answers_to(0, 8), 5);
	assert_int_equal(world_drops(&world), 0);
	world_close(&world);
}

// A client with an allocation is known, whatever slot the quick table lookup hits.
static void test_known(void **state)
{
	const struct world_setup s = {.workers = 1, .rx_queues = 1, .tx_queues = 1};
	struct turn_burst *b;
	struct worker *w;
	uint32_t slot;

	open(&s, 2);
	assert_int_equal(client_allocate(&world, &storm[1], 4), 0);
	w = world.dp->worker[0];
	b = &w->burst.turn;
	b->n = 3;
	b->homes = 0;
	for (unsigned int i = 0; i < 3; i++) {
		const struct world_client *c = i < 2 ? &storm[i] : &call;

		b->view[i] =
			(struct turn_view){.src = c->endpoint.addr, .src_port = c->endpoint.port};
	}
	turn_route_begin(w->shard, b);
	assert_false(turn_route_knows(w->shard, &b->view[0]));
	assert_true(turn_route_knows(w->shard, &b->view[1]));
	slot = b->view[1].slot;
	b->view[0].slot = b->view[1].slot = b->view[2].slot;
	assert_false(turn_route_knows(w->shard, &b->view[0]));
	assert_true(turn_route_knows(w->shard, &b->view[1]));
	b->view[2].slot = slot;
	b->view[2].listener = 1; // another 5-tuple
	assert_false(turn_route_knows(w->shard, &b->view[2]));
	world_close(&world);
}

// However many strangers wait, there is room for known clients; and however many requests are
// spoofed in one client's name, there is room for the others.
static void test_rooms(void **state)
{
	const struct world_setup s = {
		.workers = 1, .rx_queues = 1, .tx_queues = 1, .requests = 1, .backlog = 32};
	const unsigned int known = 6;
	struct dp_stats stats;

	open(&s, 100);
	for (unsigned int i = 0; i < known; i++)
		assert_int_equal(client_allocate(&world, &storm[i], 4), 0);
	for (unsigned int i = known; i < 100; i++)
		post_lifetime(&storm[i], 600);
	for (unsigned int i = 0; i < 40; i++)
		post_lifetime(&storm[0], 600);
	for (unsigned int i = 0; i < known; i++)
		post_lifetime(&storm[i], 600);
	world_run(&world);
	assert_int_equal(answers_to(1, known), known - 1);
	stats = world_stats(&world);
	assert_int_not_equal(stats.drop[DP_DROP_BACKLOG], 0);
	assert_int_not_equal(stats.drop[DP_DROP_BACKLOG_CLIENT], 0);
	assert_int_equal(stats.drop[DP_DROP_BACKLOG_KNOWN], 0);
	world_close(&world);
}

// All requests in the names of many clients: the refused ones are counted for these clients.
static void test_known_full(void **state)
{
	const struct world_setup s = {
		.workers = 1, .rx_queues = 1, .tx_queues = 1, .requests = 1, .backlog = 32};
	unsigned int answers;

	open(&s, 100);
	for (unsigned int i = 0; i < 100; i++)
		assert_int_equal(client_allocate(&world, &storm[i], 4), 0);
	for (unsigned int i = 0; i < 100; i++)
		post_lifetime(&storm[i], 600);
	world_run(&world);
	answers = answers_to(0, 100);
	assert_in_range(answers, 32, 36);
	assert_int_equal(answers + world_stats(&world).drop[DP_DROP_BACKLOG_KNOWN], 100);
	assert_int_equal(world_drops(&world), 100 - answers);
	world_close(&world);
}

// --- with too much to relay ---------------------------------------------------------------------

// While every burst is full, requests wait, but not without end.
static void test_pressed(void **state)
{
	const struct world_setup s = {.workers = 1, .rx_queues = 1, .tx_queues = 1};
	unsigned int round, relayed = 0;

	open(&s, 3);
	for (unsigned int i = 0; i < 400; i++)
		client_channel_data(&world, &call, CHANNEL, "up", 2);
	for (unsigned int i = 0; i < 3; i++)
		post_allocate(&storm[i]); // found by the last round
	world_run(&world);
	assert_int_equal(take_all(&peer), 400);
	assert_int_equal(world.nb_seen, 3);
	world.nb_seen = 0;
	for (unsigned int i = 0; i < 3; i++)
		post_lifetime(&storm[i], 600);
	for (round = 0; world.nb_seen == 0; round++) {
		for (unsigned int i = 0; i < DP_BURST; i++)
			client_channel_data(&world, &call, CHANNEL, "up", 2);
		world_round(&world);
		relayed += take_all(&peer);
	}
	assert_int_equal(round, 32);
	assert_int_equal(world.nb_seen, 1);
	assert_int_equal(relayed, 32 * DP_BURST - 3);
	world_run(&world);
	assert_int_equal(take_all(&peer), 3);
	assert_int_equal(world.nb_seen, 3);
	assert_int_equal(world_drops(&world), 0);
	world_close(&world);
}

// A request that names a peer a hundred times counts as many requests as its time is worth.
static void test_long(void **state)
{
	const struct world_setup s = {.workers = 1, .rx_queues = 1, .tx_queues = 1, .requests = 8};
	unsigned int answers = 0;

	open(&s, 1);
	for (unsigned int i = 0; i < PACE; i++) {
		world_client(&world, &storm[i], "10.99.0.22", (uint16_t)(41000 + i));
		assert_int_equal(client_allocate(&world, &storm[i], 4), 0);
	}
	for (unsigned int i = 0; i < PACE; i++) {
		client_begin(&world, &storm[i], STUN_CREATE_PERMISSION);
		for (unsigned int n = 0; n < 105; n++)
			stun_put_xor_addr(&storm[i].w, STUN_XOR_PEER_ADDRESS, &peer);
		sign(&storm[i]);
		post(&storm[i]);
	}
	while (answers < PACE) {
		const unsigned int n = round_with_call();

		assert_in_range(n, 1, 2); // 1,400 bytes each count six times
		answers += n;
	}
	assert_int_equal(world_drops(&world), 0);
	world_close(&world);
}

// Packets that wait when the worker ends return to the pool.
static void test_stop(void **state)
{
	const struct world_setup s = {.workers = 1, .rx_queues = 1, .tx_queues = 1, .requests = 1};

	open(&s, 60);
	for (unsigned int i = 0; i < 60; i++) {
		post_allocate(&storm[i]);
		if (i % PACE == PACE - 1)
			round_with_call();
	}
	assert_int_equal(world_stats(&world).held, 60 - 60 / PACE);
	world_close(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_second_waits),
		cmocka_unit_test(test_storm),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_alone),
		cmocka_unit_test(test_workers),
		cmocka_unit_test(test_one_client),
		cmocka_unit_test(test_known_first),
		cmocka_unit_test(test_known_stream),
		cmocka_unit_test(test_known),
		cmocka_unit_test(test_rooms),
		cmocka_unit_test(test_known_full),
		cmocka_unit_test(test_pressed),
		cmocka_unit_test(test_long),
		cmocka_unit_test(test_stop),
	};

	world_eal();
	return cmocka_run_group_tests_name("backlog", tests, NULL, NULL);
}
