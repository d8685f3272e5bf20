// SPDX-License-Identifier: BSD-3-Clause
// HMAC that keeps the digest state of its last key.
#include "hmac.h"

#include <openssl/crypto.h>
#include <string.h>

static void digest_init(bool sha256, union digest *d)
{
	if (sha256)
		SHA256_Init(&d->sha256);
	else
		SHA1_Init(&d->sha1);
}

static void digest_add(bool sha256, union digest *d, const void *data, size_t len)
{
	if (sha256)
		SHA256_Update(&d->sha256, data, len);
	else
		SHA1_Update(&d->sha1, data, len);
}

static size_t digest_end(bool sha256, union digest *d, uint8_t *out)
{
	if (sha256)
		SHA256_Final(out, &d->sha256);
	else
		SHA1_Final(out, &d->sha1);
	return sha256 ? HMAC_SHA256_LEN : HMAC_SHA1_LEN;
}

// Digest state after one block: the key XORed with a pad byte.
static void pad_key(const struct hmac_key *k, uint8_t pad_byte, union digest *d)
{
	uint8_t block[HMAC_BLOCK];

	for (size_t i = 0; i < HMAC_BLOCK; i++)
		block[i] = k->block[i] ^ pad_byte;
	digest_init(k->sha256, d);
	digest_add(k->sha256, d, block, HMAC_BLOCK);
	OPENSSL_cleanse(block, sizeof(block));
}

// Constant-time comparison; faster than CRYPTO_memcmp.
static bool block_eq(const uint8_t *a, const uint8_t *b)
{
	uint64_t differs = 0, x, y;

	for (size_t i = 0; i < HMAC_BLOCK; i += sizeof(x)) {
		memcpy(&x, a + i, sizeof(x));
		memcpy(&y, b + i, sizeof(y));
		differs |= x ^ y;
	}
	return differs == 0;
}

void hmac_key_set(struct hmac_key *k, const void *key, size_t len)
{
	uint8_t block[HMAC_BLOCK] = {0};
	union digest d;

	if (len > HMAC_BLOCK) {
		digest_init(k->sha256, &d);
		digest_add(k->sha256, &d, key, len);
		digest_end(k->sha256, &d, block);
	} else {
		memcpy(block, key, len);
	}
	if (!k->ready || !block_eq(block, k->block)) {
		memcpy(k->block, block, HMAC_BLOCK);
		pad_key(k, 0x36, &k->inner);
		pad_key(k, 0x5c, &k->outer);
		k->ready = true;
	}
	OPENSSL_cleanse(block, sizeof(block));
}

void hmac_pieces(const struct hmac_key *k, const struct piece *piece, size_t n, uint8_t *out)
{
	union digest d = k->inner;
	uint8_t inner[HMAC_SHA256_LEN];
	size_t len;

	for (size_t i = 0; i < n; i++)
		digest_add(k->sha256, &d, piece[i].data, piece[i].len);
	len = digest_end(k->sha256, &d, inner);
	d = k->outer;
	digest_add(k->sha256, &d, inner, len);
	digest_end(k->sha256, &d, out);
}
