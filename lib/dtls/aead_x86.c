// SPDX-License-Identifier: BSD-3-Clause
// The ciphers on x86-64, by libipsec-mb.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <intel-ipsec-mb.h>
#include <openssl/crypto.h>

#include "aead.h"

struct aead_key {
	union { // by aead
		struct gcm_key_data gcm;
		uint8_t chacha[AEAD_KEY_MAX];
	};
	enum aead aead;
};

// The functions for this CPU, for the life of the process. Their calls keep no other state there.
static IMB_MGR *mgr;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void init_manager(void)
{
	mgr = alloc_mb_mgr(0);
	if (mgr != NULL)
		init_mb_mgr_auto(mgr, NULL);
}

struct aead_key *aead_key_create(enum aead a, const uint8_t *key)
{
	struct aead_key *k;

	pthread_once(&once, init_manager);
	k = mgr != NULL ? aligned_alloc(64, (sizeof(*k) + 63) & ~(size_t)63) : NULL;
	if (k == NULL)
		return NULL;
	k->aead = a;
	if (a == AEAD_AES_128_GCM)
		IMB_AES128_GCM_PRE(mgr, key, &k->gcm);
	else if (a == AEAD_AES_256_GCM)
		IMB_AES256_GCM_PRE(mgr, key, &k->gcm);
	else
		memcpy(k->chacha, key, sizeof(k->chacha));
	return k;
}

void aead_key_free(struct aead_key *k)
{
	if (k == NULL)
		return;
	explicit_bzero(k, sizeof(*k));
	free(k);
}

// The calls of libipsec-mb cannot fail: they use only their arguments.
bool aead_seal(struct aead_key *k, const struct aead_with *params, uint8_t *data, size_t len)
{
	struct chacha20_poly1305_context_data chacha;
	struct gcm_context_data gcm;
	uint8_t *tag = data + len;

	switch (k->aead) {
	case AEAD_AES_128_GCM:
		IMB_AES128_GCM_ENC(mgr, &k->gcm, &gcm, data, data, len, params->nonce, params->aad,
			params->aad_len, tag, AEAD_TAG_LEN);
		break;
	case AEAD_AES_256_GCM:
		IMB_AES256_GCM_ENC(mgr, &k->gcm, &gcm, data, data, len, params->nonce, params->aad,
			params->aad_len, tag, AEAD_TAG_LEN);
		break;
	default:
		IMB_CHACHA20_POLY1305_INIT(
			mgr, k->chacha, &chacha, params->nonce, params->aad, params->aad_len);
		IMB_CHACHA20_POLY1305_ENC_UPDATE(mgr, k->chacha, &chacha, data, data, len);
		IMB_CHACHA20_POLY1305_ENC_FINALIZE(mgr, &chacha, tag, AEAD_TAG_LEN);
		break;
	}
	return true;
}

bool aead_open(struct aead_key *k, const struct aead_with *params, uint8_t *data, size_t len)
{
	struct chacha20_poly1305_context_data chacha;
	struct gcm_context_data gcm;
	uint8_t tag[AEAD_TAG_LEN];

	switch (k->aead) {
	case AEAD_AES_128_GCM:
		IMB_AES128_GCM_DEC(mgr, &k->gcm, &gcm, data, data, len, params->nonce, params->aad,
			params->aad_len, tag, AEAD_TAG_LEN);
		break;
	case AEAD_AES_256_GCM:
		IMB_AES256_GCM_DEC(mgr, &k->gcm, &gcm, data, data, len, params->nonce, params->aad,
			params->aad_len, tag, AEAD_TAG_LEN);
		break;
	default:
		IMB_CHACHA20_POLY1305_INIT(
			mgr, k->chacha, &chacha, params->nonce, params->aad, params->aad_len);
		IMB_CHACHA20_POLY1305_DEC_UPDATE(mgr, k->chacha, &chacha, data, data, len);
		IMB_CHACHA20_POLY1305_DEC_FINALIZE(mgr, &chacha, tag, AEAD_TAG_LEN);
		break;
	}
	return CRYPTO_memcmp(tag, data + len, AEAD_TAG_LEN) == 0;
}
