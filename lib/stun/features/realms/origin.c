// SPDX-License-Identifier: BSD-3-Clause
// Reads origins. One pass, and nothing is kept: any client may send any bytes.
#include "features/realms/origin.h"

#include <stdint.h>
#include <string.h>

static bool is_letter(char c)
{
	return c >= 'a' && c <= 'z';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static char ascii_lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

// Length of the scheme (RFC 3986 3.1) that precedes "://"; 0 if there is no scheme.
static size_t scheme_of(const char *text)
{
	size_t n = 0;

	while (is_letter(text[n]) ||
		(n > 0 && (is_digit(text[n]) || (text[n] != '\0' && strchr("+-.", text[n])))))
		n++;
	return strncmp(text + n, "://", 3) == 0 ? n : 0;
}

// True if it is the default port of its scheme (RFC 6454 section 4).
static bool is_usual(const char *text, size_t scheme, const char *port)
{
	return (scheme == 4 && memcmp(text, "http", 4) == 0 && strcmp(port, "80") == 0) ||
		(scheme == 5 && memcmp(text, "https", 5) == 0 && strcmp(port, "443") == 0);
}

// Sets *port to the start of the port, or to NULL if the host has no port. False if host or port is
// malformed.
static bool port_of(char *host, char **port)
{
	const bool v6 = host[0] == '[';
	char *end = v6 ? strchr(host, ']') : host + strcspn(host, ":");
	size_t digits;

	*port = NULL;
	if (end == NULL || end < host + (v6 ? 2 : 1))
		return false;
	end += v6;
	if (*end == '\0')
		return true;
	digits = strspn(end + 1, "0123456789");
	*port = end + 1;
	return *end == ':' && digits > 0 && digits <= 5 && end[1 + digits] == '\0';
}

bool stun_origin_canonical(const void *text, size_t len, char out[STUN_ORIGIN_MAX + 1])
{
	const uint8_t *src = text;
	size_t scheme;
	char *host, *port;

	if (len > STUN_ORIGIN_MAX)
		return false;
	for (size_t i = 0; i < len; i++) {
		if (src[i] <= 0x20 || src[i] >= 0x7f)
			return false;
		out[i] = ascii_lower((char)src[i]);
	}
	out[len] = '\0';
	scheme = scheme_of(out);
	if (scheme == 0)
		return false;
	host = out + scheme + 3;
	host[strcspn(host, "/?#")] = '\0';
	if (!port_of(host, &port))
		return false;
	if (port != NULL && is_usual(out, scheme, port))
		port[-1] = '\0';
	return true;
}
