// SPDX-License-Identifier: BSD-3-Clause
// Random bytes from a buffer that the generator fills.
#include "csprng.h"

#include <string.h>

void csprng_init(struct csprng *r, void (*fill)(void *ctx, void *buf, size_t len), void *ctx)
{
	memset(r, 0, sizeof(*r));
	r->fill = fill;
	r->ctx = ctx;
}

// Copies n <= sizeof(buf) bytes and wipes them here: bytes that became a nonce or a token must not
// remain in memory.
static void take_bytes(struct csprng *r, void *out, size_t n)
{
	uint8_t *src;

	if (r->left < n) {
		r->fill(r->ctx, r->buf, sizeof(r->buf));
		r->left = sizeof(r->buf);
	}
	src = r->buf + sizeof(r->buf) - r->left;
	memcpy(out, src, n);
	memset(src, 0, n);
	r->left = (uint16_t)(r->left - n);
}

void csprng_bytes(struct csprng *r, void *out, size_t len)
{
	// a long request would gain nothing from the buffer
	if (len > sizeof(r->buf) / 2)
		r->fill(r->ctx, out, len);
	else
		take_bytes(r, out, len);
}

uint64_t csprng_u64(struct csprng *r)
{
	uint64_t v;

	take_bytes(r, &v, sizeof(v));
	return v;
}

static uint32_t draw_u32(struct csprng *r)
{
	uint32_t v;

	take_bytes(r, &v, sizeof(v));
	return v;
}

// Multiply-shift with rejection (Lemire 2019): the low half of draw * bound tells if the draw is
// one of the 2^32 mod bound surplus draws that would make some results more likely.
uint32_t csprng_below(struct csprng *r, uint32_t bound)
{
	uint64_t m = (uint64_t)draw_u32(r) * bound;

	if ((uint32_t)m < bound) {
		const uint32_t surplus = (0 - bound) % bound;

		while ((uint32_t)m < surplus)
			m = (uint64_t)draw_u32(r) * bound;
	}
	return (uint32_t)(m >> 32);
}
