// SPDX-License-Identifier: BSD-3-Clause
// Escapes untrusted bytes as %XX, alike for telemetry and the log.
#include "log/escape.h"

#include <stdio.h>
#include <string.h>

#include "hash.h"
#include "text/hex.h"

#define TAIL 9 // "~" and eight digits

static bool is_plain(unsigned char c)
{
	return c >= 0x20 && c <= 0x7e && c != '%' && c != '"' && c != '\\';
}

size_t mgmt_escape(const char *bytes, size_t n, char *buf, size_t len)
{
	size_t used = 0;

	for (size_t i = 0; i < n && used + 3 < len; i++) {
		const unsigned char c = (unsigned char)bytes[i];

		if (!is_plain(c))
			used += (size_t)snprintf(buf + used, 4, "%%%02X", c);
		else
			buf[used++] = bytes[i];
	}
	buf[used] = '\0';
	return used;
}

bool mgmt_unescape(const char *text, char *out, size_t len)
{
	size_t n = 0;

	for (; *text != '\0'; text++) {
		int byte = (unsigned char)*text;

		if (*text == '%') {
			const int hi = hex_digit(text[1]), lo = hi < 0 ? -1 : hex_digit(text[2]);

			byte = lo < 0 ? 0 : hi << 4 | lo;
			text += 2;
		}
		if (byte == 0 || n + 1 == len)
			return false;
		out[n++] = (char)byte;
	}
	out[n] = '\0';
	return n > 0;
}

uint32_t mgmt_label_digits(const char *name)
{
	static const struct hash_key key;

	return (uint32_t)hash_bytes(&key, name, strlen(name));
}

void mgmt_label(const char *name, char *buf, size_t len)
{
	const size_t n = strlen(name);
	size_t whole = 0, used;

	for (size_t i = 0; i < n; i++)
		whole += is_plain((unsigned char)name[i]) ? 1 : 3;
	if (mgmt_escape(name, n, buf, len) == whole || len <= TAIL)
		return;
	used = mgmt_escape(name, n, buf, len - TAIL);
	snprintf(buf + used, len - used, "~%08x", mgmt_label_digits(name));
}
