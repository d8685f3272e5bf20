// SPDX-License-Identifier: BSD-3-Clause
// AES-GCM (NIST SP 800-38D) for opening what somebody else has sealed, with a key that differs from
// one message to the next. Nothing allocates after gcm_create.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GCM_NONCE_LEN 12
#define GCM_TAG_LEN 16

enum gcm_cipher { GCM_AES_256, GCM_AES_128, GCM_NB };

// A cipher context of each key length. One thread at a time.
struct gcm;
struct gcm *gcm_create(void); // NULL: no memory, or libcrypto has no AES-GCM
void gcm_free(struct gcm *g); // NULL is fine; what was opened last leaves no key behind

// What was sealed, and with what.
struct gcm_sealed {
	const uint8_t *key; // 32 or 16 bytes, by the cipher
	const uint8_t *nonce; // GCM_NONCE_LEN bytes
	const void *aad;
	size_t aad_len;
	const uint8_t *data; // len bytes, and GCM_TAG_LEN of tag behind them
	size_t len;
};

// Writes len bytes to out. False: they are not what was sealed, and out is of no use.
bool gcm_open(struct gcm *g, enum gcm_cipher cipher, const struct gcm_sealed *s, uint8_t *out);
