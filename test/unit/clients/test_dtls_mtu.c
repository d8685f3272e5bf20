// SPDX-License-Identifier: BSD-3-Clause
// Messages that are too long for the path to a DTLS client: fragmented where this is allowed,
// reported where it is not. The server has an RSA certificate, so its flight is longer than the
// shortest path MTU.
#include <unistd.h>

#include "feature_names.h"
#include "bytes.h"
#include "clients/sessions.h"
#include "datapath.h"
#include "drop_of.h"
#include "dtls_clients_world.h"
#include "icmp_frames.h"
#include "path/worker.h"

#define IP_UDP 28
#define LINK 1500

static void change(struct dp_world *w)
{
	w->conf.icmp_errors_out = 1000;
	w->conf.icmp_errors_each = 0;
	w->conf.path_mtus = 1024;
}

static const struct world_setup setups[] = {
	{.workers = 1, .rx_queues = 1, .tx_queues = 1, .dtls = true, .change = change},
	{.workers = 2, .rx_queues = 2, .tx_queues = 2, .dtls = true, .change = change},
};

static unsigned int in_fragments; // datagrams that clients received in fragments

// Hands datagrams that came in fragments to their clients.
static void take_longs(void)
{
	static struct ip_long got;

	for (unsigned int i = 0; i < nb_clients; i++) {
		while (world_take_long(&world, &client[i].endpoint, &got)) {
			assert_true(endpoint_eq(&got.src, &client[i].server));
			wire_put(&end[i].in, got.data, got.len);
			in_fragments++;
		}
	}
}

static bool shakes(unsigned int i)
{
	for (unsigned int n = 0; n < 1000; n++) {
		if (n > 20)
			usleep(1000);
		if (dtls_client_handshake(&end[i]))
			return true;
		step();
		take_longs();
	}
	return false;
}

static void too_big(const struct endpoint *src, const struct endpoint *dst, uint32_t mtu)
{
	const struct icmp_frame e = {.reporter = "203.0.113.77",
		.src = *src,
		.dst = *dst,
		.type = 3,
		.code = 4,
		.mtu = mtu,
		.len = 1490};
	const uint64_t before = world_stats(&world).path_mtus;

	icmp_frame_send(&world, &e);
	settle(3);
	assert_int_equal(world_stats(&world).path_mtus, before + 1);
}

// Anyone who knows a client can forge a report of a short path. The client then comes back with a
// new handshake, and all datagrams of that handshake may be fragmented.
static void a_short_path_stops_no_handshake(void **state)
{
	clients_world_open(*state);
	on_the_wire = client_sends;
	client_place("10.99.0.20", world.dtls + 2);
	assert_true(shakes(0));
	allocate(0);
	too_big(&client[0].server, &client[0].endpoint, 576);
	in_fragments = 0;
	dtls_client_close(&end[0]);
	dtls_client_open(&end[0], NULL);
	assert_true(shakes(0));
	assert_true(in_fragments > 0);
	assert_int_equal(world_dropped(&world, DP_DROP_MTU), 0);
	clients_world_close();
}

static const char *const ciphers[] = {"AESGCM", "CHACHA20"};
static const uint16_t overhead[] = {13 + 8 + 16, 13 + 16}; // RFC 5288 section 3, RFC 7905 section 2

static void place(unsigned int cipher)
{
	client_place("10.99.0.20", world.dtls + 2);
	assert_int_equal(SSL_set_cipher_list(end[nb_clients - 1].ssl, ciphers[cipher]), 1);
	assert_true(shakes(nb_clients - 1));
}

// The second client's allocation is on the worker of the first one: with two workers, usually not
// the worker of its own session.
static void allocate_pair(unsigned int cipher)
{
	const unsigned int i = nb_clients;

	place(cipher);
	place(cipher);
	allocate_next(i);
}

static bool is_away(unsigned int i)
{
	for (unsigned int k = 0; k < world.dp->nb_workers; k++) {
		const struct sessions *s = world.dp->worker[k]->sessions;

		for (uint32_t n = 0; n < s->used; n++)
			if (s->session[n].port == client[i].endpoint.port &&
				s->session[n].away != 0)
				return true;
	}
	return false;
}

static bool is_any_away(void)
{
	for (unsigned int i = 0; i < nb_clients; i++)
		if (is_away(i))
			return true;
	return false;
}

// True if a datagram with `len` bytes of data from its peer reaches client i.
static bool arrives(unsigned int i, uint16_t len, uint8_t ttl, bool df)
{
	struct world_datagram d = {
		.src = peer_of(i), .dst = client[i].relay, .ttl = ttl, .df = df, .len = len};
	static uint8_t got[DATAGRAM_MAX];
	int n;

	test_rand_fill(&world.rand, d.data, len);
	world_send(&world, &d);
	for (unsigned int k = 0; k < 3; k++) {
		step();
		take_longs();
	}
	n = SSL_read(end[i].ssl, got, sizeof(got));
	if (n <= 0)
		return false;
	assert_in_range(n, 4 + len, 4 + len + 3);
	assert_int_equal(load_be16(got), CLIENT_CHANNEL);
	assert_memory_equal(got + 4, d.data, len);
	return true;
}

// Asserts that the last frame is an ICMP error to the peer about the last datagram.
static void assert_told(unsigned int before, uint8_t type, uint8_t code, uint32_t mtu)
{
	const uint8_t *icmp = world.last + 14 + 20;

	assert_int_equal(world.echoes, before + 1);
	assert_int_equal(icmp[0], type);
	assert_int_equal(icmp[1], code);
	assert_int_equal(load_be32(icmp + 4), mtu);
}

// RFC 8656 sections 13 and 14: with DF a peer gets a report, and datagrams of the reported length
// fit. No record is sealed in vain.
static void peers_are_told(void **state)
{
	const bool is_more = ((const struct world_setup *)*state)->workers > 1;
	unsigned int away = 0;

	clients_world_open(*state);
	on_the_wire = client_sends;
	for (unsigned int pair = 0; pair < 8 || (is_more && !is_any_away() && pair < 28); pair++)
		allocate_pair(pair % 2);
	for (unsigned int i = 0; i < nb_clients; i++) {
		// another worker does not know the cipher of a session
		const uint16_t more = overhead[is_away(i) ? 0 : i / 2 % 2];
		const uint16_t fits = (uint16_t)(LINK - IP_UDP - more - 4);
		uint64_t records = world_stats(&world).dtls.tx;
		unsigned int errors = world.echoes;

		away += is_away(i);
		assert_false(arrives(i, fits + 1, 64, true));
		assert_told(errors, 3, 4, LINK - more - 48);
		errors++;
		assert_false(arrives(i, LINK - IP_UDP, 64, true));
		assert_told(errors, 3, 4, LINK - more - 48);
		errors++;
		assert_false(arrives(i, 100, 1, true));
		assert_told(errors, 11, 0, 0);
		errors++;
		assert_false(arrives(i, 100, 1, false));
		assert_told(errors, 11, 0, 0);
		errors++;
		assert_int_equal(world_stats(&world).dtls.tx, records);
		assert_true(arrives(i, fits, 64, true));
		assert_true(arrives(i, (uint16_t)(LINK - more - 48 - IP_UDP), 64, true));
		assert_int_equal(world.echoes, errors);
	}
	assert_int_equal(away > 0, is_more);
	assert_int_equal(world_dropped(&world, DP_DROP_MTU), 2 * nb_clients);
	assert_int_equal(world_dropped(&world, DP_DROP_TTL), 2 * nb_clients);
	clients_world_close();
}

// Without DF the record is fragmented, on whichever worker the session is.
static void without_df_records_are_cut(void **state)
{
	clients_world_open(*state);
	on_the_wire = client_sends;
	for (unsigned int pair = 0; pair < 4; pair++)
		allocate_pair(pair % 2);
	for (unsigned int i = 0; i < nb_clients; i++) {
		in_fragments = 0;
		assert_true(arrives(i, LINK - IP_UDP, 64, false));
		assert_true(arrives(i, LINK - IP_UDP - 1, 64, false));
		assert_int_equal(in_fragments, 2);
		assert_true(arrives(i, 1000, 64, false));
		assert_int_equal(in_fragments, 2);
	}
	assert_int_equal(world_drops(&world), 0);
	clients_world_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_CASE(a_short_path_stops_no_handshake, setups, 0),
		WORLD_CASE(a_short_path_stops_no_handshake, setups, 1),
		WORLD_CASE(peers_are_told, setups, 0),
#ifdef FEATURE_RESERVATIONS
		WORLD_CASE(peers_are_told, setups, 1),
#endif
		WORLD_CASE(without_df_records_are_cut, setups, 0),
#ifdef FEATURE_RESERVATIONS
		WORLD_CASE(without_df_records_are_cut, setups, 1),
#endif
	};

	dtls_with_rsa = true;
	dtls_client_timer_us = 1000000;
	world_eal();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
