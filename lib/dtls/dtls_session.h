// SPDX-License-Identifier: BSD-3-Clause
// The keys and counters that a handshake (dtls.c) passes to its session (dtls_session.c).
#pragma once

#include "aead.h"
#include "dtls.h"

#define FLIGHT_MAX 1024 // bytes of our last flight: CCS, Finished, usually a ticket of 200 bytes

struct dtls_keys {
	enum aead aead;
	// [0] of the client, [1] of the server. AES-GCM uses 4 bytes of each salt (RFC 5288 3).
	uint8_t key[2][AEAD_KEY_MAX], salt[2][AEAD_NONCE_LEN];
	uint64_t next[2]; // by epoch: our first unused sequence number
	uint64_t nonce; // the next explicit part of AES-GCM's nonce, sent in each record
	uint16_t flight_len; // bytes; 0: the last flight was the client's
	const uint8_t *flight; // its records, as sent
};

static inline size_t salt_len(enum aead a)
{
	return a == AEAD_CHACHA20_POLY1305 ? 12 : 4;
}

// Makes a session from these keys, which are copied. NULL without memory.
struct dtls_session *dtls_session_create(const struct dtls_keys *k);
