// SPDX-License-Identifier: BSD-3-Clause
// Edge cases of a DTLS client's datagrams: several records in one, a message and the session's end
// in one, more messages than a burst has, and a datagram that the thread returns because the
// handshake had ended when it arrived there.
#include <openssl/err.h>

#include "bytes.h"
#include "clients/sessions.h"
#include "clients/streams.h"
#include "datapath.h"
#include "dtls_clients_world.h"

#define SMALL 8 // bytes of ChannelData

static struct datagram joined; // of records that the client has sent

static void open_world(void **state)
{
	clients_world_open(*state);
	client_place("10.99.0.20", world.dtls + 2);
	handshake_all();
	allocate(0);
	settle(4);
	joined.len = 0;
}

// Appends the records that the client has sealed to the datagram.
static void join(void)
{
	struct datagram d;

	while (wire_take(&end[0].out, &d)) {
		assert_true(joined.len + d.len <= sizeof(joined.data));
		memcpy(joined.data + joined.len, d.data, d.len);
		joined.len = (uint16_t)(joined.len + d.len);
	}
}

static void join_data(uint8_t mark)
{
	const uint8_t data[SMALL] = {CLIENT_CHANNEL >> 8, 0, 0, 4, 'd', 'a', 't', mark};

	assert_int_equal(SSL_write(end[0].ssl, data, sizeof(data)), sizeof(data));
	join();
}

// Takes the datagrams that client i's peer received: n of them, numbered from first.
static void take_data(unsigned int first, unsigned int n)
{
	const struct endpoint peer = peer_of(0);
	struct world_datagram d;

	for (unsigned int i = 0; i < n; i++) {
		assert_true(world_take(&world, &peer, &d));
		assert_true(endpoint_eq(&d.src, &client[0].relay));
		assert_int_equal(d.len, 4);
		assert_int_equal(d.data[3], first + i);
	}
	assert_false(world_take(&world, &peer, &d));
}

// Each record is a message, bytes after the last record are ignored, and the datagram is not lost.
static void test_several(void **state)
{
	for (unsigned int n = 1; n <= 20; n++) {
		for (unsigned int behind = 0; behind <= 20; behind += 5) {
			uint64_t lost;

			open_world(state);
			lost = world_dropped(&world, DP_DROP_DTLS_RECORD);
			for (unsigned int i = 0; i < n; i++)
				join_data((uint8_t)i);
			memset(joined.data + joined.len, 0x17, behind);
			joined.len = (uint16_t)(joined.len + behind);
			client_sends(0, &joined);
			settle(3);
			take_data(0, n);
			assert_int_equal(world_dropped(&world, DP_DROP_DTLS_RECORD), lost);
			clients_world_close();
		}
	}
}

// A datagram without any usable record is a drop.
static void test_none(void **state)
{
	uint64_t lost;

	open_world(state);
	lost = world_dropped(&world, DP_DROP_DTLS_RECORD);
	join_data(0);
	client_sends(0, &joined);
	client_sends(0, &joined); // not twice
	settle(3);
	take_data(0, 1);
	assert_int_equal(world_dropped(&world, DP_DROP_DTLS_RECORD), lost + 1);
	clients_world_close();
}

// Three bursts' worth of messages in a few datagrams of one burst: each datagram gives one message,
// and all of them together SESSIONS_MORE more.
static void test_many(void **state)
{
	static const uint8_t last[] = {40, 60, 80};
	const struct endpoint peer = peer_of(0);
	struct world_datagram d;

	open_world(state);
	for (unsigned int n = 0; n < 5; n++) {
		joined.len = 0;
		for (unsigned int i = 0; i < 20; i++)
			join_data((uint8_t)(20 * n + i));
		client_sends(0, &joined);
	}
	settle(4);
	for (unsigned int i = 0; i < 2 + SESSIONS_MORE; i++) {
		assert_true(world_take(&world, &peer, &d));
		assert_int_equal(d.data[3], i);
	}
	for (unsigned int i = 0; i < sizeof(last); i++) {
		assert_true(world_take(&world, &peer, &d));
		assert_int_equal(d.data[3], last[i]);
	}
	assert_false(world_take(&world, &peer, &d));
	assert_int_equal(world_dropped(&world, DP_DROP_DTLS_MANY), 4);
	clients_world_close();
}

static uint64_t sum_rx(void)
{
	uint64_t n = 0;

	for (unsigned int i = 0; i < world.dp->nb_workers; i++)
		n += world.dp->worker[i]->live.dtls.rx;
	return n;
}

// A burst full of datagrams that are full of records, valid or forged, costs no more than two
// bursts of datagrams, and another client's message after them arrives.
static void test_flood(void **state)
{
	enum { GOOD, FORGED, KINDS };
	struct endpoint peer;
	struct world_datagram got;
	uint64_t before;

	for (unsigned int kind = 0; kind < KINDS; kind++) {
		open_world(state);
		client_place("10.99.0.20", world.dtls + 2);
		handshake_all();
		allocate(1);
		settle(4);
		peer = peer_of(1);
		before = sum_rx();
		for (unsigned int n = 0; n < DP_BURST - 1; n++) {
			joined.len = 0;
			for (unsigned int i = 0; i < 30; i++)
				join_data((uint8_t)i);
			for (unsigned int pos = 0; kind == FORGED && pos < joined.len;
				pos += joined.len / 30)
				joined.data[pos + joined.len / 30 - 1] ^= 1;
			client_sends(0, &joined);
		}
		assert_int_equal(SSL_write(end[1].ssl, "\x40\0\0\4last", 8), 8);
		step();
		settle(3);
		assert_true(sum_rx() - before <= DP_BURST + SESSIONS_MORE);
		// every datagram after the first is cut short
		assert_int_equal(world_dropped(&world, DP_DROP_DTLS_MANY), DP_BURST - 2);
		assert_true(world_take(&world, &peer, &got));
		assert_memory_equal(got.data, "last", 4);
		clients_world_close();
	}
}

// Data that came before close_notify is relayed, and close_notify is answered (RFC 5246 7.2.1).
static void test_last_words(void **state)
{
	open_world(state);
	assert_int_equal(sum_open(), 1);
	join_data(0);
	join_data(1);
	assert_int_equal(SSL_shutdown(end[0].ssl), 0);
	join();
	client_sends(0, &joined);
	settle(4);
	take_data(0, 2);
	assert_int_equal(SSL_shutdown(end[0].ssl), 1);
	assert_int_equal(sum_open(), 0);
	assert_int_equal(world_stats(&world).dtls.closed, 1);
	clients_world_close();
}

// The thread returns a datagram that reached it after the end of the handshake.
static void test_came_back(void **state)
{
	const struct endpoint *src = &client[0].endpoint;
	struct stream_message m;
	struct session *c = NULL;
	unsigned int home;

	open_world(state);
	for (home = 0; c == NULL; home++)
		c = sessions_find(world.dp->worker[home], &src->addr, src->port,
			(uint8_t)(world.dtls + 2), SESSION_OPEN);
	home--;
	for (unsigned int n = 1; n < 4; n++) {
		joined.len = 0;
		for (unsigned int i = 0; i < n; i++)
			join_data((uint8_t)i);
		assert_true(streams_ops.take(world.dp, 0, home, &m));
		memcpy(m.data, joined.data, joined.len);
		m.len = joined.len;
		m.kind = STREAM_BYTES;
		m.conn = sessions_conn(world.dp->worker[home], c);
		streams_ops.datagram(world.dp, 0, home, &m);
		settle(4);
		take_data(0, n);
	}
	clients_world_close();
}

static struct world_setup setups[] = {
	{.workers = 1, .rx_queues = 1, .tx_queues = 1, .dtls = true},
	{.workers = 3, .rx_queues = 1, .tx_queues = 3, .dtls = true},
};

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_CASE(test_several, setups, 0),
		WORLD_CASE(test_none, setups, 0),
		WORLD_CASE(test_none, setups, 1),
		WORLD_CASE(test_many, setups, 0),
		WORLD_CASE(test_many, setups, 1),
		WORLD_CASE(test_flood, setups, 0),
		WORLD_CASE(test_last_words, setups, 0),
		WORLD_CASE(test_last_words, setups, 1),
		WORLD_CASE(test_came_back, setups, 0),
		WORLD_CASE(test_came_back, setups, 1),
	};

	world_eal();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
