// SPDX-License-Identifier: BSD-3-Clause
// AES-GCM by AES-NI and PCLMULQDQ.
//
// Counter blocks are encrypted in batches of up to eight, whose rounds run side by side. The hash
// of a batch is one sum of products with the powers of the hash key, reduced once. The field is
// that of Gueron and Kounavis ("Intel Carry-Less Multiplication Instruction and its Usage for
// Computing the GCM Mode", algorithms 1 and 5): blocks are byte-reversed, and the hash key is
// doubled beforehand, so products need no shift.
#include "aes_gcm.h"

#include <endian.h>
#include <string.h>

#include <immintrin.h>

#include "bytes.h"

#define BATCH 8 // blocks
#define FIELD ((long long)0xc200000000000000) // x^128 + x^127 + x^126 + x^121 + 1, bits reversed

#define CLMUL __attribute__((target("pclmul")))
#define INLINE CLMUL static inline __attribute__((always_inline))

// A product in the field before its reduction.
struct product {
	__m128i low, middle, high;
};

// State of encrypting or decrypting one message.
struct pass {
	const struct aes_gcm *k;
	uint8_t *pos;
	size_t left;
	__m128i counter; // counter of the next block, byte-reversed
	__m128i hash;
	bool sealing;
};

INLINE __m128i load_block(const void *p)
{
	return _mm_loadu_si128(p);
}

INLINE __m128i reverse_bytes(__m128i block)
{
	return _mm_shuffle_epi8(
		block, _mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
}

// Returns a mask whose first n bytes are all ones, the others zero; n is 0 to 16.
INLINE __m128i first_bytes(size_t n)
{
	static const uint8_t ones[32] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
		0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

	return load_block(ones + 16 - n);
}

// --- the field -----------------------------------------------------------------------------------

INLINE void add_product(struct product *p, __m128i a, __m128i b)
{
	p->low = _mm_xor_si128(p->low, _mm_clmulepi64_si128(a, b, 0x00));
	p->high = _mm_xor_si128(p->high, _mm_clmulepi64_si128(a, b, 0x11));
	p->middle = _mm_xor_si128(p->middle,
		_mm_xor_si128(_mm_clmulepi64_si128(a, b, 0x01), _mm_clmulepi64_si128(a, b, 0x10)));
}

INLINE __m128i gf_fold(__m128i low)
{
	const __m128i field = _mm_set_epi64x(FIELD, 0);

	return _mm_xor_si128(_mm_shuffle_epi32(low, 0x4e), _mm_clmulepi64_si128(low, field, 0x10));
}

INLINE __m128i gf_reduce(const struct product *p)
{
	const __m128i low = _mm_xor_si128(p->low, _mm_slli_si128(p->middle, 8));
	const __m128i high = _mm_xor_si128(p->high, _mm_srli_si128(p->middle, 8));

	return _mm_xor_si128(high, gf_fold(gf_fold(low)));
}

INLINE __m128i gf_multiply(__m128i a, __m128i b)
{
	struct product p = {0};

	add_product(&p, a, b);
	return gf_reduce(&p);
}

// --- AES -----------------------------------------------------------------------------------------

INLINE __m128i round_key(const struct aes_gcm *k, unsigned int i)
{
	return _mm_load_si128((const __m128i *)k->round + i);
}

INLINE __m128i hash_power(const struct aes_gcm *k, unsigned int n)
{
	return _mm_load_si128((const void *)k->power[n - 1]);
}

// Encrypts n blocks.
INLINE void encrypt_blocks(const struct aes_gcm *k, __m128i *b, unsigned int n)
{
	const __m128i first = round_key(k, 0), last = round_key(k, k->rounds);

	for (unsigned int i = 0; i < n; i++)
		b[i] = _mm_xor_si128(b[i], first);
	for (unsigned int r = 1; r < k->rounds; r++) {
		const __m128i key = round_key(k, r);

		for (unsigned int i = 0; i < n; i++)
			b[i] = _mm_aesenc_si128(b[i], key);
	}
	for (unsigned int i = 0; i < n; i++)
		b[i] = _mm_aesenclast_si128(b[i], last);
}

// --- up to eight blocks --------------------------------------------------------------------------

// Encrypts n blocks and hashes them, with n + more products in the sum. The last block has only the
// bytes of mask.
INLINE void crypt_blocks(
	struct pass *p, unsigned int n, unsigned int more, __m128i mask, struct product *sum)
{
	__m128i key[BATCH], text, in, out;

	for (unsigned int i = 0; i < n; i++)
		key[i] = reverse_bytes(_mm_add_epi32(p->counter, _mm_cvtsi32_si128((int)i)));
	encrypt_blocks(p->k, key, n);
	for (unsigned int i = 0; i < n; i++) {
		in = load_block(p->pos + (size_t)16 * i);
		if (i == n - 1)
			key[i] = _mm_and_si128(key[i], mask);
		out = _mm_xor_si128(in, key[i]);
		_mm_storeu_si128((void *)(p->pos + (size_t)16 * i), out);
		text = p->sealing ? out : in;
		if (i == n - 1)
			text = _mm_and_si128(text, mask);
		text = reverse_bytes(text);
		if (i == 0)
			text = _mm_xor_si128(text, p->hash);
		add_product(sum, text, hash_power(p->k, n + more - i));
	}
}

INLINE void whole_batch(struct pass *p)
{
	struct product sum = {0};

	crypt_blocks(p, BATCH, 0, _mm_set1_epi8(-1), &sum);
	p->hash = gf_reduce(&sum);
	p->counter = _mm_add_epi32(p->counter, _mm_cvtsi32_si128(BATCH));
	p->pos += 16 * BATCH;
	p->left -= 16 * BATCH;
}

// Handles the last n blocks, then the lengths.
INLINE void last_batch(struct pass *p, unsigned int n, __m128i lengths)
{
	const __m128i mask = first_bytes(p->left - (size_t)16 * (n - 1));
	struct product sum = {0};

	crypt_blocks(p, n, 1, mask, &sum);
	add_product(&sum, lengths, hash_power(p->k, 1));
	p->hash = gf_reduce(&sum);
}

INLINE void crypt_rest(struct pass *p, __m128i lengths)
{
	switch ((p->left + 15) / 16) {
	case 0:
		p->hash = gf_multiply(_mm_xor_si128(p->hash, lengths), hash_power(p->k, 1));
		break;
#define CASE(n)                            \
	case n:                            \
		last_batch(p, n, lengths); \
		break
		CASE(1);
		CASE(2);
		CASE(3);
		CASE(4);
		CASE(5);
		CASE(6);
		CASE(7);
		CASE(8);
#undef CASE
	}
}

// --- a message -----------------------------------------------------------------------------------

// Hashes the additional authenticated data.
INLINE __m128i hash_aad(const struct aes_gcm *k, const struct aead_with *params)
{
	const unsigned int n = params->aad_len;
	const __m128i first = _mm_and_si128(load_block(params->aad), first_bytes(n < 16 ? n : 16));
	__m128i hash = gf_multiply(reverse_bytes(first), hash_power(k, 1));
	uint32_t more;

	if (n <= 16)
		return hash;
	memcpy(&more, params->aad + 16, sizeof(more));
	hash = _mm_xor_si128(hash,
		reverse_bytes(_mm_and_si128(_mm_cvtsi32_si128((int)more), first_bytes(n - 16))));
	return gf_multiply(hash, hash_power(k, 1));
}

// Returns the first counter block. Reads the nonce in the pieces in which it was written (RFC 5288
// 3), so that store forwarding works.
INLINE __m128i first_counter(const uint8_t *nonce)
{
	const __m128i salt = _mm_cvtsi32_si128((int)load_raw32(nonce));
	const __m128i explicit = _mm_cvtsi64_si128((long long)load_raw64(nonce + 4));

	return _mm_insert_epi32(
		_mm_or_si128(salt, _mm_slli_si128(explicit, 4)), (int)htobe32(1), 3);
}

// Encrypts and hashes a message. Returns its tag.
INLINE __m128i crypt_message(const struct aes_gcm *k, const struct aead_with *params, uint8_t *data,
	size_t len, bool sealing)
{
	const __m128i lengths = _mm_set_epi64x((long long)params->aad_len * 8, (long long)len * 8);
	__m128i first = first_counter(params->nonce);
	struct pass p = {.k = k, .pos = data, .left = len, .sealing = sealing};

	p.counter = _mm_add_epi32(reverse_bytes(first), _mm_cvtsi32_si128(1));
	p.hash = hash_aad(k, params);
	encrypt_blocks(k, &first, 1);
	while (p.left > 16 * BATCH)
		whole_batch(&p);
	crypt_rest(&p, lengths);
	return _mm_xor_si128(reverse_bytes(p.hash), first);
}

CLMUL void aes_gcm_seal(
	const struct aes_gcm *k, const struct aead_with *params, uint8_t *data, size_t len)
{
	_mm_storeu_si128((void *)(data + len), crypt_message(k, params, data, len, true));
}

// The last block is read and written whole, which leaves the tag after it unchanged.
CLMUL bool aes_gcm_open(
	const struct aes_gcm *k, const struct aead_with *params, uint8_t *data, size_t len)
{
	const __m128i tag = crypt_message(k, params, data, len, false);
	const __m128i differs = _mm_xor_si128(tag, load_block(data + len));

	return _mm_testz_si128(differs, differs) != 0;
}

// --- a key ---------------------------------------------------------------------------------------

// Returns twice a in the field.
CLMUL static __m128i gf_double(__m128i a)
{
	const __m128i carry = _mm_srli_epi64(a, 63);
	const __m128i doubled = _mm_or_si128(_mm_slli_epi64(a, 1), _mm_slli_si128(carry, 8));
	const __m128i over = _mm_sub_epi64(_mm_setzero_si128(), _mm_srli_si128(carry, 8));

	return _mm_xor_si128(
		doubled, _mm_and_si128(_mm_shuffle_epi32(over, 0x44), _mm_set_epi64x(FIELD, 1)));
}

CLMUL void aes_gcm_key(struct aes_gcm *k, const uint8_t *round, unsigned int rounds)
{
	__m128i hash = _mm_setzero_si128(), next;

	k->round = round;
	k->rounds = rounds;
	encrypt_blocks(k, &hash, 1);
	hash = next = gf_double(reverse_bytes(hash));
	for (unsigned int i = 0; i < AES_GCM_POWERS; i++) {
		_mm_store_si128((void *)k->power[i], next);
		next = gf_multiply(next, hash);
	}
}
