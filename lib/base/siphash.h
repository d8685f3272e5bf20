// SPDX-License-Identifier: BSD-3-Clause
// SipHash-2-4 with 128 bits, a MAC for short messages, such as tokens that clients return, where
// HMAC costs too much. PURE.
#pragma once

#include <stddef.h>
#include <stdint.h>

#define SIPHASH_KEY_LEN 16
#define SIPHASH_LEN 16

// Writes the MAC of len bytes to out. The key must come from a CSPRNG.
void siphash(
	const uint8_t key[SIPHASH_KEY_LEN], const void *data, size_t len, uint8_t out[SIPHASH_LEN]);
