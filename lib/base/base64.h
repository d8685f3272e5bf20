// SPDX-License-Identifier: BSD-3-Clause
// Unpadded base64 (RFC 4648 section 4) for short texts of fixed length: nonces and tickets. PURE
#pragma once

#include <stddef.h>
#include <stdint.h>

// Characters that len bytes take.
#define BASE64_CHARS(len) (((len)*8 + 5) / 6)

// Writes BASE64_CHARS(len) characters and no NUL; the bits left over in the last one are zero.
void base64_encode(const uint8_t *in, size_t len, uint8_t *out);
// The 6 bits that a character stands for; -1 when it stands for none.
int base64_value(uint8_t c);
