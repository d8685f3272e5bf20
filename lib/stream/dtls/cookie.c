// SPDX-License-Identifier: BSD-3-Clause
// Reads ClientHellos, and makes and checks their cookies. A cookie is an HMAC over what a client
// must repeat.
#include <stdlib.h>

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>

#include "dtls/cookie.h"

#define HANDSHAKE_LEN 12 // bytes of the header of a handshake message
#define CLIENT_HELLO 1
#define HELLO_VERIFY_REQUEST 3
#define RANDOM_LEN 32
#define SESSION_MAX 32
#define DTLS_1_0 0xfeff
#define MAC_LEN 32 // bytes; a cookie has the first DTLS_COOKIE_MAC_LEN of them
#define NUMBER_LEN 8

// --- reading -------------------------------------------------------------------------------------

bool dtls_is_hello(const uint8_t *data, size_t len)
{
	return len > DTLS_RECORD_LEN && data[0] == DTLS_HANDSHAKE && data[3] == 0 && data[4] == 0 &&
		data[DTLS_RECORD_LEN] == CLIENT_HELLO;
}

static uint32_t load_be24(const uint8_t *p)
{
	return (uint32_t)p[0] << 16 | load_be16(p + 1);
}

// Steps over a vector with its length in front. False: the vector is longer than what is left.
static bool step(const uint8_t **p, const uint8_t *end, unsigned int prefix, size_t max)
{
	size_t len;

	if ((size_t)(end - *p) < prefix)
		return false;
	len = prefix == 1 ? (*p)[0] : load_be16(*p);
	if (len > max || (size_t)(end - *p) < prefix + len)
		return false;
	*p += prefix + len;
	return true;
}

static bool read_body(const uint8_t *p, const uint8_t *end, struct dtls_hello *h)
{
	if (end - p < 2 + RANDOM_LEN || p[0] != 0xfe)
		return false;
	h->random = p + 2;
	p += 2 + RANDOM_LEN;
	if (!step(&p, end, 1, SESSION_MAX))
		return false;
	h->cookie = p + 1;
	if (!step(&p, end, 1, UINT8_MAX))
		return false;
	h->cookie_len = h->cookie[-1];
	h->suites = p;
	if (!step(&p, end, 2, UINT16_MAX) || !step(&p, end, 1, UINT8_MAX))
		return false;
	h->suites_len = (uint16_t)(p - h->suites);
	return true;
}

bool dtls_hello_read(const uint8_t *data, size_t len, struct dtls_hello *h)
{
	const uint8_t *message = data + DTLS_RECORD_LEN;
	uint32_t body;

	*h = (struct dtls_hello){.record = data};
	if (!dtls_is_hello(data, len) || len < DTLS_RECORD_LEN + HANDSHAKE_LEN || data[1] != 0xfe ||
		load_be16(data + 11) != len - DTLS_RECORD_LEN)
		return false;
	body = load_be24(message + 1);
	// a fragmented ClientHello would take state to put together
	if (body != len - DTLS_RECORD_LEN - HANDSHAKE_LEN || load_be24(message + 6) != 0 ||
		load_be24(message + 9) != body)
		return false;
	return read_body(message + HANDSHAKE_LEN, data + len, h);
}

// --- cookies -------------------------------------------------------------------------------------

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

// Writes the MAC behind the number of a cookie. The MAC covers both ends, and what a client may not
// change in its second ClientHello.
static bool make(EVP_MAC_CTX *mac, const struct dtls_hello *h, const struct endpoint *client,
	const struct endpoint *server, uint8_t cookie[NUMBER_LEN + MAC_LEN])
{
	size_t len;

	return EVP_MAC_init(mac, NULL, 0, NULL) == 1 &&
		EVP_MAC_update(mac, cookie, NUMBER_LEN) == 1 && add_endpoint(mac, client) &&
		add_endpoint(mac, server) && EVP_MAC_update(mac, h->random, RANDOM_LEN) == 1 &&
		EVP_MAC_update(mac, h->suites, h->suites_len) == 1 &&
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
	const uint16_t body = DTLS_VERIFY_LEN - DTLS_RECORD_LEN - HANDSHAKE_LEN;
	uint8_t *message = out + DTLS_RECORD_LEN, cookie[NUMBER_LEN + MAC_LEN];

	store_be64(cookie, c->number);
	if (!make(c->now, h, client, server, cookie))
		return false;
	memset(out, 0, DTLS_VERIFY_LEN);
	out[0] = DTLS_HANDSHAKE;
	store_be16(out + 1, DTLS_1_0); // whatever version is negotiated (RFC 6347 4.2.1)
	memcpy(out + 5, h->record + 5, 6); // the sequence number of the ClientHello
	store_be16(out + 11, HANDSHAKE_LEN + body);
	message[0] = HELLO_VERIFY_REQUEST;
	store_be16(message + 2, body);
	store_be16(message + 10, body);
	store_be16(message + HANDSHAKE_LEN, DTLS_1_0);
	message[HANDSHAKE_LEN + 2] = DTLS_COOKIE_LEN;
	memcpy(message + HANDSHAKE_LEN + 3, cookie, DTLS_COOKIE_LEN);
	return true;
}
