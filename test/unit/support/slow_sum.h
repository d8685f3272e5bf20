// SPDX-License-Identifier: BSD-3-Clause
// The Internet checksum (RFC 1071) as slowly and plainly as it can be had, apart from lib/net.
#pragma once

#include <stddef.h>
#include <stdint.h>

// Ones' complement sum of big-endian words, not inverted, added to sum. An odd last byte is padded
// with zero.
uint16_t slow_sum(uint32_t sum, const uint8_t *p, size_t len);
