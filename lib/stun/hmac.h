// SPDX-License-Identifier: BSD-3-Clause
// HMAC (RFC 2104) over SHA-1 and SHA-256 that keeps the state of its key: with the same key again
// only the message has to be hashed, which halves the cost of a short one. It uses libcrypto's
// low-level digests. They are deprecated, but three times as fast as EVP for messages of 100 bytes,
// because they allocate nothing and copy a state by assignment.
#pragma once

#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/sha.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HMAC_SHA1_LEN 20
#define HMAC_SHA256_LEN 32
#define HMAC_BLOCK 64 // both digests

// One piece of the input of a digest.
struct piece {
	const void *data;
	size_t len;
};

union digest {
	SHA_CTX sha1;
	SHA256_CTX sha256;
};

// A key that is ready for use. Zeroed memory, apart from the field sha256, is a struct without a
// key yet. The struct is as secret as the key: cleanse it.
struct hmac_key {
	bool sha256; // which digest; set once, by the owner
	bool ready;
	uint8_t block[HMAC_BLOCK]; // the key as RFC 2104 pads it
	union digest inner, outer; // states after the first block of each hash
};

// Sets the key, of len bytes; fast if the same key is set already.
void hmac_key_set(struct hmac_key *k, const void *key, size_t len);
// MAC of the n pieces in a row under a key that has been set; writes 20 or 32 bytes to out.
void hmac_pieces(const struct hmac_key *k, const struct piece *piece, size_t n, uint8_t *out);
