// SPDX-License-Identifier: BSD-3-Clause
// A box whose addresses are translated 1:1 by the network: on our wire packets have the internal
// addresses, and packets to a public address of the box never leave it.
#include "bytes.h"
#include "dp_world.h"
#include "drop_of.h"

#define CHANNEL 0x4000

static struct dp_world world;
static struct world_client client[2];

// 10.99.0.1 is 203.0.113.1 outside, and fd99::1 is 2001:db8:5::1; 10.98.0.1, which has no relay
// ports, is 203.0.113.2.
static void translate(struct dp_world *w)
{
	w->addresses[0].external = world_endpoint("203.0.113.1", 0).addr;
	w->addresses[1].external = world_endpoint("2001:db8:5::1", 0).addr;
	w->side.external = world_endpoint("203.0.113.2", 0).addr;
	for (unsigned int i = 0; i < 2; i++)
		w->locals[i].external = w->addresses[i].external;
	w->locals[2].external = w->side.external;
}

static struct world_setup setups[] = {
	{.workers = 1, .rx_queues = 1, .tx_queues = 1, .two_ports = true, .change = translate},
	{.workers = 3, .rx_queues = 3, .tx_queues = 3, .two_ports = true, .change = translate},
};

static uint64_t drops(unsigned int reason)
{
	return world_stats(&world).drop[reason];
}

// Two clients with allocations.
static void open_pair(const struct world_setup *s, const char *a, const char *b, int family)
{
	world_open(&world, s);
	world_client(&world, &client[0], a, 41000);
	world_client(&world, &client[1], b, 41001);
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(client_allocate(&world, &client[i], family), 0);
}

// The relayed transport address of a client as packets on our link have it.
static struct endpoint own_relay(const struct world_client *c)
{
	const bool is_v4 = addr_is_v4(&c->relay.addr);

	return (struct endpoint){world.addresses[is_v4 ? 0 : 1].addr, c->relay.port};
}

static void packets_have_the_own_address_and_messages_the_public_one(void **state)
{
	const struct endpoint peer = world_endpoint("198.51.100.9", 7000);
	const struct endpoint public = world_endpoint("203.0.113.1", 0);
	struct world_datagram got;
	struct endpoint local_relay;

	open_pair(*state, "10.99.0.20", "10.99.0.21", 4);
	local_relay = own_relay(&client[0]);
	assert_true(addr_eq(&client[0].relay.addr, &public.addr));
	assert_int_equal(client_bind(&world, &client[0], CHANNEL, &peer), 0);
	client_channel_data(&world, &client[0], CHANNEL, "ping", 4);
	world_run(&world);
	assert_true(world_take(&world, &peer, &got));
	assert_true(endpoint_eq(&got.src, &local_relay));
	world_send_bytes(&world, &peer, &local_relay, "pong", 4);
	world_run(&world);
	assert_true(world_take(&world, &client[0].endpoint, &got));
	assert_memory_equal(got.data + CHANNEL_HEADER_LEN, "pong", 4);
	world_close(&world);
}

// By channel x -> y to the public address, and back to the internal one.
static void exchange(const struct world_setup *s, const char *a, const char *b, int family)
{
	struct world_datagram got;
	struct endpoint local_relay;
	uint64_t tx;

	open_pair(s, a, b, family);
	local_relay = own_relay(&client[0]);
	assert_int_equal(client_bind(&world, &client[0], CHANNEL, &client[1].relay), 0);
	assert_int_equal(client_bind(&world, &client[1], CHANNEL, &local_relay), 0);
	tx = world_stats(&world).tx;
	for (unsigned int i = 0; i < 20; i++) {
		client_channel_data(&world, &client[i % 2], CHANNEL, &i, sizeof(i));
		world_run(&world);
		assert_true(world_take(&world, &client[1 - i % 2].endpoint, &got));
		assert_memory_equal(got.data + CHANNEL_HEADER_LEN, &i, sizeof(i));
	}
	assert_int_equal(world_stats(&world).tx, tx + 20); // to the clients and to no other host
	assert_int_equal(world.nb_seen, 0);
	world_close(&world);
}

static void clients_reach_each_other_in_process_by_either_form(void **state)
{
	exchange(*state, "10.99.0.20", "fd99::20", 4);
	exchange(*state, "fd99::21", "10.99.0.21", 6);
}

// A public address with a port that is not an allocation's: a free relay port, a listener, ssh.
static void nothing_leaves_for_a_public_address_of_the_box(void **state)
{
	const struct endpoint side = world_endpoint("203.0.113.2", 22);
	struct endpoint target;
	uint64_t tx;

	open_pair(*state, "10.99.0.20", "10.99.0.21", 4);
	for (unsigned int i = 0; i < 3; i++) {
		const unsigned int reason =
			drop_of_turn(i == 0 ? TURN_DROP_HAIRPIN_NO_ALLOCATION : TURN_DROP_PEER_OWN);

		target = client[1].relay;
		target.port = i == 0 ? client_free_port(&world, client) : i == 1 ? 3478 : 22;
		assert_int_equal(
			client_bind(&world, &client[0], CHANNEL + 5, &target), i == 0 ? 0 : 403);
		tx = world_stats(&world).tx;
		client_indication(&world, &client[0], &target, "lost", 4);
		world_run(&world);
		assert_int_equal(drops(reason), i == 2 ? 2 : 1);
		assert_int_equal(world_stats(&world).tx, tx);
		assert_int_equal(world.nb_seen, 0);
	}
	assert_int_equal(client_permit(&world, &client[0], &side), 403);
	world_close(&world);
}

// The network translates in both directions, so no host on our link has our public address.
static void a_public_address_of_the_box_is_no_source_and_no_destination(void **state)
{
	static const struct {
		const char *src, *dst;
		enum net_drop reason;
	} cases[] = {
		{"203.0.113.1", "10.99.0.1", NET_DROP_MARTIAN_SOURCE},
		{"203.0.113.2", "10.99.0.1", NET_DROP_MARTIAN_SOURCE},
		{"2001:db8:5::1", "fd99::1", NET_DROP_MARTIAN_SOURCE},
		{"198.51.100.9", "203.0.113.1", NET_DROP_NOT_FOR_US},
	};

	open_pair(*state, "10.99.0.20", "10.99.0.21", 4);
	for (unsigned int i = 0; i < RTE_DIM(cases); i++) {
		const struct endpoint src = world_endpoint(cases[i].src, 5000);
		const struct endpoint dst = world_endpoint(cases[i].dst, 3478);
		const uint64_t before = drops(drop_of_net(cases[i].reason));

		world_send_bytes(&world, &src, &dst, "\0\1\0\0\x21\x12\xa4\x42............", 20);
		world_run(&world);
		assert_int_equal(drops(drop_of_net(cases[i].reason)), before + 1);
		assert_int_equal(world.nb_seen, 0);
	}
	world_close(&world);
}

// --- a public address that other programs have, too ----------------------------------------------

static struct prefix named[3];

// Translates, and peers.allow names 203.0.113.1 and 2001:db8:5::1.
static void name_the_addresses(struct dp_world *w)
{
	translate(w);
	for (unsigned int i = 0; i < 2; i++)
		named[i] = (struct prefix){w->addresses[i].external, 128};
	assert_int_equal(addr_prefix_parse("10.99.0.0/24", &named[2]), 0);
	w->conf.turn.allow = named;
	w->conf.turn.nb_allow = RTE_DIM(named);
}

static struct world_setup common_setups[] = {
	{.workers = 1,
		.rx_queues = 1,
		.tx_queues = 1,
		.two_ports = true,
		.change = name_the_addresses},
	{.workers = 3,
		.rx_queues = 3,
		.tx_queues = 3,
		.two_ports = true,
		.change = name_the_addresses},
};

// A request of a client behind the translation: its source is the public address.
static void a_client_has_the_public_address(const char *public, int family)
{
	struct world_client behind;

	world_client(&world, &behind, public, 40001);
	assert_int_equal(client_allocate(&world, &behind, family), 0);
}

// Other programs as peers, by indication, by channel and by the line of that channel.
static void others(const struct world_setup *s, const char *a, const char *public, int family)
{
	const struct endpoint peer = world_endpoint(public, 10000);
	struct world_datagram got;
	struct endpoint local_relay;

	open_pair(s, a, a, family);
	local_relay = own_relay(&client[0]);
	assert_int_equal(client_permit(&world, &client[0], &peer), 0);
	client_indication(&world, &client[0], &peer, "ping", 4);
	world_run(&world);
	assert_true(world_take(&world, &peer, &got));
	assert_true(endpoint_eq(&got.src, &local_relay));
	assert_int_equal(client_bind(&world, &client[0], CHANNEL, &peer), 0);
	for (unsigned int i = 0; i < 20; i++) {
		client_channel_data(&world, &client[0], CHANNEL, &i, sizeof(i));
		world_run(&world);
		assert_true(world_take(&world, &peer, &got));
		assert_true(endpoint_eq(&got.src, &local_relay));
		world_send_bytes(&world, &peer, &local_relay, &i, sizeof(i));
		world_run(&world);
		assert_true(world_take(&world, &client[0].endpoint, &got));
		assert_memory_equal(got.data + CHANNEL_HEADER_LEN, &i, sizeof(i));
	}
	a_client_has_the_public_address(public, family);
	world_close(&world);
}

static void other_hosts_behind_a_public_address_are_peers(void **state)
{
	others(*state, "10.99.0.20", "203.0.113.1", 4);
	others(*state, "fd99::20", "2001:db8:5::1", 6);
}

// Relay ports are reached in process and listeners not at all; a packet with one of them as its
// source is spoofed.
static void ports_of_the_box_are_no_other_hosts(void **state)
{
	const struct endpoint listener = world_endpoint("203.0.113.1", 3478);
	const unsigned int martian = drop_of_net(NET_DROP_MARTIAN_SOURCE);
	struct endpoint local_relay, spoofed;
	struct world_datagram got;
	uint64_t before;

	open_pair(*state, "10.99.0.20", "10.99.0.21", 4);
	local_relay = own_relay(&client[0]);
	assert_int_equal(client_bind(&world, &client[0], CHANNEL, &listener), 403);
	assert_int_equal(client_bind(&world, &client[0], CHANNEL, &client[1].relay), 0);
	assert_int_equal(client_permit(&world, &client[1], &client[0].relay), 0);
	client_channel_data(&world, &client[0], CHANNEL, "over", 4);
	world_run(&world);
	assert_true(world_take(&world, &client[1].endpoint, &got));
	assert_int_equal(world.nb_seen, 0);
	client_indication(&world, &client[0], &listener, "lost", 4);
	world_run(&world);
	assert_int_equal(drops(drop_of_turn(TURN_DROP_PEER_OWN)), 1);
	assert_int_equal(world.nb_seen, 0);
	for (unsigned int i = 0; i < 4; i++) {
		const struct endpoint target =
			i < 2 ? local_relay : world_endpoint("10.99.0.1", 3478);

		spoofed = i % 2 == 0 ? listener : client[1].relay;
		before = drops(martian);
		world_send_bytes(
			&world, &spoofed, &target, "\0\1\0\0\x21\x12\xa4\x42............", 20);
		world_run(&world);
		assert_int_equal(drops(martian), before + 1);
		assert_int_equal(world.nb_seen, 0);
	}
	world_close(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_CASE(other_hosts_behind_a_public_address_are_peers, common_setups, 0),
		WORLD_CASE(other_hosts_behind_a_public_address_are_peers, common_setups, 1),
		WORLD_CASE(ports_of_the_box_are_no_other_hosts, common_setups, 0),
		WORLD_CASE(ports_of_the_box_are_no_other_hosts, common_setups, 1),
		WORLD_CASE(packets_have_the_own_address_and_messages_the_public_one, setups, 0),
		WORLD_CASE(packets_have_the_own_address_and_messages_the_public_one, setups, 1),
		WORLD_CASE(clients_reach_each_other_in_process_by_either_form, setups, 0),
		WORLD_CASE(clients_reach_each_other_in_process_by_either_form, setups, 1),
		WORLD_CASE(nothing_leaves_for_a_public_address_of_the_box, setups, 0),
		WORLD_CASE(nothing_leaves_for_a_public_address_of_the_box, setups, 1),
		WORLD_CASE(a_public_address_of_the_box_is_no_source_and_no_destination, setups, 0),
	};

	world_eal();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
