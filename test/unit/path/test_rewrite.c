// SPDX-License-Identifier: BSD-3-Clause
// rewrite_frame against a reference that builds the outgoing frame from scratch, with every
// checksum computed in full: byte for byte equal for every pair of families, front, length and
// padding.
#include "bytes.h"
#include "drop_of.h"
#include "path/rewrite.h"
#include "slow_sum.h"
#include "test.h"
#include "test_rand.h"
#include "path/worker.h"

#define BUF_LEN 2304
#define HEADROOM 128

// --- the reference ------------------------------------------------------------------------------

// Everything that makes up a frame.
struct content {
	struct endpoint src, dst;
	uint16_t vlan, id;
	uint8_t tos, ttl;
	bool df, no_checksum;
	const uint8_t *payload;
	uint16_t len;
};

static size_t write_ip(uint8_t *p, const struct content *c, uint16_t udp_len)
{
	memset(p, 0, 40);
	if (addr_is_v4(&c->src.addr)) {
		p[0] = 0x45;
		p[1] = c->tos;
		store_be16(p + 2, (uint16_t)(20 + udp_len));
		store_be16(p + 4, c->id);
		p[6] = c->df ? 0x40 : 0;
		p[8] = c->ttl;
		p[9] = 17;
		memcpy(p + 12, c->src.addr.b + 12, 4);
		memcpy(p + 16, c->dst.addr.b + 12, 4);
		store_be16(p + 10, (uint16_t)~slow_sum(0, p, 20));
		return 20;
	}
	p[0] = (uint8_t)(0x60 | c->tos >> 4);
	p[1] = (uint8_t)(c->tos << 4);
	store_be16(p + 4, udp_len);
	p[6] = 17;
	p[7] = c->ttl;
	memcpy(p + 8, c->src.addr.b, 16);
	memcpy(p + 24, c->dst.addr.b, 16);
	return 40;
}

static uint16_t udp_checksum(const struct content *c, const uint8_t *udp, uint16_t udp_len)
{
	const bool is_v4 = addr_is_v4(&c->src.addr);
	const uint8_t pseudo[4] = {0, 17, (uint8_t)(udp_len >> 8), (uint8_t)udp_len};
	uint32_t sum = slow_sum(0, pseudo, 4);

	sum = slow_sum(sum, c->src.addr.b + (is_v4 ? 12 : 0), is_v4 ? 4 : 16);
	sum = slow_sum(sum, c->dst.addr.b + (is_v4 ? 12 : 0), is_v4 ? 4 : 16);
	sum = (uint16_t)~slow_sum(sum, udp, udp_len);
	return sum != 0 ? (uint16_t)sum : 0xffff;
}

static size_t build(uint8_t *out, const struct content *c, const struct net_l2 *l2)
{
	const uint16_t udp_len = (uint16_t)(8 + c->len);
	uint8_t *p = out;

	memcpy(p, l2->dst, 6);
	memcpy(p + 6, l2->src, 6);
	p += 12;
	if (c->vlan != 0) {
		store_be16(p, 0x8100);
		store_be16(p + 2, c->vlan);
		p += 4;
	}
	store_be16(p, addr_is_v4(&c->src.addr) ? 0x0800 : 0x86dd);
	p += 2;
	p += write_ip(p, c, udp_len);
	store_be16(p, c->src.port);
	store_be16(p + 2, c->dst.port);
	store_be16(p + 4, udp_len);
	store_be16(p + 6, 0);
	memcpy(p + 8, c->payload, c->len);
	if (!c->no_checksum)
		store_be16(p + 6, udp_checksum(c, p, udp_len));
	return (size_t)(p - out) + 8 + c->len;
}

// --- one case -----------------------------------------------------------------------------------

struct packet {
	struct rte_mbuf m;
	struct net_frame f;
	uint8_t buf[BUF_LEN];
};

static const struct net_l2 in_l2 = {.dst = {2, 0, 0, 0, 0, 1}, .src = {2, 0, 0, 0, 0, 2}};
static const struct net_l2 out_l2 = {.dst = {2, 0, 0, 0, 0, 3}, .src = {2, 0, 0, 0, 0, 4}};

static void receive(struct packet *p, const struct content *c)
{
	struct net_rx rx = {.vlan = c->vlan};
	size_t len;

	memcpy(rx.mac, in_l2.dst, 6);
	memset(p->buf, 0xa5, sizeof(p->buf));
	len = build(p->buf + HEADROOM, c, &in_l2);
	p->m = (struct rte_mbuf){.buf_addr = p->buf,
		.buf_len = BUF_LEN,
		.data_off = HEADROOM,
		.data_len = (uint16_t)len,
		.pkt_len = (uint32_t)len,
		.nb_segs = 1,
		.ol_flags = RTE_MBUF_F_RX_IP_CKSUM_GOOD};
	assert_int_equal(net_frame_parse(p->buf + HEADROOM, len, &rx, &p->f), NET_OK);
}

// first: the first byte of an IPv4 address, different for source and destination. Otherwise two of
// 16 million addresses would be equal once in some hundred runs, and such a frame is rightly
// dropped.
static struct endpoint random_endpoint(struct test_rand *r, bool is_v4, uint8_t first)
{
	struct endpoint e = {.port = (uint16_t)(1 + test_rand_below(r, 65535))};

	if (is_v4) {
		uint8_t b[4] = {first};

		test_rand_fill(r, b + 1, 3);
		e.addr = addr_from_v4(b);
	} else {
		test_rand_fill(r, e.addr.b, 16);
		e.addr.b[0] = 0x2a;
	}
	return e;
}

struct shape {
	bool in_v4, out_v4, no_checksum;
	uint16_t front_len, off, len, tail; // payload received: off + len + tail
	uint16_t in_vlan, out_vlan;
	bool pad;
};

static struct content random_content(struct test_rand *r, const struct shape *s, uint8_t *payload)
{
	const struct content c = {.src = random_endpoint(r, s->in_v4, 10),
		.dst = random_endpoint(r, s->in_v4, 11),
		.vlan = s->in_vlan,
		.id = (uint16_t)test_rand(r),
		.tos = (uint8_t)test_rand(r),
		.ttl = (uint8_t)(2 + test_rand_below(r, 254)),
		.df = test_rand_below(r, 2) != 0,
		.no_checksum = s->no_checksum,
		.payload = payload,
		.len = (uint16_t)(s->off + s->len + s->tail)};

	test_rand_fill(r, payload, c.len);
	return c;
}

static void check_frame(const struct packet *p, const struct content *out)
{
	const uint8_t *frame = p->buf + p->m.data_off;
	struct net_rx rx = {.vlan = out->vlan};
	struct net_frame parsed;

	memcpy(rx.mac, out_l2.dst, 6);
	assert_int_equal(net_frame_parse(frame, p->m.data_len, &rx, &parsed), NET_OK);
	assert_true(addr_eq(&p->f.src, &parsed.src));
	assert_true(addr_eq(&p->f.dst, &parsed.dst));
	assert_int_equal(p->f.sport, parsed.sport);
	assert_int_equal(p->f.dport, parsed.dport);
	assert_int_equal(p->f.l3_off, parsed.l3_off);
	assert_int_equal(p->f.l4_off, parsed.l4_off);
	assert_int_equal(p->f.payload_off, parsed.payload_off);
	assert_int_equal(p->f.payload_len, parsed.payload_len);
	assert_int_equal(p->f.l4_checksum, parsed.l4_checksum);
	assert_int_equal(p->f.kind, parsed.kind);
	assert_int_equal(p->f.tos, parsed.tos);
	assert_int_equal(p->f.ttl, parsed.ttl);
	assert_int_equal(p->f.df, parsed.df);
	assert_int_equal(p->f.is_v4, parsed.is_v4);
}

static void check_shape(struct test_rand *r, const struct shape *s)
{
	static struct packet p;
	uint8_t payload[1600], front[64], expected_payload[1700], expected[2000];
	const struct content in = random_content(r, s, payload);
	const struct endpoint src = random_endpoint(r, s->out_v4, 10),
			      dst = random_endpoint(r, s->out_v4, 11);
	const uint16_t pad = s->pad ? -s->len & 3 : 0;
	struct net_l2 l2 = out_l2;
	const struct rewrite rw = {.src = &src,
		.dst = &dst,
		.l2 = &l2,
		.front = front,
		.front_len = s->front_len,
		.off = s->off,
		.len = s->len,
		.pad = pad,
		.csum = csum_fold(csum_addrs(&src.addr, &dst.addr) + src.port + (uint32_t)dst.port),
		.ip_id = (uint16_t)test_rand(r),
		.mtu = 2000,
		.df = test_rand_below(r, 2) != 0};
	const struct content out = {.src = src,
		.dst = dst,
		.vlan = s->out_vlan,
		.id = rw.ip_id,
		.tos = in.tos,
		.ttl = (uint8_t)(in.ttl - 1),
		.df = rw.df,
		.no_checksum = s->no_checksum && s->out_v4,
		.payload = expected_payload,
		.len = (uint16_t)(s->front_len + s->len + pad)};
	size_t len;

	l2.vlan = s->out_vlan;
	test_rand_fill(r, front, sizeof(front));
	memset(expected_payload, 0, sizeof(expected_payload));
	memcpy(expected_payload, front, s->front_len);
	memcpy(expected_payload + s->front_len, payload + s->off, s->len);
	len = build(expected, &out, &l2);
	receive(&p, &in);
	assert_int_equal(rewrite_frame(&p.m, &p.f, &rw), DP_OK);
	assert_int_equal(p.m.data_len, len);
	assert_int_equal(p.m.pkt_len, len);
	assert_memory_equal(p.buf + p.m.data_off, expected, len);
	assert_int_equal(p.m.ol_flags, 0);
	check_frame(&p, &out);
}

static const uint16_t fronts[] = {0, 4, 36, 48};

static void test_all_shapes(void **state)
{
	struct test_rand r = test_rand_start("rewrite");

	for (unsigned int i = 0; i < 16; i++) {
		struct shape s = {.in_v4 = i & 1, .out_v4 = (i >> 1) & 1};

		s.no_checksum = s.in_v4 && (i & 4) != 0;
		s.pad = (i & 8) != 0;
		for (unsigned int k = 0; k < 2000; k++) {
			s.front_len = fronts[test_rand_below(&r, 4)];
			s.off = (uint16_t)test_rand_below(&r, 60);
			s.len = (uint16_t)test_rand_below(&r, k % 10 == 0 ? 1400 : 40);
			s.tail = (uint16_t)test_rand_below(&r, 6);
			s.in_vlan = test_rand_below(&r, 2) != 0 ? 7 : 0;
			s.out_vlan = test_rand_below(&r, 2) != 0 ? 4094 : 0;
			check_shape(&r, &s);
		}
	}
}

// The layouts that TURN uses, with every length up to a few words.
static void test_turn_shapes(void **state)
{
	struct test_rand r = test_rand_start("rewrite");
	static const struct {
		uint16_t front, off, tail;
		bool pad;
	} kinds[] = {
		{0, 4, 0, false}, // ChannelData to a peer
		{0, 4, 3, false}, // with padding by the client
		{0, 36, 2, false}, // a Send indication
		{4, 0, 0, false}, // from a peer to a channel
		{36, 0, 0, true}, // from a peer to a Data indication
		{48, 0, 0, true},
	};

	for (unsigned int i = 0; i < RTE_DIM(kinds); i++)
		for (unsigned int families = 0; families < 4; families++)
			for (uint16_t len = 0; len < 70; len++)
				check_shape(&r,
					&(struct shape){.in_v4 = families & 1,
						.out_v4 = families >> 1,
						.front_len = kinds[i].front,
						.off = kinds[i].off,
						.len = len,
						.tail = kinds[i].tail,
						.pad = kinds[i].pad});
}

// The receiver detects a payload that was damaged between reception and sending.
static void test_damage_shows(void **state)
{
	struct test_rand r = test_rand_start("rewrite");
	static struct packet p;
	uint8_t payload[200];

	for (unsigned int i = 0; i < 200; i++) {
		const struct shape s = {
			.in_v4 = i & 1, .out_v4 = (i >> 1) & 1, .off = 4, .len = 100};
		const struct content in = random_content(&r, &s, payload);
		const struct endpoint src = random_endpoint(&r, s.out_v4, 10);
		const struct endpoint dst = random_endpoint(&r, s.out_v4, 11);
		struct net_rx rx = {.vlan = 0};
		struct net_frame parsed;
		const struct rewrite rw = {.src = &src,
			.dst = &dst,
			.l2 = &out_l2,
			.front = payload,
			.off = 4,
			.len = 100,
			.csum = csum_fold(
				csum_addrs(&src.addr, &dst.addr) + src.port + (uint32_t)dst.port),
			.mtu = 1500};

		receive(&p, &in);
		p.buf[HEADROOM + p.f.payload_off + 4 + test_rand_below(&r, 100)] ^= 0x10;
		assert_int_equal(rewrite_frame(&p.m, &p.f, &rw), DP_OK);
		memcpy(rx.mac, out_l2.dst, 6);
		assert_int_equal(net_frame_parse(p.buf + p.m.data_off, p.m.data_len, &rx, &parsed),
			NET_DROP_UDP_CHECKSUM);
	}
}

// --- refusals leave the frame unchanged ---------------------------------------------------------

static void refused(
	const struct content *in, struct rewrite *rw, uint16_t cut_head, unsigned int reason)
{
	static struct packet p, before;

	receive(&p, in);
	if (cut_head != 0) { // as if there was less headroom
		p.m.buf_addr = p.buf + cut_head;
		p.m.buf_len = (uint16_t)(p.m.buf_len - cut_head);
		p.m.data_off = (uint16_t)(p.m.data_off - cut_head);
	}
	before = p;
	assert_int_equal(rewrite_frame(&p.m, &p.f, rw), reason);
	assert_memory_equal(&p, &before, sizeof(p));
}

static void test_refusals(void **state)
{
	struct test_rand r = test_rand_start("rewrite");
	uint8_t payload[1500], front[64] = {0};
	const struct shape s = {.in_v4 = true, .out_v4 = false, .len = 1001};
	struct content in = random_content(&r, &s, payload);
	const struct endpoint src = random_endpoint(&r, false, 10),
			      dst = random_endpoint(&r, false, 11);
	struct rewrite rw = {.src = &src,
		.dst = &dst,
		.l2 = &out_l2,
		.front = front,
		.front_len = 48,
		.len = 1001,
		.pad = 3,
		.mtu = 48 + 1004 + 48};
	static struct packet p;

	in.ttl = 64;
	receive(&p, &in);
	assert_int_equal(rewrite_frame(&p.m, &p.f, &rw), DP_OK); // the MTU is just large enough
	rw.mtu--;
	refused(&in, &rw, 0, DP_DROP_MTU);
	rw.mtu++;
	// before the kept bytes there are 14 + 20 + 8 bytes and the headroom; 14 + 48 + 48 are
	// needed
	receive(&p, &in);
	p.m.buf_addr = p.buf + HEADROOM - (110 - 42);
	p.m.buf_len = BUF_LEN - (HEADROOM - (110 - 42));
	p.m.data_off = 110 - 42;
	assert_int_equal(rewrite_frame(&p.m, &p.f, &rw), DP_OK);
	refused(&in, &rw, HEADROOM - (110 - 42) + 1, DP_DROP_HEADROOM);
	in.ttl = 1;
	refused(&in, &rw, 0, DP_DROP_TTL);
	in.ttl = 0;
	refused(&in, &rw, 0, DP_DROP_TTL);
}

static void test_tailroom(void **state)
{
	struct test_rand r = test_rand_start("rewrite");
	uint8_t payload[64], front[64] = {0};
	const struct shape s = {.in_v4 = true, .out_v4 = true, .len = 33};
	struct content in = random_content(&r, &s, payload);
	const struct endpoint src = random_endpoint(&r, true, 10),
			      dst = random_endpoint(&r, true, 11);
	const struct rewrite rw = {.src = &src,
		.dst = &dst,
		.l2 = &out_l2,
		.front = front,
		.front_len = 36,
		.len = 33,
		.pad = 3,
		.mtu = 1500};
	static struct packet p;

	receive(&p, &in);
	p.m.buf_len = (uint16_t)(HEADROOM + p.m.data_len + 2); // one byte short of the padding
	assert_int_equal(rewrite_frame(&p.m, &p.f, &rw), DP_DROP_HEADROOM);
	p.m.buf_len++;
	assert_int_equal(rewrite_frame(&p.m, &p.f, &rw), DP_OK);
}

// Identifications: no repeats within 65536, and not sequential.
static void test_ip_id(void **state)
{
	struct test_rand r = test_rand_start("rewrite");
	static struct worker w;
	static uint8_t seen[65536];
	unsigned int steps = 0;
	uint16_t last = 0;

	test_rand_fill(&r, w.ip_id_key, sizeof(w.ip_id_key));
	w.ip_id_key[0] |= 1;
	w.ip_id_key[1] |= 1;
	for (unsigned int i = 0; i < 65536; i++) {
		const uint16_t id = rewrite_ip_id(&w);

		assert_int_equal(seen[id]++, 0);
		steps += (uint16_t)(id - last) == 1;
		last = id;
	}
	assert_true(steps < 65536 / 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_turn_shapes),
		cmocka_unit_test(test_all_shapes),
		cmocka_unit_test(test_damage_shows),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_tailroom),
		cmocka_unit_test(test_ip_id),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
