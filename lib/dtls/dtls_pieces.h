// SPDX-License-Identifier: BSD-3-Clause
// Reassembles a fragmented ClientHello (RFC 6347 4.2.3) whose client has returned a cookie: libssl
// needs the first message whole. Pure, except that it allocates.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dtls_pieces;

// Begins with the first fragment, without adding it. NULL without memory, or if it is not a
// fragment of a ClientHello.
struct dtls_pieces *dtls_pieces_begin(const uint8_t *data, size_t len);
// Adds the fragments of a datagram, and ignores other records. True if the ClientHello is whole.
bool dtls_pieces_add(struct dtls_pieces *p, const uint8_t *data, size_t len);
// Returns the record of the whole ClientHello, *len bytes, owned by p.
uint8_t *dtls_pieces_record(struct dtls_pieces *p, uint16_t *len);
void dtls_pieces_free(struct dtls_pieces *p); // NULL is fine
