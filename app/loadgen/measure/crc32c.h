// SPDX-License-Identifier: BSD-3-Clause
// CRC-32C (Castagnoli; RFC 3720 section 12.1) of whole 8-byte words. The value is the same on every
// machine. A word takes three cycles if the CPU has the instruction. In blocks as short as the
// stamp it finds every error of up to five bits and every burst of up to 32. PURE.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __ARM_FEATURE_CRC32
#include <arm_acle.h>
#endif

// Works on every CPU, bit by bit: 20 times slower. words: number of 8-byte words.
static inline uint32_t crc32c_portable(const uint8_t *data, size_t words)
{
	uint32_t crc = 0xffffffff;

	for (size_t i = 0; i < words * 8; i++) {
		crc ^= data[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (0x82f63b78 & -(crc & 1));
	}
	return ~crc;
}

// Uses the CPU's instruction if there is one. words: number of 8-byte words.
static inline uint32_t crc32c_words(const uint8_t *data, size_t words)
{
#if defined(__SSE4_2__) || (defined(__ARM_FEATURE_CRC32) && !defined(__ARM_BIG_ENDIAN))
	uint64_t crc = 0xffffffff, word;

	for (size_t i = 0; i < words; i++) {
		memcpy(&word, data + i * 8, 8);
#ifdef __SSE4_2__
		crc = __builtin_ia32_crc32di(crc, word);
#else
		crc = __crc32cd((uint32_t)crc, word);
#endif
	}
	return ~(uint32_t)crc;
#else
	return crc32c_portable(data, words);
#endif
}
