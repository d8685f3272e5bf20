// SPDX-License-Identifier: BSD-3-Clause
// Writes base64, and reads its characters.
#include "base64.h"

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void base64_encode(const uint8_t *in, size_t len, uint8_t *out)
{
	uint32_t acc = 0;
	unsigned int bits = 0;

	for (size_t i = 0; i < len; i++) {
		acc = acc << 8 | in[i];
		for (bits += 8; bits >= 6; bits -= 6)
			*out++ = (uint8_t)digits[acc >> (bits - 6) & 63];
	}
	if (bits > 0)
		*out = (uint8_t)digits[acc << (6 - bits) & 63];
}

int base64_value(uint8_t c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}
