// SPDX-License-Identifier: BSD-3-Clause
// What a handshake leaves for the records of its session (dtls.c to record.c).
#pragma once

#include "dtls/aead.h"
#include "dtls/dtls.h"

#define FLIGHT_MAX 1024 // our last flight: CCS and Finished, and mostly a ticket of 200 bytes

struct dtls_keys {
	enum aead aead;
	// The client's and the server's. AES-GCM takes 4 bytes of the salts (RFC 5288 3).
	uint8_t key[2][AEAD_KEY_MAX], salt[2][AEAD_NONCE_LEN];
	uint64_t next[2]; // first sequence number that our records have not had, by epoch
	uint64_t nonce; // the next rest of AES-GCM's nonce, which goes along with a record
	uint16_t flight_len; // 0: the last flight was the client's
	const uint8_t *flight; // its records as they were sent
};

static inline size_t salt_len(enum aead a)
{
	return a == AEAD_CHACHA20_POLY1305 ? 12 : 4;
}

// NULL without memory.
struct dtls_session *dtls_session_create(const struct dtls_keys *k);
