// SPDX-License-Identifier: BSD-3-Clause
// The ciphers of DTLS records, checked with published vectors and with libcrypto. Compiled for each
// of the two implementations (test_aead_evp.c).
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>

#include "aead.h"
#include "test.h"
#include "test_rand.h"

#define LEN_MAX 1500
#define LONG_MAX_LEN 16384 // payload of a record

struct vector {
	enum aead aead;
	const char *key, *nonce, *aad, *plain, *sealed, *tag;
};

#define GCM_PLAIN                                                          \
	"d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72" \
	"1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39"

static const struct vector vectors[] = {
	// "The Galois/Counter Mode of Operation", test cases 4 and 16
	{AEAD_AES_128_GCM, "feffe9928665731c6d6a8f9467308308", "cafebabefacedbaddecaf888",
		"feedfacedeadbeeffeedfacedeadbeefabaddad2", GCM_PLAIN,
		"42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e"
		"21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091",
		"5bc94fbc3221a5db94fae95ae7121a47"},
	{AEAD_AES_256_GCM, "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308",
		"cafebabefacedbaddecaf888", "feedfacedeadbeeffeedfacedeadbeefabaddad2", GCM_PLAIN,
		"522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa"
		"8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662",
		"76fc6ece0f4e1768cddf8853bb2d551b"},
	// RFC 8439 2.8.2
	{AEAD_CHACHA20_POLY1305, "808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f",
		"070000004041424344454647", "50515253c0c1c2c3c4c5c6c7",
		"4c616469657320616e642047656e746c656d656e206f662074686520636c6173"
		"73206f66202739393a204966204920636f756c64206f6666657220796f75206f"
		"6e6c79206f6e652074697020666f7220746865206675747572652c2073756e73"
		"637265656e20776f756c642062652069742e",
		"d31a8d34648e60db7b86afbc53ef7ec2a4aded51296e08fea9e2b5a736ee62d6"
		"3dbea45e8ca9671282fafb69da92728b1a71de0a9e060b2905d6a5b67ecd3b36"
		"92ddbd7f2d778b8c9803aee328091b58fab324e4fad675945585808b4831d7bc"
		"3ff4def08e4b7a9de576d26586cec64b6116",
		"1ae10b594f09e26a7e902ecbd0600691"},
};

static struct test_rand rnd;

static size_t unhex(const char *hex, uint8_t *out)
{
	size_t n = 0;
	unsigned int byte;

	for (; sscanf(hex, "%2x", &byte) == 1; hex += 2)
		out[n++] = (uint8_t)byte;
	return n;
}

static void test_vectors(void **state)
{
	for (unsigned int i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
		const struct vector *v = &vectors[i];
		uint8_t key[AEAD_KEY_MAX], plain[256], sealed[256], data[256];
		struct aead_with params;
		struct aead_key *k;
		size_t n;

		assert_int_equal(unhex(v->key, key), aead_key_len(v->aead));
		assert_int_equal(unhex(v->nonce, params.nonce), AEAD_NONCE_LEN);
		params.aad_len = (uint8_t)unhex(v->aad, params.aad);
		n = unhex(v->plain, plain);
		assert_int_equal(unhex(v->sealed, sealed), n);
		unhex(v->tag, sealed + n);
		k = aead_key_create(v->aead, key);
		assert_non_null(k);
		memcpy(data, plain, n);
		assert_true(aead_seal(k, &params, data, n));
		assert_memory_equal(data, sealed, n + AEAD_TAG_LEN);
		assert_true(aead_open(k, &params, data, n));
		assert_memory_equal(data, plain, n);
		aead_key_free(k);
	}
}

// The result of libcrypto.
static void reference(
	enum aead a, const uint8_t *key, const struct aead_with *params, uint8_t *data, size_t len)
{
	const EVP_CIPHER *const ciphers[] = {
		EVP_aes_128_gcm(), EVP_aes_256_gcm(), EVP_chacha20_poly1305()};
	EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
	int n;

	assert_int_equal(EVP_EncryptInit_ex(c, ciphers[a], NULL, key, params->nonce), 1);
	assert_int_equal(EVP_EncryptUpdate(c, NULL, &n, params->aad, params->aad_len), 1);
	assert_int_equal(EVP_EncryptUpdate(c, data, &n, data, (int)len), 1);
	assert_int_equal(EVP_EncryptFinal_ex(c, data + len, &n), 1);
	assert_int_equal(
		EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_GET_TAG, AEAD_TAG_LEN, data + len), 1);
	EVP_CIPHER_CTX_free(c);
}

static void test_all_lengths(void **state)
{
	for (enum aead a = 0; a < AEAD_NB; a++) {
		struct aead_with params = {.aad_len = 13};
		uint8_t key[AEAD_KEY_MAX];
		struct aead_key *k;

		test_rand_fill(&rnd, key, sizeof(key));
		k = aead_key_create(a, key);
		for (size_t len = 0; len <= LEN_MAX; len++) {
			uint8_t plain[LEN_MAX], sealed[LEN_MAX + 16], data[LEN_MAX + 17];

			test_rand_fill(&rnd, params.nonce, sizeof(params.nonce));
			test_rand_fill(&rnd, params.aad, params.aad_len);
			test_rand_fill(&rnd, plain, sizeof(plain));
			memcpy(sealed, plain, len);
			memcpy(data, plain, len);
			data[len + AEAD_TAG_LEN] = 0x5a;
			reference(a, key, &params, sealed, len);
			assert_true(aead_seal(k, &params, data, len));
			assert_memory_equal(data, sealed, len + AEAD_TAG_LEN);
			assert_int_equal(data[len + AEAD_TAG_LEN], 0x5a);
			assert_true(aead_open(k, &params, data, len));
			assert_memory_equal(data, plain, len);
		}
		aead_key_free(k);
	}
}

// Messages of this length, at every offset in a block, with every length of additional data.
// Nothing around them is changed, and an opened message still has its tag.
static void try_places(enum aead a, size_t len)
{
	static uint8_t plain[LONG_MAX_LEN], sealed[LONG_MAX_LEN + AEAD_TAG_LEN];
	static uint8_t space[LONG_MAX_LEN + 64], data[LONG_MAX_LEN + 64];

	for (uint8_t n = 0; n <= AEAD_AAD_MAX; n++) {
		struct aead_with params = {.aad_len = n};
		uint8_t key[AEAD_KEY_MAX];
		struct aead_key *k;
		const size_t offset = 16 + n % 16, end = offset + len;

		test_rand_fill(&rnd, key, sizeof(key));
		test_rand_fill(&rnd, params.nonce, sizeof(params.nonce));
		test_rand_fill(&rnd, params.aad, sizeof(params.aad));
		test_rand_fill(&rnd, plain, len);
		test_rand_fill(&rnd, space, len + 64);
		memcpy(sealed, plain, len);
		reference(a, key, &params, sealed, len);
		memcpy(data, space, len + 64);
		memcpy(data + offset, plain, len);
		k = aead_key_create(a, key);
		assert_true(aead_seal(k, &params, data + offset, len));
		assert_memory_equal(data + offset, sealed, len + AEAD_TAG_LEN);
		assert_true(aead_open(k, &params, data + offset, len));
		assert_memory_equal(data + offset, plain, len);
		assert_memory_equal(data + end, sealed + len, AEAD_TAG_LEN);
		assert_memory_equal(data, space, offset);
		assert_memory_equal(data + end + AEAD_TAG_LEN, space + end + AEAD_TAG_LEN,
			len + 64 - end - AEAD_TAG_LEN);
		aead_key_free(k);
	}
}

static void test_places(void **state)
{
	const size_t lens[] = {0, 1, 15, 16, 17, 112, 113, 128, 129, 143, 256, 257, 1200, 4063,
		4064, 4065, 4081, LONG_MAX_LEN};

	for (enum aead a = 0; a < AEAD_NB; a++)
		for (unsigned int i = 0; i < sizeof(lens) / sizeof(lens[0]); i++)
			try_places(a, lens[i]);
}

// One changed bit of the ciphertext, of the additional data, or of the nonce.
static void test_any_bit(void **state)
{
	for (enum aead a = 0; a < AEAD_NB; a++) {
		const struct aead_with params = {.aad_len = 13};
		uint8_t key[AEAD_KEY_MAX], sealed[30 + AEAD_TAG_LEN] = {1, 2, 3};
		struct aead_key *k;

		test_rand_fill(&rnd, key, sizeof(key));
		k = aead_key_create(a, key);
		assert_true(aead_seal(k, &params, sealed, 30));
		for (unsigned int bit = 0; bit < 8 * (sizeof(sealed) + 13 + 12); bit++) {
			const unsigned int pos = bit / 8;
			uint8_t data[sizeof(sealed)];
			struct aead_with altered = params;

			memcpy(data, sealed, sizeof(data));
			if (pos < sizeof(data))
				data[pos] ^= (uint8_t)(1u << bit % 8);
			else if (pos < sizeof(data) + 13)
				altered.aad[pos - sizeof(data)] ^= (uint8_t)(1u << bit % 8);
			else
				altered.nonce[pos - sizeof(data) - 13] ^= (uint8_t)(1u << bit % 8);
			assert_false(aead_open(k, &altered, data, 30));
		}
		assert_true(aead_open(k, &params, sealed, 30));
		aead_key_free(k);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vectors),
		cmocka_unit_test(test_all_lengths),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_any_bit),
	};

	rnd = test_rand_start("aead");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
