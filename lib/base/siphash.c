// SPDX-License-Identifier: BSD-3-Clause
// SipHash by the paper of Aumasson and Bernstein (2012); for 128 bits, with the constants of their
// reference code.
#include <string.h>

#include "siphash.h"

#define ROUNDS 2 // rounds per block of 8 bytes
#define LAST_ROUNDS 4

struct state {
	uint64_t a, b, c, d;
};

static inline uint64_t rotate_left(uint64_t x, unsigned int bits)
{
	return x << bits | x >> (64 - bits);
}

static inline uint64_t load_le64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	v = __builtin_bswap64(v);
#endif
	return v;
}

static inline void store_le64(uint8_t *p, uint64_t v)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	v = __builtin_bswap64(v);
#endif
	memcpy(p, &v, sizeof(v));
}

static inline void mix_rounds(struct state *s, unsigned int rounds)
{
	while (rounds-- > 0) {
		s->a += s->b;
		s->b = rotate_left(s->b, 13) ^ s->a;
		s->a = rotate_left(s->a, 32);
		s->c += s->d;
		s->d = rotate_left(s->d, 16) ^ s->c;
		s->a += s->d;
		s->d = rotate_left(s->d, 21) ^ s->a;
		s->c += s->b;
		s->b = rotate_left(s->b, 17) ^ s->c;
		s->c = rotate_left(s->c, 32);
	}
}

static inline void absorb_block(struct state *s, uint64_t block)
{
	s->d ^= block;
	mix_rounds(s, ROUNDS);
	s->a ^= block;
}

void siphash(
	const uint8_t key[SIPHASH_KEY_LEN], const void *data, size_t len, uint8_t out[SIPHASH_LEN])
{
	const uint64_t k0 = load_le64(key), k1 = load_le64(key + 8);
	struct state s = {k0 ^ 0x736f6d6570736575, k1 ^ 0x646f72616e646f6d ^ 0xee,
		k0 ^ 0x6c7967656e657261, k1 ^ 0x7465646279746573};
	const uint8_t *p = data;
	uint8_t last[8] = {[7] = (uint8_t)len};

	for (; len >= 8; p += 8, len -= 8)
		absorb_block(&s, load_le64(p));
	if (len > 0)
		memcpy(last, p, len);
	absorb_block(&s, load_le64(last));
	s.c ^= 0xee;
	mix_rounds(&s, LAST_ROUNDS);
	store_le64(out, s.a ^ s.b ^ s.c ^ s.d);
	s.b ^= 0xdd;
	mix_rounds(&s, LAST_ROUNDS);
	store_le64(out + 8, s.a ^ s.b ^ s.c ^ s.d);
}
