// SPDX-License-Identifier: BSD-3-Clause
// Escapes untrusted bytes as %XX, alike for telemetry and the log.
#include "log/escape.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "hash.h"

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
