// SPDX-License-Identifier: BSD-3-Clause
// Two servers that are each other's peers, and a client that closes a loop: it makes an allocation
// on the second through the one on the first, and moves the first one to the relayed transport
// address of the second. A datagram in the loop is dropped after a few hops.
#include "bytes.h"
#include "drop_of.h"
#include "dp_world.h"

#define CHANNEL 0x4000

static struct dp_world world;

static void with_mobility(struct dp_world *w)
{
	w->conf.turn.mobility.enabled = true;
	w->conf.turn.mobility.moves = 16;
}

// Allocates with a ticket. Returns the ticket's length.
static uint16_t allocate(struct world_client *c, bool is_v4, uint8_t ticket[64])
{
	int family;

	client_begin(&world, c, STUN_ALLOCATE);
	stun_put_u32(&c->w, STUN_REQUESTED_TRANSPORT, 17u << 24);
	stun_put_u32(&c->w, STUN_REQUESTED_ADDRESS_FAMILY, is_v4 ? 1u << 24 : 2u << 24);
	stun_put(&c->w, STUN_MOBILITY_TICKET, "", 0);
	assert_int_equal(client_ask(&world, c), 0);
	assert_true(stun_decode_xor_addr(&c->reply, c->reply.off[STUN_XOR_RELAYED_ADDRESS],
		c->reply.alen[STUN_XOR_RELAYED_ADDRESS], &c->relay, &family));
	assert_in_range(c->reply.alen[STUN_MOBILITY_TICKET], 1, 64);
	memcpy(ticket, c->answer + c->reply.off[STUN_MOBILITY_TICKET],
		c->reply.alen[STUN_MOBILITY_TICKET]);
	return c->reply.alen[STUN_MOBILITY_TICKET];
}

// Moves the client of the allocation to another address.
static void move(struct world_client *roamed, const uint8_t *ticket, uint16_t len,
	const struct endpoint *peer)
{
	struct world_datagram got;

	client_begin(&world, roamed, STUN_REFRESH);
	stun_put(&roamed->w, STUN_MOBILITY_TICKET, ticket, len);
	assert_int_equal(client_ask(&world, roamed), 0);
	client_channel_data(&world, roamed, CHANNEL, "here", 4);
	world_run(&world);
	assert_true(world_take(&world, peer, &got));
	assert_int_equal(world_stats(&world).turn.moves, 1);
}

// Sends one datagram to the moved allocation, and acts as the second server: datagrams to its
// relayed transport address go to the client there, which is the relayed transport address of the
// first. Returns the number of datagrams that this makes.
static unsigned int goes_round(
	const struct world_client *c, const struct endpoint *second, uint8_t ttl)
{
	struct world_datagram d = {.src = *second, .dst = c->relay, .len = 4, .ttl = ttl}, got;
	unsigned int n = 0;

	for (; n < 1000; n += 2) {
		world_send(&world, &d);
		world_run(&world);
		if (!world_take(&world, &c->endpoint, &got))
			break;
		d.ttl = (uint8_t)(got.ttl - 1);
		memcpy(d.data + 4, got.data, got.len);
		store_be16(d.data, CHANNEL);
		store_be16(d.data + 2, got.len);
		d.len = (uint16_t)(got.len + 4);
		if (d.ttl == 0)
			return n + 1;
	}
	return n;
}

static void cycle(const char *client, const char *server)
{
	static const uint8_t ttls[] = {64, 255, 128, 63};
	const struct world_setup s = {
		.workers = 2, .rx_queues = 2, .tx_queues = 2, .change = with_mobility};
	const struct endpoint second = world_endpoint(server, 3478);
	struct world_client c, moved;
	struct world_datagram d, got;
	uint8_t ticket[64];
	uint64_t ended;
	uint16_t len;

	world_open(&world, &s);
	world_client(&world, &c, addr_is_v4(&second.addr) ? "10.99.0.20" : "fd99::20", 5000);
	len = allocate(&c, addr_is_v4(&second.addr), ticket);
	assert_int_equal(client_bind(&world, &c, CHANNEL, &second), 0);
	d = (struct world_datagram){.src = second, .dst = c.relay, .len = 4, .ttl = 64};
	world_send(&world, &d);
	world_run(&world);
	assert_true(world_take(&world, &c.endpoint, &got));
	assert_int_equal(got.ttl, 63); // a client that has not moved loses one hop
	world_client(&world, &moved, client, 6000);
	move(&moved, ticket, len, &second);
	moved.relay = c.relay;
	for (size_t i = 0; i < sizeof(ttls); i++) {
		const unsigned int n = goes_round(&moved, &second, ttls[i]);

		printf("TTL %u: %u datagrams\n", ttls[i], n);
		assert_in_range(n, 2, 19);
	}
	// a distant client is reached
	d.ttl = 40;
	world_send(&world, &d);
	world_run(&world);
	assert_true(world_take(&world, &moved.endpoint, &got));
	assert_int_equal(got.ttl, 32);
	// a datagram with too few hops left is dropped here
	ended = world_stats(&world).drop[DP_DROP_TTL];
	for (unsigned int ttl = 9; ttl > 0; ttl--) {
		d.ttl = (uint8_t)ttl;
		world_send(&world, &d);
		world_run(&world);
		assert_int_equal(world_take(&world, &moved.endpoint, &got), ttl == 9);
		assert_true(ttl != 9 || got.ttl == 1);
		assert_int_equal(world_stats(&world).drop[DP_DROP_TTL], ended + 9 - ttl);
	}
	// the other direction is unchanged
	d = (struct world_datagram){
		.src = moved.endpoint, .dst = moved.server, .len = 8, .ttl = 64};
	store_be16(d.data, CHANNEL);
	store_be16(d.data + 2, 4);
	world_send(&world, &d);
	world_run(&world);
	assert_true(world_take(&world, &second, &got));
	assert_int_equal(got.ttl, 63);
	world_close(&world);
}

static void a_cycle_ends_soon(void **state)
{
	cycle("10.99.0.31", "10.99.0.30");
	cycle("198.51.100.31", "198.51.100.30");
	cycle("fd99::31", "fd99::30");
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(a_cycle_ends_soon)};

	world_eal();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
