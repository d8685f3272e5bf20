// SPDX-License-Identifier: BSD-3-Clause
// Keys and message integrity over libcrypto. stun_crypto_create() finds out once which digests
// libcrypto's policy allows; after that nothing here allocates or takes a lock.
#include "stun_int.h"

#include "gcm.h"
#include "hmac.h"

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/md5.h>
#include <stdlib.h>

// Keeps the last key of each use: a request is verified and its answer signed with one key, all
// nonces are made with one key, and most servers have one REST secret.
struct stun_crypto {
	struct hmac_key message_sha1, message_sha256, secret_sha1, other_sha256;
	bool has_md5; // false if policy forbids it (FIPS)
	struct gcm *gcm; // for access tokens; NULL if libcrypto has no AES-GCM
};

static bool is_allowed(const char *digest)
{
	EVP_MD *md = EVP_MD_fetch(NULL, digest, NULL);

	EVP_MD_free(md);
	return md != NULL;
}

struct stun_crypto *stun_crypto_create(void)
{
	struct stun_crypto *c;

	if (!is_allowed("SHA1") || !is_allowed("SHA2-256"))
		return NULL;
	c = calloc(1, sizeof(*c));
	if (c == NULL)
		return NULL;
	c->message_sha256.sha256 = c->other_sha256.sha256 = true;
	// A missing MD5 is no error: precomputed keys and SHA-256 still work.
	ERR_set_mark();
	c->has_md5 = is_allowed("MD5");
	c->gcm = gcm_create(); // NULL is no error either: this server then accepts no tokens
	ERR_pop_to_mark();
	return c;
}

void stun_crypto_free(struct stun_crypto *c)
{
	if (c == NULL)
		return;
	gcm_free(c->gcm);
	OPENSSL_cleanse(c, sizeof(*c));
	free(c);
}

struct gcm *stun_crypto_gcm(struct stun_crypto *c)
{
	return c->gcm;
}

static void md5_pieces(const struct piece *piece, size_t n, uint8_t out[MD5_DIGEST_LENGTH])
{
	MD5_CTX d;

	MD5_Init(&d);
	for (size_t i = 0; i < n; i++)
		MD5_Update(&d, piece[i].data, piece[i].len);
	MD5_Final(out, &d);
	OPENSSL_cleanse(&d, sizeof(d));
}

static void sha256_pieces(const struct piece *piece, size_t n, uint8_t out[SHA256_DIGEST_LENGTH])
{
	SHA256_CTX d;

	SHA256_Init(&d);
	for (size_t i = 0; i < n; i++)
		SHA256_Update(&d, piece[i].data, piece[i].len);
	SHA256_Final(out, &d);
	OPENSSL_cleanse(&d, sizeof(d));
}

bool stun_key_make(struct stun_crypto *c, enum stun_algorithm alg,
	const struct stun_credential *cred, struct stun_key *out)
{
	const struct piece piece[] = {
		{cred->user, cred->user_len},
		{":", 1},
		{cred->realm, strlen(cred->realm)},
		{":", 1},
		{cred->password, cred->password_len},
	};
	const bool sha256 = alg == STUN_ALG_SHA256;

	memset(out, 0, sizeof(*out));
	if (!sha256 && !c->has_md5)
		return false;
	if (sha256)
		sha256_pieces(piece, 5, out->bytes);
	else
		md5_pieces(piece, 5, out->bytes);
	out->len = sha256 ? 32 : 16;
	return true;
}

bool stun_userhash(struct stun_crypto *c, const void *user, size_t user_len, const char *realm,
	uint8_t out[32])
{
	const struct piece piece[] = {{user, user_len}, {":", 1}, {realm, strlen(realm)}};

	sha256_pieces(piece, 3, out);
	return true;
}

bool stun_rest_mac(struct stun_crypto *c, const char *secret, const void *user, size_t user_len,
	uint8_t out[STUN_REST_MAC_LEN])
{
	const struct piece text = {user, user_len};

	_Static_assert(STUN_REST_MAC_LEN == HMAC_SHA1_LEN, "a REST MAC is an HMAC-SHA1");
	if (secret[0] == '\0')
		return false;
	hmac_key_set(&c->secret_sha1, secret, strlen(secret));
	hmac_pieces(&c->secret_sha1, &text, 1, out);
	return true;
}

void stun_rest_text(const uint8_t *mac, size_t len, char *out)
{
	EVP_EncodeBlock((unsigned char *)out, mac, (int)len);
}

bool stun_rest_password(
	struct stun_crypto *c, const char *secret, const void *user, size_t user_len, char out[29])
{
	uint8_t mac[STUN_REST_MAC_LEN];

	out[0] = '\0';
	if (!stun_rest_mac(c, secret, user, user_len, mac))
		return false;
	stun_rest_text(mac, sizeof(mac), out);
	OPENSSL_cleanse(mac, sizeof(mac));
	return true;
}

bool stun_hmac_sha256(struct stun_crypto *c, const void *key, size_t key_len, const void *data,
	size_t len, uint8_t out[32])
{
	const struct piece text = {data, len};

	if (key_len == 0)
		return false;
	hmac_key_set(&c->other_sha256, key, key_len);
	hmac_pieces(&c->other_sha256, &text, 1, out);
	return true;
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
	struct hmac_key *k = sha256 ? &c->message_sha256 : &c->message_sha1;

	if (key->len == 0 || key->len > STUN_KEY_MAX)
		return false;
	// RFC 8489 14.5, 14.6: the length field counts up to the end of this attribute, whatever
	// follows it. It is set in a copy of the header, because the message may be read-only.
	memcpy(header, msg, sizeof(header));
	store_be16(header + 2, (uint16_t)(end - STUN_HEADER_LEN));
	hmac_key_set(k, key->bytes, key->len);
	hmac_pieces(k, piece, 2, out);
	return true;
}

bool stun_equal(const void *a, const void *b, size_t len)
{
	return CRYPTO_memcmp(a, b, len) == 0;
}

bool stun_integrity_ok(struct stun_crypto *c, const struct stun_msg *m, const struct stun_key *key)
{
	// RFC 8489 9.2.4: if both are present, the stronger one decides.
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
