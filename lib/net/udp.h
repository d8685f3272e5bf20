// SPDX-License-Identifier: BSD-3-Clause
// Recognizes plain frames inline: untagged, unicast to us, without padding, IPv4 without options or
// IPv6 without extension headers, a whole UDP datagram with a checksum, with correct lengths and
// checksums. It does not check addresses and ports: net_frame_parse does that, and also finds the
// faults of other frames. PURE.
#pragma once

#ifdef __SSE4_1__
#include <smmintrin.h>
#endif

#include "bytes.h"
#include "net.h"

// Folds a one's complement sum of words in memory order to 16 bits: 0 only for 0. The byte order
// does not matter to a sum that is compared with all ones or stored back unchanged (RFC 1071 2.B).
// Adding the sum to itself with its halves exchanged leaves the sum of both halves, with the carry
// of the lower half, in the upper half.
static inline uint16_t udp_fold32(uint32_t sum)
{
	return (uint16_t)((sum + (sum << 16 | sum >> 16)) >> 16);
}

// Like udp_fold32, for a 64-bit sum.
static inline uint16_t udp_fold(uint64_t sum)
{
	return udp_fold32((uint32_t)((sum + (sum << 32 | sum >> 32)) >> 32));
}

// True if a non-zero sum folds to all ones, like the sum of words with a correct checksum. Such a
// sum is a multiple of 65535, and multiples are the numbers whose product with the inverse of 65535
// is small.
static inline bool udp_sum_is_good(uint64_t sum)
{
	return sum * UINT64_C(0xfffefffefffeffff) <= UINT64_MAX / 0xffff;
}

static inline uint64_t udp_add(uint64_t sum, uint64_t v)
{
#ifdef __x86_64__
	__asm__("addq %[v], %[sum]\n\tadcq $0, %[sum]" : [sum] "+r"(sum) : [v] "rm"(v) : "cc");
	return sum;
#else
	sum += v;
	return sum + (sum < v);
#endif
}

static inline uint64_t udp_sum3(uint64_t a, uint64_t b, uint64_t c)
{
#ifdef __x86_64__
	__asm__("addq %[b], %[a]\n\tadcq %[c], %[a]\n\tadcq $0, %[a]"
		: [a] "+r"(a)
		: [b] "rm"(b), [c] "rm"(c)
		: "cc");
	return a;
#else
	return udp_add(udp_add(a, b), c);
#endif
}

static inline uint64_t udp_sum4(uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
#ifdef __x86_64__
	__asm__("addq %[b], %[a]\n\tadcq %[c], %[a]\n\tadcq %[d], %[a]\n\tadcq $0, %[a]"
		: [a] "+r"(a)
		: [b] "rm"(b), [c] "rm"(c), [d] "rm"(d)
		: "cc");
	return a;
#else
	return udp_add(udp_add(udp_add(a, b), c), d);
#endif
}

// Adds 32 bytes with four additions and one carry; gcc would generate twice as many instructions.
static inline uint64_t udp_sum32(uint64_t sum, const uint8_t *p)
{
#ifdef __x86_64__
	__asm__("addq %[a], %[sum]\n\tadcq %[b], %[sum]\n\tadcq %[c], %[sum]\n\t"
		"adcq %[d], %[sum]\n\tadcq $0, %[sum]"
		: [sum] "+r"(sum)
		: [a] "m"(*(const uint64_t(*)[1])p), [b] "m"(*(const uint64_t(*)[1])(p + 8)),
		[c] "m"(*(const uint64_t(*)[1])(p + 16)), [d] "m"(*(const uint64_t(*)[1])(p + 24))
		: "cc");
	return sum;
#else
	sum = udp_add(udp_add(sum, load_raw64(p)), load_raw64(p + 8));
	return udp_add(udp_add(sum, load_raw64(p + 16)), load_raw64(p + 24));
#endif
}

// Adds a number and len bytes at p, padded with zeros to a multiple of 8; len >= 8.
static inline uint64_t udp_sum_plain(uint64_t sum, uint64_t more, const uint8_t *p, size_t len)
{
	const uint8_t *const end = p + len;

	sum = udp_add(sum, more);
	for (size_t nb = len / 64; nb > 0; p += 64, nb--)
		sum = udp_sum32(udp_sum32(sum, p), p + 32);
	if (len & 32) {
		sum = udp_sum32(sum, p);
		p += 32;
	}
	if (len & 16) {
		sum = udp_sum3(sum, load_raw64(p), load_raw64(p + 8));
		p += 16;
	}
	if (len & 8)
		sum = udp_add(sum, load_raw64(p));
	if (len & 7)
		sum = udp_add(sum, load_raw64(end - 8) >> (-8 * len & 63));
	return sum;
}

// Like udp_sum_plain, in assembly. The carry is kept from block to block (neither lea nor dec
// change it), and gcc cannot move values to other registers in between. clang does not support the
// memory operand of unknown size.
static inline uint64_t udp_sum(uint64_t sum, uint64_t more, const uint8_t *p, size_t len)
{
#if defined(__x86_64__) && !defined(__clang__)
	size_t nb = len / 64;
	const uint8_t *ptr = p;

	__asm__("addq %[more], %[sum]\n\tjrcxz 2f\n"
		"1:\tadcq (%[ptr]), %[sum]\n\tadcq 8(%[ptr]), %[sum]\n\t"
		"adcq 16(%[ptr]), %[sum]\n\tadcq 24(%[ptr]), %[sum]\n\t"
		"adcq 32(%[ptr]), %[sum]\n\tadcq 40(%[ptr]), %[sum]\n\t"
		"adcq 48(%[ptr]), %[sum]\n\tadcq 56(%[ptr]), %[sum]\n\t"
		"leaq 64(%[ptr]), %[ptr]\n\tdecq %[nb]\n\tjnz 1b\n"
		"2:\tadcq $0, %[sum]\n\ttestb $32, %b[len]\n\tjz 3f\n\t"
		"addq (%[ptr]), %[sum]\n\tadcq 8(%[ptr]), %[sum]\n\t"
		"adcq 16(%[ptr]), %[sum]\n\tadcq 24(%[ptr]), %[sum]\n\t"
		"adcq $0, %[sum]\n\taddq $32, %[ptr]\n"
		"3:\ttestb $16, %b[len]\n\tjz 4f\n\t"
		"addq (%[ptr]), %[sum]\n\tadcq 8(%[ptr]), %[sum]\n\t"
		"adcq $0, %[sum]\n\taddq $16, %[ptr]\n"
		"4:\ttestb $8, %b[len]\n\tjz 5f\n\t"
		"addq (%[ptr]), %[sum]\n\tadcq $0, %[sum]\n\taddq $8, %[ptr]\n"
		"5:\tmovl %k[len], %k[nb]\n\tandl $7, %k[nb]\n\tjz 6f\n\t"
		"movq -8(%[ptr],%[nb]), %[ptr]\n\tshll $3, %k[nb]\n\tnegl %k[nb]\n\t"
		"shrq %b[nb], %[ptr]\n\taddq %[ptr], %[sum]\n\tadcq $0, %[sum]\n"
		"6:"
		: [sum] "+&r"(sum), [ptr] "+&r"(ptr), [nb] "+&c"(nb)
		: [more] "er"(more), [len] "r"(len), "m"(*(const uint8_t(*)[])p)
		: "cc");
	return sum;
#else
	return udp_sum_plain(sum, more, p, len);
#endif
}

// True if an IPv4 address with this first byte is "this network", loopback, multicast, reserved or
// broadcast: invalid as a source (RFC 1122 section 3.2.1.3), and as the destination of a relay.
static inline bool udp_martian4(uint32_t first_byte)
{
	return first_byte == 0 || first_byte == 127 || first_byte >= 224;
}

// Expected values of the first 32 bytes of a frame, by family, and masks of the bits to compare.
struct net_udp_rules {
	struct {
		uint8_t value[32], mask[32];
	} __attribute__((aligned(16))) v4, v6;
};

// Makes the rules for frames to this MAC (frame.c). With a VLAN no frame matches.
void net_udp_rules_init(struct net_udp_rules *r, const struct net_rx *rx);

// True if data matches. value must be zero outside the mask.
static inline bool udp_masked_eq(const uint8_t *data, const uint8_t *value, const uint8_t *mask)
{
#ifdef __SSE4_1__
	const __m128i *d = (const __m128i *)data, *v = (const __m128i *)value,
		      *m = (const __m128i *)mask;
	const __m128i a = _mm_xor_si128(_mm_and_si128(_mm_loadu_si128(d), m[0]), v[0]);
	const __m128i b = _mm_xor_si128(_mm_and_si128(_mm_loadu_si128(d + 1), m[1]), v[1]);
	const __m128i differs = _mm_or_si128(a, b);

	return _mm_testz_si128(differs, differs) != 0;
#else
	uint64_t differs = 0;

	for (unsigned int i = 0; i < 32; i += 8)
		differs |= (load_raw64(data + i) & load_raw64(mask + i)) ^ load_raw64(value + i);
	return differs == 0;
#endif
}

// True if the UDP checksum is correct. The addresses, addrs_len bytes, precede the UDP header,
// whose length was checked.
static inline bool udp_sum_right(const uint8_t *udp, uint32_t addrs_len, uint32_t l4_len)
{
	return udp_sum_is_good(
		udp_sum(load_raw16(udp + 4), 17 << 8, udp - addrs_len, addrs_len + l4_len));
}

// Returns the UDP header as a number: from the top, 16 bits each of source port, destination port,
// length and checksum.
static inline uint64_t udp_head(const uint8_t *udp)
{
	return __builtin_bswap64(load_raw64(udp));
}

// True if the UDP header has this length, and a checksum (RFC 768, RFC 8200 section 8.1).
static inline bool udp_len_right(const uint8_t *udp, uint32_t l4_len)
{
	const uint64_t head = udp_head(udp);

	return (uint16_t)head != 0 && (uint16_t)(head >> 16) == (uint16_t)l4_len;
}

// Returns the UDP length, header included, of a frame of len >= 42 bytes that matches rules.v4, or
// 0 if the frame is not a plain one. ip_good, l4_good: the port has verified these checksums.
static inline uint32_t net_udp_scan4(const uint8_t *data, size_t len, bool ip_good, bool l4_good)
{
	const uint8_t *ip = data + NET_ETH_LEN, *udp = ip + NET_IP4_LEN;
	const uint32_t total = (uint32_t)len - NET_ETH_LEN, l4_len = total - NET_IP4_LEN;

	if (load_raw16(ip + 2) != __builtin_bswap16((uint16_t)total) || total > UINT16_MAX ||
		!udp_len_right(udp, l4_len))
		return 0;
	if (__builtin_expect(ip_good && l4_good, 1))
		return l4_len;
	if (!ip_good &&
		!udp_sum_is_good(udp_sum3(load_raw64(ip), load_raw64(ip + 8), load_raw32(ip + 16))))
		return 0;
	return l4_good || udp_sum_right(udp, 8, l4_len) ? l4_len : 0;
}

// Like net_udp_scan4, for a frame that matches rules.v6.
static inline uint32_t net_udp_scan6(const uint8_t *data, size_t len, bool l4_good)
{
	const uint8_t *ip = data + NET_ETH_LEN, *udp = ip + NET_IP6_LEN;
	const uint32_t headers = NET_ETH_LEN + NET_IP6_LEN, l4_len = (uint32_t)len - headers;

	if (len < headers + NET_UDP_LEN || len > headers + UINT16_MAX ||
		!udp_len_right(udp, l4_len) || load_raw16(ip + 4) != load_raw16(udp + 4))
		return 0;
	return l4_good || udp_sum_right(udp, 32, l4_len) ? l4_len : 0;
}
