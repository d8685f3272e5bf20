// SPDX-License-Identifier: BSD-3-Clause
// The Internet checksum (RFC 1071), slow and simple, independent of lib/net.
#pragma once

#include <stddef.h>
#include <stdint.h>

// Adds the ones' complement sum of len bytes, as big-endian words, to sum; the result is not
// inverted. An odd last byte is padded with zero.
uint16_t slow_sum(uint32_t sum, const uint8_t *p, size_t len);
