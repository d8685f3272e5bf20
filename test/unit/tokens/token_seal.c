// SPDX-License-Identifier: BSD-3-Clause
// Seals access tokens.
#include <openssl/evp.h>
#include <string.h>

#include "test.h"
#include "token_seal.h"

#include "bytes.h"

static void seal(const struct token_seal *t, const uint8_t *nonce, size_t nonce_len, uint8_t *block,
	size_t len)
{
	const EVP_CIPHER *cipher = t->key_len == 16 ? EVP_aes_128_gcm() : EVP_aes_256_gcm();
	EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
	int n;

	assert_non_null(c);
	assert_int_equal(EVP_EncryptInit_ex(c, cipher, NULL, NULL, NULL), 1);
	assert_int_equal(EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_SET_IVLEN, (int)nonce_len, NULL), 1);
	assert_int_equal(EVP_EncryptInit_ex(c, NULL, NULL, t->key, nonce), 1);
	assert_int_equal(
		EVP_EncryptUpdate(c, NULL, &n, (const uint8_t *)t->name, (int)strlen(t->name)), 1);
	assert_int_equal(EVP_EncryptUpdate(c, block, &n, block, (int)len), 1);
	assert_int_equal(EVP_EncryptFinal_ex(c, block + len, &n), 1);
	assert_int_equal(EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_GET_TAG, 16, block + len), 1);
	EVP_CIPHER_CTX_free(c);
}

size_t token_seal(const struct token_seal *t, uint8_t out[TOKEN_SEAL_MAX])
{
	const uint16_t nonce_len = t->nonce_len != 0 ? t->nonce_len : 12;
	uint8_t *nonce = out + 2, *block = nonce + nonce_len, *p = block;

	assert_true(nonce_len <= 128 && t->mac_len <= 128);
	store_be16(out, t->says_nonce_len != 0 ? t->says_nonce_len : nonce_len);
	memset(nonce, 0x5a, nonce_len);
	if (nonce_len >= 4)
		store_be32(nonce, t->seed);
	store_be16(p, t->says_mac_len != 0 ? t->says_mac_len : t->mac_len);
	memcpy(p + 2, t->mac, t->mac_len);
	p += 2 + t->mac_len;
	store_be64(p, t->made_s << 16 | 32000); // plus half a second
	store_be32(p + 8, t->lifetime_s);
	p += 12;
	seal(t, nonce, nonce_len, block, (size_t)(p - block));
	return (size_t)(p + 16 - out);
}
