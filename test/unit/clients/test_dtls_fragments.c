// SPDX-License-Identifier: BSD-3-Clause
// ClientHellos in fragments (RFC 6347 4.2.3), as clients with a narrow path or with long key shares
// send them: those of libssl, in any order, and those of strangers.
#include "bytes.h"
#include "clients/sessions.h"
#include "dtls_clients_world.h"

#define LONG 1500 // bytes of ALPN names, about the length of ML-KEM key shares
#define FIRST_PORT 1024

// A client whose ClientHello does not fit its path.
static void place(const char *host, unsigned int listener, uint16_t mtu)
{
	uint8_t names[LONG];

	client_place(host, listener);
	for (unsigned int i = 0; i < LONG; i++)
		names[i] = i % 100 == 0 ? 99 : 'n';
	assert_int_equal(
		SSL_set_alpn_protos(end[nb_clients - 1].ssl, names, (unsigned int)sizeof(names)),
		0);
	SSL_set_mtu(end[nb_clients - 1].ssl, mtu);
}

static void place_all(void)
{
	const uint16_t mtus[] = {256, 300, 500, 1200};

	for (unsigned int i = 0; i < RTE_DIM(mtus); i++) {
		place("10.99.0.20", world.dtls + 2, mtus[i]);
		place("fd99::20", world.dtls + 1, mtus[i]);
	}
}

static void allocate_all(void)
{
	handshake_all();
	for (unsigned int i = 0; i < nb_clients; i++)
		allocate(i);
}

static void test_narrow(void **state)
{
	clients_world_open(*state);
	place_all();
	allocate_all();
	assert_int_equal(world_dropped(&world, DP_DROP_DTLS_HELLO), 0);
	assert_int_not_equal(world_dropped(&world, DP_DROP_DTLS_FRAGMENT), 0); // without a cookie
	clients_world_close();
}

static bool is_part(const struct datagram *d)
{
	struct dtls_fragment f;

	return dtls_hello_fragment(d->data, d->len, &f) && f.len < f.total;
}

// Each fragment except the first comes twice, and after the next one.
static void swaps(unsigned int i, const struct datagram *d)
{
	static struct datagram held[CLIENTS_MAX];
	struct dtls_fragment f;

	if (is_part(d) && dtls_hello_fragment(d->data, d->len, &f) && f.off > 0) {
		client_sends(i, d);
		if (held[i].len > 0)
			client_sends(i, &held[i]);
		held[i] = *d;
		return;
	}
	if (held[i].len > 0)
		client_sends(i, &held[i]);
	held[i].len = 0;
	client_sends(i, d);
}

static void test_disordered(void **state)
{
	clients_world_open(*state);
	place_all();
	on_the_wire = swaps;
	allocate_all();
	on_the_wire = client_sends;
	clients_world_close();
}

// Joins fragments that fit into one datagram.
static void joins(unsigned int i, const struct datagram *d)
{
	static struct datagram joined[CLIENTS_MAX];
	struct datagram *j = &joined[i];

	if (!is_part(d) || j->len + d->len > 1200) {
		if (j->len > 0)
			client_sends(i, j);
		j->len = 0;
	}
	if (!is_part(d)) {
		client_sends(i, d);
		return;
	}
	memcpy(j->data + j->len, d->data, d->len);
	j->len = (uint16_t)(j->len + d->len);
}

static void test_joined(void **state)
{
	clients_world_open(*state);
	place("10.99.0.20", world.dtls + 2, 256);
	on_the_wire = joins;
	allocate_all();
	on_the_wire = client_sends;
	clients_world_close();
}

// --- strangers -----------------------------------------------------------------------------------

// A fragment of a ClientHello with `cookie`, or without one if it is NULL: bytes [off, off + len)
// of 200. Returns the length of the datagram.
static uint16_t part_write(uint8_t *out, uint32_t off, uint16_t len, const uint8_t *cookie)
{
	uint8_t hello[200] = {0xfe, 0xfd, 7};

	if (cookie != NULL) {
		hello[35] = DTLS_COOKIE_LEN;
		memcpy(hello + 36, cookie, DTLS_COOKIE_LEN);
	}
	memset(out, 0, DTLS_RECORD_LEN + DTLS_HANDSHAKE_LEN);
	out[0] = DTLS_HANDSHAKE;
	store_be16(out + 1, 0xfeff);
	store_be16(out + 11, (uint16_t)(DTLS_HANDSHAKE_LEN + len));
	out[13] = 1;
	store_be16(out + 15, sizeof(hello));
	out[18] = cookie != NULL;
	store_be16(out + 20, (uint16_t)off);
	store_be16(out + 23, len);
	memcpy(out + DTLS_RECORD_LEN + DTLS_HANDSHAKE_LEN, hello + off, len);
	return (uint16_t)(DTLS_RECORD_LEN + DTLS_HANDSHAKE_LEN + len);
}

static void send_part(uint16_t port, uint32_t off, uint16_t len, const uint8_t *cookie)
{
	const struct endpoint src = world_endpoint("10.99.0.20", port);
	uint8_t out[256];

	world_send_bytes(&world, &src, &world.listeners[world.dtls + 2].endpoint, out,
		part_write(out, off, len, cookie));
	world_run(&world);
}

// The first fragment is answered if it has all fields that a cookie covers, with an answer no
// longer than the fragment; all others are counted, and no part of them is kept.
static void test_first(void **state)
{
	const struct endpoint src = world_endpoint("10.99.0.20", FIRST_PORT);
	struct world_datagram got;
	uint64_t lost;

	clients_world_open(*state);
	for (uint16_t len = 1; len < 200; len++) {
		lost = world_dropped(&world, DP_DROP_DTLS_FRAGMENT);
		send_part(FIRST_PORT, 0, len, NULL);
		if (len < 36) {
			assert_int_equal(world_dropped(&world, DP_DROP_DTLS_FRAGMENT), lost + 1);
			continue;
		}
		assert_true(world_take(&world, &src, &got));
		assert_true(got.len <= DTLS_RECORD_LEN + DTLS_HANDSHAKE_LEN + len);
		assert_int_equal(got.data[13], 3); // HelloVerifyRequest
	}
	for (uint16_t off = 1; off < 200; off++) {
		lost = world_dropped(&world, DP_DROP_DTLS_FRAGMENT);
		send_part(FIRST_PORT, off, (uint16_t)(200 - off), NULL);
		assert_int_equal(world_dropped(&world, DP_DROP_DTLS_FRAGMENT), lost + 1);
	}
	assert_false(world_take(&world, &src, &got));
	assert_int_equal(sum_half_open(), 0);
	assert_int_equal(world_dropped(&world, DP_DROP_DTLS_HELLO), 0);
	clients_world_close();
}

// A ClientHello that never becomes whole counts as one handshake under way, no matter how many
// fragments of it are sent, and it times out.
static void test_never_whole(void **state)
{
	const struct endpoint src = world_endpoint("10.99.0.20", FIRST_PORT);
	uint8_t cookie[DTLS_COOKIE_LEN];
	struct world_datagram got;

	clients_world_open(*state);
	settle(1); // the thread's clock
	send_part(FIRST_PORT, 0, 100, NULL);
	assert_true(world_take(&world, &src, &got));
	memcpy(cookie, got.data + got.len - DTLS_COOKIE_LEN, DTLS_COOKIE_LEN);
	for (unsigned int i = 0; i < 200; i++) {
		send_part(FIRST_PORT, i % 3 * 60, 60, cookie);
		settle(1);
	}
	assert_int_equal(sum_half_open(), 1);
	assert_false(world_take(&world, &src, &got));
	world_wait(&world, 10500); // dtls.handshake
	settle(3);
	assert_int_equal(dtls_thread_stats().dtls_failed, 1);
	assert_int_equal(sum_half_open(), 0);
	clients_world_close();
}

static struct world_setup setups[] = {
	{.workers = 1, .rx_queues = 1, .tx_queues = 1, .dtls = true},
	{.workers = 3, .rx_queues = 1, .tx_queues = 3, .dtls = true},
};

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_CASE(test_narrow, setups, 0),
		WORLD_CASE(test_narrow, setups, 1),
		WORLD_CASE(test_disordered, setups, 0),
		WORLD_CASE(test_joined, setups, 0),
		WORLD_CASE(test_first, setups, 0),
		WORLD_CASE(test_never_whole, setups, 0),
	};

	world_eal();
	return cmocka_run_group_tests_name("dtls_fragments", tests, NULL, NULL);
}
