// SPDX-License-Identifier: BSD-3-Clause
// A keyed 64-bit hash for tables with keys chosen by untrusted hosts: AES rounds with a secret key
// if the CPU has them, else a multiply-mix. (A CRC with a secret seed is not a keyed hash: its
// collisions are the same for every seed.) It is not a MAC: a hash may leave the process only if
// its key is used for nothing else.
#pragma once

#include "addr.h"

struct hash_key {
	uint64_t k[4]; // from the CSPRNG, fixed for the lifetime of the table
};

#ifdef __AES__
#include <wmmintrin.h>

static inline __m128i hash_block(const struct hash_key *key, const struct addr *a, uint64_t extra)
{
	const __m128i k0 = _mm_loadu_si128((const __m128i *)&key->k[0]);
	const __m128i k1 = _mm_loadu_si128((const __m128i *)&key->k[2]);
	__m128i x = _mm_xor_si128(_mm_loadu_si128((const __m128i *)a), k0);

	x = _mm_aesenc_si128(x, _mm_xor_si128(k1, _mm_cvtsi64_si128((long long)extra)));
	x = _mm_aesenc_si128(x, k0);
	return _mm_aesenc_si128(x, k1);
}

static inline uint64_t hash_addr(const struct hash_key *key, const struct addr *a, uint64_t extra)
{
	return (uint64_t)_mm_cvtsi128_si64(hash_block(key, a, extra));
}

// Like hash_addr, with 128 bits; the first 64 bits are those of hash_addr.
static inline void hash_addr_wide(
	const struct hash_key *key, const struct addr *a, uint64_t extra, uint8_t out[16])
{
	_mm_storeu_si128((__m128i *)out, hash_block(key, a, extra));
}
#else
static inline uint64_t hash_mum(uint64_t a, uint64_t b)
{
	const unsigned __int128 m = (unsigned __int128)a * b;

	return (uint64_t)m ^ (uint64_t)(m >> 64);
}

static inline uint64_t hash_addr(const struct hash_key *key, const struct addr *a, uint64_t extra)
{
	uint64_t h = hash_mum(a->d[0] ^ key->k[0], a->d[1] ^ key->k[1] ^ 0x9e3779b97f4a7c15);

	h = hash_mum(h ^ key->k[2], extra ^ key->k[3]);
	return hash_mum(h ^ key->k[1], 0xbf58476d1ce4e5b9);
}

static inline void hash_addr_wide(
	const struct hash_key *key, const struct addr *a, uint64_t extra, uint8_t out[16])
{
	const uint64_t first = hash_addr(key, a, extra), second = hash_addr(key, a, first ^ extra);

	memcpy(out, &first, 8);
	memcpy(out + 8, &second, 8);
}
#endif

// Returns the hash of len bytes, a chain of hash_addr steps; for control paths.
uint64_t hash_bytes(const struct hash_key *key, const void *data, size_t len);
