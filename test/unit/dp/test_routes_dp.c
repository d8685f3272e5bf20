// SPDX-License-Identifier: BSD-3-Clause
// Two ports and a route: packets leave by the port of the longest prefix, whichever port has their
// source address, and come in on the port that leads to their source.
#include "bytes.h"
#include "datapath.h"
#include "dp_world.h"
#include "drop_of.h"
#include "feature_names.h"
#include "icmp_frames.h"

#define CHANNEL 0x4000
#define SIDE 1

static struct dp_world world;
static struct world_client client;
static uint16_t channel; // the next channel number

// Port side has the subnet 10.98.0.0/24 and leads to 9.9.9.0/24. All relay addresses and the
// gateway are on port wan.
static void lead(struct dp_world *w)
{
	static struct conf_route route;

	route.via = world_endpoint("10.98.0.254", 0).addr;
	assert_int_equal(addr_prefix_parse("9.9.9.0/24", &route.dst), 0);
	w->ports[SIDE].routes = &route;
	w->ports[SIDE].nb_routes = 1;
}

// The routes of lead(), and 10.98.0.1 replaces 10.99.0.1 towards peers on that side.
static void lead_with_pool(struct dp_world *w)
{
	static struct prefix peers[2];
	static struct turn_relay_pool pool;

	lead(w);
	assert_int_equal(addr_prefix_parse("10.98.0.0/24", &peers[0]), 0);
	assert_int_equal(addr_prefix_parse("9.9.9.0/24", &peers[1]), 0);
	pool = (struct turn_relay_pool){.name = "side",
		.addresses = &w->side.addr,
		.nb_addresses = 1,
		.peers = peers,
		.nb_peers = 2};
	w->conf.turn.relay_pools = &pool;
	w->conf.turn.nb_relay_pools = 1;
}

#ifdef FEATURE_REALMS
// The configuration of lead_with_pool(), with a pool of one realm only: its network is isolated.
static void lead_apart(struct dp_world *w)
{
	static char *of_first[] = {(char *)"side"}, *none[1];
	static char *secrets[] = {(char *)"of another realm"};
	static struct turn_realm realm;

	lead_with_pool(w);
	realm = (struct turn_realm){.name = (char *)"other.test",
		.secrets = secrets,
		.nb_secrets = 1,
		.relay_pool_names = none,
		.number = 1};
	w->conf.turn.realms = &realm;
	w->conf.turn.nb_realms = 1;
	w->conf.turn.first.relay_pool_names = of_first;
	w->conf.turn.first.nb_relay_pool_names = 1;
}
#endif

static struct world_setup setups[] = {
	{.workers = 1, .rx_queues = 1, .tx_queues = 1, .two_ports = true, .change = lead},
	{.workers = 3, .rx_queues = 3, .tx_queues = 3, .two_ports = true, .change = lead},
	{.workers = 2,
		.rx_queues = 2,
		.tx_queues = 2,
		.two_ports = true,
		.rss = true,
		.change = lead},
	{.workers = 1, .rx_queues = 1, .tx_queues = 1, .two_ports = true, .change = lead_with_pool},
	{.workers = 3, .rx_queues = 3, .tx_queues = 3, .two_ports = true, .change = lead_with_pool},
	// the second port is a VLAN on the device of the first
	{.workers = 1,
		.rx_queues = 1,
		.tx_queues = 1,
		.two_ports = true,
		.side_vlan = 100,
		.change = lead},
	{.workers = 3,
		.rx_queues = 3,
		.tx_queues = 2,
		.two_ports = true,
		.side_vlan = 4094,
		.change = lead},
	{.workers = 2,
		.rx_queues = 2,
		.tx_queues = 2,
		.two_ports = true,
		.side_vlan = 1,
		.nic = true,
		.change = lead_with_pool},
#ifdef FEATURE_REALMS
	{.workers = 1, .rx_queues = 1, .tx_queues = 1, .two_ports = true, .change = lead_apart},
	{.workers = 3, .rx_queues = 3, .tx_queues = 3, .two_ports = true, .change = lead_apart},
#endif
};

static void open_with(const struct world_setup *s)
{
	channel = CHANNEL;
	world_open(&world, s);
	world_client(&world, &client, "10.99.0.20", 41000);
	client.rfc8489 = true; // gets ICMP errors
	assert_int_equal(client_allocate(&world, &client, 4), 0);
}

// Sends a datagram to an address of the box on a given port.
static void send_by(unsigned int port, const struct endpoint *src, const struct endpoint *dst,
	const void *data, size_t data_len)
{
	struct world_datagram d = {.src = *src, .dst = *dst, .len = (uint16_t)data_len};
	uint8_t frame[2048];
	size_t len;

	memcpy(d.data, data, d.len);
	len = world_frame_by(&world, port, &d, frame);
	world_inject(&world, port, frame, len);
	world_run(&world);
}

// Data goes to a peer and comes back, by a channel and by indications, through one port. The peer
// sees our address as its source.
static void both_ways(const char *addr, unsigned int port, const char *seen)
{
	const struct endpoint peer = world_endpoint(addr, 7000);
	const struct endpoint source = world_endpoint(seen, client.relay.port);
	struct world_datagram got;

	for (unsigned int i = 0; i < 40; i++) {
		if (i == 20)
			assert_int_equal(client_bind(&world, &client, channel, &peer), 0);
		if (i < 20) {
			assert_int_equal(client_permit(&world, &client, &peer), 0);
		} else {
			client_channel_data(&world, &client, channel, "ping", 4);
			world_run(&world);
			assert_true(world_take(&world, &peer, &got));
			assert_true(endpoint_eq(&got.src, &source));
			assert_int_equal(got.port, port);
		}
		send_by(port, &peer, &source, "pong", 4);
		assert_true(world_take(&world, &client.endpoint, &got));
		assert_int_equal(got.port, 0);
		assert_memory_equal(got.data + got.len - 4, "pong", 4);
	}
	assert_int_equal(world.nb_seen, 0);
	channel++;
}

static void peers_on_a_subnet_of_another_port_are_reached_there(void **state)
{
	open_with(*state);
	both_ways("10.98.0.30", SIDE, "10.99.0.1");
	world_close(&world);
}

static void peers_behind_a_route_are_reached_by_its_router(void **state)
{
	open_with(*state);
	both_ways("9.9.9.9", SIDE, "10.99.0.1");
	world_close(&world);
}

static void all_other_peers_are_behind_the_gateway(void **state)
{
	open_with(*state);
	both_ways("198.51.100.9", 0, "10.99.0.1");
	world_close(&world);
}

static void peers_of_a_pool_see_its_address(void **state)
{
	open_with(*state);
	both_ways("10.98.0.30", SIDE, "10.98.0.1");
	both_ways("9.9.9.9", SIDE, "10.98.0.1");
	both_ways("198.51.100.9", 0, "10.99.0.1");
	world_close(&world);
}

// The line's data about the peer is for the pool's address; the checksums must be right all the
// same.
static void a_pools_peer_may_send_to_the_relay_address(void **state)
{
	const struct endpoint peer = world_endpoint("10.98.0.30", 7000);
	struct world_datagram got;

	open_with(*state);
	both_ways("10.98.0.30", SIDE, "10.98.0.1");
	for (unsigned int i = 0; i < 20; i++) {
		send_by(SIDE, &peer, &client.relay, "straight", 8);
		assert_true(world_take(&world, &client.endpoint, &got));
		assert_memory_equal(got.data + got.len - 8, "straight", 8);
	}
	assert_int_equal(world_drops(&world), 0);
	world_close(&world);
}

// On the public side a host spoofs the address of a host behind the other port. The allocation does
// not believe it, and we send no answer there.
static void a_source_behind_another_port_is_a_martian(void **state)
{
	const unsigned int reason = drop_of_net(NET_DROP_MARTIAN_SOURCE);
	static const char *const hosts[] = {"10.98.0.30", "9.9.9.9"};
	struct world_datagram got;
	uint64_t tx;

	open_with(*state);
	for (unsigned int i = 0; i < RTE_DIM(hosts); i++) {
		const struct endpoint host = world_endpoint(hosts[i], 7000);
		struct world_client c;

		both_ways(hosts[i], SIDE, "10.99.0.1");
		tx = world_stats(&world).tx;
		// a request to a listener
		world_client(&world, &c, hosts[i], 5000);
		client_begin(&world, &c, STUN_BINDING);
		send_by(0, &c.endpoint, &c.server, c.message, stun_end(&c.w));
		assert_false(world_take(&world, &c.endpoint, &got));
		// data from a peer without a channel
		send_by(0, &(struct endpoint){host.addr, 7001}, &client.relay, "pong", 4);
		assert_false(world_take(&world, &client.endpoint, &got));
		assert_int_equal(world_stats(&world).drop[reason], 2 * (i + 1));
		assert_int_equal(world_stats(&world).tx, tx);
	}
	world_close(&world);
}

// To the pool's address as well as to the relay address: both belong to one allocation.
static void a_pools_address_without_an_allocation_is_a_named_drop(void **state)
{
	const unsigned int reason = drop_of_turn(TURN_DROP_PEER_NO_ALLOCATION);
	const struct endpoint peer = world_endpoint("10.98.0.30", 7000);
	struct endpoint target;

	open_with(*state);
	target = world_endpoint("10.98.0.1", client.relay.port == 50000 ? 50001 : 50000);
	send_by(SIDE, &peer, &target, "pong", 4);
	assert_int_equal(world_stats(&world).drop[reason], 1);
	world_close(&world);
}

static void clients_are_answered_by_the_port_they_are_behind(void **state)
{
	static const char *const hosts[] = {"10.98.0.30", "9.9.9.9"};
	struct world_datagram got;

	open_with(*state);
	for (unsigned int i = 0; i < RTE_DIM(hosts); i++) {
		const struct endpoint host = world_endpoint(hosts[i], 5000);
		struct world_client c;

		world_client(&world, &c, hosts[i], 5000);
		client_begin(&world, &c, STUN_BINDING);
		send_by(SIDE, &host, &c.server, c.message, stun_end(&c.w));
		assert_true(world_take(&world, &host, &got));
		assert_int_equal(got.port, SIDE);
	}
	world_close(&world);
}

// A port does not accept packets that could not be answered through it.
static void packets_of_hosts_behind_other_ports_are_dropped(void **state)
{
	static const char *const hosts[] = {"10.99.0.30", "198.51.100.9"};
	const unsigned int reason = drop_of_net(NET_DROP_NOT_FOR_US);
	struct world_datagram got;

	open_with(*state);
	for (unsigned int i = 0; i < RTE_DIM(hosts); i++) {
		const struct endpoint peer = world_endpoint(hosts[i], 7000);

		assert_int_equal(client_permit(&world, &client, &peer), 0);
		send_by(SIDE, &peer, &client.relay, "pong", 4);
		assert_false(world_take(&world, &client.endpoint, &got));
		assert_int_equal(world_stats(&world).drop[reason], i + 1);
		send_by(0, &peer, &client.relay, "pong", 4);
		assert_true(world_take(&world, &client.endpoint, &got));
	}
	world_close(&world);
}

#ifdef FEATURE_REALMS
// Asserts that a datagram with a peer's source address is dropped for this reason.
static void refused(unsigned int port, const struct endpoint *peer, const struct endpoint *target,
	unsigned int reason)
{
	const uint64_t before = world_dropped(&world, reason), all = world_drops(&world);
	struct world_datagram got;

	send_by(port, peer, target, "pong", 4);
	assert_false(world_take(&world, &client.endpoint, &got));
	if (world_dropped(&world, reason) != before + 1)
		fail_msg("port %u: not dropped as %s", port, dp_drop_name(reason));
	assert_int_equal(world_drops(&world), all + 1);
}

// Hosts behind an isolated port come in by that port and to its addresses only: to a line, to a
// permission, and without either.
static void a_separate_network_has_only_its_own_addresses(void **state)
{
	const unsigned int not_for_us = drop_of_net(NET_DROP_NOT_FOR_US);
	const unsigned int other_pool = drop_of_turn(TURN_DROP_PEER_OTHER_POOL);
	static const char *const hosts[] = {"10.98.0.30", "9.9.9.9"};

	open_with(*state);
	for (unsigned int i = 0; i < RTE_DIM(hosts); i++) {
		struct endpoint peer = world_endpoint(hosts[i], 7000);
		const struct endpoint pool = world_endpoint("10.98.0.1", client.relay.port);

		both_ways(hosts[i], SIDE, "10.98.0.1");
		for (unsigned int k = 0; k < 3; k++) { // from the channel's port, and from others
			refused(SIDE, &peer, &client.relay, not_for_us);
			refused(0, &peer, &pool, not_for_us);
			// on the public side another host may have that address
			refused(0, &peer, &client.relay, other_pool);
			peer.port++;
		}
	}
	both_ways("198.51.100.9", 0, "10.99.0.1");
	refused(SIDE, &(struct endpoint){world_endpoint("198.51.100.9", 0).addr, 7000},
		&client.relay, not_for_us);
	world_close(&world);
}

// ICMP errors about datagrams that left by another port are dropped.
static void errors_from_other_networks_are_dropped(void **state)
{
	const unsigned int reason = drop_of_net(NET_DROP_NOT_FOR_US);
	struct icmp_frame e = {.reporter = "10.98.0.77", .type = 3, .code = 3};
	struct world_datagram got;

	open_with(*state);
	for (unsigned int port = 0; port < 2; port++) {
		e.dst = world_endpoint(port == SIDE ? "10.98.0.30" : "198.51.100.9", 7000);
		e.src = world_endpoint(port == SIDE ? "10.98.0.1" : "10.99.0.1", client.relay.port);
		assert_int_equal(client_permit(&world, &client, &e.dst), 0);
		icmp_frame_send_by(&world, port ^ 1, &e);
		world_run(&world);
		assert_false(world_take(&world, &client.endpoint, &got));
		assert_int_equal(world_dropped(&world, reason), port + 1);
		icmp_frame_send_by(&world, port, &e);
		world_run(&world);
		assert_true(world_take(&world, &client.endpoint, &got));
	}
	world_close(&world);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_CASE(peers_on_a_subnet_of_another_port_are_reached_there, setups, 0),
		WORLD_CASE(peers_on_a_subnet_of_another_port_are_reached_there, setups, 1),
		WORLD_CASE(peers_on_a_subnet_of_another_port_are_reached_there, setups, 2),
		WORLD_CASE(peers_behind_a_route_are_reached_by_its_router, setups, 0),
		WORLD_CASE(peers_behind_a_route_are_reached_by_its_router, setups, 1),
		WORLD_CASE(all_other_peers_are_behind_the_gateway, setups, 0),
		WORLD_CASE(all_other_peers_are_behind_the_gateway, setups, 1),
		WORLD_CASE(a_source_behind_another_port_is_a_martian, setups, 0),
		WORLD_CASE(a_source_behind_another_port_is_a_martian, setups, 1),
		WORLD_CASE(peers_of_a_pool_see_its_address, setups, 3),
		WORLD_CASE(peers_of_a_pool_see_its_address, setups, 4),
		WORLD_CASE(a_pools_peer_may_send_to_the_relay_address, setups, 3),
		WORLD_CASE(a_pools_peer_may_send_to_the_relay_address, setups, 4),
		WORLD_CASE(a_pools_address_without_an_allocation_is_a_named_drop, setups, 3),
		WORLD_CASE(clients_are_answered_by_the_port_they_are_behind, setups, 0),
		WORLD_CASE(packets_of_hosts_behind_other_ports_are_dropped, setups, 0),
		WORLD_CASE(packets_of_hosts_behind_other_ports_are_dropped, setups, 1),
		WORLD_CASE(peers_on_a_subnet_of_another_port_are_reached_there, setups, 5),
		WORLD_CASE(peers_on_a_subnet_of_another_port_are_reached_there, setups, 6),
		WORLD_CASE(peers_behind_a_route_are_reached_by_its_router, setups, 5),
		WORLD_CASE(peers_behind_a_route_are_reached_by_its_router, setups, 6),
		WORLD_CASE(all_other_peers_are_behind_the_gateway, setups, 5),
		WORLD_CASE(all_other_peers_are_behind_the_gateway, setups, 6),
		WORLD_CASE(a_source_behind_another_port_is_a_martian, setups, 5),
		WORLD_CASE(a_source_behind_another_port_is_a_martian, setups, 6),
		WORLD_CASE(clients_are_answered_by_the_port_they_are_behind, setups, 5),
		WORLD_CASE(clients_are_answered_by_the_port_they_are_behind, setups, 6),
		WORLD_CASE(packets_of_hosts_behind_other_ports_are_dropped, setups, 5),
		WORLD_CASE(packets_of_hosts_behind_other_ports_are_dropped, setups, 6),
		WORLD_CASE(peers_of_a_pool_see_its_address, setups, 7),
		WORLD_CASE(a_pools_peer_may_send_to_the_relay_address, setups, 7),
		WORLD_CASE(a_pools_address_without_an_allocation_is_a_named_drop, setups, 7),
#ifdef FEATURE_REALMS
		WORLD_CASE(peers_of_a_pool_see_its_address, setups, 8),
		WORLD_CASE(peers_of_a_pool_see_its_address, setups, 9),
		WORLD_CASE(a_separate_network_has_only_its_own_addresses, setups, 8),
		WORLD_CASE(a_separate_network_has_only_its_own_addresses, setups, 9),
		WORLD_CASE(errors_from_other_networks_are_dropped, setups, 8),
		WORLD_CASE(errors_from_other_networks_are_dropped, setups, 9),
#endif
	};

	world_eal();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
