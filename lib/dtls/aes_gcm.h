// SPDX-License-Identifier: BSD-3-Clause
// AES-GCM (NIST SP 800-38D) of short messages with the CPU's instructions for AES and carry-less
// multiplication, with 12-byte nonces and 16-byte tags. It has no state except the key, and neither
// table look-ups nor branches depend on secrets. All of slipring is compiled for the AES
// instructions. Check that the CPU has carry-less multiplication before use: a hypervisor may hide
// it.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aead.h"

#define AES_GCM_POWERS 9 // powers for a batch of 8 blocks, and for the lengths after it

// A prepared key, read-only from then on.
struct aes_gcm {
	_Alignas(16) uint8_t power[AES_GCM_POWERS][16]; // powers of the hash key, from the first on
	const uint8_t *round; // the AES round keys, 16 bytes each, aligned to 16
	unsigned int rounds; // 10 or 14
};

// Prepares a key from the expanded AES key, which it points to from then on.
void aes_gcm_key(struct aes_gcm *k, const uint8_t *round, unsigned int rounds);
// See aead_seal and aead_open.
void aes_gcm_seal(
	const struct aes_gcm *k, const struct aead_with *params, uint8_t *data, size_t len);
bool aes_gcm_open(
	const struct aes_gcm *k, const struct aead_with *params, uint8_t *data, size_t len);
