// SPDX-License-Identifier: BSD-3-Clause
// A ClientHello that comes in fragments (RFC 6347 4.2.3) is put together once its client has
// brought back a cookie: libssl wants the first message whole. Pure, except that it allocates.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dtls_pieces;

// Begins with the first fragment, which is still to be added. NULL without memory, or when it is
// none.
struct dtls_pieces *dtls_pieces_begin(const uint8_t *data, size_t len);
// Adds the fragments of a datagram; what belongs to no such ClientHello is left out. True: it is
// whole.
bool dtls_pieces_add(struct dtls_pieces *p, const uint8_t *data, size_t len);
// The record of a ClientHello that is whole, of *len bytes. It is p's.
uint8_t *dtls_pieces_record(struct dtls_pieces *p, uint16_t *len);
void dtls_pieces_free(struct dtls_pieces *p); // NULL is fine
