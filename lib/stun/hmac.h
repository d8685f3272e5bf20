// SPDX-License-Identifier: BSD-3-Clause
// HMAC (RFC 2104) over SHA-1 and SHA-256 that keeps the state of its key: when the same key is used
// again, only the message is hashed, which halves the cost of a short one. It uses libcrypto's
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
#define HMAC_BLOCK 64 // of both digests

// One piece of a digest's input.
struct piece {
	const void *data;
	size_t len;
};

union digest {
	SHA_CTX sha1;
	SHA256_CTX sha256;
};

// A key that is ready for use. A zeroed struct, apart from the field sha256, has no key yet. The
// struct is as secret as the key: cleanse it after use.
struct hmac_key {
	bool sha256; // selects the digest; set once, by the owner
	bool ready;
	uint8_t block[HMAC_BLOCK]; // the key as RFC 2104 pads it
	union digest inner, outer; // states after the first block of each hash
};

// Sets a key of len bytes. Fast if this key is set already.
void hmac_key_set(struct hmac_key *k, const void *key, size_t len);
// Computes the MAC of the n concatenated pieces under the key that is set; writes 20 or 32 bytes to
// out.
void hmac_pieces(const struct hmac_key *k, const struct piece *piece, size_t n, uint8_t *out);
