// SPDX-License-Identifier: BSD-3-Clause
// Makes and checks the cookies of ClientHellos. A cookie is a MAC over the fields that a client
// must repeat.
#include <openssl/crypto.h>

#include "dtls_cookie.h"

#define HELLO_VERIFY_REQUEST 3
#define DTLS_1_0 0xfeff
#define NUMBER_LEN 8
#define TEXT_LEN (NUMBER_LEN + 2 * (16 + 2) + DTLS_RANDOM_LEN)

void dtls_cookies_init(struct dtls_cookies *c, const uint8_t key[DTLS_COOKIE_KEY_LEN])
{
	*c = (struct dtls_cookies){.number = 0};
	memcpy(c->key[0], key, DTLS_COOKIE_KEY_LEN);
	memcpy(c->key[1], key, DTLS_COOKIE_KEY_LEN);
}

void dtls_cookies_rotate(struct dtls_cookies *c, const uint8_t key[DTLS_COOKIE_KEY_LEN])
{
	c->now ^= 1;
	memcpy(c->key[c->now], key, DTLS_COOKIE_KEY_LEN);
}

uint64_t dtls_cookies_count(struct dtls_cookies *c)
{
	return ++c->number;
}

static void add_endpoint(uint8_t *dst, const struct endpoint *e)
{
	memcpy(dst, e->addr.b, sizeof(e->addr.b));
	store_be16(dst + sizeof(e->addr.b), e->port);
}

// Writes the MAC after the number of a cookie, which identifies the key. The MAC covers both
// endpoints and the random, which a client repeats in its second ClientHello. It does not cover the
// cipher suites, because some clients change them there (doc/protocol.md).
static void write_mac(const struct dtls_cookies *c, const struct dtls_hello *h,
	const struct endpoint *client, const struct endpoint *server,
	uint8_t cookie[DTLS_COOKIE_LEN])
{
	uint8_t text[TEXT_LEN], *p = text;

	memcpy(p, cookie, NUMBER_LEN);
	add_endpoint(p += NUMBER_LEN, client);
	add_endpoint(p += 18, server);
	memcpy(p + 18, h->random, DTLS_RANDOM_LEN);
	siphash(c->key[cookie[NUMBER_LEN - 1] & 1], text, sizeof(text), cookie + NUMBER_LEN);
}

bool dtls_cookie_good(const struct dtls_cookies *c, const struct dtls_hello *h,
	const struct endpoint *client, const struct endpoint *server)
{
	uint8_t cookie[DTLS_COOKIE_LEN];

	if (h->cookie_len != DTLS_COOKIE_LEN)
		return false;
	memcpy(cookie, h->cookie, NUMBER_LEN);
	write_mac(c, h, client, server, cookie);
	return CRYPTO_memcmp(cookie, h->cookie, DTLS_COOKIE_LEN) == 0;
}

void dtls_cookie_ask(const struct dtls_cookies *c, const struct dtls_hello *h,
	const struct endpoint *client, const struct endpoint *server, uint8_t *out)
{
	const uint16_t body = DTLS_VERIFY_LEN - DTLS_RECORD_LEN - DTLS_HANDSHAKE_LEN;
	uint8_t *message = out + DTLS_RECORD_LEN, *cookie = message + DTLS_HANDSHAKE_LEN + 3;

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
	store_be64(cookie, c->number << 1 | c->now);
	write_mac(c, h, client, server, cookie);
}
