// SPDX-License-Identifier: BSD-3-Clause
// Parses a PROXY header of version 1. The end of the line is unknown until it arrives. So the
// parser never asks for more bytes than the shortest line with the received prefix has.
#include "proxy/proxy_text.h"

#include <stdbool.h>
#include <string.h>

#define BEGIN "PROXY "
#define BEGIN_LEN 6
#define PROTOCOL_LEN 5 // "TCP4 " or "TCP6 "
#define UNKNOWN "UNKNOWN"
#define UNKNOWN_LEN 7
#define SPACES 3 // between source, destination and the two ports
#define PORT_DIGITS 5

enum { SOURCE, DESTINATION, SOURCE_PORT, DESTINATION_PORT, FIELDS };

// True if the n bytes at p are a beginning of prefix, or begin with it.
static bool has_prefix(const uint8_t *p, size_t n, const char *prefix, size_t len)
{
	return memcmp(p, prefix, n < len ? n : len) == 0;
}

// Asks for as many bytes as the line must still have: all of them belong to the header.
static enum proxy_header_answer need_more(struct proxy_header *out, size_t len)
{
	out->len = len;
	return len <= PROXY_TEXT_LONGEST ? PROXY_HEADER_SHORT : PROXY_HEADER_BAD;
}

// Checks if an UNKNOWN line of n bytes is complete. Any bytes may precede its end (2.1).
static enum proxy_header_answer read_unknown(const uint8_t *p, size_t n, struct proxy_header *out)
{
	const size_t pos = BEGIN_LEN + UNKNOWN_LEN;

	if (n <= pos)
		return need_more(out, pos + 2);
	if (p[pos] != ' ' && p[pos] != '\r')
		return PROXY_HEADER_BAD;
	for (size_t i = pos; i + 1 < n; i++) {
		if (p[i] == '\r' && p[i + 1] == '\n') {
			out->len = i + 2;
			return PROXY_HEADER_OWN;
		}
	}
	return need_more(out, n + (p[n - 1] == '\r' ? 1 : 2));
}

static bool read_port(const char *text, uint16_t *out)
{
	const size_t len = strlen(text);
	uint32_t port = 0;

	if (len == 0 || len > PORT_DIGITS || (len > 1 && text[0] == '0'))
		return false;
	for (size_t i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		port = port * 10 + (uint32_t)(text[i] - '0');
	}
	*out = (uint16_t)port;
	return port <= UINT16_MAX;
}

static bool read_address(const char *text, bool is_v4, struct addr *out)
{
	return addr_parse(text, out) == 0 && (strchr(text, ':') == NULL) == is_v4;
}

// Reads the fields of a line of n bytes, its end excluded.
static bool read_fields(const uint8_t *p, size_t n, bool is_v4, struct endpoint *client)
{
	char text[PROXY_TEXT_LONGEST + 1], *field[FIELDS] = {text};
	struct addr dst;
	uint16_t to_port;
	unsigned int nb = 1;

	memcpy(text, p, n);
	text[n] = '\0';
	for (size_t i = 0; i < n; i++) {
		if (text[i] != ' ')
			continue;
		text[i] = '\0';
		field[nb++] = text + i + 1; // there are SPACES fields after the first
	}
	return nb == FIELDS && read_address(field[SOURCE], is_v4, &client->addr) &&
		read_address(field[DESTINATION], is_v4, &dst) &&
		read_port(field[SOURCE_PORT], &client->port) &&
		read_port(field[DESTINATION_PORT], &to_port);
}

static bool is_of_field(uint8_t byte)
{
	return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'f') ||
		(byte >= 'A' && byte <= 'F') || byte == '.' || byte == ':';
}

static enum proxy_header_answer read_tcp(
	const uint8_t *p, size_t n, bool is_v4, struct proxy_header *out)
{
	const size_t begin = BEGIN_LEN + PROTOCOL_LEN;
	unsigned int spaces = 0;
	size_t end = begin;

	for (; end < n && p[end] != '\r'; end++) {
		spaces += p[end] == ' ';
		if ((p[end] != ' ' && !is_of_field(p[end])) || spaces > SPACES)
			return PROXY_HEADER_BAD;
	}
	// one byte per missing field, the space in front of it, and the end
	if (end >= n)
		return need_more(
			out, (n > begin ? n : begin + 1) + 2 * (size_t)(SPACES - spaces) + 2);
	if (end + 1 == n)
		return need_more(out, n + 1);
	out->len = end + 2;
	if (p[end + 1] != '\n' || !read_fields(p + begin, end - begin, is_v4, &out->client))
		return PROXY_HEADER_BAD;
	return proxy_header_can_be_client(&out->client) ? PROXY_HEADER_CLIENT : PROXY_HEADER_BAD;
}

enum proxy_header_answer proxy_text_read(const uint8_t *p, size_t len, struct proxy_header *out)
{
	const size_t n = len < PROXY_TEXT_LONGEST ? len : PROXY_TEXT_LONGEST;
	const size_t left = n > BEGIN_LEN ? n - BEGIN_LEN : 0;
	const uint8_t *protocol = p + BEGIN_LEN;

	if (!has_prefix(p, n, BEGIN, BEGIN_LEN))
		return PROXY_HEADER_NONE;
	if (left == 0)
		return need_more(out, PROXY_TEXT_LEAST);
	if (has_prefix(protocol, left, UNKNOWN, UNKNOWN_LEN))
		return read_unknown(p, n, out);
	if (!has_prefix(protocol, left, "TCP4 ", PROTOCOL_LEN) &&
		!has_prefix(protocol, left, "TCP6 ", PROTOCOL_LEN))
		return PROXY_HEADER_BAD;
	return read_tcp(p, n, left > 3 && protocol[3] == '4', out);
}
