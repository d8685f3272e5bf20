// SPDX-License-Identifier: BSD-3-Clause
// The internet checksum (RFC 1071) and its update (RFC 1624), in 64-bit words.
#include "net_int.h"

// Loads the last 0 to 7 bytes, padded with zeros, in memory order.
static inline uint64_t load_tail(const uint8_t *p, size_t len)
{
	uint64_t v = 0;
	uint32_t four;
	uint16_t two;

	if (len & 1)
		v = p[len - 1];
	if (len & 2) {
		memcpy(&two, p + (len & 4), 2);
		v = v << 16 | two;
	}
	if (len & 4) {
		memcpy(&four, p, 4);
		v = v << 32 | four;
	}
	return v;
}

// Words are summed in memory order and the result is swapped at the end (RFC 1071 section 2.B).
// There are four sums, because the additions to one sum wait for each other's carry.
uint32_t csum_add(uint32_t sum, const void *data, size_t len)
{
	const uint8_t *p = data;
	uint64_t a = 0, b = 0, c = 0, d = 0;

	for (; len >= 32; p += 32, len -= 32) {
		a = udp_add(a, load_raw64(p));
		b = udp_add(b, load_raw64(p + 8));
		c = udp_add(c, load_raw64(p + 16));
		d = udp_add(d, load_raw64(p + 24));
	}
	if (len & 16) {
		a = udp_add(a, load_raw64(p));
		b = udp_add(b, load_raw64(p + 8));
		p += 16;
	}
	if (len & 8) {
		c = udp_add(c, load_raw64(p));
		p += 8;
	}
	d = udp_add(d, load_tail(p, len & 7));
	a = udp_add(udp_add(a, b), udp_add(c, d));
	sum = (sum & 0xffff) + (sum >> 16) + __builtin_bswap16(udp_fold(a));
	return (sum & 0xffff) + (sum >> 16);
}

uint32_t csum_addrs(const struct addr *src, const struct addr *dst)
{
	return addrs_sum(src, dst);
}

uint16_t csum_udp(
	const struct addr *src, const struct addr *dst, const uint8_t *udp, uint16_t udp_len)
{
	uint32_t sum = addrs_sum(src, dst) + NET_PROTO_UDP + udp_len;
	uint16_t checksum;

	sum += (uint32_t)load_be16(udp) + load_be16(udp + 2) + load_be16(udp + 4);
	sum = csum_add(sum, udp + NET_UDP_LEN, udp_len - (size_t)NET_UDP_LEN);
	checksum = (uint16_t)~csum_fold(sum);
	return checksum != 0 ? checksum : 0xffff; // 0 means "no checksum" (RFC 768)
}
