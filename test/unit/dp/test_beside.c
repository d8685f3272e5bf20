// SPDX-License-Identifier: BSD-3-Clause
// Programs on the server's own machine as peers, at an address that the server shares with them:
// through the loopback interface, and where peers.allow names the address itself.
#include "bytes.h"
#include "datapath.h"
#include "dp_world.h"
#include "drop_of.h"

#define CHANNEL 0x4000
#define LOOPBACK 1
#define PROGRAM 10000

static struct dp_world world;
static struct world_client client;

// Port 0 shares its interface and its addresses, and port 1 is the loopback interface. 10.99.0.1
// and fd99::1 are named, 10.99.0.100 and fd99::100 are not.
static void beside(struct dp_world *w)
{
	w->ports[LOOPBACK] = (struct conf_port){
		.name = "lo", .device = w->device, .mtu = 1500, .loopback = true};
	w->conf.turn.nb_local--;
	w->conf.turn.nb_listeners--;
	for (uint32_t i = 0; i < w->conf.turn.nb_local; i++)
		w->locals[i].beside = true;
	for (unsigned int i = 0; i < 2; i++)
		w->allow[3 + i] = (struct prefix){w->addresses[i].addr, 128};
	w->conf.turn.nb_allow = 5;
}

static void beside_without_hairpin(struct dp_world *w)
{
	beside(w);
	w->conf.turn.hairpin = false;
}

static struct world_setup setups[] = {
	{.workers = 1, .rx_queues = 1, .tx_queues = 1, .two_ports = true, .change = beside},
	{.workers = 3, .rx_queues = 3, .tx_queues = 3, .two_ports = true, .change = beside},
	{.workers = 1,
		.rx_queues = 1,
		.tx_queues = 1,
		.two_ports = true,
		.relays = 1,
		.change = beside},
	{.workers = 1,
		.rx_queues = 1,
		.tx_queues = 1,
		.two_ports = true,
		.change = beside_without_hairpin},
};

static uint64_t drops(unsigned int reason)
{
	return world_dropped(&world, drop_of_turn(reason));
}

static void inject(unsigned int port, const struct endpoint *src, const struct endpoint *dst)
{
	struct world_datagram d = {.src = *src, .dst = *dst, .len = 4};
	uint8_t frame[2048];
	size_t len;

	memcpy(d.data, "pong", 4);
	len = world_frame_by(&world, port, &d, frame);
	if (port == LOOPBACK)
		memset(frame, 0, 12); // like frames of the loopback interface
	world_inject(&world, port, frame, len);
	world_run(&world);
}

static void open_with(const struct world_setup *s, int family)
{
	world_open(&world, s);
	memset(world.dp->port[LOOPBACK].port->mac, 0, 6);
	memset(world.dp->port[LOOPBACK].l2.src, 0, 6);
	for (unsigned int i = 0; i < 4; i++)
		memset(world.dp->port[LOOPBACK].rx[i].mac, 0, 6);
	world_client(&world, &client, family == 4 ? "10.99.0.20" : "fd99::20", 41000);
	assert_int_equal(client_allocate(&world, &client, family), 0);
}

static void talk(const struct world_setup *s, const char *address, int family)
{
	const struct endpoint program = world_endpoint(address, PROGRAM);
	struct world_datagram got;

	open_with(s, family);
	assert_int_equal(client_bind(&world, &client, CHANNEL, &program), 0);
	for (unsigned int i = 0; i < 20; i++) {
		client_channel_data(&world, &client, CHANNEL, "ping", 4);
		world_run(&world);
		assert_true(world_take(&world, &program, &got));
		assert_int_equal(got.port, LOOPBACK);
		assert_true(endpoint_eq(&got.src, &client.relay));
		inject(LOOPBACK, &program, &client.relay);
		assert_true(world_take(&world, &client.endpoint, &got));
		assert_int_equal(got.port, 0);
		assert_memory_equal(got.data + CHANNEL_HEADER_LEN, "pong", 4);
	}
	for (unsigned int i = 0; i < world.dp->nb_workers; i++)
		world_balance(&world, i);
	world_close(&world);
}

static void a_program_at_a_named_address_is_a_peer(void **state)
{
	talk(*state, "10.99.0.1", 4);
	talk(*state, "fd99::1", 6);
}

// The named address is a peer; this says nothing about other addresses of the interface.
static void a_program_at_another_address_is_no_peer(void **state)
{
	const struct endpoint program = world_endpoint("10.99.0.100", PROGRAM);
	const uint64_t before = 0;

	open_with(*state, 4);
	assert_int_equal(client_permit(&world, &client, &program), 0);
	assert_int_equal(client_bind(&world, &client, CHANNEL, &program), 403);
	client_indication(&world, &client, &program, "lost", 4);
	world_run(&world);
	assert_int_equal(drops(TURN_DROP_PEER_OWN), before + 1);
	inject(LOOPBACK, &program, &client.relay);
	assert_int_equal(drops(TURN_DROP_PEER_OWN), before + 2);
	assert_int_equal(world.nb_seen, 0);
	world_close(&world);
}

static void a_listener_is_no_peer(void **state)
{
	const struct endpoint listener = world_endpoint("10.99.0.1", 3478);

	open_with(*state, 4);
	assert_int_equal(client_permit(&world, &client, &listener), 0);
	assert_int_equal(client_bind(&world, &client, CHANNEL, &listener), 403);
	client_indication(&world, &client, &listener, "lost", 4);
	world_run(&world);
	assert_int_equal(drops(TURN_DROP_PEER_OWN), 1);
	assert_int_equal(world.nb_seen, 0);
	world_close(&world);
}

// An attacker on the link has only the program's address, and only programs come in by the loopback
// interface.
static void a_program_is_recognized_by_its_port(void **state)
{
	const struct endpoint program = world_endpoint("10.99.0.1", PROGRAM);
	const struct endpoint peer = world_endpoint("198.51.100.9", 7000);
	const struct endpoint listener = world_endpoint("10.99.0.1", 3478);
	const unsigned int martian = drop_of_net(NET_DROP_MARTIAN_SOURCE);

	open_with(*state, 4);
	assert_int_equal(client_bind(&world, &client, CHANNEL, &program), 0);
	assert_int_equal(client_bind(&world, &client, CHANNEL + 1, &peer), 0);
	inject(0, &program, &client.relay);
	assert_int_equal(world_dropped(&world, martian), 1);
	inject(LOOPBACK, &peer, &client.relay);
	assert_int_equal(world_dropped(&world, martian), 2);
	inject(LOOPBACK, &program, &listener);
	assert_int_equal(world_dropped(&world, DP_DROP_NO_LISTENER), 1);
	assert_int_equal(world.nb_seen, 0);
	world_close(&world);
}

// peers.hairpin applies to relay ports, peers.allow to programs.
static void relay_ports_stay_closed_without_hairpin(void **state)
{
	const struct endpoint program = world_endpoint("10.99.0.1", PROGRAM);
	struct world_datagram got;
	struct endpoint unallocated;

	open_with(*state, 4);
	unallocated = client.relay;
	unallocated.port ^= 2;
	assert_int_equal(client_bind(&world, &client, CHANNEL, &unallocated), 403);
	assert_int_equal(client_bind(&world, &client, CHANNEL, &program), 0);
	client_indication(&world, &client, &unallocated, "lost", 4);
	world_run(&world);
	assert_int_equal(drops(TURN_DROP_PEER_OWN), 1);
	assert_false(world_take(&world, &unallocated, &got));
	world_close(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_CASE(a_program_at_a_named_address_is_a_peer, setups, 0),
		WORLD_CASE(a_program_at_a_named_address_is_a_peer, setups, 1),
		WORLD_CASE(a_program_at_a_named_address_is_a_peer, setups, 2),
		WORLD_CASE(a_program_at_another_address_is_no_peer, setups, 2),
		WORLD_CASE(a_listener_is_no_peer, setups, 0),
		WORLD_CASE(a_program_is_recognized_by_its_port, setups, 0),
		WORLD_CASE(relay_ports_stay_closed_without_hairpin, setups, 3),
	};

	world_eal();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
