// SPDX-License-Identifier: BSD-3-Clause
// PROXY protocol headers, version 2, by sections 2 and 2.2 of HAProxy's proxy-protocol.txt: each
// field with all valid and invalid values, cut at every byte. Every header is read from a block of
// exactly its length, so that a sanitizer detects reads beyond it.
#include <stdlib.h>
#include <string.h>

#include "addr_text.h"
#include "bytes.h"
#include "proxy/proxy_header.h"
#include "test.h"
#include "test_rand.h"

#define ROOM 536
#define LONGEST 600
#define FIRST PROXY_HEADER_FIRST
#define UNIX_LEN 216
#define ROUNDS 300000

enum { LOCAL = 0x20, PROXY = 0x21 };
enum { TCP4 = 0x11, UDP4 = 0x12, TCP6 = 0x21, UDP6 = 0x22, UNIX_STREAM = 0x31, UNIX_DGRAM = 0x32 };

// As an NLB of AWS writes it: CRC32C, the endpoint of a VPC, padding. Another program, which uses a
// table, computed the checksum.
static const uint8_t nlb[] = {0x0d, 0x0a, 0x0d, 0x0a, 0x00, 0x0d, 0x0a, 0x51, 0x55, 0x49, 0x54,
	0x0a, 0x21, 0x11, 0x00, 0x38, 0xcb, 0x00, 0x71, 0x09, 0x0a, 0x00, 0x00, 0x05, 0x9c, 0x40,
	0x01, 0xbb, 0x03, 0x00, 0x04, 0xba, 0x90, 0x37, 0x44, 0xea, 0x00, 0x17, 0x01, 0x76, 0x70,
	0x63, 0x65, 0x2d, 0x30, 0x38, 0x64, 0x32, 0x62, 0x66, 0x31, 0x35, 0x66, 0x61, 0x63, 0x35,
	0x30, 0x30, 0x31, 0x63, 0x39, 0x04, 0x00, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00};
#define NLB_TYPE 28 // type of the checksum TLV

// --- headers -------------------------------------------------------------------------------------

struct text {
	uint8_t b[LONGEST];
	size_t len;
};

static void add(struct text *t, const void *p, size_t len)
{
	assert_true(t->len + len <= sizeof(t->b));
	memcpy(t->b + t->len, p, len);
	t->len += len;
	store_be16(t->b + 14, (uint16_t)(t->len - FIRST));
}

static struct text first(uint8_t command, uint8_t family)
{
	struct text t = {.b = "\r\n\r\n", .len = FIRST};

	memcpy(t.b + 5, "\r\nQUIT\n", 7);
	t.b[12] = command;
	t.b[13] = family;
	return t;
}

static struct text tcp4(const char *client, uint16_t port)
{
	const struct addr a = addr_text(client);
	struct text t = first(PROXY, TCP4);
	uint8_t block[PROXY_HEADER_INET] = {0, 0, 0, 0, 10, 0, 0, 5, 0, 0, 1, 0xbb};

	memcpy(block, a.b + 12, 4);
	store_be16(block + 8, port);
	add(&t, block, sizeof(block));
	return t;
}

static struct text tcp6(const char *client, uint16_t port)
{
	const struct addr a = addr_text(client);
	struct text t = first(PROXY, TCP6);
	uint8_t block[PROXY_HEADER_INET6] = {[16] = 0x20, [17] = 1, [35] = 80};

	memcpy(block, a.b, 16);
	store_be16(block + 32, port);
	add(&t, block, sizeof(block));
	return t;
}

static void add_tlv(struct text *t, uint8_t type, const void *value, uint16_t len)
{
	const uint8_t head[3] = {type, (uint8_t)(len >> 8), (uint8_t)len};

	add(t, head, sizeof(head));
	add(t, value, len);
}

static enum proxy_header_answer read_in(
	const uint8_t *p, size_t n, size_t room, struct proxy_header *h)
{
	uint8_t *block = malloc(n > 0 ? n : 1);
	enum proxy_header_answer answer;

	memcpy(block, p, n);
	*h = (struct proxy_header){0};
	answer = proxy_header_read(block, n, room, h);
	free(block);
	return answer;
}

// Reads a header byte by byte: every answer except the last is that more is missing.
static enum proxy_header_answer read_text(const struct text *t)
{
	enum proxy_header_answer answer = PROXY_HEADER_SHORT;
	struct proxy_header h;

	for (size_t n = 0; n <= t->len && answer == PROXY_HEADER_SHORT; n++) {
		answer = read_in(t->b, n, ROOM, &h);
		assert_int_equal(h.len,
			n == 0              ? PROXY_TEXT_LEAST
				: n < FIRST ? FIRST
					    : FIRST + (size_t)load_be16(t->b + 14));
		assert_true(answer != PROXY_HEADER_SHORT || n < h.len);
	}
	// bytes after the header are the client's, whatever they are
	if (t->len < sizeof(t->b))
		assert_int_equal(read_in(t->b, t->len + 1, ROOM, &h), answer);
	return answer;
}

static void is_client(const struct text *t, const char *client, uint16_t port)
{
	const struct addr a = addr_text(client);
	struct proxy_header h;

	assert_int_equal(read_text(t), PROXY_HEADER_CLIENT);
	assert_int_equal(read_in(t->b, t->len, ROOM, &h), PROXY_HEADER_CLIENT);
	assert_memory_equal(&h.client.addr, &a, sizeof(a));
	assert_int_equal(h.client.port, port);
	assert_int_equal(h.len, t->len);
}

// --- tests ---------------------------------------------------------------------------------------

static void test_addresses(void **state)
{
	const struct text v4 = tcp4("203.0.113.9", 40000), v6 = tcp6("2001:db8::9", 65535);
	const struct text mapped = tcp6("::ffff:198.51.100.7", 9), here = tcp4("127.0.0.1", 1);

	is_client(&v4, "203.0.113.9", 40000);
	is_client(&v6, "2001:db8::9", 65535);
	// an IPv4-mapped address, as dual-stack sockets report it: the client is an IPv4 client
	is_client(&mapped, "198.51.100.7", 9);
	is_client(&here, "127.0.0.1", 1);
}

static void test_no_client(void **state)
{
	static const char *const v4[] = {"0.0.0.0", "0.1.2.3", "224.0.0.1", "255.255.255.255"};
	static const char *const v6[] = {"::", "ff02::1", "::ffff:224.0.0.1", "::ffff:0.0.0.0"};
	struct text t;

	for (unsigned int i = 0; i < 4; i++) {
		t = tcp4(v4[i], 7);
		assert_int_equal(read_text(&t), PROXY_HEADER_BAD);
		t = tcp6(v6[i], 7);
		assert_int_equal(read_text(&t), PROXY_HEADER_BAD);
	}
	t = tcp4("203.0.113.9", 0);
	assert_int_equal(read_text(&t), PROXY_HEADER_BAD);
}

// A wrong signature is recognized at the first wrong byte.
static void test_signature(void **state)
{
	static const uint8_t stun[] = {0, 1, 0, 0, 0x21, 0x12, 0xa4, 0x42}, tls[] = {0x16, 3, 1};
	struct proxy_header h;
	struct text t;

	for (size_t i = 0; i < 13; i++) {
		t = tcp4("203.0.113.9", 40000);
		t.b[i] ^= 0x80;
		for (size_t n = 0; n <= t.len; n++)
			assert_int_equal(read_in(t.b, n, ROOM, &h),
				n <= i ? PROXY_HEADER_SHORT : PROXY_HEADER_NONE);
	}
	assert_int_equal(read_in(stun, sizeof(stun), ROOM, &h), PROXY_HEADER_NONE);
	assert_int_equal(read_in(tls, sizeof(tls), ROOM, &h), PROXY_HEADER_NONE);
}

// 2.2: the valid values of the fields, and how fields that we do not use are treated.
static void test_fields(void **state)
{
	static const uint8_t lens[] = {0, PROXY_HEADER_INET, PROXY_HEADER_INET6, UNIX_LEN};
	const uint8_t zero[UNIX_LEN] = {0};

	for (unsigned int command = 0; command < 16; command++) {
		for (unsigned int family = 0; family < 256; family++) {
			struct text t = first((uint8_t)(0x20 | command), (uint8_t)family);
			enum proxy_header_answer wanted = PROXY_HEADER_OWN;

			if (family >> 4 < 4)
				add(&t, zero, lens[family >> 4]);
			if (command > 1 || (command == 1 && (family >> 4 > 3 || (family & 15) > 2)))
				wanted = PROXY_HEADER_BAD;
			else if (command == 1 && (family == TCP4 || family == TCP6))
				wanted = PROXY_HEADER_BAD; // for address 0
			assert_int_equal(read_text(&t), wanted);
		}
	}
}

static void test_local(void **state)
{
	struct text t = first(LOCAL, 0);

	assert_int_equal(read_text(&t), PROXY_HEADER_OWN);
	// its address is skipped, and must not be used (2.2)
	t = tcp4("203.0.113.9", 40000);
	t.b[12] = LOCAL;
	assert_int_equal(read_text(&t), PROXY_HEADER_OWN);
	add(&t, "\1\0", 2);
	assert_int_equal(read_text(&t), PROXY_HEADER_OWN);
}

static void test_lengths(void **state)
{
	static const struct {
		uint8_t family, len;
	} least[] = {{TCP4, 12}, {UDP4, 12}, {TCP6, 36}, {UDP6, 36}, {UNIX_STREAM, UNIX_LEN},
		{UNIX_DGRAM, UNIX_LEN}};
	uint8_t block[UNIX_LEN];
	struct proxy_header h;
	struct text t;

	memset(block, 7, sizeof(block));
	for (unsigned int i = 0; i < sizeof(least) / sizeof(least[0]); i++) {
		t = first(PROXY, least[i].family);
		add(&t, block, least[i].len - 1u);
		// the reader waits for no byte of it
		assert_int_equal(read_in(t.b, FIRST, ROOM, &h), PROXY_HEADER_BAD);
		t = first(PROXY, least[i].family);
		add(&t, block, least[i].len);
		assert_int_equal(read_in(t.b, FIRST, ROOM, &h), PROXY_HEADER_SHORT);
	}
	t = tcp4("203.0.113.9", 40000);
	assert_int_equal(read_in(t.b, t.len, t.len, &h), PROXY_HEADER_CLIENT);
	assert_int_equal(read_in(t.b, t.len, t.len - 1, &h), PROXY_HEADER_LONG);
	store_be16(t.b + 14, UINT16_MAX);
	assert_int_equal(read_in(t.b, FIRST, ROOM, &h), PROXY_HEADER_LONG);
	assert_int_equal(h.len, FIRST + UINT16_MAX);
	t.b[12] = LOCAL;
	assert_int_equal(read_in(t.b, FIRST, ROOM, &h), PROXY_HEADER_LONG);
}

static void test_tlvs(void **state)
{
	static const uint8_t value[64] = {1, 2, 3};
	struct text t = tcp4("203.0.113.9", 40000);

	add_tlv(&t, 2, "turn.example", 12);
	add_tlv(&t, 4, value, 0);
	add_tlv(&t, 0xea, value, sizeof(value));
	is_client(&t, "203.0.113.9", 40000);
	for (uint8_t rest = 1; rest <= 2; rest++) { // shorter than a TLV header
		struct text cut = t;

		add(&cut, value, rest);
		assert_int_equal(read_text(&cut), PROXY_HEADER_BAD);
	}
	add(&t, "\x20\0\3ab", 5); // one byte shorter than its value
	assert_int_equal(read_text(&t), PROXY_HEADER_BAD);
	t = tcp6("2001:db8::9", 9);
	add(&t, "\x20\xff\xff", 3);
	assert_int_equal(read_text(&t), PROXY_HEADER_BAD);
}

// A header of the greatest length, full of TLVs.
static void test_many_tlvs(void **state)
{
	struct text t = tcp4("203.0.113.9", 40000);

	while (t.len + 3 <= ROOM)
		add_tlv(&t, 4, "", 0);
	is_client(&t, "203.0.113.9", 40000);
}

// The CRC32C of section 2.2.3.
static void test_checksum(void **state)
{
	struct text t = {.len = sizeof(nlb)};

	memcpy(t.b, nlb, sizeof(nlb));
	is_client(&t, "203.0.113.9", 40000);
	for (size_t i = FIRST; i < sizeof(nlb); i++) {
		struct text bad = t;

		bad.b[i] ^= 1;
		if (i != NLB_TYPE) // a header without checksum
			assert_int_equal(read_text(&bad), PROXY_HEADER_BAD);
	}
	t = tcp4("203.0.113.9", 40000);
	add_tlv(&t, 3, "\0\0\0", 3);
	assert_int_equal(read_text(&t), PROXY_HEADER_BAD);
	memcpy(t.b, nlb, sizeof(nlb));
	t.len = sizeof(nlb);
	add_tlv(&t, 3, "\0\0\0\0", 4);
	assert_int_equal(read_text(&t), PROXY_HEADER_BAD);
}

// Random bytes, and good headers with a few bytes changed: the answer to the whole equals the
// answer to its beginning, unless that was that more is missing.
static void test_random(void **state)
{
	struct test_rand r = test_rand_start("proxy_header");
	unsigned int seen[PROXY_HEADER_LONG + 1] = {0};

	for (unsigned int i = 0; i < ROUNDS; i++) {
		struct text t = test_rand_below(&r, 2) == 0 ? tcp4("203.0.113.9", 40000)
							    : tcp6("2001:db8::9", 9);
		enum proxy_header_answer answer, before;
		struct proxy_header h;
		uint8_t value[40];
		size_t n;

		for (unsigned int k = test_rand_below(&r, 4); k > 0; k--) {
			test_rand_fill(&r, value, sizeof(value));
			add_tlv(&t, (uint8_t)(8 + k), value, (uint16_t)test_rand_below(&r, 40));
		}
		for (unsigned int k = test_rand_below(&r, 3); k > 0; k--)
			t.b[test_rand_below(&r, (uint32_t)t.len)] = (uint8_t)test_rand(&r);
		if (test_rand_below(&r, 10) == 0)
			test_rand_fill(&r, t.b + 12, 4);
		n = test_rand_below(&r, (uint32_t)t.len + 1);
		answer = read_in(t.b, t.len, ROOM, &h);
		before = read_in(t.b, n, ROOM, &h);
		assert_true(before == answer || before == PROXY_HEADER_SHORT);
		seen[answer]++;
	}
	for (unsigned int i = 0; i <= PROXY_HEADER_LONG; i++)
		assert_true(seen[i] > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_no_client), cmocka_unit_test(test_signature),
		cmocka_unit_test(test_fields), cmocka_unit_test(test_local),
		cmocka_unit_test(test_lengths), cmocka_unit_test(test_tlvs),
		cmocka_unit_test(test_many_tlvs), cmocka_unit_test(test_checksum),
		cmocka_unit_test(test_random)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
