// SPDX-License-Identifier: BSD-3-Clause
// The ciphers by libcrypto, for machines that libipsec-mb does not support.
#include <stdlib.h>

#include <openssl/evp.h>

#include "aead.h"

struct aead_key {
	EVP_CIPHER_CTX *seal, *open;
};

static EVP_CIPHER_CTX *create_context(enum aead a, const uint8_t *key, int sealing)
{
	static const EVP_CIPHER *(*const ciphers[])(void) = {
		[AEAD_AES_128_GCM] = EVP_aes_128_gcm,
		[AEAD_AES_256_GCM] = EVP_aes_256_gcm,
		[AEAD_CHACHA20_POLY1305] = EVP_chacha20_poly1305,
	};
	EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();

	if (c != NULL && EVP_CipherInit_ex(c, ciphers[a](), NULL, key, NULL, sealing) == 1)
		return c;
	EVP_CIPHER_CTX_free(c);
	return NULL;
}

struct aead_key *aead_key_create(enum aead a, const uint8_t *key)
{
	struct aead_key *k = calloc(1, sizeof(*k));

	if (k == NULL)
		return NULL;
	k->seal = create_context(a, key, 1);
	k->open = create_context(a, key, 0);
	if (k->seal != NULL && k->open != NULL)
		return k;
	aead_key_free(k);
	return NULL;
}

void aead_key_free(struct aead_key *k)
{
	if (k == NULL)
		return;
	EVP_CIPHER_CTX_free(k->seal);
	EVP_CIPHER_CTX_free(k->open);
	free(k);
}

bool aead_seal(struct aead_key *k, const struct aead_with *params, uint8_t *data, size_t len)
{
	int n;

	return EVP_EncryptInit_ex(k->seal, NULL, NULL, NULL, params->nonce) == 1 &&
		EVP_EncryptUpdate(k->seal, NULL, &n, params->aad, params->aad_len) == 1 &&
		EVP_EncryptUpdate(k->seal, data, &n, data, (int)len) == 1 &&
		EVP_EncryptFinal_ex(k->seal, data + len, &n) == 1 && // writes nothing
		EVP_CIPHER_CTX_ctrl(k->seal, EVP_CTRL_AEAD_GET_TAG, AEAD_TAG_LEN, data + len) == 1;
}

bool aead_open(struct aead_key *k, const struct aead_with *params, uint8_t *data, size_t len)
{
	int n;

	return EVP_DecryptInit_ex(k->open, NULL, NULL, NULL, params->nonce) == 1 &&
		EVP_DecryptUpdate(k->open, NULL, &n, params->aad, params->aad_len) == 1 &&
		EVP_DecryptUpdate(k->open, data, &n, data, (int)len) == 1 &&
		EVP_CIPHER_CTX_ctrl(k->open, EVP_CTRL_AEAD_SET_TAG, AEAD_TAG_LEN, data + len) ==
		1 &&
		EVP_DecryptFinal_ex(k->open, data + len, &n) == 1;
}
