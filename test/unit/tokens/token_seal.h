// SPDX-License-Identifier: BSD-3-Clause
// An authorization server: seals access tokens (RFC 7635) by libcrypto's EVP, with nothing of
// lib/stun. Asserts with cmocka.
#pragma once

#include <stddef.h>
#include <stdint.h>

#define TOKEN_SEAL_MAX 512

// A token, valid or not.
struct token_seal {
	const uint8_t *key;
	size_t key_len; // 32 or 16
	const char *name; // of the server
	const uint8_t *mac;
	uint16_t mac_len; // bytes of mac that are written, 128 at most
	uint16_t says_mac_len; // its length field; 0 = mac_len
	uint16_t nonce_len; // bytes of nonce, 128 at most; 0 = 12
	uint16_t says_nonce_len; // its length field; 0 = nonce_len
	uint64_t made_s;
	uint32_t lifetime_s;
	uint32_t seed; // of the nonce
};

// Writes the token to out. Returns its length.
size_t token_seal(const struct token_seal *t, uint8_t out[TOKEN_SEAL_MAX]);
