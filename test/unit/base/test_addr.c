// SPDX-License-Identifier: BSD-3-Clause
// Addresses, prefixes and ranges: parsing and formatting, classes, the encodings of IPv4 in IPv6,
// and their order.
#include <errno.h>

#include "addr.h"
#include "addr_text.h"
#include "bytes.h"
#include "hash.h"
#include "test.h"
#include "test_rand.h"

static void test_parse(void **state)
{
	static const uint8_t v4[16] = {[10] = 0xff, 0xff, 192, 0, 2, 33};
	static const uint8_t v6[16] = {0x20, 0x01, 0x0d, 0xb8, [15] = 0x12};
	static const char *const bad[] = {"", " 1.2.3.4", "1.2.3.4 ", "1.2.3", "1.2.3.256",
		"1.2.3.4:1", "01.2.3.4", "[::1]", "::1%lo", "1::2::3", "::g",
		"12345::", "1.2.3.4/32", "localhost"};
	struct addr a = addr_text("192.0.2.33");

	assert_memory_equal(a.b, v4, 16);
	assert_true(addr_is_v4(&a));
	a = addr_text("::ffff:192.0.2.33");
	assert_memory_equal(a.b, v4, 16);
	a = addr_text("2001:DB8::12");
	assert_memory_equal(a.b, v6, 16);
	assert_false(addr_is_v4(&a));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(addr_parse(bad[i], &a), -EINVAL);
}

// RFC 5952 sections 4 and 5.
static void test_format(void **state)
{
	static const char *const same[] = {"0.0.0.0", "255.255.255.255", "192.0.2.1", "::", "::1",
		"2001:db8::1", "2001:db8:0:1:1:1:1:1", "2001:0:0:1::1", "2001:db8::1:0:0:1",
		"ff02::1:ff00:1", "1:2:3:4:5:6:7:8"};
	struct endpoint e = {addr_text("192.0.2.1"), 3478};
	struct addr a;
	char buf[ADDR_TEXT_LEN + 8];

	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
		a = addr_text(same[i]);
		assert_addr(&a, same[i]);
	}
	a = addr_text("2001:0DB8:0000:0000:0001:0000:0000:0001");
	assert_addr(&a, "2001:db8::1:0:0:1");
	a = addr_text("::ffff:10.1.2.3");
	assert_addr(&a, "10.1.2.3");
	assert_string_equal(addr_format_endpoint(&e, buf, sizeof(buf)), "192.0.2.1:3478");
	e = (struct endpoint){addr_text("2001:db8::1"), 65535};
	assert_string_equal(addr_format_endpoint(&e, buf, sizeof(buf)), "[2001:db8::1]:65535");
	e.addr = addr_text("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff");
	assert_string_equal(addr_format_endpoint(&e, buf, sizeof(buf)),
		"[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535");
}

static void test_canonical(void **state)
{
	static const char *const pairs[][2] = {
		{"10.0.0.1", "10.0.0.1"},
		{"::ffff:10.0.0.1", "10.0.0.1"},
		{"::10.0.0.1", "10.0.0.1"},
		{"64:ff9b::10.0.0.1", "10.0.0.1"},
		{"64:ff9b::127.0.0.1", "127.0.0.1"},
		{"::127.0.0.1", "127.0.0.1"},
		{"64:ff9b::", "0.0.0.0"},
		{"::2", "0.0.0.2"},
		{"::", "::"},
		{"::1", "::1"},
		{"64:ff9b:1::10.0.0.1", "64:ff9b:1::a00:1"},
		{"64:ff9b::1:0:0", "64:ff9b::1:0:0"},
		{"::1:0:0:0", "::1:0:0:0"},
		{"2002:a00:1::", "2002:a00:1::"},
		{"::fffe:10.0.0.1", "::fffe:a00:1"},
	};

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		const struct addr a = addr_canonical(addr_text(pairs[i][0]));

		assert_addr(&a, pairs[i][1]);
	}
}

// The examples of RFC 6052 section 2.4, and prefixes that no translator has.
static void test_nat64(void **state)
{
	static const char *const carried[][2] = {
		{"2001:db8::/32", "2001:db8:c000:221::"},
		{"2001:db8:100::/40", "2001:db8:1c0:2:21::"},
		{"2001:db8:122::/48", "2001:db8:122:c000:2:2100::"},
		{"2001:db8:122:300::/56", "2001:db8:122:3c0:0:221::"},
		{"2001:db8:122:344::/64", "2001:db8:122:344:c0:2:2100::"},
		{"2001:db8:122:344::/96", "2001:db8:122:344::192.0.2.33"},
		{"64:ff9b::/96", "64:ff9b::192.0.2.33"},
	};
	static const char *const none[] = {"2001:db8::/31", "2001:db8::/33", "2001:db8::/72",
		"2001:db8::/88", "2001:db8::/95", "2001:db8::/128", "::/0",
		"2001:db8:0:0:ff00::/96", "10.0.0.0/8", "0.0.0.0/0"};
	struct addr v4 = addr_text("10.0.0.1");
	struct prefix p;

	for (size_t i = 0; i < sizeof(carried) / sizeof(carried[0]); i++) {
		const struct addr a = addr_text(carried[i][1]);

		assert_int_equal(addr_prefix_parse(carried[i][0], &p), 0);
		assert_true(addr_nat64_prefix(&p));
		assert_true(addr_nat64(&p, &a, &v4));
		assert_addr(&v4, "192.0.2.33");
		v4 = addr_text("2001:db9::1");
		assert_false(addr_nat64(&p, &v4, &v4));
		assert_addr(&v4, "2001:db9::1");
	}
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		assert_int_equal(addr_prefix_parse(none[i], &p), 0);
		assert_false(addr_nat64_prefix(&p));
	}
}

static void test_class(void **state)
{
	static const struct {
		const char *text;
		enum addr_class class;
	} rows[] = {
		{"0.0.0.0", ADDR_UNSPECIFIED},
		{"0.255.255.255", ADDR_UNSPECIFIED},
		{"1.0.0.0", ADDR_UNICAST},
		{"10.0.0.1", ADDR_UNICAST},
		{"126.255.255.255", ADDR_UNICAST},
		{"127.0.0.1", ADDR_LOOPBACK},
		{"127.255.255.255", ADDR_LOOPBACK},
		{"128.0.0.0", ADDR_UNICAST},
		{"169.253.255.255", ADDR_UNICAST},
		{"169.254.169.254", ADDR_LINK_LOCAL},
		{"169.255.0.0", ADDR_UNICAST},
		{"223.255.255.255", ADDR_UNICAST},
		{"224.0.0.0", ADDR_MULTICAST},
		{"239.255.255.255", ADDR_MULTICAST},
		{"240.0.0.0", ADDR_RESERVED},
		{"255.255.255.255", ADDR_RESERVED},
		{"::", ADDR_UNSPECIFIED},
		{"::1", ADDR_LOOPBACK},
		{"fe7f:ffff::1", ADDR_UNICAST},
		{"fe80::1", ADDR_LINK_LOCAL},
		{"febf:ffff::1", ADDR_LINK_LOCAL},
		{"fec0::1", ADDR_LINK_LOCAL},
		{"feff:ffff::1", ADDR_LINK_LOCAL},
		{"ff00::", ADDR_MULTICAST},
		{"ff02::1", ADDR_MULTICAST},
		{"2001::1", ADDR_TRANSITION},
		{"2001:0:ffff::1", ADDR_TRANSITION},
		{"2001:1::1", ADDR_UNICAST},
		{"2001:db8::1", ADDR_UNICAST},
		{"2002::1", ADDR_TRANSITION},
		{"2003::1", ADDR_UNICAST},
		{"64:ff9b:1::1", ADDR_TRANSITION},
		{"64:ff9b:1:ffff::1", ADDR_TRANSITION},
		{"64:ff9b:2::1", ADDR_UNICAST},
		{"2a00:1450::5efe:a00:1", ADDR_TRANSITION},
		{"2a00:1450::200:5efe:a00:1", ADDR_TRANSITION},
		{"2a00:1450::100:5efe:a00:1", ADDR_UNICAST},
		{"2a00:1450::5eff:a00:1", ADDR_UNICAST},
		{"fe80::5efe:a00:1", ADDR_TRANSITION},
		{"fd00::1", ADDR_UNICAST},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct addr a = addr_text(rows[i].text);

		if (addr_class(&a) != rows[i].class)
			fail_msg("%s is of class %d", rows[i].text, addr_class(&a));
	}
}

// Every encoding of an IPv4 address has one canonical form, and making it is idempotent.
static void test_canonical_property(void **state)
{
	static const char *const carriers[] = {"::ffff:0:0", "::", "64:ff9b::"};
	struct test_rand r = test_rand_start("canonical");

	for (int i = 0; i < 20000; i++) {
		uint8_t v4[4];
		struct addr want, a;

		test_rand_fill(&r, v4, sizeof(v4));
		v4[0] |= 1; // ::0.0.0.0 and ::0.0.0.1 are not compatible addresses
		want = addr_from_v4(v4);
		for (int c = 0; c < 3; c++) {
			a = addr_text(carriers[c]);
			memcpy(a.b + 12, v4, 4);
			a = addr_canonical(a);
			assert_true(addr_eq(&a, &want));
		}
		test_rand_fill(&r, &a, sizeof(a));
		memset(a.b, 0, test_rand_below(&r, 17));
		a = addr_canonical(a);
		want = addr_canonical(a);
		assert_true(addr_eq(&a, &want));
	}
}

static void test_prefix(void **state)
{
	static const char *const bad[] = {"10.0.0.1/8", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/-1",
		"10.0.0.0/+8", "10.0.0.0/8 ", "10.0.0.0/0x8", "/8", "", "::1/127", "::/129",
		"10.0.0.0/8/8", "::/0000", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/8"};
	struct prefix p;
	struct addr a;

	assert_int_equal(addr_prefix_parse("10.0.0.0/8", &p), 0);
	assert_int_equal(p.len, 104);
	a = addr_text("10.255.255.255");
	assert_true(addr_prefix_contains(&p, &a));
	a = addr_text("11.0.0.0");
	assert_false(addr_prefix_contains(&p, &a));
	assert_int_equal(addr_prefix_parse("::ffff:10.0.0.0/104", &p), 0);
	assert_int_equal(p.len, 104);
	assert_int_equal(addr_prefix_parse("192.0.2.1", &p), 0);
	assert_int_equal(p.len, 128);
	assert_int_equal(addr_prefix_parse("0.0.0.0/0", &p), 0);
	assert_true(addr_prefix_contains(&p, &a));
	a = addr_text("2001:db8::1");
	assert_false(addr_prefix_contains(&p, &a));
	assert_int_equal(addr_prefix_parse("::/0", &p), 0);
	assert_true(addr_prefix_contains(&p, &a));
	a = addr_text("10.0.0.0");
	assert_false(addr_prefix_contains(&p, &a)); // IPv4 is not part of IPv6
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (addr_prefix_parse(bad[i], &p) != -EINVAL)
			fail_msg("accepted '%s'", bad[i]);
}

static void test_range(void **state)
{
	static const char *const bad[] = {"10.0.0.2-10.0.0.1", "10.0.0.1-::1", "10.0.0.1-",
		"-10.0.0.1", "10.0.0.1-10.0.0.2-10.0.0.3", "10.0.0.0/8-11.0.0.0", "-",
		"10.0.0.1 - 10.0.0.2"};
	struct addr_range r;
	struct prefix p;

	assert_int_equal(addr_range_parse("10.0.0.0/24", &r), 0);
	assert_addr(&r.lo, "10.0.0.0");
	assert_addr(&r.hi, "10.0.0.255");
	assert_int_equal(addr_range_prefixes(&r, &p, 1), 1);
	assert_int_equal(p.len, 120);
	assert_int_equal(addr_range_parse("::1-::1", &r), 0);
	assert_addr(&r.hi, "::1");
	assert_int_equal(addr_range_parse("::/0", &r), 0);
	assert_int_equal(addr_range_prefixes(&r, &p, 1), 1);
	assert_int_equal(p.len, 0);
	assert_int_equal(addr_range_parse("0.0.0.0-255.255.255.255", &r), 0);
	assert_int_equal(addr_range_prefixes(&r, &p, 1), 1);
	assert_int_equal(p.len, 96);
	assert_int_equal(addr_range_parse("::1-ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe", &r), 0);
	assert_int_equal(addr_range_prefixes(&r, NULL, 0), 254);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(addr_range_parse(bad[i], &r), -EINVAL);
}

// The prefixes of a range follow each other without gap or overlap from lo to hi, and no two
// neighbours could be merged: so the set is minimal.
static void test_range_property(void **state)
{
	struct test_rand r = test_rand_start("range");

	for (int i = 0; i < 5000; i++) {
		struct prefix p[254];
		struct addr_range range, part;
		struct addr next;
		unsigned int n;

		test_rand_fill(&r, &range, sizeof(range));
		if (i % 2 == 0) {
			range.lo = addr_from_v4(range.lo.b);
			range.hi = addr_from_v4(range.hi.b);
		}
		if (addr_cmp(&range.lo, &range.hi) > 0)
			continue;
		n = addr_range_prefixes(&range, p, 254);
		assert_in_range(n, 1, 254);
		next = range.lo;
		for (unsigned int k = 0; k < n; k++) {
			assert_true(addr_eq(&next, &p[k].addr));
			part = addr_prefix_range(&p[k]);
			assert_true(addr_prefix_contains(&p[k], &part.hi));
			next = addr_next(&part.hi);
			if (k > 0 && p[k].len == p[k - 1].len) {
				const struct prefix joined = {p[k - 1].addr, p[k].len - 1};

				assert_false(addr_prefix_contains(&joined, &p[k].addr));
			}
		}
		part = addr_prefix_range(&p[n - 1]);
		assert_true(addr_eq(&part.hi, &range.hi));
	}
}

static void test_cmp_next(void **state)
{
	struct addr a = addr_text("10.0.255.255"), b = addr_text("10.1.0.0");

	assert_int_equal(addr_cmp(&a, &b), -1);
	assert_int_equal(addr_cmp(&b, &a), 1);
	assert_int_equal(addr_cmp(&a, &a), 0);
	a = addr_next(&a);
	assert_true(addr_eq(&a, &b));
	a = addr_text("2001:db8::ffff:ffff:ffff:ffff");
	a = addr_next(&a);
	assert_addr(&a, "2001:db8:0:1::");
}

// Lengths and contents matter, padding does not; the key matters.
static void test_hash_bytes(void **state)
{
	const struct hash_key key = {{1, 2, 3, 4}}, other_key = {{1, 2, 3, 5}};
	const uint8_t zero[40] = {0};
	uint64_t seen[41];

	for (size_t len = 0; len <= 40; len++) {
		seen[len] = hash_bytes(&key, zero, len);
		assert_int_not_equal(seen[len], hash_bytes(&other_key, zero, len));
		for (size_t k = 0; k < len; k++)
			assert_int_not_equal(seen[len], seen[k]);
	}
	assert_int_equal(seen[40], hash_bytes(&key, zero, 40));
}

// Results with vector instructions, compared with the plain version.
static void test_stored(void **state)
{
	struct test_rand r = test_rand_start("stored");

	for (unsigned int i = 0; i < 1000; i++) {
		const uint32_t v4 = (uint32_t)test_rand(&r);
		const struct addr wanted = addr_from_v4(&v4);
		struct addr a = {.d = {~UINT64_C(0), ~UINT64_C(0)}};

		addr_store_v4(&a, &v4);
		assert_memory_equal(&a, &wanted, sizeof(a));
		assert_true(addr_eq_stored(&a, &wanted) && addr_eq(&a, &wanted));
		for (unsigned int bit = 0; bit < 128; bit++) {
			struct addr b = a;

			b.b[bit / 8] ^= (uint8_t)(1u << bit % 8);
			assert_false(addr_eq_stored(&a, &b) || addr_eq(&a, &b));
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_format),
		cmocka_unit_test(test_canonical),
		cmocka_unit_test(test_nat64),
		cmocka_unit_test(test_class),
		cmocka_unit_test(test_canonical_property),
		cmocka_unit_test(test_prefix),
		cmocka_unit_test(test_range),
		cmocka_unit_test(test_range_property),
		cmocka_unit_test(test_cmp_next),
		cmocka_unit_test(test_hash_bytes),
		cmocka_unit_test(test_stored),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
