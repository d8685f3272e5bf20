// SPDX-License-Identifier: BSD-3-Clause
// Unpadded base64 (RFC 4648 section 4) for short texts of fixed length: nonces and tickets. PURE.
#pragma once

#include <stddef.h>
#include <stdint.h>

// Number of base64 characters for len bytes.
#define BASE64_CHARS(len) (((len)*8 + 5) / 6)

// Writes BASE64_CHARS(len) characters without a NUL; unused bits of the last one are zero.
void base64_encode(const uint8_t *in, size_t len, uint8_t *out);
// Returns the 6 bits of a character, or -1 if it is not a base64 character.
int base64_value(uint8_t c);
