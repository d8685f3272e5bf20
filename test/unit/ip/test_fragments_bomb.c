// SPDX-License-Identifier: BSD-3-Clause
// A million hostile fragments a second, for one simulated second of relaying: relaying loses
// nothing, attackers hold no packet buffer, and honest datagrams of other sources still come
// through in fragments.
#include "bytes.h"
#include "datapath.h"
#include "drop_of.h"
#include "dp_world.h"
#include "fragment.h"
#include "path/worker.h"

#include <rte_mempool.h>

#define CHANNEL 0x4001
#define ROUNDS 1000 // of a millisecond
#define PER_ROUND 1000
#define CALLS 20 // relayed datagrams per round
#define BURST 256 // frames put at a time: a round of the worker takes 32

static struct dp_world world;
static struct world_client client;
static struct endpoint peer;
static struct ip_long honest, got;
static uint8_t l4[66000];

static void with_fragments(struct dp_world *w)
{
	w->conf.fragments = (struct conf_fragments){.flows = 64,
		.per_source = 4,
		.longest = 9000,
		.buffers = 16,
		.timeout_ms = 1000,
		.rate = 10000};
}

static const struct world_setup setup = {
	.workers = 1, .rx_queues = 1, .tx_queues = 1, .change = with_fragments};

enum kind { ONE_SOURCE, MANY_SOURCES, FIRSTS, LASTS, OVERLAPS, KINDS };

// Writes one hostile fragment.
static size_t bomb(uint8_t *frame, enum kind kind, uint32_t n)
{
	static struct ip_long d;
	const struct port *p = world.dp->port[0].port;
	uint8_t macs[12] = {[6] = 2, 9, 9, 9, 9, 9};
	uint32_t off = 8 * test_rand_below(&world.rand, 100);
	bool more = true;

	memcpy(macs, p->mac, 6);
	d.src = world_endpoint("203.0.113.9", 40000);
	if (kind != ONE_SOURCE) // spoofed
		store_be32(d.src.addr.b + 12, 0xcb000000 | (test_rand(&world.rand) & 0xffffff));
	d.dst = client.server;
	d.id = (uint32_t)test_rand(&world.rand);
	if (kind == FIRSTS)
		off = 0;
	if (kind == LASTS) {
		off = 1480;
		more = false;
	}
	if (kind == OVERLAPS) {
		store_be32(d.src.addr.b + 12, 0xcb007100 | (n / 64 & 0xff));
		d.id = n / 64;
		off = 8 * (n % 64);
	}
	return ip_piece(
		frame, macs, &d, l4, (struct ip_piece){off, kind == OVERLAPS ? 16 : 8, more});
}

static void relay(void)
{
	for (unsigned int i = 0; i < CALLS / 2; i++) {
		client_channel_data(&world, &client, CHANNEL, "call", 4);
		world_send_bytes(&world, &peer, &client.relay, "answer", 6);
	}
}

static void count_calls(uint64_t *up, uint64_t *down)
{
	struct world_datagram d;

	while (world_take(&world, &peer, &d))
		(*up)++;
	while (world_take(&world, &client.endpoint, &d))
		(*down)++;
}

// Sends a datagram of 4,000 bytes of the client, its fragments back to back.
static void send_honest(uint32_t n)
{
	honest.src = client.endpoint;
	honest.dst = client.server;
	honest.len = 4004;
	honest.id = n;
	store_be16(honest.data, CHANNEL);
	store_be16(honest.data + 2, 4000);
	store_be32(honest.data + 4, n);
	world_send_long(&world, &honest, 1500, false);
}

static void under(enum kind kind)
{
	uint64_t up = 0, down = 0, sent = 0, came = 0;
	struct dp_stats s;
	uint8_t frame[1600];
	uint32_t n = 0;

	for (unsigned int round = 0; round < ROUNDS; round++) {
		for (unsigned int put = 0; put < PER_ROUND; put += BURST) {
			for (unsigned int i = 0; i < BURST && put + i < PER_ROUND; i++)
				world_inject(&world, 0, frame, bomb(frame, kind, n++));
			if (put == 0)
				relay();
			if (put == BURST && round % 10 == 0) {
				send_honest(round);
				sent++;
			}
			// one round of the world advances the clock by a millisecond
			for (unsigned int k = 0; k < BURST / DP_BURST + 2; k++)
				worker_round(world.dp->worker[0],
					world.dp->tsc_start + world.ms * world.dp->tsc_per_ms);
		}
		world_round(&world);
		count_calls(&up, &down);
		while (world_take_long(&world, &peer, &got)) {
			assert_int_equal(got.len, 4000);
			came++;
		}
		// no hostile fragment is in a packet buffer
		assert_in_range(rte_mempool_in_use_count(world.dp->pool), 0, 1);
	}
	world_run(&world);
	count_calls(&up, &down);
	s = world_stats(&world);
	printf("kind %d: relayed %llu and %llu, honest %llu of %llu, held %llu\n", kind,
		(unsigned long long)up, (unsigned long long)down, (unsigned long long)came,
		(unsigned long long)sent, (unsigned long long)s.held);
	assert_int_equal(up, (uint64_t)ROUNDS * CALLS / 2);
	assert_int_equal(down, (uint64_t)ROUNDS * CALLS / 2);
	assert_int_equal(came, sent);
	assert_in_range(s.held, 0, 64u * NET_FRAGMENTS_MAX);
}

static void bomb_beside_calls(void **state)
{
	peer = world_endpoint("10.99.0.30", 7000);
	world_open(&world, &setup);
	world_client(&world, &client, "10.99.0.20", 40000);
	assert_int_equal(client_allocate(&world, &client, 4), 0);
	assert_int_equal(client_bind(&world, &client, CHANNEL, &peer), 0);
	store_be16(l4 + 2, 3478); // every fragment begins as if it were a datagram to the listener
	for (unsigned int kind = 0; kind < KINDS; kind++)
		under(kind);
	world_close(&world);
}

// An attacker at the honest client's own address takes room from that client only.
static void bomb_of_a_neighbour(void **state)
{
	struct dp_stats s;

	peer = world_endpoint("10.99.0.30", 7000);
	world_open(&world, &setup);
	world_client(&world, &client, "10.99.0.20", 40000);
	assert_int_equal(client_allocate(&world, &client, 4), 0);
	assert_int_equal(client_bind(&world, &client, CHANNEL, &peer), 0);
	for (uint32_t n = 0; n < 2000; n++) {
		uint8_t frame[1600];

		world_inject(&world, 0, frame, bomb(frame, ONE_SOURCE, n));
		if (n % 32 == 0)
			worker_round(world.dp->worker[0],
				world.dp->tsc_start + world.ms * world.dp->tsc_per_ms);
	}
	world_run(&world);
	s = world_stats(&world);
	// a tenth of a second's worth at once, and 10 a millisecond after that
	assert_in_range(s.fragments_in, 1000, 1200);
	assert_in_range(s.drop[DP_DROP_FRAGMENT_RATE], 800, 1000);
	assert_int_equal(s.held, 4);
	send_honest(1);
	world_run(&world);
	assert_true(world_take_long(&world, &peer, &got));
	world_close(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bomb_beside_calls),
		cmocka_unit_test(bomb_of_a_neighbour),
	};

	world_eal();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
