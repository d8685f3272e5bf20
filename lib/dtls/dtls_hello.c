// SPDX-License-Identifier: BSD-3-Clause
// Parses ClientHellos.
#include "bytes.h"
#include "dtls_hello.h"

#define CLIENT_HELLO 1
#define SESSION_MAX 32

bool dtls_hello_is(const uint8_t *data, size_t len)
{
	return len > DTLS_RECORD_LEN && data[0] == DTLS_HANDSHAKE && data[3] == 0 && data[4] == 0 &&
		data[DTLS_RECORD_LEN] == CLIENT_HELLO;
}

static uint32_t load_be24(const uint8_t *p)
{
	return (uint32_t)p[0] << 16 | load_be16(p + 1);
}

// Skips a vector with its length in front. False if the vector is longer than max or the rest.
static bool skip_vector(const uint8_t **p, const uint8_t *end, unsigned int prefix, size_t max)
{
	size_t len;

	if ((size_t)(end - *p) < prefix)
		return false;
	len = prefix == 1 ? (*p)[0] : load_be16(*p);
	if (len > max || (size_t)(end - *p) < prefix + len)
		return false;
	*p += prefix + len;
	return true;
}

// Reads the fields that a cookie needs, and skips them.
static bool read_front(const uint8_t **p, const uint8_t *end, struct dtls_hello *h)
{
	if (end - *p < 2 + DTLS_RANDOM_LEN || (*p)[0] != 0xfe)
		return false;
	h->random = *p + 2;
	*p += 2 + DTLS_RANDOM_LEN;
	if (!skip_vector(p, end, 1, SESSION_MAX))
		return false;
	h->cookie = *p + 1;
	if (!skip_vector(p, end, 1, UINT8_MAX))
		return false;
	h->cookie_len = h->cookie[-1];
	return true;
}

bool dtls_hello_fragment(const uint8_t *data, size_t len, struct dtls_fragment *f)
{
	const uint8_t *message = data + DTLS_RECORD_LEN;

	if (!dtls_hello_is(data, len) || len < DTLS_RECORD_LEN + DTLS_HANDSHAKE_LEN ||
		data[1] != 0xfe || load_be16(data + 11) > len - DTLS_RECORD_LEN)
		return false;
	*f = (struct dtls_fragment){.data = message + DTLS_HANDSHAKE_LEN,
		.total = load_be24(message + 1),
		.number = load_be16(message + 4),
		.off = load_be24(message + 6),
		.len = load_be24(message + 9)};
	return f->total <= DTLS_HELLO_MAX && f->len <= f->total && f->off <= f->total - f->len &&
		load_be16(data + 11) == DTLS_HANDSHAKE_LEN + f->len;
}

bool dtls_hello_read(const uint8_t *data, size_t len, struct dtls_hello *h)
{
	struct dtls_fragment f;
	const uint8_t *p, *end;

	*h = (struct dtls_hello){.record = data};
	if (!dtls_hello_fragment(data, len, &f) || f.off != 0)
		return false;
	h->whole = f.len == f.total;
	p = f.data;
	end = p + f.len;
	if (!read_front(&p, end, h))
		return false;
	// alone in its datagram, with cipher suites, and compression methods
	return !h->whole ||
		(end == data + len && skip_vector(&p, end, 2, UINT16_MAX) &&
			skip_vector(&p, end, 1, UINT8_MAX));
}
