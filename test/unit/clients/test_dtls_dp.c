// SPDX-License-Identifier: BSD-3-Clause
// DTLS clients of libssl against the whole data path; the test calls the stream thread's code.
// Covers ports with UDP and DTLS and ports with DTLS alone, frames on both paths that classify
// them, one worker and several, and then a lossy wire and hostile strangers.
#include <stdlib.h>

#include <openssl/err.h>

#include "bytes.h"
#include "clients/sessions.h"
#include "clients/streams.h"
#include "datapath.h"
#include "dtls_clients_world.h"
#include "workers/mbuf_meta.h"
#include "nicmodel.h"
#include "path/worker.h"

#define CLIENTS 12

static unsigned int harm; // of this many datagrams in a thousand

// --- the wire ------------------------------------------------------------------------------------

static bool chance(unsigned int of_thousand)
{
	return test_rand_below(&world.rand, 1000) < of_thousand;
}

static void send_datagram(const struct world_datagram *d)
{
	struct world_datagram copy = *d;

	// without a checksum the frame takes the slow path
	copy.no_checksum = addr_is_v4(&d->src.addr) && chance(300);
	world_send(&world, &copy);
}

// Changes a datagram as an attacker could.
static void spoil(struct world_datagram *d)
{
	static struct world_datagram old; // of any client
	uint16_t pos = (uint16_t)test_rand_below(&world.rand, d->len);

	switch (test_rand_below(&world.rand, 8)) {
	case 0:
		d->data[pos] ^= (uint8_t)(1 << test_rand_below(&world.rand, 8));
		break;
	case 1:
		d->len = pos;
		break;
	case 2: // the bytes twice
		if (2 * d->len <= 1400) {
			memcpy(d->data + d->len, d->data, d->len);
			d->len = (uint16_t)(2 * d->len);
		}
		break;
	case 3: // another client's record
		d->len = old.len;
		memcpy(d->data, old.data, old.len);
		break;
	case 4: // a random header of a small record
		test_rand_fill(&world.rand, d->data + 3, 8);
		break;
	case 5:
		d->data[0] = (uint8_t)(20 + test_rand_below(&world.rand, 6));
		d->data[4] = (uint8_t)test_rand_below(&world.rand, 3);
		break;
	case 6: // many small records
		d->len = (uint16_t)(13 + test_rand_below(&world.rand, 30));
		d->data[11] = 0;
		d->data[12] = (uint8_t)(d->len - 13);
		for (unsigned int n = 0; n < 30; n++)
			memcpy(d->data + n * d->len, d->data, d->len);
		d->len = (uint16_t)(30 * d->len);
		break;
	default:
		test_rand_fill(&world.rand, d->data + pos, d->len - pos);
		break;
	}
	if (chance(300))
		old = *d;
}

static void from_client(unsigned int i, const struct datagram *record)
{
	struct world_datagram d = {
		.src = client[i].endpoint, .dst = client[i].server, .len = record->len};

	memcpy(d.data, record->data, record->len);
	if (!chance(harm)) {
		send_datagram(&d);
		return;
	}
	if (chance(300))
		return; // lost
	if (chance(500))
		send_datagram(&d);
	if (chance(100))
		d.dst = world.listeners[test_rand_below(&world.rand, 2)].endpoint;
	if (addr_is_v4(&d.src.addr) != addr_is_v4(&d.dst.addr))
		d.dst = client[i].server;
	spoil(&d);
	send_datagram(&d);
}

// --- the world -----------------------------------------------------------------------------------

static void open_world(const struct world_setup *s)
{
	const char *const hosts[] = {"10.99.0.20", "198.51.100.5", "fd99::20"};

	clients_world_open(s);
	on_the_wire = from_client;
	// clients send to 10.99.0.1:3478 and fd99::1:5349 as well as to 10.99.0.1:5349
	for (unsigned int i = 0; i < CLIENTS; i++)
		client_place(i % 3 == 1 ? hosts[2] : hosts[i % 2], world.dtls + i % 3);
}

// --- undisturbed clients -------------------------------------------------------------------------

static void data_out(unsigned int i, uint8_t mark)
{
	const uint8_t data[] = {
		CLIENT_CHANNEL >> 8, CLIENT_CHANNEL & 0xff, 0, 4, 'a', (uint8_t)i, mark, 'z'};

	assert_int_equal(SSL_write(end[i].ssl, data, sizeof(data)), sizeof(data));
}

// Asserts that client i's peer has n datagrams. Several queues may have reordered them.
static void take_data(unsigned int i, unsigned int n)
{
	const struct endpoint peer = peer_of(i);
	struct world_datagram d;
	unsigned int seen = 0;

	for (unsigned int k = 0; k < n; k++) {
		assert_true(world_take(&world, &peer, &d));
		assert_true(endpoint_eq(&d.src, &client[i].relay));
		assert_int_equal(d.len, 4);
		assert_int_equal(d.data[1], i);
		seen |= 1u << d.data[2];
	}
	assert_int_equal(seen, (1u << n) - 1);
}

// Relays in both directions through an allocation.
static void relay(unsigned int i)
{
	const struct endpoint peer = peer_of(i);
	uint8_t got[64];

	for (uint8_t k = 0; k < 4; k++)
		data_out(i, k);
	settle(4);
	take_data(i, 4);
	world_send_bytes(&world, &peer, &client[i].relay, "hello", 5);
	settle(4);
	assert_int_equal(SSL_read(end[i].ssl, got, sizeof(got)), 9);
	assert_memory_equal(got + 4, "hello", 5);
}

// Relays for all clients at once, so their messages share bursts.
static void relay_at_once(void)
{
	for (uint8_t k = 0; k < 8; k++)
		for (unsigned int i = 0; i < CLIENTS; i++)
			data_out(i, k);
	settle(4);
	for (unsigned int i = 0; i < CLIENTS; i++)
		take_data(i, 8);
}

static void close_all(void)
{
	for (unsigned int i = 0; i < CLIENTS; i++)
		SSL_shutdown(end[i].ssl);
	settle(8);
	assert_int_equal(sum_open(), 0);
	assert_int_equal(dtls_thread_stats().dtls_sessions, 0);
	for (unsigned int i = 0; i < world.dp->nb_workers; i++) {
		struct worker *w = world.dp->worker[i];

		for (uint32_t k = 0; k < w->sessions->used; k++)
			assert_int_equal(w->sessions->session[k].state, SESSION_FREE);
	}
	for (unsigned int i = 0; i < CLIENTS; i++) { // nothing is relayed to the client any more
		const struct endpoint peer = peer_of(i);
		const uint64_t tx = world_stats(&world).dtls.tx;

		world_send_bytes(&world, &peer, &client[i].relay, "hello", 5);
		settle(3);
		assert_int_equal(world_stats(&world).dtls.tx, tx);
	}
}

static void test_clean(void **state)
{
	open_world(*state);
	handshake_all();
	assert_int_equal(sum_open(), CLIENTS);
	for (unsigned int i = 0; i < CLIENTS; i++)
		allocate(i);
	for (unsigned int i = 0; i < CLIENTS; i++)
		relay(i);
	relay_at_once();
	close_all();
	clients_world_close();
}

// Each pair's second allocation is on the worker of the first one, which is usually not its
// client's home.
static void test_token(void **state)
{
	unsigned int away = 0;

	open_world(*state);
	handshake_all();
	for (unsigned int i = 0; i < CLIENTS; i += 2)
		allocate_next(i);
	for (unsigned int i = 0; i < CLIENTS; i++)
		relay(i);
	for (unsigned int i = 0; i < world.dp->nb_workers; i++) {
		const struct worker *w = world.dp->worker[i];

		for (uint32_t k = 0; k < w->sessions->used; k++)
			away += w->sessions->session[k].away != 0;
	}
	print_message("%u clients have theirs elsewhere\n", away);
	// the sessions know about it; otherwise the end of a session would leave its allocation
	// there
	assert_int_equal(away, world_stats(&world).turn.redirects);
	close_all();
	settle(3);
	assert_int_equal(world_stats(&world).turn.allocations, 0);
	clients_world_close();
}

// --- a thread that does not keep up --------------------------------------------------------------

// Any number of handshake datagrams leaves room for the answers to TCP clients.
static void test_thread_full(void **state)
{
	open_world(*state);
	for (unsigned int n = 0; n < 2; n++) {
		for (unsigned int i = 0; i < CLIENTS; i++)
			dtls_client_handshake(&end[i]);
		thread_asleep = n == 1;
		settle(n == 0 ? 3 : 0);
	}
	for (unsigned int i = 0; i < CLIENTS; i++) {
		struct datagram hello;

		assert_true(wire_take(&end[i].out, &hello));
		while (wire_take(&end[i].out, &hello)) // the one with a cookie comes last
			;
		for (unsigned int n = 0; n < 60; n++) {
			from_client(i, &hello);
			if (n % 10 == 0)
				world_round(&world);
		}
	}
	settle(3);
	assert_true(world_stats(&world).drop[DP_DROP_STREAM_FULL] > 0);
	assert_true(streams_ops.may_ask(world.dp, 0, 0));
	thread_asleep = false;
	settle(40);
	handshake_all();
	close_all();
	clients_world_close();
}

static void fill_ring(struct worker *w)
{
	struct rte_mbuf *m;

	do {
		m = rte_pktmbuf_alloc(w->dp->pool);
		assert_non_null(m);
		mbuf_meta_of(m)->kind = MBUF_META_DTLS_NOTE;
		mbuf_meta_of(m)->dtls.kind = STREAM_GONE;
		mbuf_meta_of(m)->dtls.conn = 0; // belongs to no connection
		mbuf_meta_of(m)->dtls.session = NULL;
	} while (streams_give(w, 0, m));
	rte_pktmbuf_free(m);
}

// A request is answered after its session ended, while the thread cannot be notified yet.
static void test_ended(void **state)
{
	struct world_client *c = &client[0];
	uint16_t len;

	open_world(*state);
	handshake_all();
	get_nonce(0);
	begin_allocate(0);
	sign(0);
	len = stun_end(&c->w);
	assert_int_equal(SSL_write(end[0].ssl, c->message, len), len);
	SSL_shutdown(end[0].ssl);
	fill_ring(world.dp->worker[0]);
	thread_asleep = true;
	settle(3);
	thread_asleep = false;
	world_wait(&world, 1500);
	settle(40);
	assert_int_equal(sum_open(), CLIENTS - 1);
	assert_int_equal(world_stats(&world).turn.allocations, 0);
	clients_world_close();
}

// --- disturbed clients ---------------------------------------------------------------------------

// Lets client i continue; a client that cannot continue starts again on its port.
static void go_on(unsigned int i)
{
	uint8_t message[1500];
	int rc;

	ERR_clear_error();
	DTLSv1_handle_timeout(end[i].ssl);
	rc = SSL_do_handshake(end[i].ssl);
	if (rc == 1 && chance(500)) {
		SSL_read(end[i].ssl, message, sizeof(message));
		begin_allocate(i);
		SSL_write(end[i].ssl, client[i].message, stun_end(&client[i].w));
	}
	if ((rc != 1 && SSL_get_error(end[i].ssl, rc) != SSL_ERROR_WANT_READ) || chance(20)) {
		if (chance(300))
			SSL_shutdown(end[i].ssl);
		dtls_client_close(&end[i]);
		dtls_client_open(&end[i], NULL);
	}
	ERR_clear_error();
}

static void test_harmed(void **state)
{
	const char *env = getenv("DTLS_FUZZ");
	const unsigned int rounds = env != NULL ? (unsigned int)atoi(env) : 400;

	open_world(*state);
	harm = 300;
	wire_harmed = true;
	for (unsigned int n = 0; n < rounds; n++) {
		for (unsigned int i = 0; i < CLIENTS; i++)
			go_on(i);
		step();
		if (chance(30))
			world_wait(&world, 1000);
		world.nb_seen = 0;
	}
	harm = 0;
	wire_harmed = false;
	// incomplete handshakes time out, and none of their datagrams is on its way any more
	for (unsigned int n = 0; n < 12; n++) {
		world_wait(&world, 1000);
		settle(20);
	}
	assert_int_equal(sum_half_open(), 0);
	assert_int_equal(dtls_thread_stats().dtls_sessions, sum_open());
	for (unsigned int i = 0; i < CLIENTS; i++) {
		dtls_client_close(&end[i]);
		dtls_client_open(&end[i], NULL);
	}
	handshake_all();
	for (unsigned int i = 0; i < CLIENTS; i++)
		allocate(i);
	for (unsigned int i = 0; i < CLIENTS; i++)
		relay(i);
	assert_int_equal(sum_open(), CLIENTS);
	assert_int_equal(dtls_thread_stats().dtls_sessions, CLIENTS);
	close_all();
	clients_world_close();
}

static struct world_setup setups[] = {
	{.workers = 1, .rx_queues = 1, .tx_queues = 1, .dtls = true},
	{.workers = 3, .rx_queues = 2, .tx_queues = 3, .dtls = true},
	{.workers = 3, .rx_queues = 3, .tx_queues = 3, .dtls = true, .rss = true},
	{.workers = 3, .rx_queues = 3, .tx_queues = 3, .dtls = true, .nic = true},
	{.workers = 2, .rx_queues = 1, .tx_queues = 1, .dtls = true},
};

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_CASE(test_clean, setups, 0),
		WORLD_CASE(test_clean, setups, 1),
		WORLD_CASE(test_clean, setups, 2),
		WORLD_CASE(test_clean, setups, 3),
		WORLD_CASE(test_clean, setups, 4),
		WORLD_CASE(test_token, setups, 1),
		WORLD_CASE(test_token, setups, 3),
		WORLD_CASE(test_thread_full, setups, 0),
		WORLD_CASE(test_ended, setups, 0),
		WORLD_CASE(test_harmed, setups, 0),
		WORLD_CASE(test_harmed, setups, 1),
		WORLD_CASE(test_harmed, setups, 2),
	};

	world_eal();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
