// SPDX-License-Identifier: BSD-3-Clause
// The cookie exchange of DTLS 1.2 (RFC 6347 4.2.1): the server keeps no state of a client before
// the client has shown that its address is its own. The answer is shorter than any ClientHello that
// is read, so it may go to anybody. Pure; libcrypto compares.
#pragma once

#include "addr.h"
#include "bytes.h"
#include "dtls/dtls_hello.h"
#include "siphash.h"

#define DTLS_COOKIE_LEN (8 + SIPHASH_LEN) // its number comes first
#define DTLS_COOKIE_KEY_LEN SIPHASH_KEY_LEN
// Bytes of a HelloVerifyRequest.
#define DTLS_VERIFY_LEN (DTLS_RECORD_LEN + DTLS_HANDSHAKE_LEN + 3 + DTLS_COOKIE_LEN)
_Static_assert(DTLS_VERIFY_LEN <= DTLS_HELLO_MIN, "the answer is no longer than the question");

// Makes and checks cookies under two keys, the current one and the one before. A bit of the cookie
// tells which, so that a stranger costs one MAC, whatever cookie he sends. One thread at a time.
struct dtls_cookies {
	uint8_t key[2][DTLS_COOKIE_KEY_LEN];
	uint8_t now; // the current key
	uint64_t number; // of the cookies that are made now
};

void dtls_cookies_init(struct dtls_cookies *c, const uint8_t key[DTLS_COOKIE_KEY_LEN]);
// Sets a new key. Cookies made under the last key are still good, older ones no longer.
void dtls_cookies_rotate(struct dtls_cookies *c, const uint8_t key[DTLS_COOKIE_KEY_LEN]);
// Returns a new number. Cookies made from now on have this number, those made so far have a lower
// one.
uint64_t dtls_cookies_count(struct dtls_cookies *c);
// The number of a ClientHello's cookie, which must be a good one.
static inline uint64_t dtls_cookie_number(const struct dtls_hello *h)
{
	return load_be64(h->cookie) >> 1;
}
// True when the ClientHello brings back a cookie that was made for one of its random, and for these
// endpoints.
bool dtls_cookie_good(const struct dtls_cookies *c, const struct dtls_hello *h,
	const struct endpoint *client, const struct endpoint *server);
// Writes the HelloVerifyRequest that answers h: DTLS_VERIFY_LEN bytes at out, which must not
// overlap the datagram of h.
void dtls_cookie_ask(const struct dtls_cookies *c, const struct dtls_hello *h,
	const struct endpoint *client, const struct endpoint *server, uint8_t *out);
