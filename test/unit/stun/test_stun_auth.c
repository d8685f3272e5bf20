// SPDX-License-Identifier: BSD-3-Clause
// Keys, integrity and fingerprint against published values and against libcrypto's one-shot calls.
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "stun.h"
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
	stun_crypto_free(NULL);
	return 0;
}

// Keys of the published messages, in their order.
static struct stun_key vector_key(size_t v)
{
	const struct stun_credential cred = {
		RFC5769_USER, 18, RFC5769_REALM, RFC5769_LONGTERM_PASSWORD, 9};
	const enum stun_algorithm alg = v == 3 ? STUN_ALG_MD5 : STUN_ALG_SHA256;
	struct stun_key key = {.len = sizeof(RFC5769_PASSWORD) - 1};

	memcpy(key.bytes, RFC5769_PASSWORD, key.len);
	if (v >= 3)
		assert_true(stun_key_make(crypto, alg, &cred, &key));
	return key;
}

// --- keys ----------------------------------------------------------------------------------------

static void test_key_md5(void **state)
{
	// RFC 8489 9.2.2
	static const uint8_t expect[16] = {0x84, 0x93, 0xfb, 0xc5, 0x3b, 0xa5, 0x82, 0xfb, 0x4c,
		0x04, 0x4c, 0x45, 0x6b, 0xdc, 0x40, 0xeb};
	struct stun_key key;

	// Twice: the context is reused. The strings are not terminated.
	for (int i = 0; i < 2; i++) {
		memset(&key, 0xA5, sizeof(key));
		assert_true(stun_key_make(crypto, STUN_ALG_MD5,
			&(struct stun_credential){"username", 4, "realm", "password", 4}, &key));
		assert_int_equal(key.len, 16);
		assert_memory_equal(key.bytes, expect, 16);
	}
}

static void test_key_sha256(void **state)
{
	// printf user:realm:pass | sha256sum
	static const uint8_t expect[32] = {0x07, 0xe9, 0x34, 0x11, 0x7a, 0xbd, 0x40, 0x83, 0x6e,
		0x7c, 0x63, 0x29, 0xb5, 0x47, 0x31, 0xb2, 0xb2, 0xd2, 0xa5, 0xf9, 0xa7, 0x1f, 0x54,
		0x49, 0x22, 0xd7, 0x5e, 0x07, 0x30, 0xd8, 0x25, 0x1b};
	struct stun_key key;

	assert_true(stun_key_make(crypto, STUN_ALG_SHA256,
		&(struct stun_credential){"user", 4, "realm", "pass", 4}, &key));
	assert_int_equal(key.len, 32);
	assert_memory_equal(key.bytes, expect, 32);
}

static void test_userhash(void **state)
{
	uint8_t hash[32];

	assert_true(stun_userhash(crypto, RFC5769_USER, 18, RFC5769_REALM, hash));
	assert_memory_equal(hash, rfc8489_b1 + 24, 32); // RFC 8489 B.1
}

static void test_rest_password(void **state)
{
	char out[29];

	// printf %s USER | openssl dgst -sha1 -hmac north -binary | base64
	memset(out, 'x', sizeof(out));
	assert_true(stun_rest_password(crypto, "north", "1433895918:506c7a2b8b4a", 23, out));
	assert_string_equal(out, "gQpwtGzHhuCGYDQt6T6sdr1U6G0=");
	assert_true(stun_rest_password(crypto, "north", "1700000000:alice", 16, out));
	assert_string_equal(out, "Cd/49soE35ICqcJF/bCTn8Z4OyE=");
	// An empty secret must not fall back to the key used before.
	assert_false(stun_rest_password(crypto, "", "1700000000:alice", 16, out));
	assert_string_equal(out, "");
}

static void test_hmac_sha256(void **state)
{
	static const char *const expect[] = {
		// RFC 4231 4.2, 4.3 and 4.7 (a key longer than a block)
		"b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
		"5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
		"60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
	};
	const char *text[] = {"Hi There", "what do ya want for nothing?",
		"Test Using Larger Than Block-Size Key - Hash Key First"};
	uint8_t key[3][131];
	const size_t key_len[] = {20, 4, 131};
	uint8_t out[32];
	char hex[65];

	memset(key[0], 0x0b, 20);
	memcpy(key[1], "Jefe", 4);
	memset(key[2], 0xaa, 131);
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 3; i++) {
			assert_true(stun_hmac_sha256(
				crypto, key[i], key_len[i], text[i], strlen(text[i]), out));
			for (int j = 0; j < 32; j++)
				sprintf(hex + 2 * j, "%02x", out[j]);
			assert_string_equal(hex, expect[i]);
		}
	}
	assert_false(stun_hmac_sha256(crypto, "", 0, "x", 1, out));
	assert_false(stun_hmac_sha256(crypto, NULL, 0, "x", 1, out));
}

// --- integrity of the published messages ---------------------------------------------------------

static void test_vectors_verify(void **state)
{
	for (int round = 0; round < 2; round++) {
		for (size_t v = 0; v < NB_VECTORS; v++) {
			const struct odd_copy c =
				stun_vectors_odd_copy(vectors[v].data, vectors[v].len);
			struct stun_key key = vector_key(v);
			struct stun_msg m;

			assert_int_equal(stun_parse(c.data, vectors[v].len, &m), 0);
			assert_true(stun_integrity_ok(crypto, &m, &key));
			assert_false(m.fingerprint_bad);
			assert_memory_equal(c.data, vectors[v].data, vectors[v].len);
			// Every bit of the key and its length count.
			for (int bit = 0; bit < key.len * 8; bit++) {
				key.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
				assert_false(stun_integrity_ok(crypto, &m, &key));
				key.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
			}
			key.len--;
			assert_false(stun_integrity_ok(crypto, &m, &key));
			free(c.block);
		}
	}
}

// RFC 8489 B.1 as printed is not a valid message, but its HMAC is right for its bytes.
static void test_b1_printed(void **state)
{
	const struct stun_key key = vector_key(4);
	const size_t n = sizeof(rfc8489_b1_printed);
	uint8_t mac[32];

	assert_true(stun_hmac_sha256(crypto, key.bytes, key.len, rfc8489_b1_printed, n - 36, mac));
	assert_memory_equal(mac, rfc8489_b1_printed + n - 32, 32);
}

static void test_bit_flips(void **state)
{
	for (size_t v = 0; v < NB_VECTORS; v++) {
		const struct stun_key key = vector_key(v);
		const struct odd_copy c = stun_vectors_odd_copy(vectors[v].data, vectors[v].len);
		const size_t n = vectors[v].len;
		const bool has_crc = v < 3;

		for (size_t bit = 0; bit < n * 8; bit++) {
			// The type of FINGERPRINT is covered by nothing: flipped, it becomes an
			// attribute to ignore after a complete message.
			const bool crc_type = has_crc && (bit / 8 == n - 8 || bit / 8 == n - 7);
			struct stun_msg m;

			c.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
			if (stun_parse(c.data, n, &m) == 0) {
				const bool ok = stun_integrity_ok(crypto, &m, &key);

				if (crc_type)
					assert_false(stun_has(&m, STUN_FINGERPRINT));
				else
					assert_false(ok && !m.fingerprint_bad);
				if (bit / 8 < n - (has_crc ? 8 : 0))
					assert_false(ok);
			}
			c.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		}
		free(c.block);
	}
}

// --- messages signed here by libcrypto's one-shot HMAC -------------------------------------------

struct signed_msg {
	uint8_t b[256];
	size_t len;
};

static void set_length(struct signed_msg *s, size_t len)
{
	s->b[2] = (uint8_t)((len - 20) >> 8);
	s->b[3] = (uint8_t)(len - 20);
}

static void signed_begin(struct signed_msg *s)
{
	memcpy(s->b, rfc5769_longterm, 20);
	memcpy(s->b + 20, "\0\x06\0\x04user", 8);
	s->len = 28;
	set_length(s, s->len);
}

static void signed_attr(struct signed_msg *s, uint16_t type, const uint8_t *value, uint8_t len)
{
	const uint8_t head[4] = {(uint8_t)(type >> 8), (uint8_t)type, 0, len};

	assert_int_equal(len % 4, 0);
	memcpy(s->b + s->len, head, 4);
	if (len > 0)
		memcpy(s->b + s->len + 4, value, len);
	s->len += 4u + len;
	set_length(s, s->len);
}

// Appends an integrity attribute of alen bytes, correct except for its length; flip is XORed into
// its last byte.
static void signed_mac(struct signed_msg *s, bool sha256, uint8_t alen, uint8_t flip)
{
	uint8_t mac[64] = {0};

	set_length(s, s->len + 4 + alen);
	assert_non_null(
		HMAC(sha256 ? EVP_sha256() : EVP_sha1(), "key", 3, s->b, s->len, mac, NULL));
	if (alen > 0)
		mac[alen - 1] ^= flip;
	signed_attr(s, sha256 ? 0x001c : 0x0008, mac, alen);
}

static bool verify(const struct signed_msg *s)
{
	const struct stun_key key = {.bytes = "key", .len = 3};
	const struct odd_copy c = stun_vectors_odd_copy(s->b, s->len);
	struct stun_msg m;
	bool ok;

	assert_int_equal(stun_parse(c.data, s->len, &m), 0);
	ok = stun_integrity_ok(crypto, &m, &key);
	free(c.block);
	return ok;
}

static void test_none(void **state)
{
	struct signed_msg s;

	signed_begin(&s);
	assert_false(verify(&s));
}

static void test_lengths(void **state)
{
	struct signed_msg s;

	// MESSAGE-INTEGRITY has 20 bytes. For MESSAGE-INTEGRITY-SHA256 RFC 8489 14.6 allows 16 to
	// 32 if a usage says so; TURN does not.
	for (uint8_t alen = 0; alen <= 40; alen += 4) {
		signed_begin(&s);
		signed_mac(&s, false, alen, 0);
		assert_int_equal(verify(&s), alen == 20);
		signed_begin(&s);
		signed_mac(&s, true, alen, 0);
		assert_int_equal(verify(&s), alen == 32);
	}
}

static void test_which_decides(void **state)
{
	struct signed_msg s;

	for (unsigned int flips = 0; flips < 4; flips++) {
		signed_begin(&s); // RFC 8489 9.2.4: MESSAGE-INTEGRITY-SHA256 where present
		signed_mac(&s, false, 20, flips & 1);
		signed_mac(&s, true, 32, flips >> 1);
		assert_int_equal(verify(&s), flips >> 1 == 0);
		signed_begin(&s); // after it MESSAGE-INTEGRITY is ignored
		signed_mac(&s, true, 32, flips >> 1);
		signed_mac(&s, false, 20, flips & 1);
		assert_int_equal(verify(&s), flips >> 1 == 0);
	}
	signed_begin(&s); // a truncated one does not fall back to MESSAGE-INTEGRITY
	signed_mac(&s, false, 20, 0);
	signed_mac(&s, true, 16, 0);
	assert_false(verify(&s));
}

static void test_followed(void **state)
{
	struct signed_msg s;

	for (int sha256 = 0; sha256 < 2; sha256++) {
		signed_begin(&s); // RFC 8489 14.5: what follows changes the length, not the HMAC
		signed_mac(&s, sha256, sha256 ? 32 : 20, 0);
		signed_attr(&s, 0x0014, (const uint8_t *)"realm...", 8);
		signed_attr(&s, 0x8022, (const uint8_t *)"soft", 4);
		assert_true(verify(&s));
		s.b[20 + 4] ^= 1;
		assert_false(verify(&s));
	}
}

// The comparison covers every byte.
static void test_mac_bits(void **state)
{
	struct signed_msg s;

	for (int sha256 = 0; sha256 < 2; sha256++) {
		signed_begin(&s);
		signed_mac(&s, sha256, sha256 ? 32 : 20, 0);
		assert_true(verify(&s));
		for (size_t bit = 32 * 8; bit < s.len * 8; bit++) {
			s.b[bit / 8] ^= (uint8_t)(1 << bit % 8);
			assert_false(verify(&s));
			s.b[bit / 8] ^= (uint8_t)(1 << bit % 8);
		}
	}
}

// An unset key must not verify anything, in particular not with the previous message's key.
static void test_empty_key(void **state)
{
	const struct stun_key key = vector_key(3), empty = {.len = 0};
	struct stun_key oversize = key;
	struct stun_msg m;

	assert_int_equal(stun_parse(rfc5769_longterm, sizeof(rfc5769_longterm), &m), 0);
	assert_true(stun_integrity_ok(crypto, &m, &key));
	assert_false(stun_integrity_ok(crypto, &m, &empty));
	oversize.len = 255; // no read beyond it (ASan)
	assert_false(stun_integrity_ok(crypto, &m, &oversize));
	assert_true(stun_integrity_ok(crypto, &m, &key));
}

// --- fingerprint ---------------------------------------------------------------------------------

// RFC 1952 section 8, bit by bit.
static uint32_t crc32_slow(const uint8_t *p, size_t len)
{
	uint32_t c = 0xffffffff;

	while (len-- > 0) {
		c ^= *p++;
		for (int k = 0; k < 8; k++)
			c = c & 1 ? 0xedb88320 ^ c >> 1 : c >> 1;
	}
	return c ^ 0xffffffff;
}

static void test_crc(void **state)
{
	struct test_rand rnd = test_rand_start("crc");
	uint8_t data[300];

	// The check value of CRC-32 (V.42) is cbf43926.
	assert_int_equal(
		stun_fingerprint((const uint8_t *)"123456789", 9), 0xcbf43926 ^ 0x5354554e);
	assert_int_equal(stun_fingerprint(data, 0), 0x5354554e);
	test_rand_fill(&rnd, data, sizeof(data));
	for (size_t len = 0; len <= 256; len++)
		for (size_t offset = 0; offset < 8; offset++)
			assert_int_equal(stun_fingerprint(data + offset, len),
				crc32_slow(data + offset, len) ^ 0x5354554e);
	for (unsigned int b = 0; b < 256; b++) { // every entry of every table
		for (size_t offset = 0; offset < 4; offset++) {
			memset(data, 0, 8);
			data[offset] = (uint8_t)b;
			assert_int_equal(
				stun_fingerprint(data, 8), crc32_slow(data, 8) ^ 0x5354554e);
		}
	}
}

// --- libcrypto without some algorithms -----------------------------------------------------------

static void test_no_algorithms(void **state)
{
	// With a property that no provider has, nothing can be fetched.
	assert_int_equal(EVP_set_default_properties(NULL, "slipring=none"), 1);
	assert_null(stun_crypto_create());
	assert_int_equal(EVP_set_default_properties(NULL, ""), 1);
}

static bool md5_forbidden;

// Replaces libcrypto's function in this whole program.
EVP_MD *EVP_MD_fetch(OSSL_LIB_CTX *ctx, const char *algorithm, const char *properties)
{
	EVP_MD *(*real)(OSSL_LIB_CTX *, const char *, const char *);

	*(void **)&real = dlsym(RTLD_NEXT, "EVP_MD_fetch");
	if (md5_forbidden && strcmp(algorithm, "MD5") == 0)
		return NULL;
	return real(ctx, algorithm, properties);
}

// As under FIPS: everything works except keys made with MD5, including precomputed ones.
static void test_no_md5(void **state)
{
	const struct stun_key md5 = vector_key(3);
	struct stun_crypto *const usual = crypto;
	struct stun_key key;
	struct stun_msg m;

	md5_forbidden = true;
	crypto = stun_crypto_create();
	md5_forbidden = false;
	assert_non_null(crypto);
	memset(&key, 0xA5, sizeof(key));
	assert_false(stun_key_make(crypto, STUN_ALG_MD5,
		&(struct stun_credential){"user", 4, "realm", "pass", 4}, &key));
	assert_int_equal(key.len, 0);
	assert_true(stun_key_make(crypto, STUN_ALG_SHA256,
		&(struct stun_credential){"user", 4, "realm", "pass", 4}, &key));
	assert_int_equal(stun_parse(rfc5769_longterm, sizeof(rfc5769_longterm), &m), 0);
	assert_true(stun_integrity_ok(crypto, &m, &md5));
	stun_crypto_free(crypto);
	crypto = usual;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_key_md5),
		cmocka_unit_test(test_key_sha256),
		cmocka_unit_test(test_userhash),
		cmocka_unit_test(test_rest_password),
		cmocka_unit_test(test_hmac_sha256),
		cmocka_unit_test(test_vectors_verify),
		cmocka_unit_test(test_b1_printed),
		cmocka_unit_test(test_bit_flips),
		cmocka_unit_test(test_none),
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_which_decides),
		cmocka_unit_test(test_followed),
		cmocka_unit_test(test_mac_bits),
		cmocka_unit_test(test_empty_key),
		cmocka_unit_test(test_crc),
		cmocka_unit_test(test_no_algorithms),
		cmocka_unit_test(test_no_md5),
	};

	return cmocka_run_group_tests_name("stun_auth", tests, setup, teardown);
}
