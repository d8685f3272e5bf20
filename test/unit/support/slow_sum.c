// SPDX-License-Identifier: BSD-3-Clause
// The Internet checksum byte by byte; each carry is added at once.
#include "slow_sum.h"

uint16_t slow_sum(uint32_t sum, const uint8_t *p, size_t len)
{
	sum = (sum & 0xffff) + (sum >> 16);
	for (size_t i = 0; i < len; i++) {
		sum += i % 2 == 0 ? (uint32_t)p[i] << 8 : p[i];
		sum = (sum & 0xffff) + (sum >> 16);
	}
	return (uint16_t)sum;
}
