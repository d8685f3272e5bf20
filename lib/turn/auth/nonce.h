// SPDX-License-Identifier: BSD-3-Clause
// The nonce. It is stateless, bound to the client, and a fleet can share it: "obMatJos2" and 4
// base64 characters of security feature bits (RFC 8489 9.2, 18.1), then 19 base64 characters of a
// 32-bit wall-clock stamp and an 80-bit MAC over stamp, client address and port. Over TCP and TLS
// the MAC covers stamp and address, and the port is added to its last 16 bits. So the nonce of one
// connection can be recognized on another one from that address. The feature bits are password
// algorithms and, if there are no REST secrets or keys of access tokens, username anonymity.
// Username anonymity forbids clients to send USERNAME, which REST secrets and access tokens need.
#pragma once

#include "stun.h"

struct turn_policy;

#define NONCE_LEN 32

// The client of a nonce.
struct nonce_client {
	struct endpoint endpoint;
	bool stream; // over TCP or TLS
	// nonce_check over a stream: accept a nonce of any port of that address.
	bool any_port;
};

// Writes NONCE_LEN characters (no NUL) to out. wall_s is the time of day in seconds. False if
// libcrypto fails.
bool nonce_make(const struct turn_policy *p, struct stun_crypto *c,
	const struct nonce_client *client, uint64_t wall_s, uint8_t out[NONCE_LEN]);
enum nonce_state {
	NONCE_FOREIGN, // not made by us, or not for this client
	// made by us (or the fleet) for this client, but older than the lifetime, or stamped more
	// than 5 seconds in the future
	NONCE_STALE,
	NONCE_VALID,
};
// Judges a nonce of NONCE_LEN characters. Compares in constant time, and takes one HMAC for any
// text in the format of a nonce.
enum nonce_state nonce_check(const struct turn_policy *p, struct stun_crypto *c,
	const struct nonce_client *client, uint64_t wall_s, const uint8_t nonce[NONCE_LEN]);
