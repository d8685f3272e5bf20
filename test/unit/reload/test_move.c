// SPDX-License-Identifier: BSD-3-Clause
// The network gives the server another IPv6 address while workers relay: allocations on the old one
// end, the new one is used at once, and media over IPv4 is not affected.
#include <stdlib.h>

#include "conf_changes.h"
#include "datapath.h"
#include "dp_world.h"
#include "turn_event.h"

#define CHANNEL 0x4000
#define V6 1 // index of the address, listener and relay address
#define MOVES 20

static void keep_events(struct dp_world *w)
{
	w->conf.events = 64; // which are not read while the address moves
}

static const struct world_setup setups[] = {
	{.workers = 1, .rx_queues = 1, .tx_queues = 1, .change = keep_events},
	{.workers = 3, .rx_queues = 3, .tx_queues = 3, .change = keep_events},
	{.workers = 2, .rx_queues = 2, .tx_queues = 2, .rss = true, .change = keep_events},
};

static struct dp_world world;

// Adopts an address as conf_moved_adopt does: the world has its own arrays.
static void adopt(const struct addr *new)
{
	world.addresses[V6].addr = *new;
	world.listeners[V6].endpoint.addr = *new;
	world.relay[V6] = *new;
	world.locals[V6].addr = *new;
}

// Relays media over IPv4 in each step. Returns the number of steps.
static unsigned int move(const char *new_addr, struct world_client *c, const struct endpoint *peer)
{
	const struct conf_learned l = {
		.index = V6, .addr = world_endpoint(new_addr, 0).addr, .prefix_len = 64};
	char error[CONF_ERROR_LEN];
	struct conf *moved = conf_move(&world.conf, &l, 1, error);
	static struct turn_event events[64];
	unsigned int sent = 0, got = 0;
	struct world_datagram d;

	assert_non_null(moved);
	assert_int_equal(dp_move_begin(world.dp, moved, error, sizeof(error)), 0);
	while (world.dp->reload != NULL) {
		client_channel_data(&world, c, CHANNEL, "x", 1);
		world_send_bytes(&world, peer, &c->relay, "y", 1);
		dp_reload_step(world.dp);
		world_round(&world);
		dp_events(world.dp, events, 64);
		sent++;
		assert_true(sent < 1000);
	}
	world_wait(&world, 20); // every line has been looked up again
	while (world_take(&world, peer, &d))
		got++;
	assert_int_equal(got, sent);
	while (world_take(&world, &c->endpoint, &d))
		got++;
	assert_int_equal(got, 2 * sent);
	assert_string_equal(dp_move_trouble(world.dp), "");
	adopt(&l.addr);
	dp_reload_clear(world.dp);
	return sent;
}

static void client6(struct world_client *c, uint16_t port, const char *server)
{
	world_client(&world, c, "fd99::20", port);
	c->server = world_endpoint(server, 3478);
}

static void only_allocations_of_the_old_address_end(void **state)
{
	static const char *const given[] = {"fd99::77", "fd99::1", "fd99::78"};
	const struct endpoint peer = world_endpoint("10.99.0.200", 7000);
	const struct endpoint peer6 = world_endpoint("fd99::200", 7000);
	struct world_client v4, mixed, six;

	world_open(&world, *state);
	world.rerouted = true;
	world_client(&world, &v4, "10.99.0.20", 41000);
	assert_int_equal(client_allocate(&world, &v4, 4), 0);
	assert_int_equal(client_bind(&world, &v4, CHANNEL, &peer), 0);
	client_assert_relays(&world, &v4, CHANNEL, &peer);
	for (unsigned int i = 0; i < MOVES; i++) {
		const char *before = i == 0 ? "fd99::1" : given[(i - 1) % 3], *now = given[i % 3];

		world_client(&world, &mixed, "10.99.0.21", (uint16_t)(42000 + i));
		assert_int_equal(client_allocate(&world, &mixed, 6), 0);
		client6(&six, (uint16_t)(43000 + i), before);
		assert_int_equal(client_allocate(&world, &six, 4), 0);
		move(now, &v4, &peer);
		// both have ended, and at the new address neither is a client
		assert_int_equal(client_bind(&world, &mixed, CHANNEL, &peer6), 437);
		client6(&six, (uint16_t)(43000 + i), now);
		assert_int_equal(client_bind(&world, &six, CHANNEL, &peer), 437);
		assert_int_equal(client_allocate(&world, &six, 6), 0);
		assert_true(addr_eq(&six.relay.addr, &six.server.addr));
		assert_int_equal(client_bind(&world, &six, CHANNEL, &peer6), 0);
		client_assert_relays(&world, &six, CHANNEL, &peer6);
		client_assert_relays(&world, &v4, CHANNEL, &peer);
	}
	assert_int_equal(world_drops(&world), 0);
	world_close(&world);
}

// A process that stops in the middle frees everything.
static void a_move_may_be_interrupted(void **state)
{
	const struct conf_learned l = {
		.index = V6, .addr = world_endpoint("fd99::77", 0).addr, .prefix_len = 64};
	char error[CONF_ERROR_LEN];

	for (unsigned int steps = 0; steps < 8; steps++) {
		struct conf *moved;

		world_open(&world, *state);
		moved = conf_move(&world.conf, &l, 1, error);
		assert_non_null(moved);
		assert_int_equal(dp_move_begin(world.dp, moved, error, sizeof(error)), 0);
		for (unsigned int i = 0; i < steps && world.dp->reload != NULL; i++) {
			dp_reload_step(world.dp);
			world_round(&world);
		}
		world_close(&world);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_CASE(only_allocations_of_the_old_address_end, setups, 0),
		WORLD_CASE(only_allocations_of_the_old_address_end, setups, 1),
		WORLD_CASE(only_allocations_of_the_old_address_end, setups, 2),
		WORLD_CASE(a_move_may_be_interrupted, setups, 0),
		WORLD_CASE(a_move_may_be_interrupted, setups, 1),
	};

	world_eal();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
