// SPDX-License-Identifier: BSD-3-Clause
// listeners[].dscp: datagrams from and to clients of such a listener leave with its DSCP, on every
// path and with any number of workers, and with the ECN that they came with (RFC 8656 14).
// Datagrams of other clients keep their DSCP, even in the same burst.
#include "bytes.h"
#include "datapath.h"
#include "line_world.h"

#define PAIRS 4 // clients 0 to 3: every pair of families
#define EF 46
#define AF41 34
#define TOS_OF(dscp, tos) ((unsigned int)(dscp) << 2 | ((tos)&3))

// Listeners of the world: 0 is IPv4, 1 is IPv6, 2 is on the second port.
static const uint8_t dscp_of[2] = {EF, AF41};

static void with_dscp(struct dp_world *w)
{
	for (unsigned int i = 0; i < 2; i++)
		w->listeners[i].dscp = (uint8_t)(dscp_of[i] + 1);
}

static uint8_t dscp_of_client(unsigned int i)
{
	return dscp_of[addr_is_v4(&client[i].endpoint.addr) ? 0 : 1];
}

static bool same_family(unsigned int i)
{
	return addr_is_v4(&client[i].endpoint.addr) == addr_is_v4(&peer[i].addr);
}

static struct world_datagram datagram(unsigned int i, unsigned int leg)
{
	struct world_datagram d = leg == 0 ? line_up(i) : line_down(i);

	d.ttl = 64;
	if (leg == 0)
		line_data(&d, 20);
	else
		d.len = 20;
	return d;
}

static void put_send(struct world_datagram *d, unsigned int i)
{
	static const uint8_t tid[STUN_TID_LEN] = {7}, data[20] = {1, 2, 3};
	struct stun_writer w;

	stun_begin(&w, d->data, sizeof(d->data), STUN_INDICATION, STUN_SEND, tid);
	stun_put_xor_addr(&w, STUN_XOR_PEER_ADDRESS, &peer[i]);
	stun_put(&w, STUN_DATA_ATTR, data, sizeof(data));
	d->len = stun_end(&w);
}

static uint8_t class_of(const uint8_t *frame)
{
	return frame[14] >> 4 == 4 ? frame[15] : (uint8_t)(load_be16(frame + 14) >> 4);
}

// --- one frame ----------------------------------------------------------------------------------

// Tries every traffic class that a datagram may come with.
static void every_class(unsigned int i, struct world_datagram *d, enum line_way path)
{
	for (unsigned int tos = 0; tos < 256; tos++) {
		uint8_t frame[2048] = {0};
		struct line_outcome o;
		size_t len;

		d->tos = (uint8_t)tos;
		len = world_frame(&world, d, frame);
		if (frame[14] >> 4 == 6) // also a flow label, which is not passed on
			store_be16(frame + 16, 0xbcde);
		o = line_pass(path, &client[i], 0, frame, len);
		assert_int_not_equal(o.len, 0);
		frame_check(o.frame);
		assert_int_equal(class_of(o.frame), TOS_OF(dscp_of_client(i), tos));
		// marking is no reason to leave the line's path
		assert_int_equal(o.by_line, path == LINE_BY_LINE && same_family(i));
	}
}

static void test_channels(void **state)
{
	struct world_setup s = line_one;

	s.change = with_dscp;
	line_open(&s, PAIRS);
	for (unsigned int n = 0; n < PAIRS * 2 * 3; n++) {
		const unsigned int i = n % PAIRS, leg = n / PAIRS % 2;
		struct world_datagram d = datagram(i, leg);

		line_new_ids();
		every_class(i, &d, (enum line_way)(n / (2 * PAIRS)));
	}
	world_close(&world);
}

static void settle_indications(unsigned int i)
{
	for (unsigned int n = 0; n < 3; n++) {
		struct world_datagram up = line_up(i), down = datagram(i, 1);

		put_send(&up, i);
		world_send(&world, &up);
		world_send(&world, &down);
		world_run(&world);
	}
	world.nb_seen = 0;
}

static void test_indications(void **state)
{
	struct world_setup s = line_one;

	s.change = with_dscp;
	line_open(&s, 0);
	for (unsigned int i = 0; i < PAIRS; i++) {
		line_client(i);
		assert_int_equal(client_permit(&world, &client[i], &peer[i]), 0);
		settle_indications(i);
	}
	for (unsigned int n = 0; n < PAIRS * 2 * 3; n++) {
		const unsigned int i = n % PAIRS, leg = n / PAIRS % 2;
		struct world_datagram d = datagram(i, leg);

		if (leg == 0)
			put_send(&d, i);
		line_new_ids();
		every_class(i, &d, (enum line_way)(n / (2 * PAIRS)));
	}
	world_close(&world);
}

// --- bursts, workers, tags ----------------------------------------------------------------------

// Client 4 uses a listener without a DSCP: its datagrams keep theirs, among those of other clients.
static void expect_all(unsigned int tos)
{
	struct world_datagram got;

	for (unsigned int i = 0; i < LINE_CLIENTS; i++) {
		const unsigned int want = i < PAIRS ? TOS_OF(dscp_of_client(i), tos) : tos;

		assert_true(world_take(&world, &peer[i], &got));
		assert_int_equal(got.tos, want);
		assert_true(world_take(&world, &client[i].endpoint, &got));
		assert_int_equal(got.tos, want);
	}
	assert_int_equal(world.nb_seen, 0);
}

static void test_bursts(void **state)
{
	struct world_setup s = *(const struct world_setup *)*state;

	s.two_ports = true;
	s.side_mtu = 1500; // its hosts are on its own link
	s.change = with_dscp;
	line_open(&s, LINE_CLIENTS);
	for (unsigned int tos = 0; tos < 256; tos += 5) {
		for (unsigned int i = 0; i < LINE_CLIENTS; i++) {
			for (unsigned int leg = 0; leg < 2; leg++) {
				struct world_datagram d = datagram(i, leg);

				d.tos = (uint8_t)tos;
				d.no_checksum = tos % 2 == 0 && addr_is_v4(&d.src.addr);
				world_send(&world, &d);
			}
		}
		world_run(&world);
		expect_all(tos);
	}
	world_close(&world);
}

// --- datagrams that are not relayed -------------------------------------------------------------

static uint8_t class_of_answer(const char *address, unsigned int listener)
{
	const struct endpoint client_end = world_endpoint(address, 40100);
	static const uint8_t tid[STUN_TID_LEN] = {9};
	struct world_datagram d = {.src = client_end,
		.dst = world.listeners[listener].endpoint,
		.ttl = 64,
		.tos = 0xff};
	struct stun_writer w;
	struct world_datagram got;

	stun_begin(&w, d.data, sizeof(d.data), STUN_REQUEST, STUN_BINDING, tid);
	d.len = stun_end(&w);
	world_send(&world, &d);
	world_run(&world);
	assert_true(world_take(&world, &client_end, &got));
	return got.tos;
}

static void test_answers(void **state)
{
	struct world_setup s = line_one;

	s.two_ports = true;
	s.side_mtu = 1500; // its hosts are on its own link
	s.change = with_dscp;
	world_open(&world, &s);
	assert_int_equal(class_of_answer("10.99.0.50", 0), EF << 2);
	assert_int_equal(class_of_answer("fd99::50", 1), AF41 << 2);
	// a stranger does not choose the class of answers to their requests
	assert_int_equal(class_of_answer("10.98.0.50", 2), 0);
	world_close(&world);
}

// From relay to relay in process: each client gets the DSCP of its own listener.
static void test_hairpin(void **state)
{
	struct world_setup s = *(const struct world_setup *)*state;
	struct world_datagram d, got;

	s.two_ports = true;
	s.side_mtu = 1500; // its hosts are on its own link
	s.change = with_dscp;
	line_open(&s, 0);
	line_client(0); // EF
	line_client(4); // unchanged
	assert_int_equal(client_bind(&world, &client[0], LINE_CHANNEL, &client[4].relay), 0);
	assert_int_equal(client_bind(&world, &client[4], LINE_CHANNEL, &client[0].relay), 0);
	for (unsigned int n = 0; n < 4; n++) {
		d = datagram(4, 0);
		d.tos = 0x21; // ECT(1)
		world_send(&world, &d);
		world_run(&world);
		assert_true(world_take(&world, &client[0].endpoint, &got));
		assert_int_equal(got.tos, TOS_OF(EF, 1));
		d = datagram(0, 0);
		d.tos = 0x23; // CE
		world_send(&world, &d);
		world_run(&world);
		assert_true(world_take(&world, &client[4].endpoint, &got));
		assert_int_equal(got.tos, TOS_OF(EF, 3)); // as it left client 0's relay
		assert_int_equal(got.ttl, 62);
	}
	world_close(&world);
}

// Drops are the same as without a DSCP: datagrams to no allocation, empty ones, one byte.
static void test_dropped(void **state)
{
	struct world_setup s = line_one;

	s.change = with_dscp;
	line_open(&s, 2);
	for (unsigned int i = 0; i < 2; i++) {
		struct world_datagram d = datagram(i, 1);
		const struct dp_stats before = world_stats(&world);

		d.dst.port ^= 1; // no allocation's port
		world_send(&world, &d);
		for (uint16_t len = 0; len < 2; len++) {
			d = line_up(i);
			d.ttl = 64;
			d.len = len;
			world_send(&world, &d);
		}
		world_run(&world);
		assert_int_equal(world_stats(&world).tx, before.tx);
		assert_int_equal(world.nb_seen, 0);
	}
	world_close(&world);
}

static struct world_setup setups[] = {
	{.workers = 1, .rx_queues = 1, .tx_queues = 1},
	{.workers = 3, .rx_queues = 2, .tx_queues = 2},
	{.workers = 2, .rx_queues = 2, .tx_queues = 2, .nic = true},
	{.workers = 2, .rx_queues = 2, .tx_queues = 2, .vlan = 7},
	{.workers = 2, .rx_queues = 1, .tx_queues = 2, .shared = WORLD_SHARED(8)},
};

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_channels),
		cmocka_unit_test(test_indications),
		WORLD_CASE(test_bursts, setups, 0),
		WORLD_CASE(test_bursts, setups, 1),
		WORLD_CASE(test_bursts, setups, 2),
		WORLD_CASE(test_bursts, setups, 3),
		WORLD_CASE(test_bursts, setups, 4),
		cmocka_unit_test(test_answers),
		WORLD_CASE(test_hairpin, setups, 0),
		WORLD_CASE(test_hairpin, setups, 1),
		cmocka_unit_test(test_dropped),
	};

	world_eal();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
