// SPDX-License-Identifier: BSD-3-Clause
// The inline parser says the same as the one that knows all reasons, or nothing.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "frames.h"
#include "test_rand.h"
#include "udp.h"

#define ROUNDS 200000

static struct net_rx rules(struct test_rand *r)
{
	struct net_rx rx = {.ip_checksum_good = test_rand_below(r, 4) == 0,
		.l4_checksum_good = test_rand_below(r, 4) == 0};

	memcpy(rx.mac, mac_a, 6);
	return rx;
}

// A valid frame of a random payload.
static size_t valid(struct test_rand *r, uint8_t *buf)
{
	const bool is_v4 = test_rand_below(r, 2) == 0;
	const uint16_t len = (uint16_t)test_rand_below(r, test_rand_below(r, 2) == 0 ? 70 : 1400);
	const struct net_ip ip = {.tos = (uint8_t)test_rand(r),
		.ttl = (uint8_t)test_rand(r),
		.id = (uint16_t)test_rand(r),
		.df = test_rand_below(r, 2) == 0};
	struct endpoint src = {.port = (uint16_t)(1 + test_rand_below(r, 65535))};
	struct endpoint dst = {.port = (uint16_t)(1 + test_rand_below(r, 65535))};
	struct net_l2 l2 = {0};
	uint8_t *payload = buf + 128, *frame;
	uint16_t sum;

	addr_parse(is_v4 ? "192.0.2.7" : "2001:db8::7", &src.addr);
	addr_parse(is_v4 ? "198.51.100.1" : "2001:db8:1::1", &dst.addr);
	memcpy(l2.dst, mac_a, 6);
	memcpy(l2.src, mac_b, 6);
	test_rand_fill(r, payload, len);
	if (test_rand_below(r, 8) == 0)
		memset(payload, 0xff, len);
	frame = net_write_udp(payload, len, &l2, &src, &dst, &ip, 0);
	sum = csum_udp(&src.addr, &dst.addr, payload - NET_UDP_LEN, (uint16_t)(len + NET_UDP_LEN));
	store_be16(payload - 2, sum);
	memmove(buf, frame, (size_t)(payload + len - frame));
	return (size_t)(payload + len - frame);
}

static void assert_same(const struct net_frame *a, const struct net_frame *b)
{
	assert_true(addr_eq(&a->src, &b->src) && addr_eq(&a->dst, &b->dst));
	assert_int_equal(a->sport, b->sport);
	assert_int_equal(a->dport, b->dport);
	assert_int_equal(a->l3_off, b->l3_off);
	assert_int_equal(a->l4_off, b->l4_off);
	assert_int_equal(a->payload_off, b->payload_off);
	assert_int_equal(a->payload_len, b->payload_len);
	assert_int_equal(a->l4_checksum, b->l4_checksum);
	assert_int_equal(a->kind, b->kind);
	assert_int_equal(a->tos, b->tos);
	assert_int_equal(a->ttl, b->ttl);
	assert_int_equal(a->df, b->df);
	assert_int_equal(a->is_v4, b->is_v4);
	assert_int_equal(a->l2_multicast, b->l2_multicast);
}

// Every valid frame is taken, with whatever padding Ethernet puts behind it.
static void test_valid(void **state)
{
	struct test_rand r = test_rand_start("udp");
	uint8_t buf[2048];

	for (unsigned int i = 0; i < ROUNDS / 10; i++) {
		const struct net_rx rx = rules(&r);
		size_t len = valid(&r, buf);
		struct net_frame fast, full;

		test_rand_fill(&r, buf + len, 18);
		len += test_rand_below(&r, 18);
		memset(&fast, 0xa5, sizeof(fast));
		assert_true(net_udp_parse(buf, len, &rx, &fast));
		assert_int_equal(net_frame_parse(buf, len, &rx, &full), NET_OK);
		assert_same(&fast, &full);
	}
}

// Bits flipped, bytes changed, ends cut off: what the inline parser takes, the other takes too and
// fills in the same.
static void test_mutated(void **state)
{
	struct test_rand r = test_rand_start("udp");
	uint8_t buf[2048];
	unsigned int taken = 0, refused = 0;

	for (unsigned int i = 0; i < ROUNDS; i++) {
		const struct net_rx rx = rules(&r);
		size_t len = valid(&r, buf);
		struct net_frame fast, full;
		enum net_drop reason;

		for (unsigned int n = test_rand_below(&r, 3); n > 0; n--) {
			const uint32_t at = test_rand_below(&r, test_rand_below(&r, 4) ? 62 : len);

			if (test_rand_below(&r, 2) == 0)
				buf[at] ^= (uint8_t)(1u << test_rand_below(&r, 8));
			else
				buf[at] = (uint8_t)test_rand(&r);
		}
		if (test_rand_below(&r, 6) == 0)
			len = test_rand_below(&r, (uint32_t)len + 1);
		reason = net_frame_parse(buf, len, &rx, &full);
		if (!net_udp_parse(buf, len, &rx, &fast)) {
			refused++;
			continue;
		}
		taken++;
		assert_int_equal(reason, NET_OK);
		assert_same(&fast, &full);
	}
	assert_true(taken > ROUNDS / 10 && refused > ROUNDS / 10);
}

// A tagged port takes no untagged frame, and the other way round.
static void test_vlan(void **state)
{
	struct net_rx rx = {.vlan = 100};
	struct net_frame f;

	memcpy(rx.mac, mac_a, 6);
	assert_false(net_udp_parse(udp4, sizeof(udp4), &rx, &f));
	rx.vlan = 0;
	assert_true(net_udp_parse(udp4, sizeof(udp4), &rx, &f));
	assert_true(net_udp_parse(udp6, sizeof(udp6), &rx, &f));
	assert_false(net_udp_parse(udp4_vlan, sizeof(udp4_vlan), &rx, &f));
}

// Sums of all lengths against the slowest there is.
static void test_sum(void **state)
{
	struct test_rand r = test_rand_start("udp");
	uint8_t buf[320];

	for (size_t len = 8; len < 300; len++) {
		for (size_t off = 0; off < 8; off++) {
			test_rand_fill(&r, buf, sizeof(buf));
			if (off % 4 == 0)
				memset(buf, 0xff, sizeof(buf));
			assert_int_equal(__builtin_bswap16(udp_fold(udp_sum(0, buf + off, len))),
				slow_sum(0, buf + off, len));
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_valid),
		cmocka_unit_test(test_mutated),
		cmocka_unit_test(test_vlan),
		cmocka_unit_test(test_sum),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
