// SPDX-License-Identifier: BSD-3-Clause
// ICMP errors about UDP datagrams, by the layouts of RFC 792, RFC 1191 section 4 and RFC 4443
// section 3.
#include <stdlib.h>

#include "bytes.h"
#include "frames.h"
#include "icmp_error.h"
#include "test.h"

// Fragmentation needed, MTU 1400: quotes 10.99.0.1:50000 > 192.0.2.9:7000, 1000 bytes, including 8
// bytes of UDP.
static const uint8_t too_big4[36] = {3, 4, 0, 0, 0, 0, 0x05, 0x78, //
	0x45, 0, 0x03, 0xe8, 0x12, 0x34, 0x40, 0, 61, 17, 0, 0, 10, 99, 0, 1, 192, 0, 2, 9, //
	0xc3, 0x50, 0x1b, 0x58, 0x03, 0xd4, 0xbe, 0xef};
// Packet Too Big, MTU 1280: [2001:db8::1]:50000 > [2001:db8:1::9]:7000, 1040 bytes.
static const uint8_t too_big6[56] = {2, 0, 0, 0, 0, 0, 0x05, 0x00, //
	0x60, 0, 0, 0, 0x03, 0xe8, 17, 61, //
	0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, //
	0x20, 0x01, 0x0d, 0xb8, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9, //
	0xc3, 0x50, 0x1b, 0x58, 0x03, 0xe8, 0xbe, 0xef};

static struct net_icmp_error got;

// Parses a message in a block of exactly its length, so that a sanitizer finds reads beyond it.
static bool parse(const uint8_t *icmp, size_t len, bool is_v4)
{
	const struct net_frame f = {
		.kind = is_v4 ? NET_ICMP : NET_ICMP6, .is_v4 = is_v4, .payload_len = (uint16_t)len};
	uint8_t *copy = malloc(len);
	bool ok;

	assert_non_null(copy);
	memcpy(copy, icmp, len);
	ok = net_icmp_error_is(&f, copy) && net_icmp_error_parse(&f, copy, &got);
	free(copy);
	return ok;
}

static bool ends_are(const char *src, const char *dst)
{
	struct endpoint a, b;

	assert_int_equal(addr_parse(src, &a.addr), 0);
	assert_int_equal(addr_parse(dst, &b.addr), 0);
	a.port = 50000;
	b.port = 7000;
	return endpoint_eq(&got.src, &a) && endpoint_eq(&got.dst, &b);
}

static void the_quoted_datagram_is_read(void **state)
{
	assert_true(parse(too_big4, sizeof(too_big4), true));
	assert_true(ends_are("10.99.0.1", "192.0.2.9"));
	assert_int_equal(got.type, 3);
	assert_int_equal(got.code, 4);
	assert_int_equal(got.mtu, 1400);
	assert_int_equal(got.len, 1000);
	assert_true(got.too_big);
	assert_true(parse(too_big6, sizeof(too_big6), false));
	assert_true(ends_are("2001:db8::1", "2001:db8:1::9"));
	assert_int_equal(got.type, 2);
	assert_int_equal(got.code, 0);
	assert_int_equal(got.mtu, 1280);
	assert_int_equal(got.len, 1040);
	assert_true(got.too_big);
}

// Types 3 and 11, and 1, 2 and 3 (RFC 8656 section 11.5); the field that holds the MTU in one type
// is unused, or a pointer, in the others.
static void only_five_types_count(void **state)
{
	uint8_t icmp[56];

	for (unsigned int type = 0; type < 256; type++) {
		memcpy(icmp, too_big4, sizeof(too_big4));
		icmp[0] = (uint8_t)type;
		icmp[1] = 3;
		assert_int_equal(parse(icmp, sizeof(too_big4), true), type == 3 || type == 11);
		memcpy(icmp, too_big6, sizeof(too_big6));
		icmp[0] = (uint8_t)type;
		assert_int_equal(parse(icmp, sizeof(too_big6), false), type >= 1 && type <= 3);
	}
	memcpy(icmp, too_big4, sizeof(too_big4));
	icmp[1] = 3;
	assert_true(parse(icmp, sizeof(too_big4), true));
	assert_false(got.too_big);
	assert_int_equal(got.mtu, 0);
	icmp[0] = 11;
	icmp[1] = 4;
	assert_true(parse(icmp, sizeof(too_big4), true));
	assert_false(got.too_big);
	memcpy(icmp, too_big6, sizeof(too_big6));
	icmp[0] = 3;
	assert_true(parse(icmp, sizeof(too_big6), false));
	assert_false(got.too_big);
	assert_int_equal(got.mtu, 0);
}

static void shorter_errors_are_refused(void **state)
{
	for (size_t len = 8; len < sizeof(too_big4); len++)
		assert_false(parse(too_big4, len, true));
	for (size_t len = 8; len < sizeof(too_big6); len++)
		assert_false(parse(too_big6, len, false));
}

// One changed byte of the quote, so that we cannot have sent the packet.
static void quotes_that_we_cannot_have_sent_are_refused(void **state)
{
	static const struct {
		uint8_t offset, value;
	} v4[] =
		{
			{8, 0x46}, // options
			{8, 0x44}, // a header of 16 bytes
			{8, 0x65}, // another version
			{10, 0}, // 232 bytes, but UDP claims 980
			{14, 0x41}, // not the first fragment
			{15, 1}, {17, 6}, // TCP
			{33, 0xd3}, // UDP shorter than IP claims
			{33, 0xd5}, // and longer
		},
	  v6[] = {
		  {8, 0x40},
		  {13, 0xe7}, // one byte less than UDP claims
		  {14, 0}, // hop-by-hop options
		  {14, 58},
		  {53, 0xe7},
	  };
	uint8_t icmp[56];

	for (size_t i = 0; i < sizeof(v4) / sizeof(v4[0]); i++) {
		memcpy(icmp, too_big4, sizeof(too_big4));
		icmp[v4[i].offset] = v4[i].value;
		assert_false(parse(icmp, sizeof(too_big4), true));
	}
	for (size_t i = 0; i < sizeof(v6) / sizeof(v6[0]); i++) {
		memcpy(icmp, too_big6, sizeof(too_big6));
		icmp[v6[i].offset] = v6[i].value;
		assert_false(parse(icmp, sizeof(too_big6), false));
	}
	for (unsigned int offset = 28; offset <= 30; offset += 2) { // port 0
		memcpy(icmp, too_big4, sizeof(too_big4));
		store_be16(icmp + offset, 0);
		assert_false(parse(icmp, sizeof(too_big4), true));
	}
	memcpy(icmp, too_big6, sizeof(too_big6));
	store_be16(icmp + 54, 0); // no checksum, over IPv6
	assert_false(parse(icmp, sizeof(too_big6), false));
	memcpy(icmp, too_big4, sizeof(too_big4));
	store_be16(icmp + 34, 0); // over IPv4 that is allowed
	assert_true(parse(icmp, sizeof(too_big4), true));
}

// IPv4-mapped addresses would be mistaken for IPv4 ones.
static void mapped_addresses_are_refused(void **state)
{
	uint8_t icmp[56];

	for (unsigned int offset = 16; offset <= 32; offset += 16) {
		memcpy(icmp, too_big6, sizeof(too_big6));
		memset(icmp + offset, 0, 16);
		icmp[offset + 10] = icmp[offset + 11] = 0xff;
		icmp[offset + 12] = 10;
		assert_false(parse(icmp, sizeof(too_big6), false));
	}
}

// The first of several fragments: UDP counts the bytes of all, IP only those of the first.
static void first_fragments_are_taken(void **state)
{
	uint8_t icmp[64];

	memcpy(icmp, too_big4, sizeof(too_big4));
	icmp[14] = 0x20;
	assert_false(parse(icmp, sizeof(too_big4), true)); // UDP claims a whole datagram
	store_be16(icmp + 32, 1500);
	assert_true(parse(icmp, sizeof(too_big4), true));
	assert_int_equal(got.len, 1000);

	memcpy(icmp, too_big6, 48);
	icmp[14] = 44;
	memcpy(icmp + 48, (const uint8_t[]){17, 0, 0, 1, 1, 2, 3, 4}, 8);
	memcpy(icmp + 56, too_big6 + 48, 8);
	store_be16(icmp + 60, 1400);
	assert_true(parse(icmp, sizeof(icmp), false));
	assert_true(ends_are("2001:db8::1", "2001:db8:1::9"));
	assert_int_equal(got.len, 1040);
	icmp[50] = 1; // its offset
	assert_false(parse(icmp, sizeof(icmp), false));
	icmp[50] = 0;
	icmp[51] = 0; // atomic: the whole datagram
	assert_false(parse(icmp, sizeof(icmp), false));
	store_be16(icmp + 60, 992);
	assert_true(parse(icmp, sizeof(icmp), false));
	for (size_t len = 48; len < sizeof(icmp); len++)
		assert_false(parse(icmp, len, false));
	icmp[48] = 6;
	assert_false(parse(icmp, sizeof(icmp), false));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_quoted_datagram_is_read),
		cmocka_unit_test(only_five_types_count),
		cmocka_unit_test(shorter_errors_are_refused),
		cmocka_unit_test(quotes_that_we_cannot_have_sent_are_refused),
		cmocka_unit_test(mapped_addresses_are_refused),
		cmocka_unit_test(first_fragments_are_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
