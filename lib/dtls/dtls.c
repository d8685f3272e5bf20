// SPDX-License-Identifier: BSD-3-Clause
// DTLS handshakes by libssl.
#include <pthread.h>
#include <stdlib.h>

#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/kdf.h>
#include <openssl/ssl.h>

#include "bio_method.h"
#include "bytes.h"
#include "dtls_hello.h"
#include "dtls_session.h"

struct dtls_handshake {
	SSL *ssl;
	struct dtls_wire *wire; // wire of the current call
	uint64_t next[2], nonce; // see struct dtls_keys
	uint16_t flight_len; // bytes sent by the current call; above FLIGHT_MAX not all are kept
	uint8_t flight[FLIGHT_MAX];
};

// --- a BIO of one datagram at a time -------------------------------------------------------------

static int wire_read(BIO *b, char *buf, int len)
{
	struct dtls_wire *w = ((struct dtls_handshake *)BIO_get_data(b))->wire;
	const int n = w->in_len < len ? w->in_len : len;

	BIO_clear_retry_flags(b);
	if (n == 0) {
		BIO_set_retry_read(b);
		return -1;
	}
	memcpy(buf, w->in, (size_t)n);
	w->in_len = 0;
	return n;
}

// Records what the session must know about sent records.
static void note_records(struct dtls_handshake *h, const uint8_t *p, size_t len)
{
	if (h->flight_len + len <= FLIGHT_MAX) {
		memcpy(h->flight + h->flight_len, p, len);
		h->flight_len = (uint16_t)(h->flight_len + len);
	} else {
		h->flight_len = FLIGHT_MAX + 1;
	}
	while (len >= DTLS_RECORD_LEN) {
		const uint64_t number = load_be64(p + 3), epoch = number >> 48;
		const size_t size = DTLS_RECORD_LEN + (size_t)load_be16(p + 11);

		if (size > len)
			break;
		if (epoch <= 1)
			h->next[epoch] = (number & 0xffffffffffff) + 1;
		if (epoch == 1 && size >= DTLS_RECORD_LEN + 8)
			h->nonce = load_be64(p + DTLS_RECORD_LEN) + 1;
		p += size;
		len -= size;
	}
}

static int wire_write(BIO *b, const char *buf, int len)
{
	struct dtls_handshake *h = BIO_get_data(b);
	struct dtls_wire *w = h->wire;

	BIO_clear_retry_flags(b);
	note_records(h, (const uint8_t *)buf, (size_t)len);
	w->out(w->ctx, (const uint8_t *)buf, (size_t)len);
	w->outs++;
	return len; // a failure counts as a lost datagram
}

static long wire_ctrl(BIO *b, int cmd, long num, void *ptr)
{
	return cmd == BIO_CTRL_FLUSH;
}

static BIO_METHOD *wire_method;
static pthread_once_t wire_once = PTHREAD_ONCE_INIT;

// Makes the method once, for the life of the process.
static void wire_make(void)
{
	wire_method = dtls_bio_method("datagrams", wire_read, wire_write, wire_ctrl);
}

static void attach_wire(struct dtls_handshake *h, struct dtls_wire *w)
{
	h->wire = w;
	h->flight_len = 0;
}

// Returns the AEAD of a cipher, or AEAD_NB if sessions do not support that cipher.
static enum aead aead_of(const SSL_CIPHER *c)
{
	switch (SSL_CIPHER_get_cipher_nid(c)) {
	case NID_aes_128_gcm:
		return AEAD_AES_128_GCM;
	case NID_aes_256_gcm:
		return AEAD_AES_256_GCM;
	case NID_chacha20_poly1305:
		return AEAD_CHACHA20_POLY1305;
	default:
		return AEAD_NB;
	}
}

bool dtls_supports(const SSL_CIPHER *c)
{
	return aead_of(c) != AEAD_NB;
}

// --- a handshake ---------------------------------------------------------------------------------

static int io_result(SSL *ssl, int rc)
{
	int code = IO_FAILED;

	if (rc > 0)
		return rc;
	// do not use SSL_get_error: a forged record may have left an unrelated error
	if ((SSL_get_shutdown(ssl) & SSL_RECEIVED_SHUTDOWN) != 0)
		code = IO_CLOSED;
	else if (SSL_want_read(ssl))
		code = IO_LATER;
	ERR_clear_error();
	return code;
}

// Makes a handshake with everything that libssl needs. NULL without memory.
static struct dtls_handshake *create_handshake(struct ssl_ctx_st *ctx)
{
	struct dtls_handshake *h = calloc(1, sizeof(*h));
	BIO *b;

	pthread_once(&wire_once, wire_make);
	b = wire_method != NULL ? BIO_new(wire_method) : NULL;
	if (h != NULL && b != NULL)
		h->ssl = SSL_new(ctx);
	if (h == NULL || h->ssl == NULL) {
		BIO_free(b);
		free(h);
		return NULL;
	}
	BIO_set_data(b, h);
	SSL_set_bio(h->ssl, b, b);
	return h;
}

struct dtls_handshake *dtls_open(struct ssl_ctx_st *ctx, uint16_t mtu, struct dtls_wire *w)
{
	BIO_ADDR *nobody = BIO_ADDR_new();
	struct dtls_handshake *h = nobody != NULL ? create_handshake(ctx) : NULL;

	if (h != NULL) {
		attach_wire(h, w);
		SSL_set_mtu(h->ssl, mtu);
		SSL_set_accept_state(h->ssl);
		// treats this ClientHello as the second one, which its message number says it is
		if (DTLSv1_listen(h->ssl, nobody) != 1) {
			dtls_handshake_free(h);
			h = NULL;
		}
	}
	BIO_ADDR_free(nobody);
	ERR_clear_error();
	return h;
}

// False for a datagram with a record too short to decrypt. libssl 3.0 ends a handshake for such a
// record, even a forged one.
static bool long_enough(SSL *ssl, const uint8_t *data, size_t len)
{
	const SSL_CIPHER *c = SSL_get_current_cipher(ssl);
	unsigned int least = UINT16_MAX; // without a cipher no record can be encrypted

	if (c == NULL)
		c = SSL_get_pending_cipher(ssl);
	if (c != NULL)
		least = aead_of(c) == AEAD_CHACHA20_POLY1305 ? 16 : 24;
	while (len > DTLS_RECORD_LEN) {
		const size_t body = load_be16(data + 11);

		if (load_be16(data + 3) != 0 && body < least)
			return false;
		if (body > len - DTLS_RECORD_LEN)
			break; // libssl ignores such a record
		data += DTLS_RECORD_LEN + body;
		len -= DTLS_RECORD_LEN + body;
	}
	return true;
}

bool dtls_is_sealed(const uint8_t *data, size_t len)
{
	while (len > DTLS_RECORD_LEN) {
		const size_t record = DTLS_RECORD_LEN + (size_t)load_be16(data + 11);

		if (load_be16(data + 3) != 0)
			return true;
		if (record > len)
			break;
		data += record;
		len -= record;
	}
	return false;
}

void dtls_handshake_tick(struct dtls_handshake *h, struct dtls_wire *w)
{
	attach_wire(h, w);
	DTLSv1_handle_timeout(h->ssl);
	ERR_clear_error();
}

int dtls_handshake(struct dtls_handshake *h, struct dtls_wire *w)
{
	dtls_handshake_tick(h, w); // else libssl does this during the call, before the last flight
	attach_wire(h, w);
	if (w->in_len > 0 && !long_enough(h->ssl, w->in, w->in_len))
		w->in_len = 0;
	return io_result(h->ssl, SSL_accept(h->ssl));
}

void dtls_handshake_free(struct dtls_handshake *h)
{
	if (h == NULL)
		return;
	SSL_free(h->ssl);
	free(h);
}

// --- its session ---------------------------------------------------------------------------------

// Derives the key block: both keys, then both salts (RFC 5246 6.3).
static bool key_block(SSL *ssl, uint8_t *out, size_t len)
{
	const EVP_MD *md = SSL_CIPHER_get_handshake_digest(SSL_get_current_cipher(ssl));
	uint8_t master[SSL_MAX_MASTER_KEY_LENGTH], random[2][SSL3_RANDOM_SIZE];
	const size_t n = SSL_SESSION_get_master_key(SSL_get_session(ssl), master, sizeof(master));
	EVP_KDF *kdf = EVP_KDF_fetch(NULL, "TLS1-PRF", NULL);
	EVP_KDF_CTX *c = EVP_KDF_CTX_new(kdf); // NULL when kdf is NULL
	char *digest = (char *)(uintptr_t)EVP_MD_get0_name(md);
	OSSL_PARAM params[] = {
		OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest, 0),
		OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SECRET, master, n),
		OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SEED, "key expansion", 13),
		OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SEED, random[1], SSL3_RANDOM_SIZE),
		OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SEED, random[0], SSL3_RANDOM_SIZE),
		OSSL_PARAM_construct_end(),
	};
	bool good;

	SSL_get_client_random(ssl, random[0], SSL3_RANDOM_SIZE);
	SSL_get_server_random(ssl, random[1], SSL3_RANDOM_SIZE);
	good = c != NULL && EVP_KDF_derive(c, out, len, params) == 1;
	EVP_KDF_CTX_free(c);
	EVP_KDF_free(kdf);
	OPENSSL_cleanse(master, sizeof(master));
	ERR_clear_error();
	return good;
}

struct dtls_session *dtls_settle(const struct dtls_handshake *h)
{
	struct dtls_keys k = {.aead = aead_of(SSL_get_current_cipher(h->ssl)),
		.next = {h->next[0], h->next[1]},
		.nonce = h->nonce,
		.flight = h->flight};
	const size_t key = aead_key_len(k.aead), salt = salt_len(k.aead);
	uint8_t block[2 * (AEAD_KEY_MAX + AEAD_NONCE_LEN)];
	struct dtls_session *s = NULL;

	// in a resumed session the client has sent the last flight
	if (!SSL_session_reused(h->ssl) && h->flight_len <= FLIGHT_MAX)
		k.flight_len = h->flight_len;
	if (key_block(h->ssl, block, 2 * (key + salt))) {
		for (unsigned int i = 0; i < 2; i++) {
			memcpy(k.key[i], block + i * key, key);
			memcpy(k.salt[i], block + 2 * key + i * salt, salt);
		}
		s = dtls_session_create(&k);
	}
	OPENSSL_cleanse(block, sizeof(block));
	OPENSSL_cleanse(&k, sizeof(k));
	return s;
}
