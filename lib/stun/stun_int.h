// SPDX-License-Identifier: BSD-3-Clause
// Shared inside lib/stun only.
#pragma once

#include "stun.h"

#define ATTR_HEADER_LEN 4

// Index to wire type.
static const uint16_t wire_type[STUN_NB_ATTRS] = {
#define X(id, type) [id] = type,
	STUN_ATTRIBUTES(X)
#undef X
};

// Length of a value with its padding (RFC 8489 14).
static inline size_t padded(size_t len)
{
	return (len + 3) & ~(size_t)3;
}

// HMAC-SHA1 (alg MD5, 20 bytes to out) or HMAC-SHA256 (32 bytes) over the first covered bytes of
// msg with the length field the message has when it ends with the integrity attribute at covered.
// False when libcrypto fails or the key is empty.
bool stun_hmac_message(struct stun_crypto *c, enum stun_algorithm alg, const struct stun_key *key,
	const uint8_t *msg, size_t covered, uint8_t *out);
