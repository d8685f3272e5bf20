// SPDX-License-Identifier: BSD-3-Clause
// Parses records (RFC 8446 5.1) and the handshake messages in them, which may begin and end
// anywhere. TLS 1.3 clients send encrypted records as application data, so their handshake records
// are plaintext, even after a HelloRetryRequest.
#include "identity/tls_hello.h"

#include "bytes.h"

enum { TLS_CHANGE_CIPHER_SPEC = 20, TLS_HANDSHAKE = 22 };

// Handles the next byte of a record header.
static void header_put(struct tls_hello *h, uint8_t byte, bool is_12)
{
	h->head[h->nb_head++] = byte;
	if (h->nb_head < sizeof(h->head))
		return;
	h->nb_head = 0;
	h->record = load_be16(h->head + 3);
	h->over = h->head[0] == TLS_CHANGE_CIPHER_SPEC && is_12;
}

// Handles bytes of a handshake record. False if a message is too long.
static bool messages_fit(struct tls_hello *h, const uint8_t *p, size_t n)
{
	while (n > 0) {
		const size_t skip = n < h->message ? n : h->message;

		h->message -= (uint32_t)skip;
		p += skip;
		n -= skip;
		if (n == 0)
			break;
		h->begin[h->nb_begin++] = *p++;
		n--;
		if (h->nb_begin < sizeof(h->begin))
			continue;
		h->nb_begin = 0;
		h->message = load_be32(h->begin) & 0xffffff;
		if (h->message > TLS_HELLO_MAX)
			return false;
	}
	return true;
}

bool tls_hello_fits(struct tls_hello *h, const uint8_t *p, size_t n, bool is_12)
{
	while (n > 0 && !h->over) {
		const size_t part = n < h->record ? n : h->record;

		if (part == 0) {
			header_put(h, *p++, is_12);
			n--;
			continue;
		}
		if (h->head[0] == TLS_HANDSHAKE && !messages_fit(h, p, part))
			return false;
		h->record = (uint16_t)(h->record - part);
		p += part;
		n -= part;
	}
	return true;
}
