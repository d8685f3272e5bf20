// SPDX-License-Identifier: BSD-3-Clause
// Shared relay ports from wire to wire: both legs, both families, any number of workers and any
// receive queue.
#include "bytes.h"
#include "drop_of.h"
#include "dp_world.h"

#define CHANNEL 0x4000
#define CLIENTS 24
#define PORTS 6

static struct dp_world world;
static struct world_client client[CLIENTS];

static uint64_t drops(enum turn_drop reason)
{
	return world_stats(&world).drop[drop_of_turn(reason)];
}

static const char *text_of(const struct endpoint *e)
{
	static char text[ADDR_TEXT_LEN + 8];

	return addr_format_endpoint(e, text, sizeof(text));
}

// Sends from the peer to the client, and checks how many bytes precede the data there.
static void down(const struct world_client *c, const struct endpoint *peer, unsigned int i)
{
	struct world_datagram got;
	uint8_t data[8];

	store_be32(data, i);
	store_be32(data + 4, ~i);
	world_send_bytes(&world, peer, &c->relay, data, sizeof(data));
	world_run(&world);
	if (!world_take(&world, &c->endpoint, &got))
		fail_msg("client %u on %s hears nothing", i, text_of(&c->relay));
	assert_true(endpoint_eq(&got.src, &c->server));
	assert_true(got.len > sizeof(data));
	assert_memory_equal(got.data + got.len - sizeof(data), data, sizeof(data));
	assert_int_equal(world.nb_seen, 0); // no other client gets it
}

static void up(struct world_client *c, const struct endpoint *peer, unsigned int i)
{
	struct world_datagram got;

	client_channel_data(&world, c, CHANNEL, &i, sizeof(i));
	world_run(&world);
	assert_true(world_take(&world, peer, &got));
	assert_true(endpoint_eq(&got.src, &c->relay));
	assert_int_equal(got.len, sizeof(i));
	assert_memory_equal(got.data, &i, sizeof(i));
	assert_int_equal(world.nb_seen, 0);
}

static void send_once(struct world_client *c, const struct endpoint *peer)
{
	uint8_t message[256], tid[STUN_TID_LEN] = {1};
	struct stun_writer w;

	stun_begin(&w, message, sizeof(message), STUN_INDICATION, STUN_SEND, tid);
	stun_put_xor_addr(&w, STUN_XOR_PEER_ADDRESS, peer);
	stun_put(&w, STUN_DATA_ATTR, "once", 4);
	world_send_bytes(&world, &c->endpoint, &c->server, message, stun_end(&w));
	world_run(&world);
}

// Clients and peers of both families; some peers are one endpoint for clients of different shared
// addresses.
static void test_relay(void **state)
{
	const struct world_setup *s = *state;
	struct world_datagram got;
	struct endpoint peer[CLIENTS];
	unsigned int collided = 0, homes = 0;

	world_open(&world, s);
	for (unsigned int i = 0; i < CLIENTS; i++) {
		struct world_client *c = &client[i];
		const bool is_v4 = i % 2 == 0;

		world_client(
			&world, c, i % 4 < 2 ? "10.99.0.20" : "fd99::20", (uint16_t)(40000 + i));
		assert_int_equal(client_allocate(&world, c, is_v4 ? 4 : 6), 0);
		assert_in_range(c->relay.port, 3480, 3480 + PORTS - 1);
		homes |= 1u << (c->relay.port - 3480);
		peer[i] = world_endpoint(is_v4 ? "10.99.0.30" : "fd99::30", 7000);
		while (client_bind(&world, c, CHANNEL, &peer[i]) != 0) {
			collided++;
			peer[i].port++;
		}
	}
	assert_true(collided > 0); // there are fewer shared addresses than clients
	assert_true((homes & (homes - 1)) != 0);
	for (unsigned int round = 0; round < 3; round++) {
		for (unsigned int i = 0; i < CLIENTS; i++) {
			up(&client[i], &peer[i], i + round);
			down(&client[i], &peer[i], i + round);
		}
	}
	// without a channel, on the slow path
	for (unsigned int i = 0; i < CLIENTS; i++) {
		struct endpoint unbound = {peer[i].addr, (uint16_t)(9000 + i)};

		send_once(&client[i], &unbound);
		assert_true(world_take(&world, &unbound, &got));
		assert_true(endpoint_eq(&got.src, &client[i].relay));
		down(&client[i], &unbound, i);
		assert_int_equal(drops(TURN_DROP_SHARED_UNKNOWN_PEER), i);
		unbound.port = 10000;
		world_send_bytes(&world, &unbound, &client[i].relay, "x", 1);
		world_run(&world);
		assert_int_equal(drops(TURN_DROP_SHARED_UNKNOWN_PEER), i + 1);
		assert_int_equal(world.nb_seen, 0);
	}
	assert_int_equal(world_drops(&world), CLIENTS);
	world_close(&world);
}

// Many datagrams per round, of many clients: batched lookups do not mix them up.
static void test_bursts(void **state)
{
	const struct world_setup *s = *state;
	struct endpoint peer[CLIENTS];
	struct world_datagram got;

	world_open(&world, s);
	for (unsigned int i = 0; i < CLIENTS; i++) {
		world_client(&world, &client[i], "10.99.0.20", (uint16_t)(40000 + i));
		assert_int_equal(client_allocate(&world, &client[i], 4), 0);
		peer[i] = world_endpoint("10.99.0.30", (uint16_t)(7000 + i));
		assert_int_equal(client_bind(&world, &client[i], CHANNEL, &peer[i]), 0);
		assert_int_equal(world_stats(&world).turn.endpoints, i + 1);
	}
	for (unsigned int round = 0; round < 20; round++) {
		for (unsigned int i = 0; i < CLIENTS; i++) {
			world_send_bytes(&world, &peer[i], &client[i].relay, &i, sizeof(i));
			client_channel_data(&world, &client[i], CHANNEL, &i, sizeof(i));
		}
		world_run(&world);
		for (unsigned int i = 0; i < CLIENTS; i++) {
			assert_true(world_take(&world, &client[i].endpoint, &got));
			assert_memory_equal(got.data + 4, &i, sizeof(i));
			assert_true(world_take(&world, &peer[i], &got));
			assert_true(endpoint_eq(&got.src, &client[i].relay));
			assert_memory_equal(got.data, &i, sizeof(i));
		}
	}
	assert_int_equal(world_drops(&world), 0);
	world_close(&world);
}

// Two clients as each other's peers: from one shared address to another, never over the wire.
static void test_hairpin(void **state)
{
	const struct world_setup *s = *state;
	struct world_client *x = &client[0], *y = &client[1];
	struct world_datagram got;
	uint64_t tx;

	world_open(&world, s);
	world_client(&world, x, "10.99.0.20", 41000);
	world_client(&world, y, "fd99::20", 41001);
	assert_int_equal(client_allocate(&world, x, 4), 0);
	do // on another shared address
		y->endpoint.port++, assert_int_equal(client_allocate(&world, y, 4), 0);
	while (endpoint_eq(&x->relay, &y->relay));
	assert_int_equal(client_bind(&world, x, CHANNEL, &y->relay), 0);
	client_channel_data(&world, x, CHANNEL, "ping", 4);
	world_run(&world);
	assert_int_equal(drops(TURN_DROP_SHARED_UNKNOWN_PEER), 1);
	assert_int_equal(client_bind(&world, y, CHANNEL + 1, &x->relay), 0);
	tx = world_stats(&world).tx;
	for (unsigned int i = 0; i < 5; i++) {
		client_channel_data(&world, x, CHANNEL, "ping", 4);
		world_run(&world);
		assert_true(world_take(&world, &y->endpoint, &got));
		assert_int_equal(load_be16(got.data), CHANNEL + 1);
		client_channel_data(&world, y, CHANNEL + 1, "pong", 4);
		world_run(&world);
		assert_true(world_take(&world, &x->endpoint, &got));
		assert_int_equal(load_be16(got.data), CHANNEL);
	}
	assert_int_equal(world_stats(&world).tx, tx + 10);
	assert_int_equal(world.nb_seen, 0);
	world_close(&world);
}

static struct world_setup setups[] = {
	{.workers = 1, .rx_queues = 1, .tx_queues = 1, .shared = PORTS},
	{.workers = 3, .rx_queues = 2, .tx_queues = 3, .shared = PORTS},
	{.workers = 2, .rx_queues = 2, .tx_queues = 2, .nic = true, .shared = PORTS},
	{.workers = 6, .rx_queues = 6, .tx_queues = 6, .relays = 2, .shared = PORTS},
};

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_CASE(test_relay, setups, 0),
		WORLD_CASE(test_relay, setups, 1),
		WORLD_CASE(test_relay, setups, 2),
		WORLD_CASE(test_relay, setups, 3),
		WORLD_CASE(test_bursts, setups, 0),
		WORLD_CASE(test_bursts, setups, 1),
		WORLD_CASE(test_bursts, setups, 3),
		WORLD_CASE(test_hairpin, setups, 0),
		WORLD_CASE(test_hairpin, setups, 1),
		WORLD_CASE(test_hairpin, setups, 3),
	};

	world_eal();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
