// SPDX-License-Identifier: BSD-3-Clause
// Definitions that the files of lib/stun share.
#pragma once

#include "stun.h"

#define ATTR_HEADER_LEN 4

// Attribute types as in messages, indexed by enum stun_attr.
static const uint16_t wire_type[STUN_NB_ATTRS] = {
#define X(id, type) [id] = type,
	STUN_ATTRIBUTES(X)
#undef X
};

// Length of a value including its padding (RFC 8489 14).
static inline size_t padded_len(size_t len)
{
	return (len + 3) & ~(size_t)3;
}

// Writes to out the HMAC-SHA1 (alg MD5, 20 bytes) or HMAC-SHA256 (32 bytes) over the first
// `covered` bytes of msg. The length field counts as if the message ended with the integrity
// attribute, which begins at offset covered. False if the key is empty or too long.
bool stun_hmac_message(struct stun_crypto *c, enum stun_algorithm alg, const struct stun_key *key,
	const uint8_t *msg, size_t covered, uint8_t *out);

// The ciphers of c for access tokens (RFC 7635). NULL if libcrypto has no AES-GCM.
struct gcm;
struct gcm *stun_crypto_gcm(struct stun_crypto *c);
