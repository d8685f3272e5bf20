// SPDX-License-Identifier: BSD-3-Clause
// The ciphers of DTLS records: AES-GCM (RFC 5288) and ChaCha20-Poly1305 (RFC 7905). libipsec-mb is
// several times faster than libcrypto for short messages like those of TURN. libcrypto is used
// where libipsec-mb is missing; lib/dtls/meson.build chooses.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AEAD_KEY_MAX 32
#define AEAD_NONCE_LEN 12
#define AEAD_TAG_LEN 16
#define AEAD_AAD_MAX 20

enum aead { AEAD_AES_128_GCM, AEAD_AES_256_GCM, AEAD_CHACHA20_POLY1305, AEAD_NB };

// Inputs other than key and message. Never use a nonce twice with the same key.
struct aead_with {
	uint8_t nonce[AEAD_NONCE_LEN];
	uint8_t aad_len;
	uint8_t aad[AEAD_AAD_MAX];
};

static inline size_t aead_key_len(enum aead a)
{
	return a == AEAD_AES_128_GCM ? 16 : 32;
}

// A prepared key; about 1 KB. One thread at a time.
struct aead_key;

// Prepares a key of aead_key_len bytes. NULL without memory. Any thread.
struct aead_key *aead_key_create(enum aead a, const uint8_t *key);
void aead_key_free(struct aead_key *k); // NULL is fine
// Encrypts len bytes in place, and writes the tag after them. False if the cipher failed; the bytes
// must not be sent then.
bool aead_seal(struct aead_key *k, const struct aead_with *params, uint8_t *data, size_t len);
// Decrypts len bytes in place; the tag follows them. False if the tag does not match; the bytes are
// garbage then.
bool aead_open(struct aead_key *k, const struct aead_with *params, uint8_t *data, size_t len);
