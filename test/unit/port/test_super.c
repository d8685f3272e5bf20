// SPDX-License-Identifier: BSD-3-Clause
// port_super_cut against plain frames built from scratch: every family, protocol, tag, size and
// split of the chain; then every inconsistency that a super-frame can have.
#include <string.h>

#include <rte_eal.h>
#include <rte_lcore.h>

#include "super/super.h"
#include "slow_sum.h"
#include "test.h"
#include "test_rand.h"

#define ROOM 2048 // of a buffer, without headroom
#define PAYLOAD_MAX 65535
#define OUT_MAX 512

static struct rte_mempool *pool, *small;
static uint8_t payload[PAYLOAD_MAX], whole[PAYLOAD_MAX + 256], expected[ROOM];

// --- frames built from scratch ------------------------------------------------------------------

struct content {
	bool v4, tcp, tag;
	uint8_t options, tcp_options; // bytes of each, multiples of 4
	uint8_t tos, ttl, flags; // flags: those of TCP
	bool df;
	uint16_t id, vlan, sport, dport;
	uint32_t seq, ack;
	uint8_t macs[12], addr[32], option[40];
};

static uint8_t *put16(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
	return p + 2;
}

static uint8_t *put32(uint8_t *p, uint32_t v)
{
	return put16(put16(p, v >> 16), v & 0xffff);
}

static uint16_t l3_len(const struct content *c)
{
	return c->v4 ? (uint16_t)(20 + c->options) : 40;
}

static uint16_t l4_len(const struct content *c)
{
	return c->tcp ? (uint16_t)(20 + c->tcp_options) : 8;
}

static uint16_t l2_len(const struct content *c)
{
	return c->tag ? 18 : 14;
}

static uint16_t headers_len(const struct content *c)
{
	return (uint16_t)(l2_len(c) + l3_len(c) + l4_len(c));
}

static uint8_t *put_l2(uint8_t *p, const struct content *c)
{
	memcpy(p, c->macs, 12);
	p += 12;
	if (c->tag)
		p = put16(put16(p, 0x8100), c->vlan);
	return put16(p, c->v4 ? 0x0800 : 0x86dd);
}

static uint8_t *put_l3(uint8_t *p, const struct content *c, uint32_t len)
{
	uint8_t *const ip = p;

	if (!c->v4) {
		p = put32(p, 0x60000000u | (uint32_t)c->tos << 20 | 0xabcde);
		p = put16(p, len);
		*p++ = c->tcp ? 6 : 17;
		*p++ = c->ttl;
		memcpy(p, c->addr, 32);
		return p + 32;
	}
	*p++ = (uint8_t)(0x45 + c->options / 4);
	*p++ = c->tos;
	p = put16(p, l3_len(c) + len);
	p = put16(p, c->id);
	p = put16(p, c->df ? 0x4000 : 0);
	*p++ = c->ttl;
	*p++ = c->tcp ? 6 : 17;
	p = put16(p, 0);
	memcpy(p, c->addr, 8);
	memset(p + 8, 1, c->options);
	put16(ip + 10, ~slow_sum(0, ip, l3_len(c)));
	return p + 8 + c->options;
}

static uint8_t *put_l4(uint8_t *p, const struct content *c, uint32_t len)
{
	p = put16(put16(p, c->sport), c->dport);
	if (!c->tcp)
		return put16(put16(p, len), 0);
	p = put32(put32(p, c->seq), c->ack);
	*p++ = (uint8_t)((20 + c->tcp_options) << 2);
	*p++ = c->flags;
	p = put32(put16(p, 0x1234), 0);
	memcpy(p, c->option, c->tcp_options);
	return p + c->tcp_options;
}

// The sum of the pseudo-header, RFC 768, RFC 9293 3.1, RFC 8200 8.1.
static uint32_t pseudo(const struct content *c, uint32_t len)
{
	const uint8_t rest[4] = {0, c->tcp ? 6 : 17, (uint8_t)(len >> 8), (uint8_t)len};

	return slow_sum(slow_sum(0, c->addr, c->v4 ? 8 : 32), rest, 4);
}

// A whole plain frame; returns its length.
static uint32_t build(uint8_t *out, const struct content *c, const uint8_t *data, uint32_t len)
{
	const uint32_t segment = l4_len(c) + len;
	uint8_t *const l4 = put_l3(put_l2(out, c), c, segment);
	uint8_t *const end = put_l4(l4, c, segment);
	uint16_t sum;

	memcpy(end, data, len);
	sum = (uint16_t)~slow_sum(pseudo(c, segment), l4, segment);
	if (sum == 0 && !c->tcp)
		sum = 0xffff;
	put16(l4 + (c->tcp ? 16 : 6), sum);
	return (uint32_t)(end - out) + len;
}

// --- super-frames -------------------------------------------------------------------------------

static void random_content(struct test_rand *r, struct content *c)
{
	test_rand_fill(r, c, sizeof(*c));
	c->v4 = test_rand_below(r, 2) != 0;
	c->tcp = test_rand_below(r, 2) != 0;
	c->tag = test_rand_below(r, 2) != 0;
	c->df = test_rand_below(r, 2) != 0;
	c->options = test_rand_below(r, 3) != 0 ? 0 : (uint8_t)(4 * test_rand_below(r, 11));
	c->tcp_options = (uint8_t)(4 * test_rand_below(r, 11));
	if (test_rand_below(r, 4) == 0)
		c->id = 0xfff0; // wraps around
	if (test_rand_below(r, 4) == 0)
		c->seq = 0xffffff00;
}

// Copies a frame into a chain of buffers of at most `step` bytes.
static struct rte_mbuf *chain(
	struct test_rand *r, const uint8_t *frame, uint32_t len, uint32_t step)
{
	struct rte_mbuf *head = rte_pktmbuf_alloc(pool), *m = head;
	uint32_t done = 0;

	assert_non_null(head);
	while (done < len) {
		const uint32_t n =
			RTE_MIN(RTE_MIN(len - done, 1 + test_rand_below(r, step)), (uint32_t)ROOM);

		if (done > 0 || test_rand_below(r, 8) == 0) { // now and then an empty first buffer
			m->next = rte_pktmbuf_alloc(pool);
			assert_non_null(m->next);
			m = m->next;
			head->nb_segs++;
		}
		memcpy(rte_pktmbuf_append(m, (uint16_t)n), frame + done, n);
		done += n;
	}
	head->pkt_len = len;
	return head;
}

enum direction { SENT, RECEIVED };

static void mark(
	struct rte_mbuf *m, const struct content *c, enum direction direction, uint16_t size)
{
	m->tso_segsz = size;
	m->ol_flags = RTE_MBUF_F_RX_LRO | RTE_MBUF_F_RX_L4_CKSUM_GOOD;
	if (direction == RECEIVED)
		return;
	m->ol_flags = (c->tcp ? RTE_MBUF_F_TX_TCP_SEG : RTE_MBUF_F_TX_UDP_SEG) |
		(c->v4 ? RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM : RTE_MBUF_F_TX_IPV6);
	m->l2_len = l2_len(c);
	m->l3_len = l3_len(c);
	m->l4_len = l4_len(c) & 0xff;
}

// Builds the whole as one frame, with the checksum field that super.h requires.
static uint32_t build_super(const struct content *c, uint32_t len)
{
	const uint32_t n = build(whole, c, payload, len);

	put16(whole + l2_len(c) + l3_len(c) + (c->tcp ? 16 : 6), pseudo(c, l4_len(c) + len));
	return n;
}

// Content of frame i of n: by RFC 793, and with the IP identification of a sender that counts up.
static struct content nth(const struct content *c, unsigned int i, unsigned int n, uint16_t size)
{
	struct content k = *c;

	k.id = (uint16_t)(c->id + i);
	k.seq = c->seq + i * size;
	if (i > 0)
		k.flags &= 0x7f; // CWR
	if (i + 1 < n)
		k.flags &= 0xf6; // FIN, PSH
	return k;
}

static void check_cut(
	const struct rte_mbuf *m, const struct content *c, uint32_t len, uint16_t size)
{
	static struct rte_mbuf *out[OUT_MAX];
	const unsigned int n = len == 0 ? 1 : (len + size - 1) / size;

	assert_int_equal(port_super_frames(m), n);
	assert_int_equal(port_super_cut(m, pool, out, n), n);
	for (unsigned int i = 0; i < n; i++) {
		const struct content k = nth(c, i, n, size);
		const uint32_t part = RTE_MIN(len - i * size, (uint32_t)size);
		const uint32_t total = build(expected, &k, payload + i * size, part);

		assert_int_equal(out[i]->nb_segs, 1);
		assert_null(out[i]->next);
		assert_int_equal(out[i]->pkt_len, total);
		assert_int_equal(out[i]->data_len, total);
		assert_int_equal(out[i]->ol_flags,
			(m->ol_flags & RTE_MBUF_F_RX_LRO) == 0
				? 0
				: RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_GOOD);
		assert_memory_equal(rte_pktmbuf_mtod(out[i], void *), expected, total);
	}
	rte_pktmbuf_free_bulk(out, n);
	assert_int_equal(rte_mempool_in_use_count(pool), m->nb_segs);
}

static void test_random(void **state)
{
	struct test_rand r = test_rand_start("super");

	for (unsigned int k = 0; k < 3000; k++) {
		const uint16_t size = (uint16_t)(1 + test_rand_below(&r, k % 3 == 0 ? 40 : 1400));
		const uint32_t most = RTE_MIN(size * (k % 50 == 0 ? 300u : 20u), 60000u);
		const uint32_t len = test_rand_below(&r, most + 1);
		const uint32_t steps[] = {3, 40, 700, ROOM};
		const enum direction direction = test_rand_below(&r, 2) != 0 ? SENT : RECEIVED;
		struct rte_mbuf *m;
		struct content c;
		uint32_t total;

		random_content(&r, &c);
		test_rand_fill(&r, payload, len);
		total = build_super(&c, len);
		m = chain(&r, whole, total, steps[total > 8000 ? 2 + k % 2 : k % 4]);
		mark(m, &c, direction, size);
		check_cut(m, &c, len, size);
		// unchanged
		assert_int_equal(m->pkt_len, total);
		rte_pktmbuf_free(m);
	}
}

// A received super-frame that is forwarded: like one made for sending, whatever its checksum field
// held.
static void test_forward(void **state)
{
	struct test_rand r = test_rand_start("super");

	for (unsigned int k = 0; k < 1000; k++) {
		const uint16_t size = (uint16_t)(1 + test_rand_below(&r, 1400));
		const uint32_t len = test_rand_below(&r, 20u * size + 1);
		struct rte_mbuf *m, want;
		struct content c;
		uint32_t total;

		random_content(&r, &c);
		test_rand_fill(&r, payload, len);
		total = build_super(&c, len);
		put16(whole + l2_len(&c) + l3_len(&c) + (c.tcp ? 16 : 6), test_rand(&r) & 0xffff);
		m = chain(&r, whole, total, ROOM);
		mark(m, &c, RECEIVED, size);
		mark(&want, &c, SENT, size);
		if (m->data_len < headers_len(&c)) {
			assert_false(port_super_forward(m));
			rte_pktmbuf_free(m);
			continue;
		}
		assert_true(port_super_forward(m));
		assert_int_equal(m->ol_flags, want.ol_flags);
		assert_int_equal(m->l2_len, want.l2_len);
		assert_int_equal(m->l3_len, want.l3_len);
		assert_int_equal(m->l4_len, want.l4_len);
		build_super(&c, len);
		assert_memory_equal(rte_pktmbuf_mtod(m, void *), whole, m->data_len);
		check_cut(m, &c, len, size);
		m->tso_segsz = 0; // no longer valid
		assert_false(port_super_forward(m));
		rte_pktmbuf_free(m);
	}
}

// Every pair of family and protocol, split within the headers at every byte.
static void test_cuts(void **state)
{
	struct test_rand r = test_rand_start("super");

	for (unsigned int k = 0; k < 8; k++) {
		struct content c;
		uint32_t total;

		random_content(&r, &c);
		c.v4 = k & 1;
		c.tcp = (k >> 1) & 1;
		c.tag = (k >> 2) & 1;
		test_rand_fill(&r, payload, 333);
		total = build_super(&c, 333);
		for (uint32_t split = 1; split < headers_len(&c) + 3u; split++) {
			struct rte_mbuf *m = chain(&r, whole, split, ROOM);
			struct rte_mbuf *rest = chain(&r, whole + split, total - split, ROOM);

			assert_int_equal(rte_pktmbuf_chain(m, rest), 0);
			mark(m, &c, split % 2 != 0 ? SENT : RECEIVED, 100);
			check_cut(m, &c, 333, 100);
			rte_pktmbuf_free(m);
		}
	}
}

// The longest possible super-frame, and Ethernet padding after a short one.
static void test_ends(void **state)
{
	struct test_rand r = test_rand_start("super");
	struct content c;
	struct rte_mbuf *m;
	uint32_t total;

	random_content(&r, &c);
	c.v4 = true;
	c.tcp = false;
	c.tag = false;
	c.options = 0;
	test_rand_fill(&r, payload, 65507);
	m = chain(&r, whole, build_super(&c, 65507), ROOM);
	mark(m, &c, SENT, 1300);
	check_cut(m, &c, 65507, 1300);
	rte_pktmbuf_free(m);

	total = build_super(&c, 9);
	memset(whole + total, 0x55, 9);
	m = chain(&r, whole, total + 9, ROOM);
	mark(m, &c, RECEIVED, 4);
	check_cut(m, &c, 9, 4);
	rte_pktmbuf_free(m);
}

// --- refusals -----------------------------------------------------------------------------------

static void assert_refused(const struct rte_mbuf *m, const char *label)
{
	struct rte_mbuf *out[OUT_MAX];

	if (port_super_frames(m) != 1 || port_super_cut(m, pool, out, OUT_MAX) != 0)
		fail_msg("%s: believed", label);
	assert_int_equal(rte_mempool_in_use_count(pool), m->nb_segs);
}

struct lie {
	const char *label;
	bool v4, tcp;
	enum direction direction;
	int offset; // byte of the frame, from l3 (below 100) or l4 (from 100), -1 = no byte
	uint8_t value;
	void (*tell)(struct rte_mbuf *m);
};

static void no_size(struct rte_mbuf *m)
{
	m->tso_segsz = 0;
}

static void longer(struct rte_mbuf *m)
{
	m->pkt_len++;
}

static void shorter(struct rte_mbuf *m)
{
	m->pkt_len--;
}

static void more_segs(struct rte_mbuf *m)
{
	m->nb_segs++;
}

static void fewer_segs(struct rte_mbuf *m)
{
	m->nb_segs--;
}

static void plain(struct rte_mbuf *m)
{
	m->ol_flags &= ~(RTE_MBUF_F_RX_LRO | RTE_MBUF_F_TX_UDP_SEG | RTE_MBUF_F_TX_TCP_SEG);
}

static void other_l2(struct rte_mbuf *m)
{
	m->l2_len++;
}

static void other_l3(struct rte_mbuf *m)
{
	m->l3_len = 60;
}

static void other_l4(struct rte_mbuf *m)
{
	m->l4_len += 4;
}

static void other_protocol(struct rte_mbuf *m)
{
	m->ol_flags ^= RTE_MBUF_F_TX_UDP_SEG | RTE_MBUF_F_TX_TCP_SEG;
}

static void both_protocols(struct rte_mbuf *m)
{
	m->ol_flags |= RTE_MBUF_F_TX_UDP_SEG | RTE_MBUF_F_TX_TCP_SEG;
}

static const struct lie lies[] = {
	{"segment size 0", true, false, SENT, -1, 0, no_size},
	{"segment size 0", false, true, RECEIVED, -1, 0, no_size},
	{"packet length too long", true, false, RECEIVED, -1, 0, longer},
	{"packet length too short", true, false, RECEIVED, -1, 0, shorter},
	{"segment count too high", true, false, SENT, -1, 0, more_segs},
	{"segment count too low", false, false, SENT, -1, 0, fewer_segs},
	{"no super-frame", true, false, SENT, -1, 0, plain},
	{"no super-frame", true, false, RECEIVED, -1, 0, plain},
	{"l2_len", true, false, SENT, -1, 0, other_l2},
	{"l3_len", true, true, SENT, -1, 0, other_l3},
	{"l4_len", false, true, SENT, -1, 0, other_l4},
	{"UDP_SEG for TCP", true, true, SENT, -1, 0, other_protocol},
	{"TCP_SEG for UDP", false, false, SENT, -1, 0, other_protocol},
	{"both protocols", true, false, SENT, -1, 0, both_protocols},
	{"IPv4 version", true, false, SENT, 0, 0x55, NULL},
	{"IPv4 header too short", true, false, SENT, 0, 0x44, NULL},
	{"IPv4 header longer than the frame", true, false, SENT, 0, 0x4f, NULL},
	{"IPv4 length beyond the data", true, false, SENT, 2, 0xff, NULL},
	{"IPv4 length within the headers", true, true, SENT, 3, 30, NULL},
	{"IPv4 more fragments", true, false, SENT, 6, 0x20, NULL},
	{"IPv4 fragment offset", true, false, SENT, 7, 0x01, NULL},
	{"IPv4 protocol", true, false, SENT, 9, 1, NULL},
	{"IPv4 header checksum", true, false, RECEIVED, 1, 0x7b, NULL},
	{"IPv6 version", false, false, SENT, 0, 0x45, NULL},
	{"IPv6 length beyond the data", false, false, RECEIVED, 4, 0xff, NULL},
	{"IPv6 jumbo", false, true, RECEIVED, 5, 0, NULL},
	{"IPv6 extension header", false, false, RECEIVED, 6, 0, NULL},
	{"UDP length", true, false, SENT, 104, 0, NULL},
	{"UDP length", false, false, RECEIVED, 105, 0, NULL},
	{"TCP header too short", false, true, RECEIVED, 112, 0x40, NULL},
	{"TCP header longer than the segment", false, true, RECEIVED, 112, 0xf0, NULL},
	{"TCP header longer than the segment", true, true, SENT, 112, 0xf0, NULL},
};

static void test_lies(void **state)
{
	struct test_rand r = test_rand_start("super");

	for (unsigned int i = 0; i < RTE_DIM(lies); i++) {
		const struct lie *l = &lies[i];
		struct content c;
		struct rte_mbuf *m;
		uint8_t *byte;
		uint32_t total;

		random_content(&r, &c);
		c.v4 = l->v4;
		c.tcp = l->tcp;
		c.tos = 0;
		c.options = 0;
		c.tcp_options = 0;
		total = build_super(&c, 20);
		m = chain(&r, whole, total, 30);
		mark(m, &c, l->direction, 3);
		check_cut(m, &c, 20, 3); // only the changed byte is wrong
		rte_pktmbuf_free(m);
		if (l->offset >= 0) {
			byte = whole + l2_len(&c) + l->offset % 100 +
				(l->offset >= 100 ? l3_len(&c) : 0);
			*byte = *byte != l->value ? l->value : (uint8_t)~l->value;
			// the IPv4 checksum stays right unless it is the fault under test
			if (c.v4 && l->offset < 100 && strstr(l->label, "checksum") == NULL) {
				put16(whole + l2_len(&c) + 10, 0);
				put16(whole + l2_len(&c) + 10,
					~slow_sum(0, whole + l2_len(&c), 20));
			}
		}
		m = chain(&r, whole, total, 30);
		mark(m, &c, l->direction, 3);
		if (l->tell != NULL)
			l->tell(m);
		if (l->tell == more_segs || l->tell == fewer_segs) {
			const uint16_t segs = m->nb_segs;
			struct rte_mbuf *out[OUT_MAX];

			assert_int_equal(port_super_cut(m, pool, out, OUT_MAX), 0);
			m->nb_segs = l->tell == more_segs ? segs - 1 : segs + 1;
		} else {
			assert_refused(m, l->label);
		}
		m->pkt_len = total;
		rte_pktmbuf_free(m);
	}
}

// Truncated at every length: only bytes that exist are read, whatever the headers claim.
static void test_short(void **state)
{
	struct test_rand r = test_rand_start("super");

	for (unsigned int k = 0; k < 4; k++) {
		struct content c;
		uint32_t total;

		random_content(&r, &c);
		c.v4 = k & 1;
		c.tcp = (k >> 1) & 1;
		total = build_super(&c, 20);
		for (uint32_t len = 0; len < total; len++) {
			struct rte_mbuf *m = chain(&r, whole, len, ROOM);

			mark(m, &c, len % 2 != 0 ? SENT : RECEIVED, 7);
			assert_refused(m, "cut short");
			rte_pktmbuf_free(m);
		}
	}
}

// The checksum of a received IPv4 header is verified unless the port has done so.
static void test_ip_checksum_known(void **state)
{
	struct test_rand r = test_rand_start("super");
	struct rte_mbuf *out[8], *m;
	struct content c;
	uint32_t total;

	random_content(&r, &c);
	c.v4 = true;
	total = build_super(&c, 20);
	whole[l2_len(&c) + 10] ^= 1;
	m = chain(&r, whole, total, ROOM);
	mark(m, &c, RECEIVED, 10);
	assert_refused(m, "wrong header checksum");
	m->ol_flags |= RTE_MBUF_F_RX_IP_CKSUM_GOOD;
	assert_int_equal(port_super_cut(m, pool, out, 8), 2);
	rte_pktmbuf_free_bulk(out, 2);
	mark(m, &c, SENT, 10);
	assert_int_equal(port_super_cut(m, pool, out, 8), 2);
	rte_pktmbuf_free_bulk(out, 2);
	rte_pktmbuf_free(m);
}

// Too few buffers, too little room in `out` or in a buffer: no frame is made, none is lost.
static void test_no_room(void **state)
{
	struct test_rand r = test_rand_start("super");
	struct rte_mbuf *m, *taken[64], *out[64];
	unsigned int left = 0;
	struct content c;

	random_content(&r, &c);
	m = chain(&r, whole, build_super(&c, 100), ROOM);
	mark(m, &c, SENT, 10);
	assert_int_equal(port_super_cut(m, pool, out, 9), 0);
	assert_int_equal(port_super_cut(m, pool, out, 10), 10);
	rte_pktmbuf_free_bulk(out, 10);
	while (left < 64 && (taken[left] = rte_pktmbuf_alloc(small)) != NULL)
		left++;
	rte_pktmbuf_free_bulk(taken, 9);
	assert_int_equal(port_super_cut(m, small, out, 64), 0);
	assert_int_equal(rte_mempool_in_use_count(small), left - 9);
	rte_pktmbuf_free(taken[9]);
	assert_int_equal(port_super_cut(m, small, out, 64), 10);
	rte_pktmbuf_free_bulk(out, 10);
	rte_pktmbuf_free_bulk(taken + 10, left - 10);
	// a frame longer than a buffer
	rte_pktmbuf_free(m);
	m = chain(&r, whole, build_super(&c, 4000), ROOM);
	mark(m, &c, SENT, (uint16_t)(ROOM - headers_len(&c) + 1));
	assert_int_equal(port_super_cut(m, pool, out, 64), 0);
	m->tso_segsz--;
	check_cut(m, &c, 4000, m->tso_segsz);
	rte_pktmbuf_free(m);
}

static int start_eal(void **state)
{
	char *argv[] = {"test", "--no-huge", "-m", "64", "--no-pci", "--no-shconf",
		"--no-telemetry", "--iova-mode=va", "--file-prefix=test_segment",
		"--log-level=*:critical"};

	if (rte_eal_init(RTE_DIM(argv), argv) < 0)
		return -1;
	pool = rte_pktmbuf_pool_create(
		"test", 8191, 0, 0, ROOM + RTE_PKTMBUF_HEADROOM, SOCKET_ID_ANY);
	small = rte_pktmbuf_pool_create(
		"small", 31, 0, 0, ROOM + RTE_PKTMBUF_HEADROOM, SOCKET_ID_ANY);
	return pool == NULL || small == NULL ? -1 : 0;
}

static int stop_eal(void **state)
{
	const int leaked = (int)(rte_mempool_in_use_count(pool) + rte_mempool_in_use_count(small));

	rte_mempool_free(pool);
	rte_mempool_free(small);
	rte_eal_cleanup();
	return leaked;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_forward),
		cmocka_unit_test(test_cuts),
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_lies),
		cmocka_unit_test(test_short),
		cmocka_unit_test(test_ip_checksum_known),
		cmocka_unit_test(test_no_room),
	};

	return cmocka_run_group_tests(tests, start_eal, stop_eal);
}
