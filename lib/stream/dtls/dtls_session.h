// SPDX-License-Identifier: BSD-3-Clause
// What a handshake hands over to the records of its session (from dtls.c to dtls_session.c).
#pragma once

#include "dtls/aead.h"
#include "dtls/dtls.h"

#define FLIGHT_MAX 1024 // bytes of our last flight: CCS, Finished, mostly a ticket of 200 bytes

struct dtls_keys {
	enum aead aead;
	// The client's and the server's. AES-GCM uses 4 bytes of each salt (RFC 5288 3).
	uint8_t key[2][AEAD_KEY_MAX], salt[2][AEAD_NONCE_LEN];
	uint64_t next[2]; // by epoch: the first sequence number that our records have not used
	uint64_t nonce; // the next explicit part of AES-GCM's nonce, which each record carries
	uint16_t flight_len; // bytes; 0: the client sent the last flight
	const uint8_t *flight; // its records, as they were sent
};

static inline size_t salt_len(enum aead a)
{
	return a == AEAD_CHACHA20_POLY1305 ? 12 : 4;
}

// Makes a session from these keys, which are copied. NULL without memory.
struct dtls_session *dtls_session_create(const struct dtls_keys *k);
