// SPDX-License-Identifier: BSD-3-Clause
// A cipher that fails while a DTLS client has media and answers to receive: none of these messages
// leaves, each is counted, and the session continues when the cipher works again. Runs with one
// worker and with several.
#include <openssl/err.h>

#include "clients/sessions.h"
#include "dp.h"
#include "aead.h"
#include "dtls_clients_world.h"

#define CLIENTS 4

static bool broken;

bool __real_aead_seal(
	struct aead_key *k, const struct aead_with *params, uint8_t *data, size_t len);
bool __wrap_aead_seal(
	struct aead_key *k, const struct aead_with *params, uint8_t *data, size_t len);
bool __wrap_aead_seal(struct aead_key *k, const struct aead_with *params, uint8_t *data, size_t len)
{
	return !broken && __real_aead_seal(k, params, data, len);
}

static void open_world(void **state)
{
	broken = false;
	clients_world_open(*state);
	for (unsigned int i = 0; i < CLIENTS; i++)
		client_place("10.99.0.20", world.dtls + 2);
	handshake_all();
	for (unsigned int i = 0; i < CLIENTS; i++)
		allocate(i);
	settle(4);
}

static void from_peers(void)
{
	for (unsigned int i = 0; i < CLIENTS; i++) {
		const struct endpoint peer = peer_of(i);

		world_send_bytes(&world, &peer, &client[i].relay, "hello", 5);
	}
	settle(4);
}

// Returns the number of datagrams that all clients received.
static unsigned int received(void)
{
	uint8_t got[256];
	unsigned int n = 0;

	for (unsigned int i = 0; i < CLIENTS; i++)
		n += SSL_read(end[i].ssl, got, sizeof(got)) > 0;
	ERR_clear_error();
	return n;
}

static void test_media(void **state)
{
	struct dp_stats s;

	open_world(state);
	s = world_stats(&world);
	broken = true;
	from_peers();
	assert_int_equal(received(), 0);
	for (unsigned int i = 0; i < CLIENTS; i++)
		assert_int_equal(end[i].in.n, 0); // not even a datagram
	assert_int_equal(world_stats(&world).drop[DP_DROP_DTLS_CIPHER], CLIENTS);
	assert_int_equal(world_stats(&world).dtls.unsealed, CLIENTS);
	assert_int_equal(world_stats(&world).dtls.tx, s.dtls.tx);
	assert_int_equal(world_stats(&world).tx, s.tx);
	broken = false;
	from_peers();
	assert_int_equal(received(), CLIENTS);
	assert_int_equal(sum_open(), CLIENTS);
	clients_world_close();
}

// Answers to requests, and the alert that answers close_notify.
static void test_others(void **state)
{
	struct world_client *c = &client[0];
	uint64_t tx;
	uint16_t len;

	open_world(state);
	broken = true;
	tx = world_stats(&world).tx;
	client_begin(&world, c, STUN_BINDING);
	len = stun_end(&c->w);
	assert_int_equal(SSL_write(end[0].ssl, c->message, len), len);
	settle(4);
	assert_int_equal(world_stats(&world).drop[DP_DROP_DTLS_CIPHER], 1);
	assert_int_equal(world_stats(&world).dtls.unsealed, 1);
	SSL_shutdown(end[1].ssl);
	settle(4);
	assert_int_equal(world_stats(&world).dtls.unsealed, 2);
	assert_int_equal(world_stats(&world).dtls.closed, 1);
	assert_int_equal(world_stats(&world).tx, tx);
	clients_world_close();
}

static struct world_setup setups[] = {
	{.workers = 1, .rx_queues = 1, .tx_queues = 1, .dtls = true},
	{.workers = 3, .rx_queues = 2, .tx_queues = 3, .dtls = true},
};

int main(void)
{
	const struct CMUnitTest tests[] = {
		{"test_media 0", test_media, NULL, NULL, &setups[0]},
		{"test_media 1", test_media, NULL, NULL, &setups[1]},
		{"test_others 0", test_others, NULL, NULL, &setups[0]},
		{"test_others 1", test_others, NULL, NULL, &setups[1]},
	};

	world_eal();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
