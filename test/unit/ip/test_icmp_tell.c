// SPDX-License-Identifier: BSD-3-Clause
// Which clients are notified of ICMP errors (icmp.tell), for every transport, and the effects that
// an error has in any case.
#include "bytes.h"
#include "datapath.h"
#include "drop_of.h"
#include "dtls_clients_world.h"
#include "icmp_frames.h"

#define NARROW 1400

enum door { UDP, STREAM, DTLS };

static const struct row {
	enum turn_icmp_tell tell;
	bool knows; // the client sends PASSWORD-ALGORITHMS back
	bool told;
} rows[] = {
	{TURN_ICMP_TELL_RFC8489, false, false},
	{TURN_ICMP_TELL_RFC8489, true, true},
	{TURN_ICMP_TELL_ALL, false, true},
	{TURN_ICMP_TELL_ALL, true, true},
	{TURN_ICMP_TELL_NONE, false, false},
	{TURN_ICMP_TELL_NONE, true, false},
};

static const struct row *row;

static void change(struct dp_world *w)
{
	w->conf.turn.icmp_tell = (uint8_t)row->tell;
}

static struct world_setup setups[] = {
	[UDP] = {.workers = 2, .rx_queues = 2, .tx_queues = 2, .change = change},
	[STREAM] = {.workers = 2,
		.rx_queues = 2,
		.tx_queues = 2,
		.stream_ring = 256,
		.change = change},
	[DTLS] = {.workers = 2, .rx_queues = 2, .tx_queues = 2, .dtls = true, .change = change},
};

// Opens a world with one client that has a channel to peer_of(0).
static void open_door(enum door door)
{
	const struct endpoint peer = peer_of(0);
	struct world_client *c = &client[0];

	if (door == DTLS) {
		clients_world_open(&setups[door]);
		on_the_wire = client_sends;
		client_place("10.99.0.20", world.dtls + 2);
		c->rfc8489 = row->knows;
		handshake_all();
		allocate(0);
		return;
	}
	world_open(&world, &setups[door]);
	if (door == STREAM)
		world_stream_client(&world, c, "10.99.0.20", 5000);
	else
		world_client(&world, c, "10.99.0.20", 5000);
	c->rfc8489 = row->knows;
	assert_int_equal(client_allocate(&world, c, 4), 0);
	assert_int_equal(client_bind(&world, c, CLIENT_CHANNEL, &peer), 0);
}

// Takes the client's message, if there is one. Returns its length.
static size_t take(enum door door, uint8_t message[2048])
{
	struct world_datagram got;
	int n;

	if (door == DTLS) {
		settle(4);
		n = SSL_read(end[0].ssl, message, 2048);
		return n > 0 ? (size_t)n : 0;
	}
	world_run(&world);
	if (!world_take(&world, &client[0].endpoint, &got))
		return 0;
	memcpy(message, got.data, got.len);
	return got.len;
}

static void one_row(enum door door)
{
	struct icmp_frame e = {
		.reporter = "203.0.113.77", .type = 3, .code = 4, .mtu = NARROW, .len = 1500};
	uint8_t message[2048];
	struct stun_msg m;
	uint64_t drops;
	size_t len;

	open_door(door);
	drops = world_drops(&world);
	e.src = client[0].relay;
	e.dst = peer_of(0);
	icmp_frame_send(&world, &e);
	len = take(door, message);
	assert_int_equal(len > 0, row->told);
	if (row->told) {
		assert_int_equal(stun_parse(message, len, &m), 0);
		assert_int_equal(m.method, STUN_DATA);
		assert_true(stun_has(&m, STUN_ICMP));
	}
	assert_int_equal(
		world_dropped(&world, drop_of_turn(TURN_DROP_ICMP_UNTOLD)), row->told ? 0 : 1);
	assert_int_equal(world_drops(&world), drops + (row->told ? 0 : 1));
	assert_int_equal(world_stats(&world).path_mtus, 1); // the path MTU is learnt in any case
	if (door == DTLS)
		clients_world_close();
	else
		world_close(&world);
}

static void every_row(enum door door)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		row = &rows[i];
		one_row(door);
	}
}

static void over_udp(void **state)
{
	every_row(UDP);
}

static void over_a_stream(void **state)
{
	every_row(STREAM);
}

static void over_dtls(void **state)
{
	every_row(DTLS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(over_udp),
		cmocka_unit_test(over_a_stream),
		cmocka_unit_test(over_dtls),
	};

	world_eal();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
