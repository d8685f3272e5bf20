// SPDX-License-Identifier: BSD-3-Clause
// Frames that the inline check accepts are accepted by the full parser, too, apart from addresses.
#include <string.h>

#include "frames.h"
#include "slow_sum.h"
#include "test.h"
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

// A valid frame with a random payload.
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

// Length of UDP, or 0 if the frame is not recognized.
static uint32_t scan(const uint8_t *data, size_t len, const struct net_rx *rx)
{
	struct net_udp_rules r;

	net_udp_rules_init(&r, rx);
	if (len < NET_ETH_LEN + NET_IP4_LEN + NET_UDP_LEN)
		return 0;
	if (udp_masked_eq(data, r.v4.value, r.v4.mask))
		return net_udp_scan4(data, len, rx->ip_checksum_good, rx->l4_checksum_good);
	if (udp_masked_eq(data, r.v6.value, r.v6.mask))
		return net_udp_scan6(data, len, rx->l4_checksum_good);
	return 0;
}

// Reasons that the inline check does not judge.
static bool about_ends(enum net_drop reason)
{
	return reason == NET_DROP_MARTIAN_SOURCE || reason == NET_DROP_MARTIAN_DESTINATION ||
		reason == NET_DROP_PORT_ZERO;
}

// Asserts that the headers are where they are without options and tags.
static void assert_same(uint32_t udp_len, const struct net_frame *f)
{
	assert_int_equal(f->kind, NET_UDP);
	assert_int_not_equal(f->l4_checksum, 0);
	assert_false(f->l2_multicast);
	assert_int_equal(f->l3_off, NET_ETH_LEN);
	assert_int_equal(f->l4_off, NET_ETH_LEN + (f->is_v4 ? NET_IP4_LEN : NET_IP6_LEN));
	assert_int_equal(f->payload_off, f->l4_off + NET_UDP_LEN);
	assert_int_equal(f->payload_len, udp_len - NET_UDP_LEN);
}

// Every valid frame is recognized.
static void test_valid(void **state)
{
	struct test_rand r = test_rand_start("udp");
	uint8_t buf[2048];

	for (unsigned int i = 0; i < ROUNDS / 10; i++) {
		const struct net_rx rx = rules(&r);
		const size_t len = valid(&r, buf);
		struct net_frame full;

		assert_int_equal(net_frame_parse(buf, len, &rx, &full), NET_OK);
		assert_same(scan(buf, len, &rx), &full);
	}
}

// A parsed frame is described again from its bytes and the position of its payload.
static void test_describe(void **state)
{
	struct test_rand r = test_rand_start("udp");
	uint8_t buf[2048];
	struct net_rx rx = {0};
	struct net_frame full, again; // with padding: it is zero in both

	memset(&full, 0, sizeof(full));
	memset(&again, 0, sizeof(again));
	memcpy(rx.mac, mac_a, 6);
	for (unsigned int i = 0; i < ROUNDS / 100; i++) {
		const size_t len = valid(&r, buf);

		assert_int_equal(net_frame_parse(buf, len, &rx, &full), NET_OK);
		net_frame_describe(buf, full.payload_off, full.payload_len, &again);
		assert_memory_equal(&again, &full, sizeof(full));
	}
	rx.vlan = 100;
	assert_int_equal(net_frame_parse(udp4_vlan, sizeof(udp4_vlan), &rx, &full), NET_OK);
	net_frame_describe(udp4_vlan, full.payload_off, full.payload_len, &again);
	assert_memory_equal(&again, &full, sizeof(full));
}

// Bits flipped, bytes changed, ends cut off: the full parser accepts every frame that is
// recognized.
static void test_mutated(void **state)
{
	struct test_rand r = test_rand_start("udp");
	uint8_t buf[2048];
	unsigned int taken = 0, refused = 0;

	for (unsigned int i = 0; i < ROUNDS; i++) {
		const struct net_rx rx = rules(&r);
		size_t len = valid(&r, buf);
		struct net_frame full;
		enum net_drop reason;
		uint32_t udp_len;

		for (unsigned int n = test_rand_below(&r, 3); n > 0; n--) {
			const uint32_t pos = test_rand_below(&r, test_rand_below(&r, 4) ? 62 : len);

			if (test_rand_below(&r, 2) == 0)
				buf[pos] ^= (uint8_t)(1u << test_rand_below(&r, 8));
			else
				buf[pos] = (uint8_t)test_rand(&r);
		}
		if (test_rand_below(&r, 6) == 0)
			len = test_rand_below(&r, (uint32_t)len + 1);
		reason = net_frame_parse(buf, len, &rx, &full);
		udp_len = scan(buf, len, &rx);
		if (udp_len == 0) {
			refused++;
			continue;
		}
		taken++;
		if (about_ends(reason))
			continue;
		assert_int_equal(reason, NET_OK);
		assert_same(udp_len, &full);
	}
	assert_true(taken > ROUNDS / 10 && refused > ROUNDS / 10);
}

// A tagged port accepts no untagged frame, and vice versa.
static void test_vlan(void **state)
{
	struct net_rx rx = {.vlan = 100};

	memcpy(rx.mac, mac_a, 6);
	assert_int_equal(scan(udp4, sizeof(udp4), &rx), 0);
	rx.vlan = 0;
	assert_int_not_equal(scan(udp4, sizeof(udp4), &rx), 0);
	assert_int_not_equal(scan(udp6, sizeof(udp6), &rx), 0);
	assert_int_equal(scan(udp4_vlan, sizeof(udp4_vlan), &rx), 0);
}

// Sums of all lengths against the simplest implementation.
static void test_sum(void **state)
{
	struct test_rand r = test_rand_start("udp");
	uint8_t buf[320];

	for (size_t len = 8; len < 300; len++) {
		for (size_t off = 0; off < 8; off++) {
			test_rand_fill(&r, buf, sizeof(buf));
			if (off % 4 == 0)
				memset(buf, 0xff, sizeof(buf));
			assert_int_equal(__builtin_bswap16(udp_fold(udp_sum(0, 0, buf + off, len))),
				slow_sum(0, buf + off, len));
		}
	}
}

// Added to other sums, including all carries.
static void test_sum_more(void **state)
{
	struct test_rand r = test_rand_start("udp");
	uint8_t buf[320];

	for (unsigned int n = 0; n < ROUNDS; n++) {
		const size_t len = 8 + test_rand_below(&r, 300);
		const uint64_t sum = n % 3 == 0 ? UINT64_MAX : test_rand(&r);
		const uint64_t more = n % 5 == 0 ? UINT64_MAX : test_rand(&r);
		uint32_t expect;

		memset(buf, 0xff, sizeof(buf));
		if (n % 2 == 0)
			test_rand_fill(&r, buf, sizeof(buf));
		expect = slow_sum(0, (const uint8_t *)&sum, sizeof(sum));
		expect = slow_sum(expect, (const uint8_t *)&more, sizeof(more));
		expect = slow_sum(expect, buf, len);
		assert_int_equal(__builtin_bswap16(udp_fold(udp_sum(sum, more, buf, len))), expect);
		expect = udp_fold(udp_sum_plain(sum, more, buf, len));
		assert_int_equal(udp_fold(udp_sum(sum, more, buf, len)), expect);
	}
}

// A sum is valid if it folds to all ones, whatever its carries are.
static void test_sum_is_good(void **state)
{
	static const uint64_t edge[] = {1, 0xfffe, 0xffff, 0x10000, 0xffffffff, UINT64_MAX,
		UINT64_MAX - 1, UINT64_C(0xffff0000), UINT64_C(0xffff00000000), 0x1fffe, 0x1ffff};
	struct test_rand r = test_rand_start("udp");

	for (unsigned int i = 0; i < sizeof(edge) / sizeof(edge[0]); i++)
		assert_int_equal(udp_sum_is_good(edge[i]), udp_fold(edge[i]) == 0xffff);
	for (unsigned int i = 0; i < ROUNDS; i++) {
		const uint64_t v = test_rand(&r) | 1;
		const uint64_t multiple = (v / 0xffff) * 0xffff;

		assert_int_equal(udp_sum_is_good(v), udp_fold(v) == 0xffff);
		assert_true(multiple == 0 || udp_sum_is_good(multiple));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_valid),
		cmocka_unit_test(test_describe),
		cmocka_unit_test(test_mutated),
		cmocka_unit_test(test_vlan),
		cmocka_unit_test(test_sum),
		cmocka_unit_test(test_sum_more),
		cmocka_unit_test(test_sum_is_good),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
