// SPDX-License-Identifier: BSD-3-Clause
// "obMatJos2" + 4 base64 characters of security feature bits (RFC 8489 9.2, 18.1: password
// algorithms; username anonymity too unless there are REST secrets, since it forbids clients to
// send the USERNAME that REST needs) + 19 base64 characters of a 32-bit wall-clock stamp and an
// 80-bit MAC over stamp, client address and port: stateless, bound to the client, shareable by a
// fleet.
#pragma once

#include "stun.h"

struct turn_policy;

#define NONCE_LEN 32

// out gets NONCE_LEN characters (no NUL). False when libcrypto fails.
bool nonce_make(const struct turn_policy *p, struct stun_crypto *c, const struct endpoint *client,
	uint64_t wall_s, uint8_t out[NONCE_LEN]);
enum nonce_state {
	NONCE_FOREIGN, // we did not make it, or not for this client
	// Ours (or the fleet's) for this client, but older than the lifetime, or from the future.
	NONCE_STALE,
	NONCE_VALID,
};
// Constant-time MAC compare; one HMAC for any that looks like a nonce.
enum nonce_state nonce_check(const struct turn_policy *p, struct stun_crypto *c,
	const struct endpoint *client, uint64_t wall_s, const uint8_t nonce[NONCE_LEN]);
