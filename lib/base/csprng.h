// SPDX-License-Identifier: BSD-3-Clause
// A buffered source of random bytes. The caller supplies the generator: OpenSSL's DRBG in the
// server, a seeded one in tests. One per worker; never shared.
#pragma once

#include <stddef.h>
#include <stdint.h>

struct csprng {
	// Fills len bytes; must not fail (the server aborts at its start if the DRBG has no
	// entropy).
	void (*fill)(void *ctx, void *buf, size_t len);
	void *ctx;
	uint8_t buf[256];
	uint16_t left; // unused bytes at the end of buf; used bytes are wiped
};

// Starts with an empty buffer. ctx is passed to every call of fill.
void csprng_init(struct csprng *r, void (*fill)(void *ctx, void *buf, size_t len), void *ctx);
// Writes len random bytes to out. Wipes them from the buffer.
void csprng_bytes(struct csprng *r, void *out, size_t len);
uint64_t csprng_u64(struct csprng *r);
// Returns a uniform number in [0, bound), without modulo bias; bound > 0.
uint32_t csprng_below(struct csprng *r, uint32_t bound);
