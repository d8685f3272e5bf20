// SPDX-License-Identifier: BSD-3-Clause
// Keys and message integrity over libcrypto. Everything is fetched once, in stun_crypto_create: a
// one-shot call costs ten times as much, and a fetch takes a lock that all workers share.
#include "stun_int.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <stdlib.h>

struct stun_crypto {
	EVP_MAC *hmac;
	EVP_MAC_CTX *hmac_sha1, *hmac_sha256; // digest set once, re-keyed for every message
	EVP_MD *md5; // NULL where policy forbids it (FIPS)
	EVP_MD *sha256;
	EVP_MD_CTX *digest;
};

// One piece of the input of a digest.
struct piece {
	const void *data;
	size_t len;
};

static EVP_MAC_CTX *hmac_ctx_create(EVP_MAC *hmac, const char *digest)
{
	char name[16];
	OSSL_PARAM params[2];
	EVP_MAC_CTX *ctx = EVP_MAC_CTX_new(hmac);

	if (ctx == NULL)
		return NULL;
	strcpy(name, digest); // OSSL_PARAM wants it writable
	params[0] = OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, name, 0);
	params[1] = OSSL_PARAM_construct_end();
	if (EVP_MAC_CTX_set_params(ctx, params) != 1) {
		EVP_MAC_CTX_free(ctx);
		return NULL;
	}
	return ctx;
}

struct stun_crypto *stun_crypto_create(void)
{
	struct stun_crypto *const c = calloc(1, sizeof(*c));

	if (c == NULL)
		return NULL;
	c->hmac = EVP_MAC_fetch(NULL, OSSL_MAC_NAME_HMAC, NULL);
	c->sha256 = EVP_MD_fetch(NULL, "SHA2-256", NULL);
	c->digest = EVP_MD_CTX_new();
	if (c->hmac != NULL) {
		c->hmac_sha1 = hmac_ctx_create(c->hmac, "SHA1");
		c->hmac_sha256 = hmac_ctx_create(c->hmac, "SHA2-256");
	}
	if (c->sha256 == NULL || c->digest == NULL || c->hmac_sha1 == NULL ||
		c->hmac_sha256 == NULL) {
		stun_crypto_free(c);
		return NULL;
	}
	// Its absence is no error: precomputed keys and SHA-256 still work.
	ERR_set_mark();
	c->md5 = EVP_MD_fetch(NULL, "MD5", NULL);
	ERR_pop_to_mark();
	return c;
}

void stun_crypto_free(struct stun_crypto *c)
{
	if (c == NULL)
		return;
	EVP_MAC_CTX_free(c->hmac_sha1);
	EVP_MAC_CTX_free(c->hmac_sha256);
	EVP_MAC_free(c->hmac);
	EVP_MD_free(c->md5);
	EVP_MD_free(c->sha256);
	EVP_MD_CTX_free(c->digest);
	free(c);
}

static bool digest_pieces(
	struct stun_crypto *c, const EVP_MD *md, const struct piece *piece, size_t n, uint8_t *out)
{
	if (md == NULL || EVP_DigestInit_ex2(c->digest, md, NULL) != 1)
		return false;
	for (size_t i = 0; i < n; i++)
		if (EVP_DigestUpdate(c->digest, piece[i].data, piece[i].len) != 1)
			return false;
	return EVP_DigestFinal_ex(c->digest, out, NULL) == 1;
}

// An empty key is refused, not used: to libcrypto a NULL key means the one of the message before.
static bool hmac_pieces(
	EVP_MAC_CTX *ctx, struct piece key, const struct piece *piece, size_t n, uint8_t *out)
{
	size_t out_len = 0;

	if (key.data == NULL || key.len == 0 || EVP_MAC_init(ctx, key.data, key.len, NULL) != 1)
		return false;
	for (size_t i = 0; i < n; i++)
		if (EVP_MAC_update(ctx, piece[i].data, piece[i].len) != 1)
			return false;
	return EVP_MAC_final(ctx, out, &out_len, HMAC_SHA256_LEN) == 1;
}

bool stun_key_make(struct stun_crypto *c, enum stun_algorithm alg, const void *user,
	size_t user_len, const char *realm, const void *password, size_t password_len,
	struct stun_key *out)
{
	const struct piece piece[] = {
		{user, user_len},
		{":", 1},
		{realm, strlen(realm)},
		{":", 1},
		{password, password_len},
	};
	const bool sha256 = alg == STUN_ALG_SHA256;

	memset(out, 0, sizeof(*out));
	if (!digest_pieces(c, sha256 ? c->sha256 : c->md5, piece, 5, out->bytes))
		return false;
	out->len = sha256 ? 32 : 16;
	return true;
}

bool stun_userhash(struct stun_crypto *c, const void *user, size_t user_len, const char *realm,
	uint8_t out[32])
{
	const struct piece piece[] = {{user, user_len}, {":", 1}, {realm, strlen(realm)}};

	return digest_pieces(c, c->sha256, piece, 3, out);
}

bool stun_rest_password(
	struct stun_crypto *c, const char *secret, const void *user, size_t user_len, char out[29])
{
	const struct piece key = {secret, strlen(secret)};
	const struct piece text = {user, user_len};
	uint8_t mac[HMAC_SHA256_LEN];

	out[0] = '\0';
	if (!hmac_pieces(c->hmac_sha1, key, &text, 1, mac))
		return false;
	EVP_EncodeBlock((unsigned char *)out, mac, HMAC_SHA1_LEN);
	OPENSSL_cleanse(mac, sizeof(mac));
	return true;
}

bool stun_hmac_sha256(struct stun_crypto *c, const void *key, size_t key_len, const void *data,
	size_t len, uint8_t out[32])
{
	const struct piece text = {data, len};

	return hmac_pieces(c->hmac_sha256, (struct piece){key, key_len}, &text, 1, out);
}

bool stun_hmac_message(struct stun_crypto *c, enum stun_algorithm alg, const struct stun_key *key,
	const uint8_t *msg, size_t covered, uint8_t *out)
{
	const bool sha256 = alg == STUN_ALG_SHA256;
	const size_t mac_len = sha256 ? HMAC_SHA256_LEN : HMAC_SHA1_LEN;
	const size_t end = covered + ATTR_HEADER_LEN + mac_len;
	uint8_t header[STUN_HEADER_LEN];
	const struct piece piece[] = {
		{header, sizeof(header)},
		{msg + STUN_HEADER_LEN, covered - STUN_HEADER_LEN},
	};
	uint8_t mac[HMAC_SHA256_LEN];

	if (key->len > STUN_KEY_MAX)
		return false;
	// RFC 8489 14.5, 14.6: the length points to the end of this attribute whatever follows it.
	// The message itself is not ours to write to.
	memcpy(header, msg, sizeof(header));
	store_be16(header + 2, (uint16_t)(end - STUN_HEADER_LEN));
	if (!hmac_pieces(sha256 ? c->hmac_sha256 : c->hmac_sha1,
		    (struct piece){key->bytes, key->len}, piece, 2, mac))
		return false;
	memcpy(out, mac, mac_len);
	return true;
}

bool stun_equal(const void *a, const void *b, size_t len)
{
	return CRYPTO_memcmp(a, b, len) == 0;
}

bool stun_integrity_ok(struct stun_crypto *c, const struct stun_msg *m, const struct stun_key *key)
{
	// RFC 8489 9.2.4: where both are present the stronger one decides.
	const bool sha256 = stun_has(m, STUN_MESSAGE_INTEGRITY_SHA256);
	const enum stun_attr a = sha256 ? STUN_MESSAGE_INTEGRITY_SHA256 : STUN_MESSAGE_INTEGRITY;
	const size_t mac_len = sha256 ? HMAC_SHA256_LEN : HMAC_SHA1_LEN;
	const size_t off = m->off[a];
	uint8_t mac[HMAC_SHA256_LEN];

	// A truncated MESSAGE-INTEGRITY-SHA256 is refused: TURN does not allow it (RFC 8489 14.6).
	if (!stun_has(m, a) || m->alen[a] != mac_len)
		return false;
	return stun_hmac_message(c, sha256 ? STUN_ALG_SHA256 : STUN_ALG_MD5, key, m->data,
		       off - ATTR_HEADER_LEN, mac) &&
		stun_equal(mac, m->data + off, mac_len);
}
