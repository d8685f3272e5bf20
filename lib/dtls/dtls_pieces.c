// SPDX-License-Identifier: BSD-3-Clause
// Keeps a ClientHello's record, and which of its bytes have arrived.
#include <stdlib.h>
#include <string.h>

#include "bytes.h"
#include "dtls_hello.h"
#include "dtls_pieces.h"

#define FRONT (DTLS_RECORD_LEN + DTLS_HANDSHAKE_LEN)

struct dtls_pieces {
	uint16_t number, total, left; // total: bytes of the message; left: missing bytes
	uint8_t come[DTLS_HELLO_MAX / 8]; // a bit for each byte that has arrived
	uint8_t record[];
};

static void store_be24(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 16);
	store_be16(p + 1, (uint16_t)v);
}

struct dtls_pieces *dtls_pieces_begin(const uint8_t *data, size_t len)
{
	struct dtls_pieces *p;
	struct dtls_fragment f;

	if (!dtls_hello_fragment(data, len, &f) || f.off != 0)
		return NULL;
	p = calloc(1, sizeof(*p) + FRONT + f.total);
	if (p == NULL)
		return NULL;
	p->number = f.number;
	p->total = p->left = (uint16_t)f.total;
	// as if it had arrived unfragmented: Finished covers it like that, too (RFC 6347 4.2.6)
	memcpy(p->record, data, FRONT);
	store_be16(p->record + 11, (uint16_t)(DTLS_HANDSHAKE_LEN + f.total));
	store_be24(p->record + DTLS_RECORD_LEN + 9, f.total);
	return p;
}

static void add_fragment(struct dtls_pieces *p, const struct dtls_fragment *f)
{
	memcpy(p->record + FRONT + f->off, f->data, f->len);
	for (uint32_t i = f->off; i < f->off + f->len; i++) {
		const uint8_t bit = (uint8_t)(1 << (i & 7));

		p->left -= (p->come[i >> 3] & bit) == 0;
		p->come[i >> 3] |= bit;
	}
}

bool dtls_pieces_add(struct dtls_pieces *p, const uint8_t *data, size_t len)
{
	while (len > DTLS_RECORD_LEN) {
		const size_t size = DTLS_RECORD_LEN + (size_t)load_be16(data + 11);
		struct dtls_fragment f;

		if (size > len)
			break;
		if (dtls_hello_fragment(data, size, &f) && f.total == p->total &&
			f.number == p->number)
			add_fragment(p, &f);
		data += size;
		len -= size;
	}
	return p->left == 0;
}

uint8_t *dtls_pieces_record(struct dtls_pieces *p, uint16_t *len)
{
	*len = (uint16_t)(FRONT + p->total);
	return p->record;
}

void dtls_pieces_free(struct dtls_pieces *p)
{
	free(p);
}
