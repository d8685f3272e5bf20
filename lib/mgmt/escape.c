// SPDX-License-Identifier: BSD-3-Clause
// Escapes strangers' bytes by %XX, in one way for telemetry and the log.
#include "escape.h"

#include <stdio.h>

size_t mgmt_escape(const char *bytes, size_t n, char *buf, size_t len)
{
	size_t at = 0;

	for (size_t i = 0; i < n && at + 3 < len; i++) {
		const unsigned char c = (unsigned char)bytes[i];

		if (c < 0x20 || c > 0x7e || c == '%' || c == '"' || c == '\\')
			at += (size_t)snprintf(buf + at, 4, "%%%02X", c);
		else
			buf[at++] = bytes[i];
	}
	buf[at] = '\0';
	return at;
}
