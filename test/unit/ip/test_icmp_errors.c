// SPDX-License-Identifier: BSD-3-Clause
// ICMP errors about relayed datagrams, from the wire to the client (RFC 8656 sections 11.5, 12.5):
// on any worker, for any transport of the client, and each error that is refused.
#include "bytes.h"
#include "datapath.h"
#include "drop_of.h"
#include "icmp_frames.h"

#define CHANNEL 0x4000
#define CLIENTS 8

static struct dp_world world;
static struct world_client client[CLIENTS];

static struct world_setup setups[] = {
	{.workers = 1, .rx_queues = 1, .tx_queues = 1},
	{.workers = 3, .rx_queues = 3, .tx_queues = 3},
	{.workers = 2, .rx_queues = 2, .tx_queues = 2, .nic = true},
	{.workers = 4, .rx_queues = 2, .tx_queues = 3, .relays = 4},
	{.workers = 2, .rx_queues = 2, .tx_queues = 2, .shared = WORLD_SHARED(4)},
	{.workers = 2, .rx_queues = 2, .tx_queues = 2, .stream_ring = 256},
};

// Asserts that the client has one datagram, an indication about this peer.
static void told(const struct world_client *c, const struct endpoint *peer, uint8_t type,
	uint8_t code, uint32_t data)
{
	struct world_datagram got;
	struct endpoint about;
	struct stun_msg m;
	uint8_t value[8] = {0, 0, type, code};
	int family;

	store_be32(value + 4, data);
	assert_true(world_take(&world, &c->endpoint, &got));
	assert_true(endpoint_eq(&got.src, &c->server));
	assert_int_equal(stun_parse(got.data, got.len, &m), 0);
	assert_int_equal(m.method, STUN_DATA);
	assert_int_equal(m.cls, STUN_INDICATION);
	assert_false(stun_has(&m, STUN_DATA_ATTR));
	assert_true(stun_decode_xor_addr(
		&m, m.off[STUN_XOR_PEER_ADDRESS], m.alen[STUN_XOR_PEER_ADDRESS], &about, &family));
	assert_true(endpoint_eq(&about, peer));
	assert_int_equal(m.alen[STUN_ICMP], 8);
	assert_memory_equal(m.data + m.off[STUN_ICMP], value, 8);
	assert_int_equal(world.nb_seen, 0);
}

// Asserts that the error was dropped for one reason, and that no client was notified.
static void refused(const struct icmp_frame *e, unsigned int reason)
{
	const uint64_t before = world_dropped(&world, reason), all = world_drops(&world);

	icmp_frame_send(&world, e);
	world_run(&world);
	if (world_dropped(&world, reason) != before + 1)
		fail_msg("not dropped as %s", dp_drop_name(reason));
	assert_int_equal(world_drops(&world), all + 1);
	assert_int_equal(world.nb_seen, 0);
}

static void open_client(const struct world_setup *s)
{
	world_open(&world, s);
	world_client(&world, &client[0], "10.99.0.20", 5000);
	client[0].rfc8489 = true;
	assert_int_equal(client_allocate(&world, &client[0], 4), 0);
}

// Clients and peers of both families; some have a channel.
static void clients_are_told(void **state)
{
	const struct world_setup *s = *state;

	world_open(&world, s);
	for (unsigned int i = 0; i < CLIENTS; i++) {
		struct world_client *c = &client[i];
		const bool is_v4 = i % 2 == 0;
		struct endpoint peer =
			world_endpoint(is_v4 ? "198.51.100.30" : "fd99::30", (uint16_t)(7000 + i));
		struct icmp_frame e = {.reporter = is_v4 ? "203.0.113.77" : "fe80::77",
			.dst = peer,
			.type = is_v4 ? 3 : 1,
			.code = is_v4 ? 3 : 4};

		if (s->stream_ring > 0)
			world_stream_client(&world, c, "10.99.0.20", (uint16_t)(5000 + i));
		else
			world_client(&world, c, i % 4 < 2 ? "10.99.0.20" : "fd99::20",
				(uint16_t)(5000 + i));
		c->rfc8489 = true;
		assert_int_equal(client_allocate(&world, c, is_v4 ? 4 : 6), 0);
		if (i % 3 == 0 || s->shared != 0)
			assert_int_equal(client_bind(&world, c, CHANNEL, &peer), 0);
		else
			assert_int_equal(client_permit(&world, c, &peer), 0);
		e.src = c->relay;
		icmp_frame_send(&world, &e);
		world_run(&world);
		told(c, &peer, e.type, e.code, 0);
		e.type = is_v4 ? 11 : 3;
		e.code = 1;
		icmp_frame_send(&world, &e);
		world_run(&world);
		told(c, &peer, e.type, 1, 0);
		e.type = is_v4 ? 3 : 2;
		e.code = is_v4 ? 4 : 0;
		e.mtu = 1400;
		e.len = 1500;
		icmp_frame_send(&world, &e);
		world_run(&world);
		told(c, &peer, e.type, e.code, 1400);
	}
	assert_int_equal(world_drops(&world), 0);
	world_close(&world);
}

// The network translates 10.99.0.1 to 203.0.113.1, in packets and in the packets that errors quote.
static void translate(struct dp_world *w)
{
	w->addresses[0].external = world_endpoint("203.0.113.1", 0).addr;
	w->locals[0].external = w->addresses[0].external;
}

static void behind_a_translation_packets_have_the_own_address(void **state)
{
	const struct endpoint peer = world_endpoint("198.51.100.30", 7000);
	struct world_setup s = setups[1];
	struct icmp_frame e = {.reporter = "198.51.100.1", .dst = peer, .type = 3, .code = 1};

	s.change = translate;
	open_client(&s);
	assert_int_equal(client_permit(&world, &client[0], &peer), 0);
	e.src = (struct endpoint){world.addresses[0].addr, client[0].relay.port};
	assert_false(endpoint_eq(&e.src, &client[0].relay));
	icmp_frame_send(&world, &e);
	world_run(&world);
	told(&client[0], &peer, 3, 1, 0);
	e.src = client[0].relay;
	e.target = world.addresses[0].addr;
	refused(&e, DP_DROP_ICMP_QUOTE);
	world_close(&world);
}

static void errors_about_unknown_flows_are_refused(void **state)
{
	const struct endpoint peer = world_endpoint("198.51.100.30", 7000);
	struct icmp_frame good = {.reporter = "203.0.113.77", .dst = peer, .type = 3, .code = 3}, e;
	struct world_client *c = &client[0];

	open_client(*state);
	assert_int_equal(client_permit(&world, c, &peer), 0);
	good.src = c->relay;

	e = good; // another relay port, without an allocation
	e.src.port = (uint16_t)(e.src.port + (e.src.port < 50256 ? 128 : -128));
	refused(&e, drop_of_turn(TURN_DROP_ICMP_NO_ALLOCATION));
	e = good; // a port that no client relays from, and that is not a listener's
	e.src.port = 22;
	refused(&e, DP_DROP_ICMP_QUOTE);
	e = good; // a peer without permission
	e.dst.addr.b[15]++;
	refused(&e, drop_of_turn(TURN_DROP_ICMP_NO_PERMISSION));
	e = good; // an address that is not ours
	e.src.addr.b[15] = 77;
	e.target = c->relay.addr;
	refused(&e, DP_DROP_ICMP_QUOTE);
	e = good; // our address, but not the one that the error came to
	e.target = world_endpoint("10.99.0.2", 0).addr;
	refused(&e, drop_of_net(NET_DROP_NOT_FOR_US));
	e = good; // to an address that no host has
	e.reporter = "10.99.0.255";
	refused(&e, drop_of_net(NET_DROP_MARTIAN_SOURCE));
	e = good; // types that mean nothing to us, or that only routers receive
	for (uint8_t type = 4; type <= 5; type++) {
		e.type = type;
		refused(&e, DP_DROP_ICMP);
	}
	e = good; // UDP longer than the packet
	e.len = 27;
	refused(&e, DP_DROP_ICMP_QUOTE);
	world_close(&world);
}

// Between two clients of the box no datagram leaves the process.
static void an_error_about_a_datagram_between_clients_is_a_lie(void **state)
{
	struct icmp_frame e = {.reporter = "203.0.113.77", .type = 3, .code = 3};

	open_client(*state);
	world_client(&world, &client[1], "10.99.0.21", 5000);
	assert_int_equal(client_allocate(&world, &client[1], 4), 0);
	assert_int_equal(client_bind(&world, &client[0], CHANNEL, &client[1].relay), 0);
	e.src = client[0].relay;
	e.dst = client[1].relay;
	e.target = client[0].relay.addr;
	// one relay address: source and destination are equal
	e.dst.port = client[1].relay.port;
	refused(&e, DP_DROP_ICMP_QUOTE);
	world_close(&world);
}

static void permission_and_allocation_have_to_be_live(void **state)
{
	const struct endpoint peer = world_endpoint("198.51.100.30", 7000);
	struct icmp_frame e = {.reporter = "203.0.113.77", .dst = peer, .type = 3, .code = 3};

	open_client(*state);
	assert_int_equal(client_permit(&world, &client[0], &peer), 0);
	e.src = client[0].relay;
	world_wait(&world, 299 * 1000);
	icmp_frame_send(&world, &e);
	world_run(&world);
	told(&client[0], &peer, 3, 3, 0);
	world_wait(&world, 2000);
	refused(&e, drop_of_turn(TURN_DROP_ICMP_NO_PERMISSION));
	world_wait(&world, 300 * 1000);
	refused(&e, drop_of_turn(TURN_DROP_ICMP_NO_ALLOCATION));
	world_close(&world);
}

// A damaged error proves nothing.
static void a_wrong_checksum_is_refused(void **state)
{
	const struct endpoint peer = world_endpoint("198.51.100.30", 7000);
	struct icmp_frame e = {.reporter = "203.0.113.77", .dst = peer, .type = 3, .code = 3};
	uint8_t frame[2048];
	size_t len;

	open_client(*state);
	assert_int_equal(client_permit(&world, &client[0], &peer), 0);
	e.src = client[0].relay;
	len = icmp_frame_write(&world, &e, frame);
	frame[len - 1] ^= 1;
	world_inject(&world, 0, frame, len);
	world_run(&world);
	assert_int_equal(world_dropped(&world, drop_of_net(NET_DROP_UDP_CHECKSUM)), 1);
	assert_int_equal(world.nb_seen, 0);
	world_close(&world);
}

// A client is notified of errors about datagrams to its peers, not about datagrams to itself.
static void errors_about_datagrams_to_clients_end_here(void **state)
{
	struct icmp_frame e = {.reporter = "203.0.113.77", .type = 3, .code = 3};

	for (unsigned int i = 0; i < 2; i++) { // about datagrams of a client, of a stranger
		open_client(*state);
		e.src = client[0].server;
		e.dst = client[0].endpoint;
		e.dst.port = (uint16_t)(e.dst.port + i);
		refused(&e, i == 0 ? DP_DROP_ICMP : drop_of_turn(TURN_DROP_ICMP_NO_ALLOCATION));
		world_close(&world);
	}
}

static void limit_each(struct dp_world *w)
{
	w->conf.turn.limits.icmp = (struct limit){10, 20};
}

static void limit_all(struct dp_world *w)
{
	w->conf.icmp_errors_in = 30;
}

static void tell_nobody(struct dp_world *w)
{
	w->conf.icmp_errors_in = 0;
}

// A flood of errors, spoofed or not, about one client's flow: the client is notified of 20 and then
// 10 a second, and another client still gets its own notifications.
static void a_flood_about_one_allocation_spends_no_other_budget(void **state)
{
	const struct endpoint peer = world_endpoint("198.51.100.30", 7000);
	struct icmp_frame e = {.reporter = "203.0.113.77", .dst = peer, .type = 3, .code = 3};
	struct world_setup s = *(const struct world_setup *)*state;

	s.change = limit_each;
	open_client(&s);
	world_client(&world, &client[1], "10.99.0.21", 5000);
	client[1].rfc8489 = true;
	assert_int_equal(client_allocate(&world, &client[1], 4), 0);
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(client_permit(&world, &client[i], &peer), 0);
	e.src = client[0].relay;
	for (unsigned int i = 0; i < 100; i++)
		icmp_frame_send(&world, &e);
	world_run(&world);
	assert_in_range(world.nb_seen, 20, 21);
	assert_int_equal(
		world_dropped(&world, drop_of_turn(TURN_DROP_ICMP_RATE)), 100 - world.nb_seen);
	world.nb_seen = 0;
	e.src = client[1].relay;
	icmp_frame_send(&world, &e);
	world_run(&world);
	told(&client[1], &peer, 3, 3, 0);
	world_close(&world);
}

static void all_errors_together_are_limited(void **state)
{
	const struct endpoint peer = world_endpoint("198.51.100.30", 7000);
	struct icmp_frame e = {.reporter = "203.0.113.77", .dst = peer, .type = 3, .code = 3};
	struct world_setup s = *(const struct world_setup *)*state;

	s.change = limit_all;
	open_client(&s);
	assert_int_equal(client_permit(&world, &client[0], &peer), 0);
	e.src = client[0].relay;
	for (unsigned int i = 0; i < 100; i++)
		icmp_frame_send(&world, &e);
	world_run(&world);
	assert_in_range(world.nb_seen, 30 / s.workers, 30 / s.workers + 1);
	assert_int_equal(world_dropped(&world, DP_DROP_ICMP_TOTAL), 100 - world.nb_seen);
	world_close(&world);
	s.change = tell_nobody;
	open_client(&s);
	assert_int_equal(client_permit(&world, &client[0], &peer), 0);
	e.src = client[0].relay;
	refused(&e, DP_DROP_ICMP_TOTAL);
	world_close(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_CASE(clients_are_told, setups, 0),
		WORLD_CASE(clients_are_told, setups, 1),
		WORLD_CASE(clients_are_told, setups, 2),
		WORLD_CASE(clients_are_told, setups, 3),
		WORLD_CASE(clients_are_told, setups, 4),
		WORLD_CASE(clients_are_told, setups, 5),
		WORLD_CASE(behind_a_translation_packets_have_the_own_address, setups, 1),
		WORLD_CASE(errors_about_unknown_flows_are_refused, setups, 0),
		WORLD_CASE(errors_about_unknown_flows_are_refused, setups, 1),
		WORLD_CASE(an_error_about_a_datagram_between_clients_is_a_lie, setups, 0),
		WORLD_CASE(permission_and_allocation_have_to_be_live, setups, 0),
		WORLD_CASE(a_wrong_checksum_is_refused, setups, 0),
		WORLD_CASE(errors_about_datagrams_to_clients_end_here, setups, 0),
		WORLD_CASE(errors_about_datagrams_to_clients_end_here, setups, 1),
		WORLD_CASE(errors_about_datagrams_to_clients_end_here, setups, 2),
		WORLD_CASE(a_flood_about_one_allocation_spends_no_other_budget, setups, 0),
		WORLD_CASE(a_flood_about_one_allocation_spends_no_other_budget, setups, 1),
		WORLD_CASE(all_errors_together_are_limited, setups, 0),
		WORLD_CASE(all_errors_together_are_limited, setups, 1),
	};

	world_eal();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
