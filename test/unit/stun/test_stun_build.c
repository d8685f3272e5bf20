// SPDX-License-Identifier: BSD-3-Clause
// The writer: published messages rebuilt byte for byte, every capacity, no byte left unset.
#include <stdlib.h>
#include <string.h>

#include "stun.h"
#include "stun_usual.h"
#include "stun_vectors.h"
#include "test.h"
#include "test_rand.h"

static struct stun_crypto *crypto;

static int setup(void **state)
{
	crypto = stun_crypto_create();
	return crypto == NULL;
}

static int teardown(void **state)
{
	stun_crypto_free(crypto);
	return 0;
}

static struct stun_key short_term_key(void)
{
	struct stun_key key = {.len = sizeof(RFC5769_PASSWORD) - 1};

	memcpy(key.bytes, RFC5769_PASSWORD, key.len);
	return key;
}

static struct stun_key long_term_key(enum stun_algorithm alg)
{
	const struct stun_credential cred = {RFC5769_USER, sizeof(RFC5769_USER) - 1, RFC5769_REALM,
		RFC5769_LONGTERM_PASSWORD, sizeof(RFC5769_LONGTERM_PASSWORD) - 1};
	struct stun_key key;

	assert_true(stun_key_make(crypto, alg, &cred, &key));
	return key;
}

static const uint8_t tid[12] = {
	0xb7, 0xe7, 0xa7, 0x01, 0xbc, 0x34, 0xd6, 0x86, 0xfa, 0x87, 0xdf, 0xae};

// --- headers -------------------------------------------------------------------------------------

static void test_header(void **state)
{
	static const struct {
		enum stun_class cls;
		uint16_t method, type;
	} t[] = {
		{STUN_REQUEST, STUN_BINDING, 0x0001},
		{STUN_SUCCESS, STUN_BINDING, 0x0101},
		{STUN_ERROR, STUN_BINDING, 0x0111},
		{STUN_INDICATION, STUN_DATA, 0x0017},
		{STUN_INDICATION, STUN_SEND, 0x0016},
		{STUN_ERROR, STUN_CHANNEL_BIND, 0x0119},
		{STUN_SUCCESS, STUN_ALLOCATE, 0x0103},
		{STUN_ERROR, STUN_CREATE_PERMISSION, 0x0118},
		{STUN_REQUEST, 0x010, 0x0020},
		{STUN_REQUEST, 0x080, 0x0200},
		{STUN_ERROR, 0xfff, 0x3fff},
	};
	uint8_t buf[20], expect[20] = {0, 0, 0, 0, 0x21, 0x12, 0xa4, 0x42};
	struct stun_writer w;

	memcpy(expect + 8, tid, 12);
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		memset(buf, 0xA5, sizeof(buf));
		stun_begin(&w, buf, sizeof(buf), t[i].cls, t[i].method, tid);
		expect[0] = (uint8_t)(t[i].type >> 8);
		expect[1] = (uint8_t)t[i].type;
		assert_int_equal(stun_end(&w), 20);
		assert_memory_equal(buf, expect, 20);
	}
}

// Written types are read back, for every class and method.
static void test_types_round_trip(void **state)
{
	uint8_t buf[20];
	struct stun_writer w;
	struct stun_msg m;

	for (uint16_t method = 0; method <= 0xfff; method++) {
		for (enum stun_class cls = STUN_REQUEST; cls <= STUN_ERROR; cls++) {
			stun_begin(&w, buf, sizeof(buf), cls, method, tid);
			assert_int_equal(stun_parse(buf, stun_end(&w), &m), 0);
			assert_int_equal(m.method, method);
			assert_int_equal(m.cls, cls);
		}
	}
}

// --- attributes ----------------------------------------------------------------------------------

// Writes one attribute into a poisoned buffer and compares the whole buffer.
#define ASSERT_ATTR(put, ...)                                                        \
	do {                                                                         \
		static const uint8_t expect_[] = {__VA_ARGS__};                      \
		uint8_t buf_[64 + sizeof(expect_)];                                  \
		struct stun_writer w;                                                \
		memset(buf_, 0xA5, sizeof(buf_));                                    \
		stun_begin(&w, buf_, sizeof(buf_), STUN_SUCCESS, STUN_BINDING, tid); \
		put;                                                                 \
		assert_int_equal(stun_end(&w), 20 + sizeof(expect_));                \
		assert_int_equal(buf_[2] << 8 | buf_[3], sizeof(expect_));           \
		assert_memory_equal(buf_ + 20, expect_, sizeof(expect_));            \
		for (size_t i_ = 20 + sizeof(expect_); i_ < sizeof(buf_); i_++)      \
			assert_int_equal(buf_[i_], 0xA5);                            \
	} while (0)

static void test_padding(void **state)
{
	ASSERT_ATTR(stun_put(&w, STUN_DONT_FRAGMENT, NULL, 0), 0x00, 0x1a, 0, 0);
	ASSERT_ATTR(stun_put(&w, STUN_REALM, "a", 1), 0x00, 0x14, 0, 1, 'a', 0, 0, 0);
	ASSERT_ATTR(stun_put(&w, STUN_NONCE, "ab", 2), 0x00, 0x15, 0, 2, 'a', 'b', 0, 0);
	ASSERT_ATTR(stun_put(&w, STUN_SOFTWARE, "abc", 3), 0x80, 0x22, 0, 3, 'a', 'b', 'c', 0);
	ASSERT_ATTR(stun_put(&w, STUN_USERNAME, "abcd", 4), 0x00, 0x06, 0, 4, 'a', 'b', 'c', 'd');
	ASSERT_ATTR(stun_put(&w, STUN_USERNAME, "abcde", 5), 0x00, 0x06, 0, 5, 'a', 'b', 'c', 'd',
		'e', 0, 0, 0);
	ASSERT_ATTR(stun_put_u32(&w, STUN_LIFETIME, 0x01020384), 0x00, 0x0d, 0, 4, 1, 2, 3, 0x84);
}

static void test_error_code(void **state)
{
	ASSERT_ATTR(stun_put_error(&w, 401, ""), 0, 9, 0, 4, 0, 0, 4, 1);
	ASSERT_ATTR(stun_put_error(&w, 300, "x"), 0, 9, 0, 5, 0, 0, 3, 0, 'x', 0, 0, 0);
	ASSERT_ATTR(stun_put_error(&w, 699, ""), 0, 9, 0, 4, 0, 0, 6, 99);
	ASSERT_ATTR(stun_put_error(&w, 438, "Stale Nonce"), 0, 9, 0, 15, 0, 0, 4, 38, 'S', 't', 'a',
		'l', 'e', ' ', 'N', 'o', 'n', 'c', 'e', 0);
}

// RFC 8656 18.12
static void test_address_error_code(void **state)
{
	ASSERT_ATTR(stun_put_address_error(&w, 1, 440, ""), 0x80, 1, 0, 4, 1, 0, 4, 40);
	ASSERT_ATTR(
		stun_put_address_error(&w, 2, 508, "x"), 0x80, 1, 0, 5, 2, 0, 5, 8, 'x', 0, 0, 0);
}

static void test_error_code_refused(void **state)
{
	static const unsigned int bad[] = {0, 1, 99, 299, 700, 1401, UINT32_MAX};
	uint8_t buf[1024];
	char reason[600];
	struct stun_writer w;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		stun_begin(&w, buf, sizeof(buf), STUN_ERROR, STUN_BINDING, tid);
		stun_put_error(&w, bad[i], "");
		assert_int_equal(stun_end(&w), 0);
	}
	for (size_t len = 509; len <= 510; len++) { // RFC 8489 14.8: at most 509 bytes
		memset(reason, 'r', len);
		reason[len] = '\0';
		stun_begin(&w, buf, sizeof(buf), STUN_ERROR, STUN_BINDING, tid);
		stun_put_error(&w, 400, reason);
		assert_int_equal(stun_end(&w), len == 509 ? 20 + 4 + 516 : 0);
	}
}

static void test_xor_addr_published(void **state)
{
	struct endpoint e4 = {.port = 32853}, e6 = {.port = 32853};

	assert_int_equal(addr_parse("192.0.2.1", &e4.addr), 0);
	assert_int_equal(addr_parse("2001:db8:1234:5678:11:2233:4455:6677", &e6.addr), 0);
	// The bytes of RFC 5769 2.2 and 2.3.
	ASSERT_ATTR(stun_put_xor_addr(&w, STUN_XOR_MAPPED_ADDRESS, &e4), 0x00, 0x20, 0, 8, 0x00,
		0x01, 0xa1, 0x47, 0xe1, 0x12, 0xa6, 0x43);
	ASSERT_ATTR(stun_put_xor_addr(&w, STUN_XOR_MAPPED_ADDRESS, &e6), 0x00, 0x20, 0, 20, 0x00,
		0x02, 0xa1, 0x47, 0x01, 0x13, 0xa9, 0xfa, 0xa5, 0xd3, 0xf1, 0x79, 0xbc, 0x25, 0xf4,
		0xb5, 0xbe, 0xd2, 0xb9, 0xd9);
}

// RFC 8489 14.1, figure 5: a zero, the family, the port, the address; nothing is XORed.
static void test_addr(void **state)
{
	struct endpoint e4 = {.port = 3478}, e6 = {.port = 5349};

	assert_int_equal(addr_parse("192.0.2.1", &e4.addr), 0);
	assert_int_equal(addr_parse("2001:db8:1234:5678:11:2233:4455:6677", &e6.addr), 0);
	ASSERT_ATTR(stun_put_addr(&w, STUN_ALTERNATE_SERVER, &e4), 0x80, 0x23, 0, 8, 0x00, 0x01,
		0x0d, 0x96, 192, 0, 2, 1);
	ASSERT_ATTR(stun_put_addr(&w, STUN_ALTERNATE_SERVER, &e6), 0x80, 0x23, 0, 20, 0x00, 0x02,
		0x14, 0xe5, 0x20, 0x01, 0x0d, 0xb8, 0x12, 0x34, 0x56, 0x78, 0x00, 0x11, 0x22, 0x33,
		0x44, 0x55, 0x66, 0x77);
}

static void test_xor_addr_round_trip(void **state)
{
	struct test_rand rnd = test_rand_start("xor_addr_round_trip");
	uint8_t buf[64], id[16], ip[16];

	for (int i = 0; i < 20000; i++) {
		const bool v4 = i % 2 == 0;
		struct endpoint e, got;
		struct stun_writer w;
		struct stun_msg m;
		int family;
		test_rand_fill(&rnd, id, sizeof(id));
		test_rand_fill(&rnd, ip, sizeof(ip));
		e.addr = v4 ? addr_from_v4(ip) : addr_from_v6(ip);
		e.port = (uint16_t)test_rand(&rnd);
		stun_begin(&w, buf, sizeof(buf), STUN_SUCCESS, STUN_ALLOCATE, id);
		stun_put_xor_addr(&w, STUN_XOR_RELAYED_ADDRESS, &e);
		assert_int_equal(stun_end(&w), v4 ? 32 : 44);
		assert_int_equal(stun_parse(buf, w.len, &m), 0);
		assert_true(stun_decode_xor_addr(&m, m.off[STUN_XOR_RELAYED_ADDRESS],
			m.alen[STUN_XOR_RELAYED_ADDRESS], &got, &family));
		assert_int_equal(family, v4 ? 4 : 6);
		assert_true(endpoint_eq(&e, &got));
	}
}

// --- the published messages, rebuilt -------------------------------------------------------------

static void test_rebuild_longterm(void **state)
{
	const struct stun_key key = long_term_key(STUN_ALG_MD5);
	uint8_t buf[256];
	struct stun_writer w;

	memset(buf, 0xA5, sizeof(buf));
	stun_begin(&w, buf, sizeof(buf), STUN_REQUEST, STUN_BINDING, rfc5769_longterm + 8);
	stun_put(&w, STUN_USERNAME, RFC5769_USER, 18);
	stun_put(&w, STUN_NONCE, "f//499k954d6OL34oL9FSTvy64sA", 28);
	stun_put(&w, STUN_REALM, RFC5769_REALM, 11);
	stun_put_integrity(&w, crypto, STUN_ALG_MD5, &key);
	assert_int_equal(stun_end(&w), sizeof(rfc5769_longterm));
	assert_memory_equal(buf, rfc5769_longterm, sizeof(rfc5769_longterm));
}

static void test_rebuild_sha256(void **state)
{
	const struct stun_key key = long_term_key(STUN_ALG_SHA256);
	uint8_t buf[256], hash[32];
	struct stun_writer w;

	assert_true(stun_userhash(crypto, RFC5769_USER, 18, RFC5769_REALM, hash));
	memset(buf, 0xA5, sizeof(buf));
	stun_begin(&w, buf, sizeof(buf), STUN_REQUEST, STUN_BINDING, rfc8489_b1 + 8);
	stun_put(&w, STUN_USERHASH, hash, 32);
	stun_put(&w, STUN_NONCE, "obMatJos2AAACf//499k954d6OL34oL9FSTvy64sA", 41);
	stun_put(&w, STUN_REALM, RFC5769_REALM, 11);
	stun_put_integrity(&w, crypto, STUN_ALG_SHA256, &key);
	assert_int_equal(stun_end(&w), sizeof(rfc8489_b1));
	assert_memory_equal(buf, rfc8489_b1, sizeof(rfc8489_b1));
}

// RFC 5769 2.2 and 2.3 with zeros for padding, which a writer must send. The last 32 bytes
// (integrity and fingerprint) were computed with Python's hmac and zlib.
static void test_rebuild_responses(void **state)
{
	static const uint8_t tail4[32] = {0x00, 0x08, 0x00, 0x14, 0x5d, 0x6b, 0x58, 0xbe, 0xad,
		0x94, 0xe0, 0x7e, 0xef, 0x0d, 0xfc, 0x12, 0x82, 0xa2, 0xbd, 0x08, 0x43, 0x14, 0x10,
		0x28, 0x80, 0x28, 0x00, 0x04, 0x25, 0x16, 0x7a, 0x15};
	static const uint8_t tail6[32] = {0x00, 0x08, 0x00, 0x14, 0xbd, 0x03, 0x6d, 0x6a, 0x33,
		0x17, 0x50, 0xdf, 0xe2, 0xed, 0xc5, 0x8e, 0x64, 0x34, 0x55, 0xcf, 0xf5, 0xc8, 0xe2,
		0x64, 0x80, 0x28, 0x00, 0x04, 0x4f, 0x26, 0x02, 0x93};
	const struct vector t[] = {VECTOR(rfc5769_response4), VECTOR(rfc5769_response6)};
	const struct stun_key key = short_term_key();

	for (int i = 0; i < 2; i++) {
		struct endpoint e = {.port = 32853};
		uint8_t buf[128], expect[128];
		struct stun_writer w;

		assert_int_equal(
			addr_parse(i == 0 ? "192.0.2.1" : "2001:db8:1234:5678:11:2233:4455:6677",
				&e.addr),
			0);
		memset(buf, 0xA5, sizeof(buf));
		stun_begin(&w, buf, sizeof(buf), STUN_SUCCESS, STUN_BINDING, tid);
		stun_put(&w, STUN_SOFTWARE, "test vector", 11);
		stun_put_xor_addr(&w, STUN_XOR_MAPPED_ADDRESS, &e);
		stun_put_integrity(&w, crypto, STUN_ALG_MD5, &key);
		stun_put_fingerprint(&w);
		memcpy(expect, t[i].data, t[i].len);
		expect[35] = 0; // the one byte of padding
		memcpy(expect + t[i].len - 32, i == 0 ? tail4 : tail6, 32);
		assert_int_equal(stun_end(&w), t[i].len);
		assert_memory_equal(buf, expect, t[i].len);
	}
}

// Both integrity attributes and FINGERPRINT: each covers the ones before it, with a length that
// includes itself. Computed with Python's hmac and zlib.
static void test_both_integrities(void **state)
{
	static const uint8_t expect[] = {0x00, 0x01, 0x00, 0x4c, 0x21, 0x12, 0xa4, 0x42, 0xb7, 0xe7,
		0xa7, 0x01, 0xbc, 0x34, 0xd6, 0x86, 0xfa, 0x87, 0xdf, 0xae, 0x80, 0x22, 0x00, 0x01,
		0x78, 0x00, 0x00, 0x00, 0x00, 0x08, 0x00, 0x14, 0xf6, 0x96, 0xa4, 0x57, 0x02, 0x16,
		0x2a, 0xde, 0x84, 0xae, 0x25, 0x83, 0x5c, 0xdc, 0x03, 0xc1, 0x4e, 0x18, 0x98, 0xc5,
		0x00, 0x1c, 0x00, 0x20, 0xd7, 0x6a, 0x58, 0xf5, 0x26, 0xd6, 0xcb, 0xce, 0x36, 0xde,
		0xd1, 0x52, 0xbb, 0x6d, 0x55, 0x2c, 0x57, 0xce, 0xf8, 0x1c, 0x74, 0x05, 0x17, 0xd4,
		0x2c, 0xb3, 0xf8, 0x96, 0x03, 0x4c, 0x64, 0xa8, 0x80, 0x28, 0x00, 0x04, 0x8d, 0xed,
		0xa8, 0xce};
	const struct stun_key key = short_term_key();
	uint8_t buf[128];
	struct stun_writer w;

	stun_begin(&w, buf, sizeof(buf), STUN_REQUEST, STUN_BINDING, tid);
	stun_put(&w, STUN_SOFTWARE, "x", 1);
	stun_put_integrity(&w, crypto, STUN_ALG_MD5, &key);
	stun_put_integrity(&w, crypto, STUN_ALG_SHA256, &key);
	stun_put_fingerprint(&w);
	assert_int_equal(stun_end(&w), sizeof(expect));
	assert_memory_equal(buf, expect, sizeof(expect));
}

// --- capacity ------------------------------------------------------------------------------------

// Writes one attribute of each kind.
static uint16_t build_sample(uint8_t *buf, size_t cap, struct stun_writer *w)
{
	const struct stun_key key = short_term_key();
	struct endpoint e = {.port = 3478};

	addr_parse("2001:db8::1", &e.addr);
	stun_begin(w, buf, cap, STUN_ERROR, STUN_ALLOCATE, tid);
	stun_put_error(w, 438, "Stale Nonce");
	stun_put(w, STUN_REALM, "example", 7);
	stun_put(w, STUN_DONT_FRAGMENT, NULL, 0);
	stun_put_xor_addr(w, STUN_XOR_MAPPED_ADDRESS, &e);
	e.addr = addr_from_v4("\xc0\x00\x02\x01");
	stun_put_xor_addr(w, STUN_XOR_RELAYED_ADDRESS, &e);
	stun_put_u32(w, STUN_LIFETIME, 600);
	stun_put_integrity(w, crypto, STUN_ALG_MD5, &key);
	stun_put_integrity(w, crypto, STUN_ALG_SHA256, &key);
	stun_put_fingerprint(w);
	return stun_end(w);
}

static void test_every_capacity(void **state)
{
	uint8_t full[512], a[512], b[512];
	struct stun_writer w;
	const uint16_t len = build_sample(full, sizeof(full), &w);

	assert_int_equal(len, 20 + 20 + 12 + 4 + 24 + 12 + 8 + 24 + 36 + 8);
	for (size_t cap = 0; cap <= len + 8u; cap++) {
		struct odd_copy exact =
			stun_vectors_odd_copy(NULL, cap); // ASan finds a byte too many
		uint16_t end;

		memset(a, 0xA5, sizeof(a));
		memset(b, 0x5A, sizeof(b));
		end = build_sample(a, cap, &w);
		assert_int_equal(end, cap >= len ? len : 0);
		assert_int_equal(build_sample(b, cap, &w), end);
		assert_int_equal(build_sample(exact.data, cap, &w), end);
		assert_true(w.len <= cap);
		assert_int_equal(w.overflow, cap < len);
		// Up to len no poison is left, and after it nothing was changed.
		assert_memory_equal(a, b, w.len);
		assert_memory_equal(a, exact.data, w.len);
		for (size_t i = w.len; i < sizeof(a); i++) {
			assert_int_equal(a[i], 0xA5);
			assert_int_equal(b[i], 0x5A);
		}
		if (end != 0)
			assert_memory_equal(a, full, len);
		free(exact.block);
	}
}

static void test_overflow_is_sticky(void **state)
{
	const struct stun_key key = short_term_key();
	const struct endpoint e = {.addr = addr_from_v4("\xc0\x00\x02\x01"), .port = 1};
	uint8_t buf[128], before[128];
	struct stun_writer w;

	memset(buf, 0xA5, sizeof(buf));
	stun_begin(&w, buf, 96, STUN_SUCCESS, STUN_BINDING, tid);
	stun_put(&w, STUN_SOFTWARE, "fits", 4);
	stun_put(&w, STUN_NONCE, buf, 69); // 20 + 8 + 4 + 72 = 104
	assert_true(w.overflow);
	memcpy(before, buf, sizeof(buf));
	// Each of these would fit.
	stun_put(&w, STUN_SOFTWARE, "s", 1);
	stun_put(&w, STUN_DONT_FRAGMENT, NULL, 0);
	stun_put_u32(&w, STUN_LIFETIME, 1);
	stun_put_xor_addr(&w, STUN_XOR_MAPPED_ADDRESS, &e);
	stun_put_error(&w, 400, "");
	stun_put_integrity(&w, crypto, STUN_ALG_MD5, &key);
	stun_put_fingerprint(&w);
	assert_int_equal(stun_end(&w), 0);
	assert_int_equal(w.len, 28);
	assert_memory_equal(buf, before, sizeof(buf));
}

static void test_huge_values(void **state)
{
	static const size_t bad[] = {65536, 65537, 65536 + 4, SIZE_MAX, SIZE_MAX - 1, SIZE_MAX - 3};
	static uint8_t value[65536], buf[70000];
	struct stun_writer w;
	struct stun_msg m;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		stun_begin(&w, buf, sizeof(buf), STUN_INDICATION, STUN_SEND, tid);
		stun_put(&w, STUN_DATA_ATTR, value, bad[i]);
		assert_int_equal(stun_end(&w), 0);
	}
	stun_begin(&w, buf, sizeof(buf), STUN_INDICATION, STUN_SEND, tid);
	stun_put(&w, STUN_DATA_ATTR, value, 65532 - 24); // the longest possible message
	assert_int_equal(stun_end(&w), 65532);
	assert_int_equal(stun_parse(buf, 65532, &m), 0);
	stun_put(&w, STUN_DONT_FRAGMENT, NULL, 0);
	assert_int_equal(stun_end(&w), 0);
	stun_begin(&w, buf, sizeof(buf), STUN_INDICATION, STUN_SEND, tid);
	stun_put(&w, STUN_DATA_ATTR, value, 65532 - 23);
	assert_int_equal(stun_end(&w), 0);
}

// A message that could not be signed is not sent.
static void test_unsigned_fails(void **state)
{
	const struct stun_key empty = {.len = 0};
	uint8_t buf[128];
	struct stun_writer w;

	stun_begin(&w, buf, sizeof(buf), STUN_SUCCESS, STUN_BINDING, tid);
	stun_put_integrity(&w, crypto, STUN_ALG_MD5, &empty);
	assert_int_equal(stun_end(&w), 0);
	stun_begin(&w, buf, sizeof(buf), STUN_SUCCESS, STUN_BINDING, tid);
	stun_put_integrity(&w, crypto, STUN_ALG_SHA256, &empty);
	assert_int_equal(stun_end(&w), 0);
}

// --- Data indication -----------------------------------------------------------------------------

static void test_data_indication_bytes(void **state)
{
	// RFC 8656 11.6 and 18: method Data, indication; XOR-PEER-ADDRESS 0x0012, DATA 0x0013. The
	// addresses are those of RFC 5769 2.2 and 2.3 under the same transaction id.
	static const uint8_t expect4[36] = {0x00, 0x17, 0x00, 0x18, 0x21, 0x12, 0xa4, 0x42, 0xb7,
		0xe7, 0xa7, 0x01, 0xbc, 0x34, 0xd6, 0x86, 0xfa, 0x87, 0xdf, 0xae, 0x00, 0x12, 0x00,
		0x08, 0x00, 0x01, 0xa1, 0x47, 0xe1, 0x12, 0xa6, 0x43, 0x00, 0x13, 0x00, 0x05};
	static const uint8_t expect6[48] = {0x00, 0x17, 0x00, 0x24, 0x21, 0x12, 0xa4, 0x42, 0xb7,
		0xe7, 0xa7, 0x01, 0xbc, 0x34, 0xd6, 0x86, 0xfa, 0x87, 0xdf, 0xae, 0x00, 0x12, 0x00,
		0x14, 0x00, 0x02, 0xa1, 0x47, 0x01, 0x13, 0xa9, 0xfa, 0xa5, 0xd3, 0xf1, 0x79, 0xbc,
		0x25, 0xf4, 0xb5, 0xbe, 0xd2, 0xb9, 0xd9, 0x00, 0x13, 0x00, 0x05};
	struct endpoint e = {.port = 32853};
	uint8_t buf[64];

	assert_int_equal(addr_parse("192.0.2.1", &e.addr), 0);
	memset(buf, 0xA5, sizeof(buf));
	assert_int_equal(stun_data_indication(buf, tid, &e, 5), 36);
	assert_memory_equal(buf, expect4, 36);
	for (size_t i = 36; i < sizeof(buf); i++)
		assert_int_equal(buf[i], 0xA5);

	assert_int_equal(addr_parse("2001:db8:1234:5678:11:2233:4455:6677", &e.addr), 0);
	memset(buf, 0xA5, sizeof(buf));
	assert_int_equal(stun_data_indication(buf, tid, &e, 5), 48);
	assert_memory_equal(buf, expect6, 48);
	for (size_t i = 48; i < sizeof(buf); i++)
		assert_int_equal(buf[i], 0xA5);
}

static void test_data_indication_parses(void **state)
{
	static uint8_t block[48 + 65536];
	static const uint16_t lens[] = {0, 1, 2, 3, 4, 5, 160, 1200, 1473, 65479};

	for (size_t i = 0; i < 2 * sizeof(lens) / sizeof(lens[0]); i++) {
		const uint16_t n = lens[i / 2];
		struct endpoint e = {.port = 0xfffe}, got;
		struct stun_msg m;
		uint16_t front;
		size_t len;
		int family;

		assert_int_equal(addr_parse(i % 2 == 0 ? "10.1.2.3" : "fd00::1", &e.addr), 0);
		front = stun_data_indication(block, tid, &e, n);
		memset(block + front, 0x77, n);
		len = front + (n + 3u) / 4 * 4;
		memset(block + front + n, 0, len - front - n);
		assert_int_equal(stun_parse(block, len, &m), 0);
		assert_int_equal(m.method, STUN_DATA);
		assert_int_equal(m.cls, STUN_INDICATION);
		assert_memory_equal(stun_tid(&m), tid, 12);
		assert_int_equal(m.off[STUN_DATA_ATTR], front);
		assert_int_equal(m.alen[STUN_DATA_ATTR], n);
		assert_true(stun_decode_xor_addr(&m, m.off[STUN_XOR_PEER_ADDRESS],
			m.alen[STUN_XOR_PEER_ADDRESS], &got, &family));
		assert_true(endpoint_eq(&got, &e));
	}
}

// Writing by words gives the bytes of writing by attributes: for any peer, length and transaction
// id, and not a byte more.
static void test_usual_data(void **state)
{
	struct test_rand r = test_rand_start("stun_build");

	for (unsigned int n = 0; n < 20000; n++) {
		const bool is_v4 = n % 2 == 0;
		const uint16_t len = (uint16_t)(n < 4000 ? n / 2 : test_rand_below(&r, 65480));
		struct endpoint e = {.port = (uint16_t)test_rand(&r)};
		uint8_t id[STUN_TID_LEN], ip[16], expect[64], got[64];
		struct stun_usual_front f;
		uint16_t front;

		test_rand_fill(&r, id, sizeof(id));
		test_rand_fill(&r, ip, sizeof(ip));
		e.addr = is_v4 ? addr_from_v4(ip) : addr_from_v6(ip);
		memset(expect, 0xa5, sizeof(expect));
		memset(got, 0xa5, sizeof(got));
		front = stun_data_indication(expect + 8, id, &e, len);
		f = stun_usual_data(id, (struct stun_usual_peer){&e.addr, e.port, is_v4}, len);
		stun_usual_write(&f, is_v4, got + 8 + front);
		assert_int_equal(front, is_v4 ? STUN_FRONT4 : STUN_FRONT6);
		assert_memory_equal(got, expect, sizeof(got));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_header),
		cmocka_unit_test(test_usual_data),
		cmocka_unit_test(test_types_round_trip),
		cmocka_unit_test(test_padding),
		cmocka_unit_test(test_error_code),
		cmocka_unit_test(test_address_error_code),
		cmocka_unit_test(test_error_code_refused),
		cmocka_unit_test(test_addr),
		cmocka_unit_test(test_xor_addr_published),
		cmocka_unit_test(test_xor_addr_round_trip),
		cmocka_unit_test(test_rebuild_longterm),
		cmocka_unit_test(test_rebuild_sha256),
		cmocka_unit_test(test_rebuild_responses),
		cmocka_unit_test(test_both_integrities),
		cmocka_unit_test(test_every_capacity),
		cmocka_unit_test(test_overflow_is_sticky),
		cmocka_unit_test(test_huge_values),
		cmocka_unit_test(test_unsigned_fails),
		cmocka_unit_test(test_data_indication_bytes),
		cmocka_unit_test(test_data_indication_parses),
	};

	return cmocka_run_group_tests_name("stun_build", tests, setup, teardown);
}
