// SPDX-License-Identifier: BSD-3-Clause
// AES-GCM over libcrypto's EVP. The contexts get their ciphers at creation: setting key and nonce
// then allocates nothing.
#include "gcm.h"

#include <openssl/evp.h>
#include <stdlib.h>

struct gcm {
	EVP_CIPHER_CTX *c[GCM_NB];
};

static EVP_CIPHER_CTX *make_context(const char *name)
{
	EVP_CIPHER *cipher = EVP_CIPHER_fetch(NULL, name, NULL);
	EVP_CIPHER_CTX *c = cipher != NULL ? EVP_CIPHER_CTX_new() : NULL;

	if (c != NULL && EVP_DecryptInit_ex(c, cipher, NULL, NULL, NULL) != 1) {
		EVP_CIPHER_CTX_free(c);
		c = NULL;
	}
	EVP_CIPHER_free(cipher); // the context holds a reference
	return c;
}

struct gcm *gcm_create(void)
{
	struct gcm *g = calloc(1, sizeof(*g));

	if (g == NULL)
		return NULL;
	g->c[GCM_AES_256] = make_context("AES-256-GCM");
	g->c[GCM_AES_128] = make_context("AES-128-GCM");
	if (g->c[GCM_AES_256] != NULL && g->c[GCM_AES_128] != NULL)
		return g;
	gcm_free(g);
	return NULL;
}

void gcm_free(struct gcm *g)
{
	if (g == NULL)
		return;
	for (int i = 0; i < GCM_NB; i++)
		EVP_CIPHER_CTX_free(g->c[i]);
	free(g);
}

bool gcm_open(struct gcm *g, enum gcm_cipher cipher, const struct gcm_sealed *s, uint8_t *out)
{
	EVP_CIPHER_CTX *c = g->c[cipher];
	void *tag = (void *)(s->data + s->len); // not written
	int n;

	return EVP_DecryptInit_ex(c, NULL, NULL, s->key, s->nonce) == 1 &&
		EVP_DecryptUpdate(c, NULL, &n, s->aad, (int)s->aad_len) == 1 &&
		EVP_DecryptUpdate(c, out, &n, s->data, (int)s->len) == 1 &&
		EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_SET_TAG, GCM_TAG_LEN, tag) == 1 &&
		EVP_DecryptFinal_ex(c, out + s->len, &n) == 1; // writes nothing
}
