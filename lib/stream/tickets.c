// SPDX-License-Identifier: BSD-3-Clause
// Session tickets: two keys behind a lock, their hourly change, and libssl's callback.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/core_names.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>

#include "clock.h"
#include "tickets.h"

struct tickets {
	pthread_mutex_t lock;
	struct ticket_key now, before; // made_ms 0: no key
};

// --- keys and time -------------------------------------------------------------------------------

struct tickets *tickets_create(void)
{
	struct tickets *t = calloc(1, sizeof(*t));

	if (t != NULL)
		pthread_mutex_init(&t->lock, NULL);
	return t;
}

void tickets_free(struct tickets *t)
{
	if (t == NULL)
		return;
	pthread_mutex_destroy(&t->lock);
	OPENSSL_cleanse(t, sizeof(*t));
	free(t);
}

static bool is_good(const struct ticket_key *k, uint64_t now_ms, unsigned int periods)
{
	return k->made_ms != 0 && now_ms < k->made_ms + periods * UINT64_C(1) * TICKET_PERIOD_MS;
}

// Discards keys that are too old.
static void drop_old_keys(struct tickets *t, uint64_t now_ms)
{
	if (t->now.made_ms != 0 && !is_good(&t->now, now_ms, 1)) {
		t->before = t->now;
		OPENSSL_cleanse(&t->now, sizeof(t->now));
	}
	if (!is_good(&t->before, now_ms, 2))
		OPENSSL_cleanse(&t->before, sizeof(t->before));
}

static bool draw_key(struct ticket_key *k, uint64_t now_ms)
{
	if (RAND_bytes(k->name, sizeof(k->name)) != 1 ||
		RAND_priv_bytes(k->aes, sizeof(k->aes)) != 1 ||
		RAND_priv_bytes(k->hmac, sizeof(k->hmac)) != 1)
		return false;
	k->made_ms = now_ms > 0 ? now_ms : 1;
	return true;
}

bool tickets_seal(struct tickets *t, uint64_t now_ms, struct ticket_key *out)
{
	bool good;

	pthread_mutex_lock(&t->lock);
	drop_old_keys(t, now_ms);
	good = t->now.made_ms != 0 || draw_key(&t->now, now_ms);
	*out = t->now;
	pthread_mutex_unlock(&t->lock);
	return good;
}

int tickets_open(struct tickets *t, uint64_t now_ms, const uint8_t name[TICKET_NAME_LEN],
	struct ticket_key *out)
{
	int rc = 0;

	pthread_mutex_lock(&t->lock);
	drop_old_keys(t, now_ms);
	if (t->now.made_ms != 0 && memcmp(t->now.name, name, TICKET_NAME_LEN) == 0)
		rc = 1;
	else if (t->before.made_ms != 0 && memcmp(t->before.name, name, TICKET_NAME_LEN) == 0)
		rc = 2;
	*out = rc == 2 ? t->before : t->now;
	pthread_mutex_unlock(&t->lock);
	return rc;
}

// --- for libssl ----------------------------------------------------------------------------------

static int ex_index; // index of the keys in an SSL_CTX
static pthread_once_t ex_index_once = PTHREAD_ONCE_INIT;

static void free_with(void *parent, void *ptr, CRYPTO_EX_DATA *ad, int index, long argl, void *argp)
{
	tickets_free(ptr);
}

static void ex_index_make(void)
{
	ex_index = SSL_CTX_get_ex_new_index(0, NULL, NULL, NULL, free_with);
}

static bool set_hmac(EVP_MAC_CTX *mac, struct ticket_key *k)
{
	char digest[] = "SHA256";
	const OSSL_PARAM params[] = {
		OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY, k->hmac, sizeof(k->hmac)),
		OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
		OSSL_PARAM_construct_end()};

	return EVP_MAC_CTX_set_params(mac, params) == 1;
}

// The callback of SSL_CTX_set_tlsext_ticket_key_evp_cb.
static int key_for(SSL *ssl, unsigned char *name, unsigned char *iv, EVP_CIPHER_CTX *cipher,
	EVP_MAC_CTX *mac, int sealing)
{
	struct tickets *t = SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), ex_index);
	struct ticket_key k;
	int rc;

	if (sealing) {
		rc = tickets_seal(t, clock_monotonic_ms(), &k) && RAND_bytes(iv, 16) == 1 ? 1 : -1;
		memcpy(name, k.name, TICKET_NAME_LEN);
	} else {
		rc = tickets_open(t, clock_monotonic_ms(), name, &k);
		if (rc > 0 && SSL_version(ssl) == TLS1_3_VERSION)
			rc = 2; // renew the ticket: a client uses each ticket once (RFC 8446 C.4)
	}
	if (rc > 0 &&
		(!set_hmac(mac, &k) ||
			EVP_CipherInit_ex(cipher, EVP_aes_256_cbc(), NULL, k.aes, iv, sealing) !=
				1))
		rc = -1;
	OPENSSL_cleanse(&k, sizeof(k));
	return rc;
}

bool tickets_use(struct ssl_ctx_st *c)
{
	struct tickets *t = tickets_create();

	pthread_once(&ex_index_once, ex_index_make);
	if (t == NULL || ex_index < 0 || SSL_CTX_set_ex_data(c, ex_index, t) != 1) {
		tickets_free(t);
		return false;
	}
	SSL_CTX_set_tlsext_ticket_key_evp_cb(c, key_for);
	return true;
}
