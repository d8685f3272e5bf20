// SPDX-License-Identifier: BSD-3-Clause
// DTLS runs over UDP, so RFC 8656 sections 13 and 14 define the header fields of its messages in
// both directions: for IPv4 and IPv6 clients, one record to a datagram and two. With
// listeners[].dscp, messages carry the value of the DTLS listener, even where a UDP listener shares
// its port.
#include <openssl/ssl.h>

#include "clients/sessions.h"
#include "datapath.h"
#include "dtls_clients_world.h"
#include "path/worker.h"

#define CLIENTS 2 // over IPv4 and over IPv6, both with an IPv4 peer

static const struct world_setup setup = {
	.workers = 1, .rx_queues = 1, .tx_queues = 1, .dtls = true};
static uint8_t tos, ttl;
static bool df, in_pairs;

// Sends one datagram of a client, or two in one, with the fields above.
static void with_fields(unsigned int i, const struct datagram *sent)
{
	static struct datagram both;
	struct world_datagram d = {.src = client[i].endpoint,
		.dst = client[i].server,
		.tos = tos,
		.ttl = ttl,
		.df = df && addr_is_v4(&client[i].endpoint.addr)};

	if (!in_pairs)
		both.len = 0;
	memcpy(both.data + both.len, sent->data, sent->len);
	both.len += sent->len;
	if (in_pairs && both.len == sent->len)
		return; // until the other one comes
	d.len = both.len;
	memcpy(d.data, both.data, both.len);
	both.len = 0;
	world_send(&world, &d);
}

static void open_world(void)
{
	static const char *const hosts[CLIENTS] = {"10.99.0.20", "fd99::20"};

	clients_world_open(&setup);
	tos = 0;
	ttl = 64;
	df = in_pairs = false;
	on_the_wire = with_fields;
	for (unsigned int i = 0; i < CLIENTS; i++)
		client_place(hosts[i], world.dtls + 2 - i); // 10.99.0.1:5349, [fd99::1]:5349
	handshake_all();
	for (unsigned int i = 0; i < CLIENTS; i++)
		allocate(i);
}

static void write_data(unsigned int i)
{
	static const uint8_t data[] = {
		CLIENT_CHANNEL >> 8, CLIENT_CHANNEL & 0xff, 0, 4, 'a', 'b', 'c', 'd'};

	assert_int_equal(SSL_write(end[i].ssl, data, sizeof(data)), sizeof(data));
}

static void expect_at_peer(unsigned int i)
{
	const struct endpoint peer = peer_of(i);
	const bool v4_to_v4 = addr_is_v4(&client[i].endpoint.addr) && addr_is_v4(&peer.addr);
	struct world_datagram got;

	assert_true(world_take(&world, &peer, &got));
	assert_int_equal(got.len, 4);
	assert_int_equal(got.tos, tos);
	assert_int_equal(got.ttl, ttl - 1);
	assert_int_equal(got.df, v4_to_v4 && df);
	assert_false(got.no_checksum);
}

static void test_to_peers(void **state)
{
	open_world();
	for (unsigned int n = 0; n < 256; n++) {
		tos = (uint8_t)n;
		ttl = (uint8_t)(2 + n % 254);
		df = n % 3 == 0;
		for (unsigned int i = 0; i < CLIENTS; i++) {
			in_pairs = n % 2 != 0;
			write_data(i);
			if (in_pairs)
				write_data(i);
			settle(3);
			expect_at_peer(i);
			if (in_pairs)
				expect_at_peer(i);
		}
	}
	in_pairs = false;
	clients_world_close();
}

static void test_to_clients(void **state)
{
	open_world();
	for (unsigned int n = 0; n < 256; n++) {
		for (unsigned int i = 0; i < CLIENTS; i++) {
			struct world_datagram d = {.src = peer_of(i),
				.dst = client[i].relay,
				.tos = (uint8_t)n,
				.ttl = (uint8_t)(2 + n % 254),
				.df = n % 3 == 0,
				.no_checksum = n % 5 == 0,
				.len = 5};
			struct world_datagram got;

			world_send(&world, &d);
			world_run(&world);
			assert_true(world_take(&world, &client[i].endpoint, &got));
			assert_int_equal(got.data[0], 23); // a record of application data
			assert_int_equal(got.tos, d.tos);
			assert_int_equal(got.ttl, d.ttl - 1);
			assert_int_equal(got.df, d.df && addr_is_v4(&client[i].endpoint.addr));
			assert_false(got.no_checksum);
		}
	}
	clients_world_close();
}

// --- listeners[].dscp ----------------------------------------------------------------------------

static uint8_t udp_dscp, dtls_dscp; // of the two listeners at 10.99.0.1:3478, and 1; 0: copy

static void with_dscp(struct dp_world *w)
{
	w->listeners[0].dscp = udp_dscp;
	w->listeners[w->dtls].dscp = dtls_dscp;
}

static unsigned int expected(unsigned int came)
{
	return dtls_dscp != 0 ? (dtls_dscp - 1u) << 2 | (came & 3) : came;
}

static void relay_both_ways(unsigned int came)
{
	const struct endpoint peer = peer_of(0);
	struct world_datagram d = {.src = peer, .dst = client[0].relay, .ttl = 64, .len = 5};
	struct world_datagram got;

	d.tos = tos = (uint8_t)came;
	for (unsigned int n = 0; n < 2; n++) { // two records to a datagram, then one
		in_pairs = n == 0;
		write_data(0);
		if (in_pairs)
			write_data(0);
		settle(3);
		assert_true(world_take(&world, &peer, &got));
		assert_int_equal(got.tos, expected(came));
	}
	assert_true(world_take(&world, &peer, &got));
	assert_int_equal(got.tos, expected(came));
	world_send(&world, &d);
	world_run(&world);
	assert_true(world_take(&world, &client[0].endpoint, &got));
	assert_int_equal(got.tos, expected(came));
}

static void test_dscp(void **state)
{
	static const uint8_t pairs[][2] = {{46 + 1, 0}, {0, 34 + 1}, {46 + 1, 34 + 1}, {1, 63 + 1}};
	struct world_setup s = setup;

	s.change = with_dscp;
	for (unsigned int n = 0; n < sizeof(pairs) / sizeof(pairs[0]); n++) {
		udp_dscp = pairs[n][0];
		dtls_dscp = pairs[n][1];
		clients_world_open(&s);
		tos = 0;
		ttl = 64;
		df = in_pairs = false;
		on_the_wire = with_fields;
		client_place("10.99.0.20", world.dtls);
		handshake_all();
		allocate(0);
		for (unsigned int came = 0; came < 256; came += 3)
			relay_both_ways(came);
		in_pairs = false;
		clients_world_close();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_to_peers),
		cmocka_unit_test(test_to_clients),
		cmocka_unit_test(test_dscp),
	};

	world_eal();
	dtls_client_timer_us = 1000000;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
