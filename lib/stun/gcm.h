// SPDX-License-Identifier: BSD-3-Clause
// AES-GCM (NIST SP 800-38D) decryption with a key that may differ from message to message. Nothing
// allocates after gcm_create.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GCM_NONCE_LEN 12
#define GCM_TAG_LEN 16

enum gcm_cipher { GCM_AES_256, GCM_AES_128, GCM_NB };

// One cipher context per key length. Only one thread at a time may use it.
struct gcm;
struct gcm *gcm_create(void); // NULL if there is no memory, or libcrypto has no AES-GCM
void gcm_free(struct gcm *g); // accepts NULL; clears the key that was used last

// A sealed (encrypted and authenticated) text, and the parameters it was sealed with.
struct gcm_sealed {
	const uint8_t *key; // 32 or 16 bytes, depending on the cipher
	const uint8_t *nonce; // GCM_NONCE_LEN bytes
	const void *aad;
	size_t aad_len;
	const uint8_t *data; // len bytes of ciphertext, followed by a tag of GCM_TAG_LEN bytes
	size_t len;
};

// Decrypts len bytes to out. False if authentication fails; out is then not valid.
bool gcm_open(struct gcm *g, enum gcm_cipher cipher, const struct gcm_sealed *s, uint8_t *out);
