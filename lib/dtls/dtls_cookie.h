// SPDX-License-Identifier: BSD-3-Clause
// The cookie exchange of DTLS 1.2 (RFC 6347 4.2.1): the server keeps no state of a client before
// the client has proven its source address. The answer is shorter than any accepted ClientHello, so
// it may go to anybody. Pure, except for libcrypto's comparison.
#pragma once

#include "addr.h"
#include "bytes.h"
#include "dtls_hello.h"
#include "siphash.h"

#define DTLS_COOKIE_LEN (8 + SIPHASH_LEN) // its number comes first
#define DTLS_COOKIE_KEY_LEN SIPHASH_KEY_LEN
// Bytes of a HelloVerifyRequest.
#define DTLS_VERIFY_LEN (DTLS_RECORD_LEN + DTLS_HANDSHAKE_LEN + 3 + DTLS_COOKIE_LEN)
_Static_assert(DTLS_VERIFY_LEN <= DTLS_HELLO_MIN, "the answer is no longer than the question");

// Makes and checks cookies with two keys, the current and the previous one. A bit of the cookie
// says which key, so that any cookie costs one MAC. One thread at a time.
struct dtls_cookies {
	uint8_t key[2][DTLS_COOKIE_KEY_LEN];
	uint8_t now; // the current key
	uint64_t number; // number of new cookies
};

void dtls_cookies_init(struct dtls_cookies *c, const uint8_t key[DTLS_COOKIE_KEY_LEN]);
// Sets a new key. Cookies of the last key stay valid, older ones do not.
void dtls_cookies_rotate(struct dtls_cookies *c, const uint8_t key[DTLS_COOKIE_KEY_LEN]);
// Returns a new number. New cookies have this number, earlier cookies have a lower one.
uint64_t dtls_cookies_count(struct dtls_cookies *c);
// Returns the number of a ClientHello's cookie, which must be valid.
static inline uint64_t dtls_cookie_number(const struct dtls_hello *h)
{
	return load_be64(h->cookie) >> 1;
}
// True if the ClientHello returns a cookie that was made for its random and these endpoints.
bool dtls_cookie_good(const struct dtls_cookies *c, const struct dtls_hello *h,
	const struct endpoint *client, const struct endpoint *server);
// Writes the HelloVerifyRequest that answers h: DTLS_VERIFY_LEN bytes at out, which must not
// overlap the datagram of h.
void dtls_cookie_ask(const struct dtls_cookies *c, const struct dtls_hello *h,
	const struct endpoint *client, const struct endpoint *server, uint8_t *out);
