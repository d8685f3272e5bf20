// SPDX-License-Identifier: BSD-3-Clause
// Makes and checks the cookies of ClientHellos. A cookie is an HMAC over what a client must repeat.
#include <stdlib.h>

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>

#include "dtls/dtls_cookie.h"

#define HELLO_VERIFY_REQUEST 3
#define DTLS_1_0 0xfeff
#define MAC_LEN 32 // bytes; a cookie has the first DTLS_COOKIE_MAC_LEN of them
#define NUMBER_LEN 8

struct dtls_cookies {
	EVP_MAC_CTX *now, *before;
	uint64_t number; // of the cookies that are made now
};

static bool set_key(EVP_MAC_CTX *c, const uint8_t key[DTLS_COOKIE_KEY_LEN])
{
	char digest[] = "SHA256";
	const OSSL_PARAM params[] = {
		OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
		OSSL_PARAM_construct_end()};

	return EVP_MAC_init(c, key, DTLS_COOKIE_KEY_LEN, params) == 1;
}

struct dtls_cookies *dtls_cookies_create(const uint8_t key[DTLS_COOKIE_KEY_LEN])
{
	struct dtls_cookies *c = calloc(1, sizeof(*c));
	EVP_MAC *mac = EVP_MAC_fetch(NULL, "HMAC", NULL);

	if (c != NULL && mac != NULL) {
		c->now = EVP_MAC_CTX_new(mac);
		c->before = EVP_MAC_CTX_new(mac);
	}
	EVP_MAC_free(mac);
	if (c != NULL && c->now != NULL && c->before != NULL && set_key(c->now, key) &&
		set_key(c->before, key))
		return c;
	dtls_cookies_free(c);
	return NULL;
}

void dtls_cookies_free(struct dtls_cookies *c)
{
	if (c == NULL)
		return;
	EVP_MAC_CTX_free(c->now);
	EVP_MAC_CTX_free(c->before);
	free(c);
}

bool dtls_cookies_rotate(struct dtls_cookies *c, const uint8_t key[DTLS_COOKIE_KEY_LEN])
{
	EVP_MAC_CTX *fresh = c->before;

	if (!set_key(fresh, key))
		return false;
	c->before = c->now;
	c->now = fresh;
	return true;
}

uint64_t dtls_cookies_count(struct dtls_cookies *c)
{
	return ++c->number;
}

static bool add_endpoint(EVP_MAC_CTX *mac, const struct endpoint *e)
{
	uint8_t port[2];

	store_be16(port, e->port);
	return EVP_MAC_update(mac, e->addr.b, sizeof(e->addr.b)) == 1 &&
		EVP_MAC_update(mac, port, sizeof(port)) == 1;
}

// Writes the MAC behind the number of a cookie. The MAC covers both ends, and the random that a
// client repeats in its second ClientHello. Some offer other cipher suites there (doc/protocol.md).
static bool make(EVP_MAC_CTX *mac, const struct dtls_hello *h, const struct endpoint *client,
	const struct endpoint *server, uint8_t cookie[NUMBER_LEN + MAC_LEN])
{
	size_t len;

	return EVP_MAC_init(mac, NULL, 0, NULL) == 1 &&
		EVP_MAC_update(mac, cookie, NUMBER_LEN) == 1 && add_endpoint(mac, client) &&
		add_endpoint(mac, server) && EVP_MAC_update(mac, h->random, DTLS_RANDOM_LEN) == 1 &&
		EVP_MAC_final(mac, cookie + NUMBER_LEN, &len, MAC_LEN) == 1;
}

bool dtls_cookie_good(struct dtls_cookies *c, const struct dtls_hello *h,
	const struct endpoint *client, const struct endpoint *server)
{
	uint8_t cookie[NUMBER_LEN + MAC_LEN];

	if (h->cookie_len != DTLS_COOKIE_LEN)
		return false;
	memcpy(cookie, h->cookie, NUMBER_LEN);
	return (make(c->now, h, client, server, cookie) &&
		       CRYPTO_memcmp(cookie, h->cookie, DTLS_COOKIE_LEN) == 0) ||
		(make(c->before, h, client, server, cookie) &&
			CRYPTO_memcmp(cookie, h->cookie, DTLS_COOKIE_LEN) == 0);
}

bool dtls_cookie_ask(struct dtls_cookies *c, const struct dtls_hello *h,
	const struct endpoint *client, const struct endpoint *server, uint8_t *out)
{
	const uint16_t body = DTLS_VERIFY_LEN - DTLS_RECORD_LEN - DTLS_HANDSHAKE_LEN;
	uint8_t *message = out + DTLS_RECORD_LEN, cookie[NUMBER_LEN + MAC_LEN];

	store_be64(cookie, c->number);
	if (!make(c->now, h, client, server, cookie))
		return false;
	memset(out, 0, DTLS_VERIFY_LEN);
	out[0] = DTLS_HANDSHAKE;
	store_be16(out + 1, DTLS_1_0); // whatever version is negotiated (RFC 6347 4.2.1)
	memcpy(out + 5, h->record + 5, 6); // the sequence number of the ClientHello
	store_be16(out + 11, DTLS_HANDSHAKE_LEN + body);
	message[0] = HELLO_VERIFY_REQUEST;
	store_be16(message + 2, body);
	store_be16(message + 10, body);
	store_be16(message + DTLS_HANDSHAKE_LEN, DTLS_1_0);
	message[DTLS_HANDSHAKE_LEN + 2] = DTLS_COOKIE_LEN;
	memcpy(message + DTLS_HANDSHAKE_LEN + 3, cookie, DTLS_COOKIE_LEN);
	return true;
}
