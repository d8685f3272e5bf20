// SPDX-License-Identifier: BSD-3-Clause
// Indications by the line of their allocation, which has a copy of a peer without a channel: the
// result equals the result by plan and by the trees, and usual indications, and no others, are
// relayed without a plan.
#include "bytes.h"
#include "datapath.h"
#include "line_world.h"

#include <stdlib.h>

#include <rte_malloc.h>

#define UNKNOWN_REQUIRED 0x7abc // not an attribute of any RFC we know
#define UNKNOWN_OPTIONAL 0xfabc
#define DATA_FRONT(is_v4) ((is_v4) ? 36u : 48u) // header, XOR-PEER-ADDRESS, DATA (RFC 8656 11.3)

// --- messages -----------------------------------------------------------------------------------

static struct stun_writer send_begin(struct world_datagram *d)
{
	struct stun_writer w;
	uint8_t tid[STUN_TID_LEN];

	test_rand_fill(&world.rand, tid, sizeof(tid));
	stun_begin(&w, d->data, sizeof(d->data), STUN_INDICATION, STUN_SEND, tid);
	return w;
}

// A Send indication of len random bytes.
static void put_send(struct world_datagram *d, const struct endpoint *target, uint16_t len)
{
	struct stun_writer w = send_begin(d);
	uint8_t data[1600];

	test_rand_fill(&world.rand, data, len);
	stun_put_xor_addr(&w, STUN_XOR_PEER_ADDRESS, target);
	stun_put(&w, STUN_DATA_ATTR, data, len);
	d->len = stun_end(&w);
	assert_int_not_equal(d->len, 0);
}

static struct world_datagram sent(unsigned int i, uint16_t len)
{
	struct world_datagram d = line_up(i);

	put_send(&d, &peer[i], len);
	return d;
}

static struct world_datagram answered(unsigned int i, uint16_t len)
{
	struct world_datagram d = line_down(i);

	d.len = len;
	test_rand_fill(&world.rand, d.data, len);
	return d;
}

// --- the world ----------------------------------------------------------------------------------

// Resolves the hosts, and notes their routes in the line.
static void settle(unsigned int i)
{
	for (unsigned int n = 0; n < 3; n++) {
		struct world_datagram d = sent(i, 8);

		world_send(&world, &d);
		d = answered(i, 8);
		world_send(&world, &d);
		world_run(&world);
	}
	world.nb_seen = 0;
}

static void open_permitted(const struct world_setup *s, unsigned int nb)
{
	line_open(s, 0);
	for (unsigned int i = 0; i < nb; i++) {
		line_client(i);
		assert_int_equal(client_permit(&world, &client[i], &peer[i]), 0);
		settle(i);
	}
}

static unsigned int port_of(const struct world_datagram *d)
{
	return world_port_of(&world, &d->dst.addr);
}

static struct line_outcome three_ways(unsigned int i, const struct world_datagram *d)
{
	uint8_t frame[2048] = {0};
	const size_t len = world_frame(&world, d, frame);

	return line_three_ways(&client[i], port_of(d), frame, len);
}

static bool same_family(unsigned int i)
{
	return addr_is_v4(&client[i].endpoint.addr) == addr_is_v4(&peer[i].addr);
}

static uint16_t headers(const struct world_datagram *d)
{
	return (addr_is_v4(&d->src.addr) ? NET_IP4_LEN : NET_IP6_LEN) + NET_UDP_LEN;
}

static bool copy_is_of(unsigned int i, const struct endpoint *e)
{
	const struct turn_line *l = line_of(&client[i]);

	return l->channel == 0 && l->until != 0 &&
		turn_line_good(l, (uint32_t)(world.ms / TURN_LINE_MS)) &&
		addr_eq(&l->end[1], &e->addr) && (uint16_t)l->mark[1] == e->port;
}

static bool odd(void)
{
	return test_rand_below(&world.rand, 8) == 0;
}

// --- Send indications of all kinds --------------------------------------------------------------

enum kind {
	USUAL,
	PADDING_SET, // padding with any value: RFC 8489 14 says to ignore it
	SWAPPED, // DATA first
	DONT_FRAGMENT,
	SOFTWARE,
	SOFTWARE_FIRST,
	FINGERPRINT,
	REQUIRED,
	OPTIONAL,
	TWO_PEERS, // the first one counts
	NO_DATA,
	OTHER_PORT, // on the same address, where a permission covers every port (RFC 8656 9)
	OTHER_ADDRESS,
	OTHER_FAMILY,
	COOKIE,
	TYPE, // another method or class
	MESSAGE_LEN,
	PEER_LEN,
	DATA_LEN,
	FAMILY_BYTE,
	RESERVED_BYTE, // of the address, ignored (RFC 8489 14.1)
	CUT,
	KINDS
};

static void put_raw(struct stun_writer *w, uint16_t type)
{
	stun_put_u32(w, STUN_SOFTWARE, 0x61626364);
	store_be16(w->buf + w->len - 8, type);
}

// Adds other attributes, or attributes in another order.
static void put_attributes(
	struct world_datagram *d, enum kind kind, struct endpoint target, size_t len)
{
	struct stun_writer w = send_begin(d);
	uint8_t data[1600];

	test_rand_fill(&world.rand, data, len);
	if (kind == SOFTWARE_FIRST)
		put_raw(&w, 0x8022);
	if (kind == SWAPPED)
		stun_put(&w, STUN_DATA_ATTR, data, len);
	stun_put_xor_addr(&w, STUN_XOR_PEER_ADDRESS, &target);
	target.port ^= 1;
	if (kind == TWO_PEERS)
		stun_put_xor_addr(&w, STUN_XOR_PEER_ADDRESS, &target);
	if (kind != SWAPPED && kind != NO_DATA)
		stun_put(&w, STUN_DATA_ATTR, data, len);
	if (kind == DONT_FRAGMENT)
		stun_put(&w, STUN_DONT_FRAGMENT, NULL, 0);
	else if (kind == SOFTWARE || kind == REQUIRED || kind == OPTIONAL)
		put_raw(&w,
			kind == SOFTWARE           ? 0x8022
				: kind == REQUIRED ? UNKNOWN_REQUIRED
						   : UNKNOWN_OPTIONAL);
	else if (kind == FINGERPRINT)
		stun_put_fingerprint(&w);
	d->len = stun_end(&w);
	assert_int_not_equal(d->len, 0);
}

// A usual indication in which a field is changed.
static void damage(struct world_datagram *d, enum kind kind, unsigned int front)
{
	const int delta = (int)test_rand_below(&world.rand, 17) - 8;

	switch (kind) {
	case COOKIE:
		d->data[4 + test_rand_below(&world.rand, 4)] ^=
			(uint8_t)(1 << test_rand_below(&world.rand, 8));
		break;
	case TYPE:
		d->data[test_rand_below(&world.rand, 2)] ^=
			(uint8_t)(1 << test_rand_below(&world.rand, 8));
		break;
	case MESSAGE_LEN:
		store_be16(d->data + 2, (uint16_t)(load_be16(d->data + 2) + delta));
		break;
	case PEER_LEN:
		store_be16(d->data + 22, (uint16_t)(load_be16(d->data + 22) + delta));
		break;
	case DATA_LEN:
		store_be16(d->data + front - 2, (uint16_t)(load_be16(d->data + front - 2) + delta));
		break;
	case FAMILY_BYTE:
		d->data[25] ^= (uint8_t)(1 + test_rand_below(&world.rand, 3));
		break;
	case RESERVED_BYTE:
		d->data[24] = 0xff;
		break;
	case CUT:
		d->len -= (uint16_t)test_rand_below(&world.rand, d->len);
		break;
	default:
		break;
	}
}

static struct endpoint other_than(unsigned int i, enum kind kind)
{
	struct endpoint changed = peer[i];

	if (kind == OTHER_PORT)
		changed.port ^= 1;
	else if (kind == OTHER_ADDRESS)
		changed.addr.b[15] ^= 1;
	else if (kind == OTHER_FAMILY)
		changed = world_endpoint(
			addr_is_v4(&peer[i].addr) ? "fd99::30" : "10.99.0.30", changed.port);
	return changed;
}

// True if a message has what RFC 8656 11.1 requires of a Send indication and nothing else, judged
// by its bytes alone.
static bool still_usual(const struct world_datagram *d, unsigned int front, size_t len)
{
	const uint16_t data_len = load_be16(d->data + front - 2);

	return load_be16(d->data) == 0x0016 && load_be16(d->data + 2) == d->len - 20 &&
		load_be32(d->data + 4) == STUN_COOKIE && load_be16(d->data + 22) == front - 28 &&
		d->data[25] == (front == 36 ? 1 : 2) &&
		d->len == front + ((len + 3) & ~(size_t)3) &&
		((data_len + 3u) & ~3u) == ((len + 3) & ~(size_t)3);
}

// Makes an indication; returns true if its bytes are usual.
static bool put_kind(struct world_datagram *d, unsigned int i, enum kind kind, uint16_t len)
{
	const struct endpoint target = other_than(i, kind);
	const unsigned int front = DATA_FRONT(addr_is_v4(&peer[i].addr));

	if (kind >= SWAPPED && kind <= NO_DATA) {
		put_attributes(d, kind, target, len);
		return false;
	}
	put_send(d, &target, len);
	if (kind == PADDING_SET)
		memset(d->data + front + len, 0xa5, d->len - front - len);
	damage(d, kind, front);
	return kind != OTHER_FAMILY && still_usual(d, front, len);
}

static void random_headers(struct world_datagram *d)
{
	d->tos = (uint8_t)test_rand(&world.rand);
	d->ttl = (uint8_t)(odd() ? 1 + test_rand_below(&world.rand, 2)
				 : 3 + test_rand_below(&world.rand, 253));
	d->df = test_rand_below(&world.rand, 2) != 0;
	d->no_checksum = odd() && addr_is_v4(&d->src.addr);
}

static const struct world_setup two_ports = {.workers = 1,
	.rx_queues = 1,
	.tx_queues = 1,
	.two_ports = true,
	.mtu = 560,
	.side_mtu = 600};

static uint16_t least_mtu(void)
{
	return RTE_MIN(world.ports[0].mtu, world.ports[1].mtu);
}

// True if a line may relay a frame with these headers and payload.
static bool plain(unsigned int i, const struct world_datagram *d)
{
	return d->ttl > 1 && !d->no_checksum && same_family(i) && d->len >= CHANNEL_HEADER_LEN &&
		headers(d) + d->len + CHANNEL_HEADER_LEN <= least_mtu();
}

static void receive_as(unsigned int n)
{
	line_rx.flags = n % 2 == 0 ? 0 : RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_GOOD;
}

static void test_send(void **state)
{
	unsigned int by_line = 0, dropped = 0;

	open_permitted(&two_ports, LINE_CLIENTS);
	for (unsigned int n = 0; n < 6000; n++) {
		const unsigned int i = test_rand_below(&world.rand, LINE_CLIENTS);
		const enum kind kind = odd() ? test_rand_below(&world.rand, KINDS) : n % 2;
		const struct endpoint target = other_than(i, kind);
		const unsigned int tail = odd() ? test_rand_below(&world.rand, 4) : 0;
		struct world_datagram d = line_up(i);
		uint8_t frame[2048] = {0};
		struct line_outcome o;
		size_t len;
		bool usual;

		random_headers(&d);
		usual = put_kind(
			&d, i, kind, line_random_len((uint16_t)(least_mtu() - 48 - 48 - 20)));
		usual = usual && tail == 0 && plain(i, &d) && copy_is_of(i, &target);
		len = world_frame(&world, &d, frame);
		receive_as(n);
		o = line_three_ways(&client[i], port_of(&d), frame, len + tail);
		if (o.by_line != usual)
			fail_msg("client %u, kind %d: by line %d", i, kind, o.by_line);
		by_line += o.by_line;
		dropped += o.len == 0;
	}
	assert_true(by_line > 1000);
	assert_true(dropped > 100);
	world_close(&world);
}

// --- Data indications ---------------------------------------------------------------------------

// The client must get (RFC 8656 11.3) one message of XOR-PEER-ADDRESS and DATA, padded with zeros.
static void check_data(struct line_outcome *o, const struct world_datagram *d)
{
	const uint8_t *m = frame_udp(o->frame) + NET_UDP_LEN;
	const uint16_t len = (uint16_t)(load_be16(m - 4) - NET_UDP_LEN);
	const unsigned int front = DATA_FRONT(addr_is_v4(&d->src.addr));
	const uint8_t zeros[4] = {0};
	struct endpoint sender;
	struct stun_msg msg;
	int family;

	assert_int_equal(stun_parse(m, len, &msg), 0);
	assert_int_equal(load_be16(m), 0x0017);
	assert_int_equal(len, front + ((d->len + 3) & ~3));
	assert_true(stun_decode_xor_addr(&msg, msg.off[STUN_XOR_PEER_ADDRESS],
		msg.alen[STUN_XOR_PEER_ADDRESS], &sender, &family));
	assert_true(endpoint_eq(&sender, &d->src));
	assert_int_equal(msg.alen[STUN_DATA_ATTR], d->len);
	assert_int_equal(msg.off[STUN_DATA_ATTR], front);
	assert_memory_equal(m + front, d->data, d->len);
	assert_memory_equal(m + front + d->len, zeros, len - front - d->len);
}

static void test_data(void **state)
{
	unsigned int by_line = 0;

	open_permitted(&two_ports, LINE_CLIENTS);
	for (unsigned int n = 0; n < 6000; n++) {
		const unsigned int i = test_rand_below(&world.rand, LINE_CLIENTS);
		const unsigned int tail = odd() ? test_rand_below(&world.rand, 4) : 0;
		const uint16_t most = (uint16_t)(world.ports[0].mtu -
			headers(&(struct world_datagram){.src = peer[i]}));
		struct world_datagram d =
			answered(i, line_random_len((uint16_t)(most - (n % 2 == 0 ? 48 : 0))));
		const uint16_t pad = -d.len & 3;
		uint8_t frame[2048] = {0};
		struct line_outcome o;
		size_t len;
		bool usual;

		random_headers(&d);
		d.src.port ^= odd(); // another one that is permitted
		d.src.addr.b[15] ^= odd(); // and one that is not permitted
		usual = tail == 0 && plain(i, &d) && copy_is_of(i, &d.src) &&
			headers(&d) + d.len + STUN_DATA_FRONT_MAX + pad <= least_mtu();
		len = world_frame(&world, &d, frame);
		receive_as(n);
		o = line_three_ways(&client[i], 0, frame, len + tail);
		assert_int_equal(o.by_line, usual);
		if (o.len != 0)
			check_data(&o, &d);
		by_line += o.by_line;
	}
	assert_true(by_line > 1000);
	world_close(&world);
}

// Every possible length: each path drops for the MTU from the same byte on. The padding counts.
static void test_data_lengths(void **state)
{
	const uint16_t mtu = *(const uint16_t *)*state;
	const struct world_setup s = {
		.workers = 1, .rx_queues = 1, .tx_queues = 1, .mtu = mtu, .side_mtu = 600};

	open_permitted(&s, 2);
	for (unsigned int i = 0; i < 2; i++) {
		for (uint16_t len = 0; len <= mtu - (i == 0 ? 28 : 48); len++) {
			struct world_datagram d = answered(i, len);
			const unsigned int need =
				headers(&d) + DATA_FRONT(i == 0) + ((len + 3u) & ~3u);
			struct line_outcome o;

			d.df = true;
			o = three_ways(i, &d);
			assert_int_equal(o.len, need <= mtu ? need + NET_ETH_LEN : 0);
			if (o.len == 0)
				assert_int_equal(o.reason, DP_DROP_MTU);
			if (len >= CHANNEL_HEADER_LEN && need + (i == 0 ? 12 : 0) <= mtu)
				assert_true(o.by_line);
		}
	}
	world_close(&world);
}

// Little room before the frame or after it.
static void test_data_room(void **state)
{
	unsigned int fits = 0;
	uint16_t room;

	open_permitted(&line_one, 2);
	room = dp_data_room(&world.conf);
	for (unsigned int i = 0; i < 2; i++) {
		for (uint16_t n = 0; n < 72; n++) {
			struct world_datagram d = answered(i, (uint16_t)(100 + n % 4));
			struct line_outcome o;

			line_rx.headroom = n;
			o = three_ways(i, &d);
			// IPv4 and IPv6 alike: the old and the new headers are equally long
			assert_int_equal(o.len != 0, n >= DATA_FRONT(i == 0));
			assert_int_equal(o.by_line, n >= STUN_DATA_FRONT_MAX);
			fits += o.len != 0;
		}
		for (uint16_t n = 0; n < 8; n++) {
			struct world_datagram d = answered(i, (uint16_t)(100 + n % 4));
			const uint16_t len = NET_ETH_LEN + headers(&d) + d.len;
			struct line_outcome o;

			line_rx.headroom = (uint16_t)(room - len - n / 4);
			o = three_ways(i, &d);
			assert_int_equal(o.len != 0, (-d.len & 3) <= n / 4);
			assert_int_equal(o.by_line, o.len != 0);
			if (o.len == 0)
				assert_int_equal(o.reason, DP_DROP_HEADROOM);
		}
	}
	assert_int_equal(fits, 72 - 36 + 72 - 48);
	world_close(&world);
}

static int tid_cmp(const void *a, const void *b)
{
	return memcmp(a, b, STUN_TID_LEN);
}

// No transaction id is used twice.
static void test_transaction_ids(void **state)
{
	static uint8_t seen[4096][STUN_TID_LEN];

	open_permitted(&line_one, 2);
	for (unsigned int n = 0; n < RTE_DIM(seen); n++) {
		struct world_datagram d = answered(n % 2, 20);
		uint8_t frame[2048];
		const size_t len = world_frame(&world, &d, frame);
		struct line_outcome o =
			line_pass((enum line_way)(n / 2 % 3), &client[n % 2], 0, frame, len);

		assert_int_not_equal(o.len, 0);
		memcpy(seen[n], frame_udp(o.frame) + NET_UDP_LEN + 8, STUN_TID_LEN);
	}
	qsort(seen, RTE_DIM(seen), STUN_TID_LEN, tid_cmp);
	for (unsigned int n = 1; n < RTE_DIM(seen); n++)
		assert_memory_not_equal(seen[n - 1], seen[n], STUN_TID_LEN);
	world_close(&world);
}

// --- damage -------------------------------------------------------------------------------------

// One bit of a usual frame is wrong, with the checksums corrected or not.
static void test_damage(void **state)
{
	open_permitted(&line_one, 4);
	for (unsigned int n = 0; n < 6000; n++) {
		const unsigned int i = test_rand_below(&world.rand, 4);
		const uint16_t size = (uint16_t)test_rand_below(&world.rand, 40);
		struct world_datagram d = n % 2 == 0 ? sent(i, size) : answered(i, size);
		uint8_t frame[2048] = {0};
		uint32_t pos;
		size_t len;

		d.df = true;
		len = world_frame(&world, &d, frame);
		do
			pos = test_rand_below(&world.rand, (uint32_t)len);
		while (pos >= 6 && pos < 12); // the source MAC, which lines do not check
		frame[pos] ^= (uint8_t)(1 << test_rand_below(&world.rand, 8));
		if (n % 4 < 2 && load_be16(frame_udp(frame) + 4) < 1500)
			frame_set_checksums(frame);
		line_three_ways(&client[i], 0, frame, len);
	}
	world_close(&world);
}

// --- checksums that come out as zero ------------------------------------------------------------

// Saves the shard's state to return to, so that an indication gets the same transaction id again.
static void *keep_shard(size_t *size)
{
	void *copy;

	assert_int_equal(rte_malloc_validate(line_worker()->shard_mem, size), 0);
	copy = malloc(*size);
	assert_non_null(copy);
	memcpy(copy, line_worker()->shard_mem, *size);
	return copy;
}

static struct line_outcome again(
	const void *kept, size_t size, unsigned int i, const uint8_t *frame, size_t len)
{
	struct line_outcome o;

	memcpy(line_worker()->shard_mem, kept, size);
	o = line_pass(LINE_BY_LINE, &client[i], 0, frame, len);
	assert_true(o.by_line);
	return o;
}

// Chooses data bytes, and with IPv4 the identification, so that the relayed frame must have the
// checksums 0: 0xffff in UDP (RFC 768), 0 in IPv4 (RFC 1624 section 3). data_off: offset of the
// data in the frame.
static void zero_checksums(unsigned int i, struct world_datagram *d, size_t data_off)
{
	const bool is_v4 = addr_is_v4(&d->src.addr);
	uint8_t frame[2048] = {0};
	struct line_outcome o;
	size_t len, size;
	void *kept = keep_shard(&size);

	d->df = true;
	store_be16(d->data + data_off, 0);
	data_off += headers(d) + NET_ETH_LEN;
	len = world_frame(&world, d, frame);
	if (is_v4)
		store_be16(frame + 18, 0);
	frame_set_checksums(frame);
	o = again(kept, size, i, frame, len);
	store_be16(frame + data_off, load_be16(frame_udp(o.frame) + 6));
	if (is_v4)
		store_be16(frame + 18, load_be16(o.frame + 24));
	frame_set_checksums(frame);
	o = again(kept, size, i, frame, len);
	frame_check(o.frame);
	assert_int_equal(load_be16(frame_udp(o.frame) + 6), 0xffff);
	if (is_v4)
		assert_int_equal(load_be16(o.frame + 24), 0);
	free(kept);
}

static void test_zero_checksums(void **state)
{
	open_permitted(&line_one, 2);
	for (unsigned int n = 0; n < 20; n++) {
		for (unsigned int i = 0; i < 2; i++) {
			const uint16_t size = (uint16_t)(4 + test_rand_below(&world.rand, 100));
			struct world_datagram d = sent(i, size);

			zero_checksums(i, &d, DATA_FRONT(i == 0));
			d = answered(i, size);
			zero_checksums(i, &d, 0);
		}
	}
	world_close(&world);
}

// A checksum that is wrong, and not verified because the port is trusted, stays wrong by the same
// difference, so the receiver finds the damage.
static void test_wrong_checksum(void **state)
{
	open_permitted(&line_one, 2);
	receive_as(1);
	for (unsigned int n = 0; n < 400; n++) {
		const unsigned int i = n % 2;
		struct world_datagram d = n % 4 < 2 ? sent(i, 50) : answered(i, 50);
		uint8_t frame[2048] = {0};
		const size_t len = world_frame(&world, &d, frame);
		uint8_t *data = frame + len - (n % 4 < 2 ? 4 : 2); // within the 50, even
		struct line_outcome o;
		uint32_t was, relayed_diff;

		data[0] ^= (uint8_t)(1 + test_rand_below(&world.rand, 255));
		was = (uint32_t)load_be16(frame_udp(frame) + 6) +
			(uint16_t)~frame_udp_checksum(frame);
		o = line_pass(LINE_BY_LINE, &client[i], 0, frame, len);
		assert_true(o.by_line);
		relayed_diff = (uint32_t)load_be16(frame_udp(o.frame) + 6) +
			(uint16_t)~frame_udp_checksum(o.frame);
		assert_int_equal(relayed_diff % 0xffff, was % 0xffff);
		assert_int_not_equal(relayed_diff % 0xffff, 0);
	}
	world_close(&world);
}

static uint16_t mtus[] = {560, 561, 562, 563};

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_send),
		cmocka_unit_test(test_data),
		cmocka_unit_test_prestate(test_data_lengths, &mtus[0]),
		cmocka_unit_test_prestate(test_data_lengths, &mtus[1]),
		cmocka_unit_test_prestate(test_data_lengths, &mtus[2]),
		cmocka_unit_test_prestate(test_data_lengths, &mtus[3]),
		cmocka_unit_test(test_data_room),
		cmocka_unit_test(test_transaction_ids),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_zero_checksums),
		cmocka_unit_test(test_wrong_checksum),
	};

	world_eal();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
