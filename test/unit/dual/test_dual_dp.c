// SPDX-License-Identifier: BSD-3-Clause
// Dual allocations on whole workers: clients over UDP and over streams have peers of both families,
// in both directions, and a closed connection ends both halves.
#include "bytes.h"
#include "clients/streams.h"
#include "datapath.h"
#include "dp_world.h"
#include "path/worker.h"

#define RING 64
#define PEERS 2

static struct dp_world world;
static struct endpoint relay[PEERS], peer[PEERS]; // IPv4, IPv6

bool __wrap_stream_alive(const struct streams *s, uint64_t conn);
void __wrap_stream_wake(struct streams *s, unsigned int thread);

bool __wrap_stream_alive(const struct streams *s, uint64_t conn)
{
	return true;
}

void __wrap_stream_wake(struct streams *s, unsigned int thread)
{
}

static void open_world(unsigned int workers)
{
	const struct world_setup s = {.workers = workers,
		.rx_queues = workers,
		.tx_queues = workers,
		.stream_ring = RING};

	world_open(&world, &s);
	world.dp->streams = (struct streams *)1; // only passed to the two functions above
	peer[0] = world_endpoint("10.99.0.30", 7000);
	peer[1] = world_endpoint("fd99::30", 7000);
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

// Allocates both and binds a channel to a peer of each family.
static void allocate(struct world_client *c)
{
	uint16_t pos = 0, off, alen;
	unsigned int nb = 0;
	int family;

	client_begin(&world, c, STUN_ALLOCATE);
	stun_put_u32(&c->w, STUN_REQUESTED_TRANSPORT, 17u << 24);
	stun_put_u32(&c->w, STUN_ADDITIONAL_ADDRESS_FAMILY, 2u << 24);
	assert_int_equal(client_ask(&world, c), 0);
	for (; stun_next(&c->reply, STUN_XOR_RELAYED_ADDRESS, &pos, &off, &alen); nb++) {
		assert_true(nb < PEERS);
		assert_true(stun_decode_xor_addr(&c->reply, off, alen, &relay[nb], &family));
		assert_int_equal(family, nb == 0 ? 4 : 6);
	}
	assert_int_equal(nb, PEERS);
	for (uint16_t i = 0; i < PEERS; i++)
		assert_int_equal(client_bind(&world, c, 0x4000 + i, &peer[i]), 0);
}

static void check_relays(struct world_client *c, unsigned int i)
{
	struct world_datagram got;

	client_channel_data(&world, c, (uint16_t)(0x4000 + i), "media", 5);
	world_run(&world);
	assert_true(world_take(&world, &peer[i], &got));
	assert_true(endpoint_eq(&got.src, &relay[i]));
	assert_int_equal(got.len, 5);
	assert_memory_equal(got.data, "media", 5);
	world_send_bytes(&world, &peer[i], &relay[i], "back", 4);
	world_run(&world);
	assert_true(world_take(&world, &c->endpoint, &got));
	assert_int_equal(load_be16(got.data), 0x4000 + i);
	assert_memory_equal(got.data + 4, "back", 4);
}

static void relays_both(struct world_client *c)
{
	allocate(c);
	for (unsigned int n = 0; n < 80; n++) // each is the first now and then
		check_relays(c, n < 40 ? n % PEERS : n < 60);
}

static void clients_over_udp(void **state)
{
	struct world_client c;

	open_world(3);
	for (uint16_t i = 0; i < 6; i++) {
		world_client(
			&world, &c, i % 2 == 0 ? "10.99.0.20" : "fd99::20", (uint16_t)(40000 + i));
		relays_both(&c);
	}
	assert_int_equal(allocations(), 12);
	close_world();
}

static void clients_over_streams(void **state)
{
	struct world_client c;

	open_world(3);
	for (uint16_t i = 0; i < 6; i++) {
		world_stream_client(&world, &c, "203.0.113.5", (uint16_t)(40000 + i));
		relays_both(&c);
		assert_int_equal(allocations(), 2);
		world_stream_end(&world, &c);
		assert_int_equal(allocations(), 0);
	}
	close_world();
}

// The remaining half belongs to the connection as well.
static void the_remaining_half_ends_with_the_connection(void **state)
{
	struct world_client c;

	open_world(2);
	for (uint16_t i = 0; i < 4; i++) {
		world_stream_client(&world, &c, "203.0.113.5", (uint16_t)(40000 + i));
		relays_both(&c);
		client_begin(&world, &c, STUN_REFRESH);
		stun_put_u32(&c.w, STUN_LIFETIME, 0);
		stun_put_u32(&c.w, STUN_REQUESTED_ADDRESS_FAMILY, (1u + i % 2) << 24);
		assert_int_equal(client_ask(&world, &c), 0);
		assert_int_equal(allocations(), 1);
		check_relays(&c, 1 - i % 2);
		world_stream_end(&world, &c);
		assert_int_equal(allocations(), 0);
	}
	close_world();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(clients_over_udp),
		cmocka_unit_test(clients_over_streams),
		cmocka_unit_test(the_remaining_half_ends_with_the_connection),
	};

	world_eal();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
