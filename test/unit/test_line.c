// SPDX-License-Identifier: BSD-3-Clause
// What a line vouches for and how it is relayed: each frame goes through three ways, by the line of
// its allocation, by the plan made of that line, and by the plan made of the trees behind it. All
// three have to give the same frame or the same drop, and the line's way has to be taken by just
// those datagrams that are usual. rewrite.c, the second way, has a reference in test_rewrite.
#include "line_world.h"

#include "bytes.h"

#define MARK 0x80 // in the source MAC of what relay_line writes

static uint8_t id_seen[65536]; // of frames without DF

// --- one frame, three ways ----------------------------------------------------------------------

enum way { BY_LINE, BY_PLAN, BY_TREES };

// What became of a frame: a frame again, or a reason.
struct outcome {
	size_t len; // 0 = dropped
	unsigned int reason;
	bool by_line;
	uint32_t counted; // by the line of the client
	uint8_t frame[2048];
};

static struct worker *first(void)
{
	return world.dp->worker[0];
}

static void mark_frames(void)
{
	for (unsigned int p = 0; p < world.dp->nb_ports; p++)
		for (unsigned int is_v4 = 0; is_v4 < 2; is_v4++)
			((uint8_t *)&first()->wire[p].tail[is_v4])[5] ^= MARK;
}

static struct turn_line *line_of(const struct world_client *c)
{
	const uint32_t n = turn_relay_slots(world.dp->map, 0);

	for (uint32_t i = 0; i < n; i++) {
		struct turn_line *l = &first()->lines[i];

		if (addr_eq(&l->end[0], &c->at.addr) && (uint16_t)l->mark[0] == c->at.port)
			return l;
	}
	fail_msg("no such allocation");
	return NULL;
}

static void round_now(void)
{
	worker_round(first(), world.dp->tsc_start + world.ms * world.dp->tsc_per_ms);
	stats_publish(first());
	world_balance(&world, 0);
}

// The only datagram sent. ARP and ND may be about.
static void take_frame(struct outcome *o)
{
	for (unsigned int p = 0; p < world.dp->nb_ports; p++) {
		struct port *port = world.dp->port[p].port;
		uint8_t frame[2048];
		size_t len;

		while ((len = softport_take(port, frame, sizeof(frame))) > 0) {
			if (frame[frame[12] == 0x08 ? 23 : 20] != 17)
				continue;
			assert_int_equal(o->len, 0);
			o->len = len;
			o->by_line = ((frame[11] ^ port->mac[5]) & MARK) != 0;
			memcpy(o->frame, frame, len);
			memcpy(o->frame + 6, port->mac, 6);
		}
	}
}

static struct outcome pass(
	const struct world_client *c, unsigned int port, const uint8_t *frame, size_t len)
{
	const struct turn_line *l = line_of(c);
	struct outcome o = {.counted = l->count[0] + l->count[1]};
	struct dp_stats before = world_stats(&world), after;

	mark_frames();
	world_inject(&world, port, frame, len);
	round_now();
	mark_frames(); // no longer
	take_frame(&o);
	after = world_stats(&world);
	o.counted = l->count[0] + l->count[1] - o.counted;
	for (unsigned int i = 0; i < DP_DROP_END && o.len == 0; i++)
		if (after.drop[i] != before.drop[i])
			o.reason = i;
	assert_int_equal(after.held, before.held);
	return o;
}

static struct outcome pass_by(enum way way, const struct world_client *c, unsigned int port,
	const uint8_t *frame, size_t len)
{
	struct turn_line *l = line_of(c);
	const uint16_t plain_max = first()->plain_max;
	const uint32_t until = l->until;
	struct outcome o;

	if (way != BY_LINE)
		first()->plain_max = 0;
	if (way == BY_TREES)
		l->until = 0;
	o = pass(c, port, frame, len);
	first()->plain_max = plain_max;
	if (l->until == 0)
		l->until = until;
	assert_false(way != BY_LINE && o.by_line);
	return o;
}

// --- the same whichever way ---------------------------------------------------------------------

static void check_checksums(uint8_t *frame)
{
	const bool is_v4 = frame[14] >> 4 == 4;

	if (is_v4)
		assert_int_equal(load_be16(frame + 24), frame_ip_checksum(frame));
	if (!is_v4 || load_be16(frame_udp(frame) + 6) != 0)
		assert_int_equal(load_be16(frame_udp(frame) + 6), frame_udp_checksum(frame));
}

// Transaction id of a Data indication, and what is made with it.
static void level_indication(uint8_t *udp)
{
	uint8_t *m = udp + NET_UDP_LEN;

	if (load_be16(m) != 0x0017 || load_be16(m + 4) != 0x2112)
		return;
	store_be16(udp + 6, 0);
	memset(m + 8, 0, STUN_TID_LEN);
	if (m[STUN_HEADER_LEN + 5] == 2)
		memset(m + STUN_HEADER_LEN + 12, 0, 12);
}

// Without what may differ: random ids.
static void level(struct outcome *o)
{
	if (o->len == 0)
		return;
	level_indication(frame_udp(o->frame));
	if (o->frame[14] >> 4 != 4)
		return;
	if ((o->frame[20] & 0x40) == 0) // RFC 6864: unique
		assert_int_equal(id_seen[load_be16(o->frame + 18)]++, 0);
	store_be16(o->frame + 18, 0);
	store_be16(o->frame + 24, 0);
}

static void assert_same(const struct outcome *a, const struct outcome *b)
{
	assert_int_equal(a->len, b->len);
	assert_int_equal(a->counted, b->counted);
	if (a->len == 0)
		assert_string_equal(dp_drop_name(a->reason), dp_drop_name(b->reason));
	else
		assert_memory_equal(a->frame, b->frame, a->len);
}

// Returns what the line's way made of it.
static struct outcome three_ways(
	const struct world_client *c, unsigned int port, const uint8_t *frame, size_t len)
{
	struct outcome o[3], result;

	for (unsigned int way = 0; way < 3; way++) {
		o[way] = pass_by((enum way)way, c, port, frame, len);
		if (o[way].len != 0)
			check_checksums(o[way].frame);
		if (way == BY_LINE)
			result = o[way];
		level(&o[way]);
	}
	assert_same(&o[BY_LINE], &o[BY_PLAN]);
	assert_same(&o[BY_LINE], &o[BY_TREES]);
	return result;
}

// --- any datagram -------------------------------------------------------------------------------

static unsigned int client_port(unsigned int i)
{
	return world_port_of(&world, &client[i].server.addr);
}

static bool same_family(unsigned int i)
{
	return addr_is_v4(&client[i].at.addr) == addr_is_v4(&peer[i].addr);
}

// A length: short ones, all around what fits, any.
static uint16_t random_len(uint16_t most)
{
	switch (test_rand_below(&world.rand, 3)) {
	case 0:
		return (uint16_t)test_rand_below(&world.rand, 9);
	case 1:
		return (uint16_t)(most - test_rand_below(&world.rand, 9));
	default:
		return (uint16_t)test_rand_below(&world.rand, most + 1u);
	}
}

// What may be unusual about a datagram, one time in eight each.
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

// Of a client (leg 0) or its peer. Returns whether its line should do.
static bool random_datagram(unsigned int i, unsigned int leg, struct world_datagram *d)
{
	const struct oddity o = {odd(), odd(), odd(), odd(), odd()};
	const bool is_v4 = addr_is_v4(leg == 0 ? &client[i].at.addr : &peer[i].addr);
	const uint16_t headers = (is_v4 ? NET_IP4_LEN : NET_IP6_LEN) + NET_UDP_LEN;
	const uint16_t mtu = leg == 0 ? world.ports[client_port(i)].mtu : world.ports[0].mtu;
	const uint16_t least = RTE_MIN(world.ports[0].mtu, world.ports[1].mtu);
	bool usual;

	*d = leg == 0 ? line_up(i) : line_down(i);
	random_headers(d);
	if (leg == 0) {
		line_data(d, random_len((uint16_t)(mtu - headers - 8)));
		d->len += o.data_padding ? 1 + test_rand_below(&world.rand, 3) : 0;
		d->len -= o.data_short && d->len > 0 ? 1 : 0;
		d->data[1] ^= o.other_channel;
		usual = !o.data_padding == !o.data_short && !o.other_channel;
		usual = usual && load_be16(d->data + 2) + CHANNEL_HEADER_LEN == d->len;
	} else {
		d->len = random_len((uint16_t)(mtu - headers));
		test_rand_fill(&world.rand, d->data, d->len);
		d->src.port ^= o.other_port;
		usual = d->len >= CHANNEL_HEADER_LEN && !o.other_port;
	}
	return usual && d->ttl > 1 && !d->no_checksum && same_family(i) &&
		headers + d->len + CHANNEL_HEADER_LEN <= least;
}

static void test_any(void **state)
{
	const struct world_setup s = {.workers = 1,
		.rx_queues = 1,
		.tx_queues = 1,
		.two_ports = true,
		.mtu = 600,
		.side_mtu = 560};
	unsigned int by_line = 0;

	line_open(&s, LINE_CLIENTS);
	memset(id_seen, 0, sizeof(id_seen));
	for (unsigned int n = 0; n < 6000; n++) {
		const unsigned int i = test_rand_below(&world.rand, LINE_CLIENTS);
		const unsigned int leg = test_rand_below(&world.rand, 2);
		const unsigned int tail = odd() ? test_rand_below(&world.rand, 4) : 0;
		struct world_datagram d;
		const bool usual = random_datagram(i, leg, &d) && tail == 0;
		uint8_t frame[2048] = {0};
		const size_t len = world_frame(&world, &d, frame);
		struct outcome o;

		o = three_ways(&client[i], leg == 0 ? client_port(i) : 0, frame, len + tail);
		// what needs a plan may be written in the same way
		assert_true(o.by_line || !usual);
		assert_int_equal(o.counted,
			o.reason == DP_DROP_MTU || o.reason == DP_DROP_TTL || o.len != 0);
		by_line += o.by_line;
	}
	assert_true(by_line > 1000);
	world_close(&world);
}

// --- checksums that come out as zero ------------------------------------------------------------

// The sender's last two bytes, and of IPv4 its identification, are chosen so that the relayed frame
// has to have the checksums 0: 0xffff in UDP (RFC 768), 0 in IPv4 (RFC 1624 section 3).
static void zero_checksums(unsigned int i, struct world_datagram *d, bool df)
{
	const unsigned int port = world_port_of(&world, &d->dst.addr);
	uint8_t frame[2048] = {0};
	struct outcome o;
	size_t len;

	d->df = df;
	store_be16(d->data + d->len - 2, 0);
	len = world_frame(&world, d, frame);
	if (addr_is_v4(&d->src.addr))
		store_be16(frame + 18, 0);
	frame_set_checksums(frame);
	o = pass_by(BY_LINE, &client[i], port, frame, len);
	assert_true(o.by_line);
	store_be16(frame + len - 2, load_be16(frame_udp(o.frame) + 6));
	if (addr_is_v4(&d->src.addr))
		store_be16(frame + 18, load_be16(o.frame + 24));
	frame_set_checksums(frame);
	o = pass_by(BY_LINE, &client[i], port, frame, len);
	assert_true(o.by_line);
	check_checksums(o.frame);
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

// The same of the checksum of an IPv4 header with an identification of ours.
static void test_zero_fresh(void **state)
{
	struct worker *w;
	unsigned int zeros = 0;

	line_open(&line_one, 1);
	w = first();
	for (unsigned int n = 0; n < 65536; n++) {
		struct world_datagram d = line_up(0);
		uint8_t frame[2048];
		struct outcome o;
		size_t len;

		line_data(&d, 8);
		len = world_frame(&world, &d, frame);
		if (n == 0) { // what the identification has to be
			const uint16_t next = w->ip_id;
			uint16_t sum;

			o = pass_by(BY_LINE, &client[0], 0, frame, len);
			store_be16(o.frame + 18, 0);
			sum = frame_ip_checksum(o.frame);
			w->ip_id = next;
			while (rewrite_ip_id(w) != sum)
				;
			w->ip_id--;
			continue;
		}
		o = pass_by(BY_LINE, &client[0], 0, frame, len);
		assert_true(o.by_line);
		check_checksums(o.frame);
		zeros += load_be16(o.frame + 24) == 0;
		break;
	}
	assert_int_equal(zeros, 1);
	world_close(&world);
}

// --- time ---------------------------------------------------------------------------------------

// Sends both ways every millisecond around the end of something. By line or not, nothing is
// relayed from the same millisecond on. Returns how many were relayed by the line.
static unsigned int watch_end(uint64_t from, uint64_t to)
{
	unsigned int by_line = 0, dropped_ones = 0;

	memset(id_seen, 0, sizeof(id_seen));
	world.ms = from;
	line_settle(0);
	for (; world.ms < to; world.ms++) {
		for (unsigned int leg = 0; leg < 2; leg++) {
			struct world_datagram d = leg == 0 ? line_up(0) : line_down(0);
			uint8_t frame[2048];
			struct outcome o;
			size_t len;

			line_data(&d, 20);
			len = world_frame(&world, &d, frame);
			o = three_ways(&client[0], 0, frame, len);
			assert_false(dropped_ones > 1 && o.len != 0);
			dropped_ones += o.len == 0;
			by_line += o.by_line;
		}
	}
	assert_true(by_line > 0);
	assert_true(dropped_ones > 100);
	return by_line;
}

static void test_permission_ends(void **state)
{
	uint64_t start;

	line_open(&line_one, 1);
	start = world.ms;
	world.ms += 200 * 1000;
	world_run(&world);
	line_settle(0); // asks the neighbours again
	// 300 s after the binding (RFC 8656 9), which was a few rounds before
	watch_end(start + 300 * 1000 - 300, start + 300 * 1000 + 100);
	assert_int_equal(client_permit(&world, &client[0], &peer[0]), 0);
	line_settle(0);
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
		client_begin(&world, &client[0], STUN_REFRESH);
		stun_put_u32(&client[0].w, STUN_LIFETIME, 3600);
		assert_int_equal(client_ask(&world, &client[0]), 0);
		assert_int_equal(client_permit(&world, &client[0], &peer[0]), 0);
		line_settle(0);
	}
	world.ms = start + 600 * 1000 + 1;
	world_run(&world); // asks for the gateways
	d = line_up(0);
	line_data(&d, 20);
	line_dropped(&d, unbound);
	// the permission is left: the peer's come as Data indications
	d = line_down(0);
	d.len = 20;
	world_send(&world, &d);
	world_run(&world);
	assert_true(world_take(&world, &client[0].at, &d));
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

// --- several channels ---------------------------------------------------------------------------

// Sends on a channel; asserts where it comes out, and says whether by the line.
static bool say(uint16_t channel, const struct endpoint *to)
{
	struct world_datagram d = line_up(0);
	uint8_t frame[2048];
	struct outcome o;
	struct endpoint at;
	bool vouches;
	size_t len;

	line_data(&d, 20);
	store_be16(d.data, channel);
	len = world_frame(&world, &d, frame);
	vouches = line_of(&client[0])->channel == __builtin_bswap16(channel);
	o = pass_by(BY_LINE, &client[0], 0, frame, len);
	assert_int_not_equal(o.len, 0);
	at = (struct endpoint){addr_from_v4(o.frame + 30), load_be16(frame_udp(o.frame) + 2)};
	assert_true(endpoint_eq(&at, to));
	assert_memory_equal(frame_udp(o.frame) + 8, d.data + 4, 20);
	assert_int_equal(o.counted, 1);
	return vouches;
}

// The line has one channel, takes over another when that is in use, and is never wrong.
static void test_takeover(void **state)
{
	const struct endpoint other = world_endpoint("10.99.0.40", 9000);
	unsigned int by_line = 0;
	struct world_datagram d, got;

	line_open(&line_one, 1);
	assert_int_equal(client_bind(&world, &client[0], LINE_CHANNEL + 1, &other), 0);
	d = line_up(0);
	line_data(&d, 4);
	store_be16(d.data, LINE_CHANNEL + 1);
	world_send(&world, &d);
	world_run(&world);
	assert_true(world_take(&world, &other, &got));
	for (unsigned int n = 0; n < 200; n++)
		by_line += say(LINE_CHANNEL + n % 2, n % 2 ? &other : &peer[0]);
	assert_true(by_line > 80 && by_line < 120);
	for (unsigned int n = 0; n < 40; n++)
		by_line = say(LINE_CHANNEL + 1, &other);
	assert_true(by_line);
	for (unsigned int n = 0; n < 40; n++)
		by_line = say(LINE_CHANNEL, &peer[0]);
	assert_true(by_line);
	world_close(&world);
}

// --- neighbours ---------------------------------------------------------------------------------

// Frames to the peer, and the MAC they have.
static struct outcome to_peer(void)
{
	struct world_datagram d = line_up(0);
	uint8_t frame[2048];
	size_t len;

	line_data(&d, 20);
	len = world_frame(&world, &d, frame);
	return pass_by(BY_LINE, &client[0], 0, frame, len);
}

static void peer_answers(const uint8_t mac[6])
{
	struct net_l2 l2 = {0};
	uint8_t frame[NET_ND_FRAME_MAX];

	memcpy(l2.dst, world.dp->port[0].port->mac, 6);
	memcpy(l2.src, mac, 6);
	world_inject(&world, 0, frame,
		net_write_answer(frame, &l2, &peer[0].addr, &world.addresses[0].addr));
	round_now();
}

// A neighbour that has moved, one that is silent, one that comes back: the line's note follows.
static void test_neighbour(void **state)
{
	const uint8_t moved[6] = {2, 0xcc, 1, 2, 3, 4};
	struct outcome o;

	line_open(&line_one, 1);
	world.deaf = true;
	assert_true(to_peer().by_line);
	for (unsigned int n = 0; n < 31 * 1000; n++)
		world_round(&world);
	o = to_peer(); // STALE: by plan, so that it is asked
	assert_false(o.by_line);
	assert_int_not_equal(o.len, 0);
	assert_true(to_peer().by_line); // PROBE
	world_round(&world); // asks
	peer_answers(moved);
	o = to_peer();
	assert_true(o.by_line);
	assert_memory_equal(o.frame, moved, 6);
	for (unsigned int n = 0; n < 31 * 1000; n++)
		world_round(&world);
	assert_int_not_equal(to_peer().len, 0);
	for (unsigned int n = 0; n < 4 * 1000; n++)
		world_round(&world);
	o = to_peer();
	assert_int_equal(o.len, 0);
	assert_int_equal(o.reason, DP_DROP_NEIGH_FAILED);
	world.deaf = false;
	for (unsigned int n = 0; n < 1100; n++)
		world_round(&world);
	line_settle(0);
	assert_true(to_peer().by_line);
	world_close(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_any),
		cmocka_unit_test(test_zero_checksums),
		cmocka_unit_test(test_zero_fresh),
		cmocka_unit_test(test_permission_ends),
		cmocka_unit_test(test_channel_ends),
		cmocka_unit_test(test_allocation_ends),
		cmocka_unit_test(test_takeover),
		cmocka_unit_test(test_neighbour),
	};

	world_eal();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
