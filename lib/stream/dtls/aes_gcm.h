// SPDX-License-Identifier: BSD-3-Clause
// AES-GCM (NIST SP 800-38D) of short messages by the CPU's instructions for AES and carry-less
// multiplication, with nonces of 12 bytes and tags of 16. It has no state but the key, looks
// nothing up by secrets and does not branch on them. All of slipring is compiled for the
// instructions for AES. For the others ask the CPU first: a hypervisor may hide them.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dtls/aead.h"

#define AES_GCM_POWERS 9 // of a batch of 8 blocks, and the lengths behind it

// A key made ready. Only read from then on.
struct aes_gcm {
	_Alignas(16) uint8_t power[AES_GCM_POWERS][16]; // of the hash key, from the first on
	const uint8_t *round; // the keys of AES's rounds, 16 bytes each, aligned to 16
	unsigned int rounds; // 10 or 14
};

// Makes a key ready from the expanded key of AES, to which it points from then on.
void aes_gcm_key(struct aes_gcm *k, const uint8_t *round, unsigned int rounds);
// As aead_seal and aead_open.
void aes_gcm_seal(
	const struct aes_gcm *k, const struct aead_with *params, uint8_t *data, size_t len);
bool aes_gcm_open(
	const struct aes_gcm *k, const struct aead_with *params, uint8_t *data, size_t len);
