// SPDX-License-Identifier: BSD-3-Clause
// SipHash against its published vector, and against libcrypto's.
#include <openssl/evp.h>

#include "siphash.h"
#include "test.h"

static void test_vector(void **state)
{
	static const uint8_t expected[SIPHASH_LEN] = {0xa3, 0x81, 0x7f, 0x04, 0xba, 0x25, 0xa8,
		0xe6, 0x6d, 0xf6, 0x72, 0x14, 0xc7, 0x55, 0x02, 0x93};
	uint8_t key[SIPHASH_KEY_LEN], out[SIPHASH_LEN];

	for (uint8_t i = 0; i < sizeof(key); i++)
		key[i] = i;
	siphash(key, "", 0, out);
	assert_memory_equal(out, expected, sizeof(out));
}

static void test_libcrypto(void **state)
{
	EVP_MAC *mac = EVP_MAC_fetch(NULL, "SIPHASH", NULL);
	EVP_MAC_CTX *c = EVP_MAC_CTX_new(mac);
	uint8_t key[SIPHASH_KEY_LEN], data[300], out[SIPHASH_LEN], reference[SIPHASH_LEN];
	size_t n;

	assert_non_null(c);
	for (size_t len = 0; len < sizeof(data); len++) {
		for (size_t i = 0; i < sizeof(key); i++)
			key[i] = (uint8_t)(len * 11 + i * 37);
		for (size_t i = 0; i < len; i++)
			data[i] = (uint8_t)(len * 5 + i * 101);
		assert_int_equal(EVP_MAC_init(c, key, sizeof(key), NULL), 1);
		assert_int_equal(EVP_MAC_update(c, data, len), 1);
		assert_int_equal(EVP_MAC_final(c, reference, &n, sizeof(reference)), 1);
		assert_int_equal(n, sizeof(reference));
		siphash(key, data, len, out);
		assert_memory_equal(out, reference, sizeof(out));
	}
	EVP_MAC_CTX_free(c);
	EVP_MAC_free(mac);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vector),
		cmocka_unit_test(test_libcrypto),
	};

	return cmocka_run_group_tests_name("siphash", tests, NULL, NULL);
}
