// SPDX-License-Identifier: BSD-3-Clause
// Limits the length of TLS handshake messages. libssl allocates up to 128 KB for a ClientHello as
// soon as its first four bytes have arrived, 150 KB in total for an unauthenticated client. PURE;
// one thread at a time.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TLS_HELLO_MAX 16384 // bytes of a message: 10 times a ClientHello with post-quantum keys

// Progress in a client's records. Zero it at the start.
struct tls_hello {
	uint32_t message; // remaining bytes of the current message
	uint16_t record; // remaining bytes of the current record
	uint8_t nb_head, head[5]; // of the record header; head[0] is its type
	uint8_t nb_begin, begin[4]; // of the message header: type and length
	bool over; // the following records are encrypted
};

// Checks the next n bytes of a client whose handshake is not complete. is_12: TLS 1.2 was
// negotiated, where all records after a ChangeCipherSpec are encrypted. False if a message is too
// long.
bool tls_hello_fits(struct tls_hello *h, const uint8_t *p, size_t n, bool is_12);
