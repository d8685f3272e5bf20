// SPDX-License-Identifier: BSD-3-Clause
// ICMP errors that we send, byte by byte by the layouts of RFC 792, RFC 1191 and RFC 4443; the
// packets that cause them and those that never do (RFC 1122 section 3.2.2, RFC 4443 section 2.4);
// and the rate limits.
#include "bytes.h"
#include "datapath.h"
#include "drop_of.h"
#include "icmp_frames.h"
#include "slow_sum.h"

#define CHANNEL 0x4000

static struct dp_world world;
static struct world_client client;
static struct endpoint peer;
static uint8_t frame[2048]; // the last frame that was sent

static void report(struct dp_world *w)
{
	w->conf.icmp_errors_out = 100;
	w->conf.icmp_errors_each = 10;
}

static void report_all(struct dp_world *w)
{
	report(w);
	w->conf.icmp_unreachable = true;
}

static void report_nothing(struct dp_world *w)
{
	w->conf.icmp_unreachable = true;
}

static const struct world_setup setups[] = {
	{.workers = 1, .rx_queues = 1, .tx_queues = 1, .change = report},
	{.workers = 3, .rx_queues = 3, .tx_queues = 3, .change = report},
	{.workers = 1, .rx_queues = 1, .tx_queues = 1, .change = report_all},
	{.workers = 1, .rx_queues = 1, .tx_queues = 1, .change = report_nothing},
	{.workers = 1, .rx_queues = 1, .tx_queues = 1, .change = report, .stream_ring = 256},
	{.workers = 1, .rx_queues = 1, .tx_queues = 1, .vlan = 7, .change = report},
};

static void open_with(const struct world_setup *s, bool is_v4)
{
	world_open(&world, s);
	peer = world_endpoint(is_v4 ? "10.99.0.30" : "fd99::30", 7000);
	if (s->stream_ring > 0)
		world_stream_client(&world, &client, "10.99.0.20", 5000);
	else
		world_client(&world, &client, is_v4 ? "10.99.0.20" : "fd99::20", 5000);
	assert_int_equal(client_allocate(&world, &client, is_v4 ? 4 : 6), 0);
	assert_int_equal(client_bind(&world, &client, CHANNEL, &peer), 0);
	world_wait(&world, 1000);
	world.echoes = 0;
}

// Sends a datagram and returns how many errors come back. It is kept in frame.
static unsigned int errors_about(const struct world_datagram *d)
{
	const unsigned int before = world.echoes;
	const size_t len = world_frame(&world, d, frame);

	world_inject(&world, 0, frame, len);
	world_run(&world);
	assert_int_equal(world.nb_seen, 0);
	return world.echoes - before;
}

static struct world_datagram of_client(uint16_t data, uint8_t ttl, bool df)
{
	struct world_datagram d = {
		.src = client.endpoint, .dst = client.server, .ttl = ttl, .df = df};

	store_be16(d.data, CHANNEL);
	store_be16(d.data + 2, data);
	for (unsigned int i = 0; i < data; i++)
		d.data[4 + i] = (uint8_t)i;
	d.len = (uint16_t)(data + 4);
	return d;
}

static struct world_datagram of_peer(uint16_t len, uint8_t ttl, bool df)
{
	return (struct world_datagram){
		.src = peer, .dst = client.relay, .len = len, .ttl = ttl, .df = df};
}

// Asserts that the world's last frame is an error about the one in `frame`.
static void last_is(uint8_t type, uint8_t code, uint32_t field)
{
	const size_t l2 = world.ports[0].vlan != 0 ? 18 : 14;
	const bool is_v4 = frame[l2] >> 4 == 4;
	const size_t ip_len = is_v4 ? 20 : 40, most = (is_v4 ? 576 : 1280) - ip_len - 8;
	const uint8_t *ip = world.last + l2, *icmp = ip + ip_len, *about = frame + l2;
	const size_t whole = is_v4 ? load_be16(about + 2) : 40u + load_be16(about + 4);
	const size_t quoted = whole < most ? whole : most;
	uint32_t pseudo = 0;

	assert_int_equal(world.last_len, l2 + ip_len + 8 + quoted);
	assert_memory_equal(world.last + 12, frame + 12, l2 - 12); // ethertype and tag
	if (is_v4) {
		assert_int_equal(ip[0], 0x45);
		assert_int_equal(load_be16(ip + 2), 28 + quoted);
		assert_int_equal(load_be16(ip + 6), 0);
		assert_int_equal(ip[9], 1);
		assert_int_equal(slow_sum(0, ip, 20), 0xffff);
		assert_memory_equal(ip + 12, about + 16, 4);
		assert_memory_equal(ip + 16, about + 12, 4);
	} else {
		assert_int_equal(load_be16(ip + 4), 8 + quoted);
		assert_int_equal(ip[6], 58);
		assert_memory_equal(ip + 8, about + 24, 16);
		assert_memory_equal(ip + 24, about + 8, 16);
		pseudo = slow_sum(0, ip + 8, 32) + 58u + 8 + (uint32_t)quoted;
	}
	assert_true(ip[is_v4 ? 8 : 7] >= 64);
	assert_int_equal(icmp[0], type);
	assert_int_equal(icmp[1], code);
	assert_int_equal(load_be32(icmp + 4), field);
	assert_int_equal(slow_sum(pseudo, icmp, 8 + quoted), 0xffff);
	assert_memory_equal(icmp + 8, about, quoted);
}

static void the_last_hop_is_reported(void **state)
{
	for (unsigned int v4 = 0; v4 < 2; v4++) {
		struct world_datagram d;

		open_with(*state, v4);
		d = of_client(1200, 1, true);
		assert_int_equal(errors_about(&d), 1);
		last_is(v4 ? 11 : 3, 0, 0);
		d = of_peer(5, 1, false);
		assert_int_equal(errors_about(&d), 1);
		last_is(v4 ? 11 : 3, 0, 0);
		assert_int_equal(world_dropped(&world, DP_DROP_TTL), 2);
		assert_int_equal(world_stats(&world).icmp_errors_sent, 2);
		world_close(&world);
	}
}

// To a peer: the MTU of the link to the client less 48 bytes (RFC 8656 section 13.2).
static void a_peers_packet_that_is_too_big_is_reported(void **state)
{
	for (unsigned int v4 = 0; v4 < 2; v4++) {
		struct world_datagram d, got;

		open_with(*state, v4);
		d = of_peer(v4 ? 1500 - 28 : 1500 - 48, 64, true);
		assert_int_equal(errors_about(&d), 1);
		last_is(v4 ? 3 : 2, v4 ? 4 : 0, 1452);
		d = of_peer(v4 ? 1452 - 28 : 1452 - 48, 64, true);
		world_send(&world, &d);
		world_run(&world);
		assert_true(world_take(&world, &client.endpoint, &got));
		if (v4) { // without DF, routers would fragment it: no report
			d = of_peer(1500 - 28, 64, false);
			assert_int_equal(errors_about(&d), 0);
		}
		world_close(&world);
	}
}

// To a client: the longest packet that its peer can get, plus the header that is removed.
static void a_clients_packet_that_is_too_big_is_reported(void **state)
{
	for (unsigned int v4 = 0; v4 < 2; v4++) {
		const uint16_t headers = v4 ? 28 : 48;
		struct icmp_frame e = {.reporter = v4 ? "10.99.0.77" : "fd99::77",
			.type = v4 ? 3 : 2,
			.code = v4 ? 4 : 0,
			.mtu = 1400,
			.len = 1490};
		struct world_datagram d, got;

		open_with(*state, v4);
		e.src = client.relay;
		e.dst = peer;
		icmp_frame_send(&world, &e);
		world_run(&world);
		world.nb_seen = 0;
		d = of_client((uint16_t)(1490 - headers), 64, true);
		assert_int_equal(errors_about(&d), 1);
		last_is(v4 ? 3 : 2, v4 ? 4 : 0, 1404);
		d = of_client((uint16_t)(1404 - 4 - headers), 64, true);
		world_send(&world, &d);
		world_run(&world);
		assert_true(world_take(&world, &peer, &got));
		world_close(&world);
	}
}

static void unused_ports_send_no_error_unless_configured(void **state)
{
	const struct world_setup *s = *state;
	const bool reported = s->change == report_all;

	for (unsigned int v4 = 0; v4 < 2; v4++) {
		struct world_datagram d;

		open_with(s, v4);
		d = of_peer(5, 64, false); // our port, but not a relay port
		d.dst.port = 1234;
		assert_int_equal(errors_about(&d), reported);
		if (reported)
			last_is(v4 ? 3 : 1, v4 ? 3 : 4, 0);
		d = of_peer(5, 64, false); // a relay port without allocation
		d.dst.port = (uint16_t)(d.dst.port + (d.dst.port < 50256 ? 128 : -128));
		assert_int_equal(errors_about(&d), reported);
		if (reported)
			last_is(v4 ? 3 : 1, v4 ? 3 : 4, 0);
		d = of_peer(5, 64, false); // an allocation, but no permission
		d.src.addr.b[15]++;
		assert_int_equal(errors_about(&d), 0);
		world_close(&world);
	}
}

static void expect_silence(size_t len)
{
	world_inject(&world, 0, frame, len);
	world_run(&world);
	assert_int_equal(world.echoes, 0);
	assert_int_equal(world_stats(&world).icmp_errors_sent, 0);
}

static void some_things_are_never_reported(void **state)
{
	struct icmp_frame e = {.reporter = "203.0.113.77", .type = 3, .code = 3};
	struct world_datagram d;
	size_t len;

	open_with(*state, true);
	e.src = client.relay; // an ICMP error
	e.src.port = 1234;
	e.dst = peer;
	expect_silence(icmp_frame_write(&world, &e, frame));
	d = of_peer(5, 64, false); // to a broadcast address
	d.dst = world_endpoint("10.99.0.255", 1234);
	len = world_frame(&world, &d, frame);
	expect_silence(len);
	memset(frame, 0xff, 6);
	expect_silence(len);
	d = of_peer(5, 64, false);
	d.dst.port = 1234;
	len = world_frame(&world, &d, frame);
	frame[len - 1] ^= 1; // damaged
	expect_silence(len);
	frame[len - 1] ^= 1;
	frame[14 + 6] = 0x20; // a fragment
	store_be16(frame + 24, 0);
	store_be16(frame + 24, (uint16_t)~slow_sum(0, frame + 14, 20));
	expect_silence(len);
	for (unsigned int i = 0; i < 3; i++) { // invalid source
		static const char *const sources[] = {"127.0.0.1", "10.99.0.255", "10.99.0.1"};

		d = of_peer(5, 64, false);
		d.src = world_endpoint(sources[i], 7000);
		d.dst.port = 1234;
		expect_silence(world_frame(&world, &d, frame));
	}
	world_close(&world);
}

// Data that a client sent over a stream came in no packet that could be quoted.
static void a_client_over_a_stream_has_no_packet(void **state)
{
	struct icmp_frame e = {
		.reporter = "10.99.0.77", .type = 3, .code = 4, .mtu = 600, .len = 1490};
	struct world_datagram d = of_client(1000, 64, true);
	uint8_t tid[STUN_TID_LEN] = {1}, message[1200];
	struct stun_writer w;

	open_with(*state, true);
	e.src = client.relay;
	e.dst = peer;
	icmp_frame_send(&world, &e);
	world_run(&world);
	world.nb_seen = 0;
	stun_begin(&w, message, sizeof(message), STUN_INDICATION, STUN_SEND, tid);
	stun_put_xor_addr(&w, STUN_XOR_PEER_ADDRESS, &peer);
	stun_put(&w, STUN_DONT_FRAGMENT, NULL, 0);
	stun_put(&w, STUN_DATA_ATTR, d.data, 1000);
	world_stream_send(&world, &client, message, stun_end(&w));
	world_run(&world);
	assert_int_equal(world_dropped(&world, DP_DROP_MTU), 1);
	assert_int_equal(world.echoes, 0);
	world_close(&world);
}

// A spoofed source is sent ten a second, and all sources together a hundred.
static void errors_are_bounded(void **state)
{
	struct world_datagram d;

	open_with(*state, true);
	d = of_peer(5, 64, false);
	d.dst.port = 1234;
	for (unsigned int i = 0; i < 50; i++)
		errors_about(&d);
	assert_in_range(world.echoes, 10, 11);
	assert_int_equal(world_stats(&world).icmp_errors_held_back, 50 - world.echoes);
	world_wait(&world, 2000);
	world.echoes = 0;
	for (unsigned int i = 0; i < 200; i++) {
		d.src.addr.b[15] = (uint8_t)(30 + i);
		world_send(&world, &d);
	}
	world_run(&world);
	assert_in_range(world.echoes, 95, 105);
	assert_int_equal(
		world_stats(&world).icmp_errors_sent + world_stats(&world).icmp_errors_held_back,
		250);
	world_close(&world);
}

// A /48 has 65,536 /64, each of which may have ten a second. It may have half of the limit for all.
static void a_network_leaves_errors_to_others(void **state)
{
	struct world_datagram d;

	open_with(*state, false);
	d = of_peer(5, 64, false);
	d.dst.port = 1234;
	d.src = world_endpoint("2001:db8:1::30", 7000);
	for (unsigned int i = 0; i < 200; i++) {
		d.src.addr.b[7] = (uint8_t)i;
		world_send(&world, &d);
	}
	world_run(&world);
	assert_in_range(world.echoes, 49, 52);
	d.src.addr.b[5] = 2; // another /48
	world.echoes = 0;
	for (unsigned int i = 0; i < 4; i++)
		world_send(&world, &d);
	world_run(&world);
	assert_int_equal(world.echoes, 4);
	world_close(&world);
}

static void a_limit_of_zero_sends_no_error(void **state)
{
	struct world_datagram d;

	open_with(*state, true);
	d = of_client(100, 1, true);
	assert_int_equal(errors_about(&d), 0);
	d = of_peer(5, 64, false);
	d.dst.port = 1234;
	assert_int_equal(errors_about(&d), 0);
	assert_int_equal(world_stats(&world).icmp_errors_held_back, 0);
	world_close(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_CASE(the_last_hop_is_reported, setups, 0),
		WORLD_CASE(the_last_hop_is_reported, setups, 1),
		WORLD_CASE(the_last_hop_is_reported, setups, 5),
		WORLD_CASE(a_peers_packet_that_is_too_big_is_reported, setups, 0),
		WORLD_CASE(a_peers_packet_that_is_too_big_is_reported, setups, 1),
		WORLD_CASE(a_clients_packet_that_is_too_big_is_reported, setups, 0),
		WORLD_CASE(a_clients_packet_that_is_too_big_is_reported, setups, 1),
		WORLD_CASE(unused_ports_send_no_error_unless_configured, setups, 0),
		WORLD_CASE(unused_ports_send_no_error_unless_configured, setups, 2),
		WORLD_CASE(some_things_are_never_reported, setups, 2),
		WORLD_CASE(a_client_over_a_stream_has_no_packet, setups, 4),
		WORLD_CASE(errors_are_bounded, setups, 2),
		WORLD_CASE(a_network_leaves_errors_to_others, setups, 2),
		WORLD_CASE(a_limit_of_zero_sends_no_error, setups, 3),
	};

	world_eal();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
