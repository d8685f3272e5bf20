// SPDX-License-Identifier: BSD-3-Clause
// The ciphers on x86-64, by libipsec-mb. In releases before 1.4, such as Debian 12's, every call
// writes to one global variable, whose cache line then moves between workers that encrypt at the
// same time. With such a release aes_gcm.c does AES-GCM of short messages, where that cost matters.
// For long messages libipsec-mb is faster: it uses wide vectors, which aes_gcm.c does not.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <intel-ipsec-mb.h>
#include <openssl/crypto.h>

#include "aead.h"
#include "aes_gcm.h"

#define SHORT_MAX 192 // bytes of a short message
#define SHARES_NOTHING IMB_VERSION(1, 4, 0)

struct aead_key {
	union { // by aead
		struct gcm_key_data gcm;
		uint8_t chacha[AEAD_KEY_MAX];
	};
	struct aes_gcm brief; // the same key for short messages; its round keys are in gcm
	enum aead aead;
};

// The functions for this CPU, for the life of the process. Their calls keep no other state there.
static IMB_MGR *mgr;
static size_t short_max; // bytes; 0: no message is short
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void init_manager(void)
{
	mgr = alloc_mb_mgr(0);
	if (mgr != NULL)
		init_mb_mgr_auto(mgr, NULL);
	if (imb_get_version() < SHARES_NOTHING && __builtin_cpu_supports("pclmul"))
		short_max = SHORT_MAX;
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
	if (short_max > 0 && a != AEAD_CHACHA20_POLY1305)
		aes_gcm_key(&k->brief, k->gcm.expanded_keys, a == AEAD_AES_128_GCM ? 10 : 14);
	return k;
}

void aead_key_free(struct aead_key *k)
{
	if (k == NULL)
		return;
	explicit_bzero(k, sizeof(*k));
	free(k);
}

static bool is_short(const struct aead_key *k, size_t len)
{
	return len <= short_max && k->aead != AEAD_CHACHA20_POLY1305;
}

// Neither implementation can fail: both use only their arguments.
bool aead_seal(struct aead_key *k, const struct aead_with *params, uint8_t *data, size_t len)
{
	struct chacha20_poly1305_context_data chacha;
	struct gcm_context_data gcm;
	uint8_t *tag = data + len;

	if (is_short(k, len)) {
		aes_gcm_seal(&k->brief, params, data, len);
		return true;
	}
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

	if (is_short(k, len))
		return aes_gcm_open(&k->brief, params, data, len);
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
