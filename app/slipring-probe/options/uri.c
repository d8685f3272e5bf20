// SPDX-License-Identifier: BSD-3-Clause
// Reads URIs of TURN servers (RFC 7065).
#include "options/uri.h"

#include <strings.h>

#define PORT_TURN 3478
#define PORT_TURNS 5349

static bool read_port(const char *text, size_t len, uint16_t *port)
{
	uint32_t n = 0;

	if (len == 0 || len > 5)
		return false;
	for (size_t i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		n = 10 * n + (uint32_t)(text[i] - '0');
	}
	*port = (uint16_t)n;
	return n > 0 && n <= UINT16_MAX;
}

static bool is_name_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		c == '-' || c == '.' || c == '_';
}

static bool keep_host(const char *text, size_t len, struct uri *out)
{
	if (len == 0 || len > NAME_MAX_LEN)
		return false;
	memcpy(out->host, text, len);
	out->host[len] = '\0';
	return true;
}

// Reads an IPv6 address of len bytes.
static bool keep_v6(const char *text, size_t len, struct uri *out)
{
	struct addr a;

	return keep_host(text, len, out) && addr_parse(out->host, &a) == 0 && !addr_is_v4(&a);
}

// Reads HOST[:PORT] of len bytes.
static bool read_place(const char *text, size_t len, bool bare_v6, struct uri *out)
{
	const char *close = memchr(text, ']', len);
	size_t host_len = 0;

	if (len > 0 && text[0] == '[') {
		if (close == NULL || !keep_v6(text + 1, (size_t)(close - text) - 1, out))
			return false;
		host_len = (size_t)(close - text) + 1;
	} else {
		if (bare_v6 && keep_v6(text, len, out))
			return true;
		while (host_len < len && is_name_char(text[host_len]))
			host_len++;
		if (!keep_host(text, host_len, out))
			return false;
	}
	if (host_len == len)
		return true;
	return text[host_len] == ':' &&
		read_port(text + host_len + 1, len - host_len - 1, &out->port);
}

static bool read_transport(const char *query, bool secure, struct uri *out)
{
	static const char key[] = "?transport=";

	if (strncasecmp(query, key, sizeof(key) - 1) != 0)
		return false;
	query += sizeof(key) - 1;
	if (strcasecmp(query, "udp") == 0)
		out->transports = TRANSPORT_BIT(secure ? TRANSPORT_DTLS : TRANSPORT_UDP);
	else if (strcasecmp(query, "tcp") == 0)
		out->transports = TRANSPORT_BIT(secure ? TRANSPORT_TLS : TRANSPORT_TCP);
	else
		return false;
	out->exact = true;
	return true;
}

bool uri_read(const char *text, struct uri *out)
{
	const bool secure = strncasecmp(text, "turns:", 6) == 0;
	const char *query;

	*out = (struct uri){.transports = TRANSPORTS_ALL};
	if (secure || strncasecmp(text, "turn:", 5) == 0) {
		text += secure ? 6 : 5;
		out->transports = secure
			? TRANSPORT_BIT(TRANSPORT_TLS) | TRANSPORT_BIT(TRANSPORT_DTLS)
			: TRANSPORT_BIT(TRANSPORT_UDP) | TRANSPORT_BIT(TRANSPORT_TCP);
		query = strchr(text, '?');
		if (query != NULL && !read_transport(query, secure, out))
			return false;
		return read_place(
			text, query != NULL ? (size_t)(query - text) : strlen(text), false, out);
	}
	return read_place(text, strlen(text), true, out);
}

uint16_t uri_port(const struct uri *u, enum transport t)
{
	if (u->port != 0)
		return u->port;
	return transport_is_secure(t) ? PORT_TURNS : PORT_TURN;
}
