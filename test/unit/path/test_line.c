// SPDX-License-Identifier: BSD-3-Clause
// Datagrams that a line vouches for, and how it relays them: each frame takes three paths, by the
// line of its allocation, by the plan made of that line, and by the plan made of the trees. All
// three must give the same frame or the same drop, and exactly the usual datagrams must take the
// line's path. For rewrite.c, the second path, test_rewrite has a reference.
#include "bytes.h"
#include "drop_of.h"
#include "line_world.h"
#include "path/rewrite.h"
#include "path/worker.h"

// --- any datagram -------------------------------------------------------------------------------

static unsigned int client_port(unsigned int i)
{
	return world_port_of(&world, &client[i].server.addr);
}

static bool same_family(unsigned int i)
{
	return addr_is_v4(&client[i].endpoint.addr) == addr_is_v4(&peer[i].addr);
}

// Unusual properties of a datagram, each with a probability of one in eight.
struct oddity {
	bool frame_padding, data_padding, data_short, other_channel, other_port;
};

static bool odd(void)
{
	return test_rand_below(&world.rand, 8) == 0;
}

static void random_headers(struct world_datagram *d)
{
	d->tos = (uint8_t)test_rand(&world.rand);
	d->ttl = (uint8_t)(odd() ? 1 + test_rand_below(&world.rand, 2) : test_rand(&world.rand));
	d->ttl = d->ttl != 0 ? d->ttl : 1;
	d->df = test_rand_below(&world.rand, 2) != 0;
	d->no_checksum = odd() && addr_is_v4(&d->src.addr);
}

// A datagram of a client (leg 0) or its peer. Returns true if its line should suffice.
static bool random_datagram(unsigned int i, unsigned int leg, struct world_datagram *d)
{
	const struct oddity o = {odd(), odd(), odd(), odd(), odd()};
	const bool is_v4 = addr_is_v4(leg == 0 ? &client[i].endpoint.addr : &peer[i].addr);
	const uint16_t headers = (is_v4 ? NET_IP4_LEN : NET_IP6_LEN) + NET_UDP_LEN;
	const uint16_t mtu = leg == 0 ? world.ports[client_port(i)].mtu : world.ports[0].mtu;
	const uint16_t least = RTE_MIN(world.ports[0].mtu, world.ports[1].mtu);
	bool usual;

	*d = leg == 0 ? line_up(i) : line_down(i);
	random_headers(d);
	if (leg == 0) {
		line_data(d, line_random_len((uint16_t)(mtu - headers - 8)));
		d->len += o.data_padding ? 1 + test_rand_below(&world.rand, 3) : 0;
		d->len -= o.data_short && d->len > 0 ? 1 : 0;
		d->data[1] ^= o.other_channel;
		usual = !o.data_padding == !o.data_short && !o.other_channel;
		usual = usual && load_be16(d->data + 2) + CHANNEL_HEADER_LEN == d->len;
	} else {
		d->len = line_random_len((uint16_t)(mtu - headers));
		test_rand_fill(&world.rand, d->data, d->len);
		d->src.port ^= o.other_port;
		usual = d->len >= CHANNEL_HEADER_LEN && !o.other_port;
	}
	return usual && d->ttl > 1 && !d->no_checksum && same_family(i) &&
		headers + d->len + CHANNEL_HEADER_LEN <= least;
}

// Sets a random IPv6 flow label, which is the sender's and must not be passed on (RFC 6437 section
// 2).
static void random_label(uint8_t *frame)
{
	if (frame[14] >> 4 != 6)
		return;
	frame[15] = (uint8_t)((frame[15] & 0xf0) | test_rand_below(&world.rand, 16));
	store_be16(frame + 16, (uint16_t)test_rand(&world.rand));
}

static void test_any(void **state)
{
	const struct world_setup s = {.workers = 1,
		.rx_queues = 1,
		.tx_queues = 1,
		.two_ports = true,
		.mtu = 560,
		.side_mtu = 600};
	unsigned int by_line = 0;

	line_open(&s, LINE_CLIENTS);
	line_new_ids();
	for (unsigned int n = 0; n < 6000; n++) {
		const unsigned int i = test_rand_below(&world.rand, LINE_CLIENTS);
		const unsigned int leg = test_rand_below(&world.rand, 2);
		const unsigned int tail = odd() ? test_rand_below(&world.rand, 4) : 0;
		struct world_datagram d;
		const bool usual = random_datagram(i, leg, &d) && tail == 0;
		uint8_t frame[2048] = {0};
		const size_t len = world_frame(&world, &d, frame);
		struct line_outcome o;

		random_label(frame);
		o = line_three_ways(&client[i], leg == 0 ? client_port(i) : 0, frame, len + tail);
		assert_int_equal(o.by_line, usual);
		assert_int_equal(o.counted, o.len != 0);
		by_line += o.by_line;
	}
	assert_true(by_line > 1000);
	world_close(&world);
}

// A frame with little headroom: there is no room for the header of ChannelData.
static void test_headroom(void **state)
{
	line_open(&line_one, 2);
	for (unsigned int i = 0; i < 2; i++) {
		for (uint16_t n = 0; n < 8; n++) {
			struct world_datagram d = line_down(i);
			uint8_t frame[2048] = {0};
			struct line_outcome o;
			size_t len;

			d.len = 20;
			d.df = true;
			line_rx.headroom = n;
			len = world_frame(&world, &d, frame);
			o = line_three_ways(&client[i], 0, frame, len);
			assert_int_equal(o.by_line, n >= CHANNEL_HEADER_LEN);
			if (n < CHANNEL_HEADER_LEN)
				assert_int_equal(o.reason, DP_DROP_HEADROOM);
			d = line_up(i);
			line_data(&d, 20);
			len = world_frame(&world, &d, frame);
			assert_true(line_three_ways(&client[i], 0, frame, len).by_line);
		}
	}
	world_close(&world);
}

// --- damage -------------------------------------------------------------------------------------

// One bit of a usual frame is wrong, with the checksums corrected or not. The source MAC is left
// alone: lines do not check it.
static void test_damage(void **state)
{
	line_open(&line_one, 4);
	line_new_ids();
	for (unsigned int n = 0; n < 6000; n++) {
		const unsigned int i = test_rand_below(&world.rand, 4);
		struct world_datagram d = n % 2 == 0 ? line_up(i) : line_down(i);
		uint8_t frame[2048] = {0};
		uint32_t pos;
		size_t len;

		line_data(&d, (uint16_t)test_rand_below(&world.rand, 40));
		d.df = true;
		len = world_frame(&world, &d, frame);
		do
			pos = test_rand_below(&world.rand, (uint32_t)len);
		while (pos >= 6 && pos < 12);
		frame[pos] ^= (uint8_t)(1 << test_rand_below(&world.rand, 8));
		if (n % 4 < 2 && load_be16(frame_udp(frame) + 4) < 1500)
			frame_set_checksums(frame);
		line_three_ways(&client[i], 0, frame, len);
	}
	world_close(&world);
}

// --- checksums that come out as zero ------------------------------------------------------------

// Chooses the sender's last two bytes, and with IPv4 its identification, so that the relayed frame
// must have the checksums 0: 0xffff in UDP (RFC 768), 0 in IPv4 (RFC 1624 section 3).
static void zero_checksums(unsigned int i, struct world_datagram *d, bool df)
{
	const unsigned int port = world_port_of(&world, &d->dst.addr);
	uint8_t frame[2048] = {0};
	struct line_outcome o;
	size_t len;

	d->df = df;
	store_be16(d->data + d->len - 2, 0);
	len = world_frame(&world, d, frame);
	if (addr_is_v4(&d->src.addr))
		store_be16(frame + 18, 0);
	frame_set_checksums(frame);
	o = line_pass(LINE_BY_LINE, &client[i], port, frame, len);
	assert_true(o.by_line);
	store_be16(frame + len - 2, load_be16(frame_udp(o.frame) + 6));
	if (addr_is_v4(&d->src.addr))
		store_be16(frame + 18, load_be16(o.frame + 24));
	frame_set_checksums(frame);
	o = line_pass(LINE_BY_LINE, &client[i], port, frame, len);
	assert_true(o.by_line);
	frame_check(o.frame);
	assert_int_equal(load_be16(frame_udp(o.frame) + 6), 0xffff);
	if (addr_is_v4(&d->src.addr) && df)
		assert_int_equal(load_be16(o.frame + 24), 0);
}

static void test_zero_checksums(void **state)
{
	line_open(&line_one, 2);
	for (unsigned int n = 0; n < 50; n++) {
		for (unsigned int i = 0; i < 2; i++) {
			struct world_datagram d = line_up(i);

			line_data(&d, (uint16_t)(2 + 2 * test_rand_below(&world.rand, 100)));
			zero_checksums(i, &d, n % 2 == 0);
			d = line_down(i);
			d.len = (uint16_t)(4 + 2 * test_rand_below(&world.rand, 100));
			test_rand_fill(&world.rand, d.data, d.len);
			zero_checksums(i, &d, n % 2 == 0);
		}
	}
	world_close(&world);
}

// The checksum of an IPv4 header with an identification that we choose comes out as zero, too.
static void test_zero_fresh(void **state)
{
	struct worker *w;
	unsigned int zeros = 0;

	line_open(&line_one, 1);
	w = line_worker();
	for (unsigned int n = 0; n < 65536; n++) {
		struct world_datagram d = line_up(0);
		uint8_t frame[2048];
		struct line_outcome o;
		size_t len;

		line_data(&d, 8);
		len = world_frame(&world, &d, frame);
		if (n == 0) { // the identification that makes it zero
			const uint16_t next = w->ip_id;
			uint16_t sum;

			o = line_pass(LINE_BY_LINE, &client[0], 0, frame, len);
			store_be16(o.frame + 18, 0);
			sum = frame_ip_checksum(o.frame);
			w->ip_id = next;
			while (rewrite_ip_id(w) != sum)
				;
			w->ip_id--;
			continue;
		}
		o = line_pass(LINE_BY_LINE, &client[0], 0, frame, len);
		assert_true(o.by_line);
		frame_check(o.frame);
		zeros += load_be16(o.frame + 24) == 0;
		break;
	}
	assert_int_equal(zeros, 1);
	world_close(&world);
}

// --- time ---------------------------------------------------------------------------------------

// Sends in both directions every millisecond around an expiry. With the line and without it,
// relaying stops in the same millisecond. Returns how many datagrams the line relayed.
static unsigned int watch_end(uint64_t begin_ms, uint64_t end_ms)
{
	unsigned int by_line = 0, dropped_ones = 0;

	line_new_ids();
	world.ms = begin_ms;
	line_settle(0);
	for (; world.ms < end_ms; world.ms++) {
		for (unsigned int leg = 0; leg < 2; leg++) {
			struct world_datagram d = leg == 0 ? line_up(0) : line_down(0);
			uint8_t frame[2048];
			struct line_outcome o;
			size_t len;

			line_data(&d, 20);
			len = world_frame(&world, &d, frame);
			o = line_three_ways(&client[0], 0, frame, len);
			assert_false(dropped_ones > 1 && o.len != 0);
			dropped_ones += o.len == 0;
			by_line += o.by_line;
		}
	}
	assert_true(by_line > 0);
	assert_true(dropped_ones > 100);
	return by_line;
}

static void refresh(void)
{
	client_begin(&world, &client[0], STUN_REFRESH);
	stun_put_u32(&client[0].w, STUN_LIFETIME, 3600);
	assert_int_equal(client_ask(&world, &client[0]), 0);
}

static void test_permission_ends(void **state)
{
	uint64_t start;

	line_open(&line_one, 1);
	start = world.ms;
	refresh();
	for (unsigned int n = 1; n <= 2; n++) {
		world.ms = start + n * 250 * 1000;
		world_run(&world);
		line_settle(0); // resolves the neighbours again
	}
	// 600 s after the binding (RFC 8656 12), which was made a few rounds earlier
	watch_end(start + 600 * 1000 - 300, start + 600 * 1000 + 100);
	assert_int_equal(client_bind(&world, &client[0], LINE_CHANNEL, &peer[0]), 0);
	line_settle(0);
	world_close(&world);
}

// With a renewed channel and permission the line goes on where the first ones would have expired.
static void test_permission_renewed(void **state)
{
	uint64_t start;

	line_open(&line_one, 1);
	start = world.ms;
	refresh();
	world.ms += 500 * 1000;
	assert_int_equal(client_bind(&world, &client[0], LINE_CHANNEL, &peer[0]), 0);
	world.ms = start + 610 * 1000;
	line_settle(0); // resolves the neighbours again
	for (unsigned int leg = 0; leg < 2; leg++) {
		struct world_datagram d = leg == 0 ? line_up(0) : line_down(0);
		uint8_t frame[2048];
		size_t len;

		line_data(&d, 20);
		len = world_frame(&world, &d, frame);
		assert_true(line_three_ways(&client[0], 0, frame, len).by_line);
	}
	world_close(&world);
}

static void test_channel_ends(void **state)
{
	const unsigned int unbound = drop_of_turn(TURN_DROP_CHANNEL_UNBOUND);
	uint64_t start;
	struct world_datagram d;

	line_open(&line_one, 1);
	start = world.ms;
	for (unsigned int n = 1; n <= 3; n++) {
		world.ms = start + n * 190 * 1000;
		refresh();
		assert_int_equal(client_permit(&world, &client[0], &peer[0]), 0);
		line_settle(0);
	}
	world.ms = start + 600 * 1000 + 1;
	world_run(&world); // resolves the gateways
	d = line_up(0);
	line_data(&d, 20);
	line_dropped(&d, unbound);
	// the permission remains: the peer's datagrams come as Data indications
	d = line_down(0);
	d.len = 20;
	world_send(&world, &d);
	world_run(&world);
	assert_true(world_take(&world, &client[0].endpoint, &d));
	assert_int_equal(d.len, 20 + 36);
	world_close(&world);
}

static void test_allocation_ends(void **state)
{
	uint64_t start;

	line_open(&line_one, 1);
	start = world.ms;
	for (unsigned int n = 1; n <= 3; n++) {
		world.ms = start + n * 190 * 1000;
		assert_int_equal(client_bind(&world, &client[0], LINE_CHANNEL, &peer[0]), 0);
		line_settle(0);
	}
	watch_end(start + 600 * 1000 - 300, start + 600 * 1000 + 100);
	world_close(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_any),
		cmocka_unit_test(test_headroom),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_zero_checksums),
		cmocka_unit_test(test_zero_fresh),
		cmocka_unit_test(test_permission_ends),
		cmocka_unit_test(test_permission_renewed),
		cmocka_unit_test(test_channel_ends),
		cmocka_unit_test(test_allocation_ends),
	};

	world_eal();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
