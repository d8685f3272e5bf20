// SPDX-License-Identifier: BSD-3-Clause
// Access tokens (RFC 7635), compared with tokens sealed by other code, and every possible error in
// one.
#include <stdlib.h>
#include <string.h>
#include <openssl/crypto.h>

#include "test.h"
#include "test_rand.h"
#include "features/tokens/token.h"
#include "token_seal.h"

#define NAME "turn.test"
#define MADE_S 1700000000
#define LIFETIME_S 3600

static struct stun_crypto *crypto;
static size_t allocated; // calls of libcrypto's allocator

static void *count_malloc(size_t n, const char *file, int line)
{
	allocated++;
	return malloc(n);
}

static void *count_realloc(void *p, size_t n, const char *file, int line)
{
	allocated++;
	return realloc(p, n);
}

static void count_free(void *p, const char *file, int line)
{
	free(p);
}

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

// The bytes from first on.
static const uint8_t *make_bytes(uint8_t first)
{
	static uint8_t bytes[256];

	for (unsigned int i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(first + i);
	return bytes;
}

static struct stun_token_key key_from(uint8_t first, uint8_t alg)
{
	struct stun_token_key key = {.alg = alg};

	memcpy(key.bytes, make_bytes(first), stun_token_key_len(alg));
	return key;
}

static enum stun_token_state open_as(const struct stun_token_key *key, const char *name,
	const uint8_t *data, size_t len, struct stun_token *out)
{
	// a block of exactly its length, so that a sanitizer detects reads beyond it
	uint8_t *copy = malloc(len > 0 ? len : 1);
	enum stun_token_state state;

	assert_non_null(copy);
	memcpy(copy, data, len);
	memset(out, 0xa5, sizeof(*out));
	state = stun_token_open(crypto, &(struct stun_token_sealed){copy, len, key, name}, out);
	free(copy);
	if (state != STUN_TOKEN_GOOD) {
		static const struct stun_token none;

		assert_int_equal(out->mac.len, 0);
		assert_memory_equal(out->mac.bytes, none.mac.bytes, STUN_KEY_MAX);
		assert_int_equal(out->made_s + out->lifetime_s, 0);
	}
	return state;
}

// --- tokens of other programs --------------------------------------------------------------------

// By Python's cryptography 48: keys are the bytes from 1 and from 0x41 on, nonces those from 0xa0
// on. coturn's turnutils_oauth of Debian 12 gives an equal result for the first.
static const uint8_t sealed_a256[] = {0x00, 0x0c, 0xa0, 0xa1, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7,
	0xa8, 0xa9, 0xaa, 0xab, 0xb9, 0xc5, 0x5d, 0x07, 0x9f, 0xd6, 0x3e, 0x61, 0x19, 0x69, 0xca,
	0x02, 0x9b, 0xee, 0x4c, 0xe9, 0x39, 0xb8, 0xc0, 0x68, 0x2a, 0x1b, 0x60, 0x84, 0x42, 0x08,
	0x24, 0xfd, 0x2f, 0x4e, 0xd8, 0x35, 0x3f, 0xc1, 0x9c, 0x5d, 0x64, 0x24, 0x83, 0xda, 0x72,
	0xa7, 0x7d, 0xe6, 0xbf, 0xa6, 0x3f, 0xe4, 0x27, 0x8c};
static const uint8_t sealed_a256_long[] = {0x00, 0x0c, 0xa0, 0xa1, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6,
	0xa7, 0xa8, 0xa9, 0xaa, 0xab, 0xb9, 0xf1, 0xbd, 0xe7, 0x7f, 0x36, 0xde, 0x81, 0xf9, 0x89,
	0x2a, 0xe2, 0x7b, 0x0e, 0xac, 0x09, 0xd9, 0x58, 0x20, 0x88, 0xca, 0xfb, 0xf4, 0x11, 0xb1,
	0xcc, 0x4d, 0x64, 0xc8, 0xd5, 0x44, 0xa8, 0xaf, 0x4e, 0x99, 0xc8, 0x8a, 0x81, 0x41, 0x34,
	0x50, 0x76, 0xc0, 0x99, 0xa8, 0x26, 0x4f, 0x03, 0x2a, 0xf4, 0x4a, 0x29, 0x3f, 0x4a, 0xec,
	0x27, 0x04, 0xde, 0x0f, 0x53, 0xe5, 0x0a};
static const uint8_t sealed_a128[] = {0x00, 0x0c, 0xa0, 0xa1, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7,
	0xa8, 0xa9, 0xaa, 0xab, 0xc6, 0x4f, 0x90, 0xbf, 0xb5, 0xd2, 0xd6, 0xbf, 0xb1, 0x7d, 0xad,
	0x8d, 0xbd, 0x7b, 0x92, 0x4a, 0x48, 0xb8, 0x95, 0xfb, 0xae, 0x1b, 0x7e, 0x82, 0x31, 0x56,
	0x78, 0xe6, 0x18, 0x0c, 0x19, 0xf3, 0x67, 0x07, 0x38, 0xf4, 0xdd, 0x6e, 0x43, 0x4a, 0x24,
	0x1e, 0x6b, 0x0c, 0x94, 0x6d, 0xfa, 0x35, 0x32, 0xe8};
// By turnutils_oauth, with its own nonce.
static const uint8_t coturn_a128[] = {0x00, 0x0c, 0x2b, 0x9c, 0x85, 0x5d, 0xee, 0xdb, 0xc0, 0x7a,
	0x9b, 0xd4, 0xcd, 0x3f, 0x9f, 0xfc, 0xe9, 0x96, 0x2a, 0xe8, 0xf5, 0x2d, 0x2c, 0x0b, 0xa9,
	0xf0, 0x32, 0x11, 0x1c, 0xdb, 0x38, 0xc6, 0x79, 0xff, 0x39, 0x61, 0xe5, 0xda, 0x6d, 0x0d,
	0x72, 0x3c, 0xf5, 0x2d, 0xa4, 0x47, 0x23, 0x2e, 0x50, 0x43, 0xc5, 0xe9, 0xc7, 0xf0, 0x7b,
	0xe2, 0x55, 0x93, 0x08, 0x7e, 0x36, 0x7f, 0x07, 0x7c};
// The example of examples/scripts/oauth.sh in coturn's sources. Its key is
// "HGkj32KJGiuy098sdfaqbNjOiaz71923".
static const uint8_t coturn_example[] = {0x00, 0x0c, 0xb5, 0x24, 0x16, 0x15, 0x2e, 0x8d, 0x7a, 0x8a,
	0xaf, 0x60, 0x15, 0xd1, 0xf2, 0xca, 0x49, 0xe6, 0xc7, 0x94, 0xff, 0x2e, 0xaf, 0x58, 0x95,
	0xbc, 0x60, 0x51, 0xd2, 0xdc, 0x4a, 0xd3, 0x85, 0x4b, 0x41, 0xfc, 0xc6, 0x11, 0xdc, 0x78,
	0x73, 0x8b, 0xd9, 0xfe, 0x3d, 0xab, 0x1a, 0x78, 0xb8, 0x1a, 0x46, 0xba, 0xe2, 0xde, 0x2e,
	0xa9, 0x3e, 0x45, 0xc0, 0x1a, 0xe6, 0xe3, 0xf6, 0x11};

static void test_vectors(void **state)
{
	const struct stun_token_key a256 = key_from(1, STUN_TOKEN_A256GCM),
				    a128 = key_from(0x41, STUN_TOKEN_A128GCM);
	const struct {
		const struct stun_token_key *key;
		const uint8_t *data;
		size_t len;
		uint8_t mac, mac_len;
	} vectors[] = {
		{&a256, sealed_a256, sizeof(sealed_a256), 0x60, 20},
		{&a256, sealed_a256_long, sizeof(sealed_a256_long), 0x80, 32},
		{&a128, sealed_a128, sizeof(sealed_a128), 0x60, 20},
		{&a128, coturn_a128, sizeof(coturn_a128), 0x60, 20},
	};

	for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
		struct stun_token t;

		assert_int_equal(open_as(vectors[i].key, NAME, vectors[i].data, vectors[i].len, &t),
			STUN_TOKEN_GOOD);
		assert_int_equal(t.mac.len, vectors[i].mac_len);
		assert_memory_equal(t.mac.bytes, make_bytes(vectors[i].mac), t.mac.len);
		assert_int_equal(t.made_s, MADE_S); // plus half a second
		assert_int_equal(t.lifetime_s, LIFETIME_S);
	}
}

static void test_coturn_example(void **state)
{
	struct stun_token_key key = {.alg = STUN_TOKEN_A256GCM};
	struct stun_token t;

	assert_int_equal(
		stun_token_key_read("SEdrajMyS0pHaXV5MDk4c2RmYXFiTmpPaWF6NzE5MjM=", &key), 32);
	assert_memory_equal(key.bytes, "HGkj32KJGiuy098sdfaqbNjOiaz71923", 32);
	assert_int_equal(open_as(&key, "example.com", coturn_example, sizeof(coturn_example), &t),
		STUN_TOKEN_GOOD);
	assert_int_equal(t.mac.len, 20);
	assert_memory_equal(t.mac.bytes, "ZksjpweoixXmvn67534m", 20);
	assert_int_equal(t.made_s, 249231600);
	assert_int_equal(t.lifetime_s, 3600);
}

// --- errors --------------------------------------------------------------------------------------

static void test_cut_anywhere(void **state)
{
	const struct stun_token_key key = key_from(1, STUN_TOKEN_A256GCM);
	uint8_t longer[TOKEN_SEAL_MAX] = {0};
	struct stun_token t;

	memcpy(longer, sealed_a256_long, sizeof(sealed_a256_long));
	for (size_t len = 0; len < sizeof(longer); len++) {
		const enum stun_token_state got = open_as(&key, NAME, longer, len, &t);

		if (len == sizeof(sealed_a256_long))
			assert_int_equal(got, STUN_TOKEN_GOOD);
		else if (len == sizeof(sealed_a256)) // the shorter cipher's key
			assert_int_equal(got, STUN_TOKEN_FORGED);
		else
			assert_int_equal(got, STUN_TOKEN_MALFORMED);
	}
}

static void test_any_bit(void **state)
{
	const struct stun_token_key key = key_from(1, STUN_TOKEN_A256GCM);
	struct stun_token t;

	for (size_t bit = 0; bit < 8 * sizeof(sealed_a256); bit++) {
		uint8_t changed[sizeof(sealed_a256)];

		memcpy(changed, sealed_a256, sizeof(changed));
		changed[bit / 8] ^= (uint8_t)(1u << bit % 8);
		assert_int_equal(open_as(&key, NAME, changed, sizeof(changed), &t),
			bit < 16 ? STUN_TOKEN_MALFORMED : STUN_TOKEN_FORGED);
	}
}

static void test_other_key_or_name(void **state)
{
	static const char *const names[] = {"", "turn.tes", "turn.test.", "TURN.TEST", "x"};
	struct stun_token_key key = key_from(2, STUN_TOKEN_A256GCM);
	struct stun_token t;

	assert_int_equal(open_as(&key, NAME, sealed_a256, 64, &t), STUN_TOKEN_FORGED);
	key = key_from(1, STUN_TOKEN_A128GCM); // the same bytes with another cipher
	assert_int_equal(open_as(&key, NAME, sealed_a256, 64, &t), STUN_TOKEN_FORGED);
	key = key_from(1, STUN_TOKEN_A256GCM);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_int_equal(open_as(&key, names[i], sealed_a256, 64, &t), STUN_TOKEN_FORGED);
	// earlier failures do not matter
	assert_int_equal(open_as(&key, NAME, sealed_a256, 64, &t), STUN_TOKEN_GOOD);
}

// Sealed with the right key, and yet invalid: CVE-2026-43994 is such a nonce.
static void test_lengths_inside(void **state)
{
	static const uint16_t nonces[] = {1, 8, 11, 13, 16, 96, 127, 128};
	static const uint16_t macs[] = {1, 16, 19, 21, 31, 33, 48, 64, 128};
	static const uint16_t says[] = {1, 19, 21, 32, 33, 0x1400, 0xffff};
	const struct stun_token_key key = key_from(1, STUN_TOKEN_A256GCM);
	struct token_seal made = {.key = key.bytes,
		.key_len = 32,
		.name = NAME,
		.made_s = MADE_S,
		.lifetime_s = LIFETIME_S,
		.mac_len = 20};
	uint8_t mac[128] = {7}, data[TOKEN_SEAL_MAX];
	struct stun_token t;

	made.mac = mac;
	for (size_t i = 0; i < sizeof(nonces) / sizeof(nonces[0]); i++) {
		made.nonce_len = nonces[i];
		assert_int_equal(open_as(&key, NAME, data, token_seal(&made, data), &t),
			STUN_TOKEN_MALFORMED);
	}
	made.nonce_len = 0;
	for (uint32_t says_nonce = 1; says_nonce <= UINT16_MAX; says_nonce++) {
		made.says_nonce_len = (uint16_t)says_nonce;
		assert_int_equal(open_as(&key, NAME, data, token_seal(&made, data), &t),
			says_nonce == 12 ? STUN_TOKEN_GOOD : STUN_TOKEN_MALFORMED);
	}
	made.says_nonce_len = 0;
	for (size_t i = 0; i < sizeof(macs) / sizeof(macs[0]); i++) {
		made.mac_len = macs[i];
		assert_int_equal(open_as(&key, NAME, data, token_seal(&made, data), &t),
			STUN_TOKEN_MALFORMED);
	}
	made.mac_len = 20;
	for (size_t i = 0; i < sizeof(says) / sizeof(says[0]); i++) {
		made.says_mac_len = says[i];
		assert_int_equal(open_as(&key, NAME, data, token_seal(&made, data), &t),
			STUN_TOKEN_MALFORMED);
	}
}

static void test_huge(void **state)
{
	const struct stun_token_key key = key_from(1, STUN_TOKEN_A256GCM);
	uint8_t *data = calloc(1, UINT16_MAX);
	struct stun_token t;

	assert_non_null(data);
	memcpy(data, sealed_a256, sizeof(sealed_a256));
	assert_int_equal(open_as(&key, NAME, data, UINT16_MAX, &t), STUN_TOKEN_MALFORMED);
	free(data);
}

// Workers open tokens, and workers do not allocate memory, even if the tag is wrong.
static void test_nothing_is_allocated(void **state)
{
	const struct stun_token_key keys[] = {
		key_from(1, STUN_TOKEN_A256GCM), key_from(0x41, STUN_TOKEN_A128GCM)};
	const uint8_t *const good[] = {sealed_a256, sealed_a128};
	uint8_t bad[sizeof(sealed_a256)];
	struct stun_token t;
	size_t before = allocated;

	assert_true(before > 0);
	for (int i = 0; i < 100; i++) {
		const int k = i % 2;

		memcpy(bad, good[k], sizeof(bad));
		bad[20 + i % 40] ^= 1;
		assert_int_equal(open_as(&keys[k], NAME, good[k], 64, &t), STUN_TOKEN_GOOD);
		assert_int_equal(open_as(&keys[k], NAME, bad, 64, &t), STUN_TOKEN_FORGED);
	}
	assert_int_equal(allocated, before);
}

// --- keys as text --------------------------------------------------------------------------------

static void test_key_text(void **state)
{
	static const struct {
		const char *text;
		uint8_t alg;
		int expected;
	} cases[] = {
		{"0102030405060708090a0b0c0d0e0f101112131415161718191A1B1C1D1E1F20",
			STUN_TOKEN_A256GCM, 32},
		{"AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA=", STUN_TOKEN_A256GCM, 32},
		{"AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA", STUN_TOKEN_A256GCM, 32},
		{"0102030405060708090a0b0c0d0e0f10", STUN_TOKEN_A128GCM, 16},
		{"AQIDBAUGBwgJCgsMDQ4PEA==", STUN_TOKEN_A128GCM, 16},
		// wrong lengths, with the number of bytes
		{"AQIDBAUGBwgJCgsMDQ4PEA==", STUN_TOKEN_A256GCM, 16},
		{"0102030405060708090a0b0c0d0e0f10", STUN_TOKEN_A256GCM, 24},
		{"AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyAh", STUN_TOKEN_A256GCM, 33},
		{"", STUN_TOKEN_A256GCM, 0},
		// no base64
		{"A", STUN_TOKEN_A256GCM, -1},
		{"AQIDBAUGBwgJCgsMDQ4PEA=", STUN_TOKEN_A128GCM, -1},
		{"AQIDBAUGBwgJCgsMDQ4PEB==", STUN_TOKEN_A128GCM, -1}, // excess bits
		{"AQIDBAUGBwgJCgsMDQ4PEA==x", STUN_TOKEN_A128GCM, -1},
		{"AQIDBAUG BwgJCgsMDQ4PEA==", STUN_TOKEN_A128GCM, -1},
		{"AQIDBAUGBwgJCgsMDQ4P-_==", STUN_TOKEN_A128GCM, -1},
		{"====", STUN_TOKEN_A128GCM, 0},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct stun_token_key key = {.alg = cases[i].alg};

		assert_int_equal(stun_token_key_read(cases[i].text, &key), cases[i].expected);
		if (cases[i].expected == (int)stun_token_key_len(key.alg))
			assert_memory_equal(key.bytes, make_bytes(1), (size_t)cases[i].expected);
	}
}

// Random tokens and lengths: no access outside the buffers.
static void test_random(void **state)
{
	const struct stun_token_key key = key_from(1, STUN_TOKEN_A256GCM);
	struct test_rand r = {1};
	uint8_t data[128];
	struct stun_token t;

	for (int i = 0; i < 20000; i++) {
		const size_t len = test_rand_below(&r, sizeof(data));

		test_rand_fill(&r, data, len);
		if (i % 2 == 0 && len >= 2) {
			data[0] = 0;
			data[1] = 12;
		}
		assert_int_not_equal(open_as(&key, NAME, data, len, &t), STUN_TOKEN_GOOD);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vectors),
		cmocka_unit_test(test_coturn_example),
		cmocka_unit_test(test_cut_anywhere),
		cmocka_unit_test(test_any_bit),
		cmocka_unit_test(test_other_key_or_name),
		cmocka_unit_test(test_lengths_inside),
		cmocka_unit_test(test_huge),
		cmocka_unit_test(test_nothing_is_allocated),
		cmocka_unit_test(test_key_text),
		cmocka_unit_test(test_random),
	};

	if (CRYPTO_set_mem_functions(count_malloc, count_realloc, count_free) != 1)
		return 1;
	return cmocka_run_group_tests(tests, setup, teardown);
}
