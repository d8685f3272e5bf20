// SPDX-License-Identifier: BSD-3-Clause
// The Internet checksum, computed and updated, against the examples of RFC 1071 and RFC 1624 and
// against a slow implementation.
#include <string.h>

#include "bytes.h"
#include "frames.h"
#include "net.h"
#include "slow_sum.h"
#include "test.h"
#include "test_rand.h"

// RFC 1071 section 3: the numerical example.
static void test_rfc1071(void **state)
{
	static const uint8_t bytes[] = {0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7};

	assert_int_equal(csum_fold(csum_add(0, bytes, 8)), 0xddf2);
	assert_int_equal(csum_fold(csum_add(0, bytes, 3)), 0xf201); // odd byte padded with zero
	assert_int_equal(csum_fold(csum_add(0x1234, NULL, 0)), 0x1234);
	assert_int_equal(csum_fold(csum_add(0, (const uint8_t[64]){0}, 64)), 0);
}

// RFC 1624 section 4: where eqn. 2 gives 0xffff, eqn. 3 gives 0; UDP writes that as 0xffff.
static void test_rfc1624(void **state)
{
	assert_int_equal(csum_update(0xdd2f, 0x5555, 0x3285), 0xffff);
	assert_int_equal(csum_update(0xdd2f, 0x5555, 0x5555), 0xdd2f);
	assert_int_equal(csum_update(0x1234, 0, 0), 0x1234);
}

static void test_fold(void **state)
{
	assert_int_equal(csum_fold(0), 0);
	assert_int_equal(csum_fold(0xffff), 0xffff);
	assert_int_equal(csum_fold(0x10000), 1);
	assert_int_equal(csum_fold(0xffffffff), 0xffff);
	assert_int_equal(csum_fold(0xfffeffff), 0xfffe);
}

// Every length at every alignment, from any sum, on data with many carries and with few; the result
// stays below 2^17.
static void test_add_property(void **state)
{
	struct test_rand r = test_rand_start("csum");
	uint8_t buf[320];

	for (size_t len = 0; len < 300; len++) {
		for (size_t off = 0; off < 16; off++) {
			const uint32_t start = (uint32_t)test_rand(&r) >> (off * 2);
			uint32_t sum;

			test_rand_fill(&r, buf, sizeof(buf));
			if (off % 4 == 0)
				memset(buf, 0xff, sizeof(buf));
			sum = csum_add(start, buf + off, len);
			assert_true(sum < 1u << 17);
			assert_int_equal(
				csum_fold(sum), slow_sum(csum_fold(start), buf + off, len));
		}
	}
}

static void test_large(void **state)
{
	static uint8_t buf[65535];
	struct test_rand r = test_rand_start("large");

	for (int i = 0; i < 4; i++) {
		test_rand_fill(&r, buf, sizeof(buf));
		if (i == 0)
			memset(buf, 0xff, sizeof(buf));
		assert_int_equal(csum_fold(csum_add(0xffffffff, buf, sizeof(buf))),
			slow_sum(0xffff, buf, sizeof(buf)));
	}
}

static void test_addrs(void **state)
{
	struct test_rand r = test_rand_start("addrs");

	for (int i = 0; i < 10000; i++) {
		uint8_t raw[32];
		struct addr src, dst;

		test_rand_fill(&r, raw, sizeof(raw));
		src = addr_from_v6(raw);
		dst = addr_from_v6(raw + 16);
		assert_int_equal(csum_fold(csum_addrs(&src, &dst)), slow_sum(0, raw, 32));
		src = addr_from_v4(raw);
		dst = addr_from_v4(raw + 4);
		assert_int_equal(csum_fold(csum_addrs(&src, &dst)), slow_sum(0, raw, 8));
	}
}

static void test_udp_golden(void **state)
{
	const struct addr src4 = addr_from_v4(udp4 + 26), dst4 = addr_from_v4(udp4 + 30);
	const struct addr src6 = addr_from_v6(udp6 + 22), dst6 = addr_from_v6(udp6 + 38);

	assert_int_equal(csum_udp(&src4, &dst4, udp4 + 34, 13), 0x3acd);
	assert_int_equal(csum_udp(&src6, &dst6, udp6 + 54, 16), 0x15bf);
}

// The old content of the field does not matter, and a sum of zero is sent as 0xffff.
static void test_udp_zero(void **state)
{
	struct addr src = addr_from_v4(udp4 + 26), dst = addr_from_v4(udp4 + 30);
	uint8_t udp[10] = {0xc3, 0x50, 0x0d, 0x96, 0x00, 0x0a, 0xaa, 0xaa, 0x00, 0x00};
	const uint16_t checksum = csum_udp(&src, &dst, udp, 10);

	store_be16(udp + 6, 0x5555);
	assert_int_equal(csum_udp(&src, &dst, udp, 10), checksum);
	store_be16(udp + 8, checksum); // sum of all words: 0xffff
	assert_int_equal(csum_udp(&src, &dst, udp, 10), 0xffff);
}

// The relay changes addresses and ports but not the payload. The updated checksum equals a full
// computation, and a corrupted payload stays corrupted.
static void test_update_property(void **state)
{
	struct test_rand r = test_rand_start("update");

	for (int i = 0; i < 20000; i++) {
		struct addr a[4];
		uint8_t udp[40];
		uint32_t removed, added;
		uint16_t checksum;

		test_rand_fill(&r, a, sizeof(a));
		test_rand_fill(&r, udp, sizeof(udp));
		if (i % 2 == 0)
			for (int k = 0; k < 4; k++)
				a[k] = addr_from_v4(a[k].b);
		checksum = csum_udp(&a[0], &a[1], udp, sizeof(udp));
		removed = csum_add(csum_addrs(&a[0], &a[1]), udp, 4);
		test_rand_fill(&r, udp, 4);
		added = csum_add(csum_addrs(&a[2], &a[3]), udp, 4);
		assert_int_equal(csum_update(checksum, removed, added),
			csum_udp(&a[2], &a[3], udp, sizeof(udp)));
		udp[8 + test_rand_below(&r, 32)] ^= (uint8_t)(1u << test_rand_below(&r, 8));
		assert_int_not_equal(csum_update(checksum, removed, added),
			csum_udp(&a[2], &a[3], udp, sizeof(udp)));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rfc1071),
		cmocka_unit_test(test_rfc1624),
		cmocka_unit_test(test_fold),
		cmocka_unit_test(test_add_property),
		cmocka_unit_test(test_large),
		cmocka_unit_test(test_addrs),
		cmocka_unit_test(test_udp_golden),
		cmocka_unit_test(test_udp_zero),
		cmocka_unit_test(test_update_property),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
