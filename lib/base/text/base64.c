// SPDX-License-Identifier: BSD-3-Clause
// Writes base64, and decodes its characters.
#include "text/base64.h"

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

// This runs for the nonce of every challenge and every request.
void base64_encode(const uint8_t *in, size_t len, uint8_t *out)
{
	uint32_t v;

	for (; len >= 3; len -= 3, in += 3, out += 4) {
		v = (uint32_t)in[0] << 16 | (uint32_t)in[1] << 8 | in[2];
		for (unsigned int i = 0; i < 4; i++)
			out[i] = (uint8_t)digits[v >> (18 - 6 * i) & 63];
	}
	if (len == 0)
		return;
	v = (uint32_t)in[0] << 16 | (len > 1 ? (uint32_t)in[1] << 8 : 0);
	for (unsigned int i = 0; i <= len; i++)
		out[i] = (uint8_t)digits[v >> (18 - 6 * i) & 63];
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
