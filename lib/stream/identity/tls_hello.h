// SPDX-License-Identifier: BSD-3-Clause
// How long the messages of a TLS handshake say they are. libssl makes room for a ClientHello of
// 128 KB as soon as its first four bytes have come, and takes 150 KB for such a stranger. PURE; one
// thread at a time.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TLS_HELLO_MAX 16384 // bytes of a message: ten times what one with post-quantum keys has

// What has come of a client's records. Zeroed at the beginning.
struct tls_hello {
	uint32_t message; // bytes of a message that are still to come
	uint16_t record; // bytes of a record
	uint8_t nb_head, head[5]; // of the record's header; head[0] is its type
	uint8_t nb_begin, begin[4]; // of the message's: type and length
	bool over; // what follows is sealed
};

// Looks at the next n bytes of a client whose handshake is not complete. is_12: TLS 1.2 has been
// agreed on, where all is sealed behind a ChangeCipherSpec. False: a message is too long.
bool tls_hello_fits(struct tls_hello *h, const uint8_t *p, size_t n, bool is_12);
