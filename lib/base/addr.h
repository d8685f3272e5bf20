// SPDX-License-Identifier: BSD-3-Clause
// One value type for IPv4 and IPv6 addresses, so that every table, list and comparison has one code
// path. PURE: nothing here allocates, logs, or reads a clock.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __SSE4_1__
#include <smmintrin.h>
#endif

// An IP address in network byte order. IPv4 is held as ::ffff:a.b.c.d; such an IPv6 address is
// never valid on a wire, so the two cannot be confused. All 16 bytes are always set, so addresses
// may be compared byte by byte.
struct addr {
	union {
		uint8_t b[16];
		uint32_t w[4]; // network byte order; an IPv4 address is w[3]
		uint64_t d[2];
	};
};

// A transport address. The port is in host byte order.
struct endpoint {
	struct addr addr;
	uint16_t port;
};

// A prefix over the 128-bit form: IPv4 10.0.0.0/8 has len 104. Host bits are zero.
struct prefix {
	struct addr addr;
	uint8_t len;
};

// Inclusive range of addresses of one family.
struct addr_range {
	struct addr lo, hi;
};

// Class of an address by its bits, independent of any policy. ADDR_UNICAST is everything else.
enum addr_class {
	ADDR_UNICAST,
	ADDR_UNSPECIFIED, // 0.0.0.0/8, ::
	ADDR_LOOPBACK, // 127.0.0.0/8, ::1
	ADDR_LINK_LOCAL, // 169.254.0.0/16, fe80::/10, fec0::/10 (site-local)
	ADDR_MULTICAST, // 224.0.0.0/4, ff00::/8
	ADDR_RESERVED, // 240.0.0.0/4 with 255.255.255.255
	ADDR_TRANSITION, // Teredo 2001::/32, 6to4 2002::/16, ISATAP, 64:ff9b:1::/48
};

#define ADDR_TEXT_LEN 46 // longest text form, with its NUL

// Make an address from its 4 (addr_from_v6: 16) bytes in a packet, at any alignment. addr_from_v6
// does not change an IPv4-mapped address: the result then counts as IPv4.
static inline struct addr addr_from_v4(const void *be4)
{
	uint32_t v4;

	memcpy(&v4, be4, 4);
	// built from whole words (the CPU is little-endian): byte stores would stall a comparison
	// that follows soon
	return (struct addr){.d = {0, (uint64_t)v4 << 32 | 0xffff0000}};
}

static inline struct addr addr_from_v6(const void *be16)
{
	struct addr a;

	memcpy(&a, be16, 16);
	return a;
}

// Like addr_from_v4, for an address that is only stored.
static inline void addr_store_v4(struct addr *dst, const void *be4)
{
#ifdef __SSE4_1__
	const __m128i mapped = _mm_set_epi32(0, (int)0xffff0000, 0, 0);
	int v4;

	memcpy(&v4, be4, 4);
	_mm_storeu_si128((__m128i *)dst, _mm_insert_epi32(mapped, v4, 3));
#else
	*dst = addr_from_v4(be4);
#endif
}

static inline bool addr_eq(const struct addr *a, const struct addr *b)
{
	return ((a->d[0] ^ b->d[0]) | (a->d[1] ^ b->d[1])) == 0;
}

// Like addr_eq, for two addresses in memory.
static inline bool addr_eq_stored(const struct addr *a, const struct addr *b)
{
#ifdef __SSE4_1__
	const __m128i differs = _mm_xor_si128(
		_mm_loadu_si128((const __m128i *)a), _mm_loadu_si128((const __m128i *)b));

	return _mm_testz_si128(differs, differs) != 0;
#else
	return addr_eq(a, b);
#endif
}

// True if the address is IPv4, that is, in ::ffff:0:0/96.
static inline bool addr_is_v4(const struct addr *a)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	return memcmp(a->b, mapped, 12) == 0;
}

// Returns the part of an address that identifies a host: for IPv6 the /64, because one host can use
// all of it. The rest is zero.
static inline struct addr addr_source(const struct addr *a)
{
	return addr_is_v4(a) ? *a : (struct addr){.d = {a->d[0], 0}};
}

// Returns the part of an address that identifies a site: for IPv6 the /48, which has 65,536 /64s.
static inline struct addr addr_network(const struct addr *a)
{
	struct addr network = addr_source(a);

	if (!addr_is_v4(a))
		network.b[6] = network.b[7] = 0;
	return network;
}

static inline bool endpoint_eq(const struct endpoint *a, const struct endpoint *b)
{
	return addr_eq(&a->addr, &b->addr) && a->port == b->port;
}

// Returns the canonical form of a peer's address for policy, permissions and channels (RFC 8656
// section 21.4 and the lessons of CVE-2020-26262 and CVE-2026-27624). IPv4-mapped, IPv4-compatible
// (but not :: and ::1) and NAT64 64:ff9b::/96 addresses become the IPv4 address that they contain;
// every other address is returned unchanged. Idempotent.
struct addr addr_canonical(struct addr a);

// True if p can be the prefix of a NAT64 translator: it is IPv6, has one of the lengths of RFC 6052
// section 2.2 (32, 40, 48, 56, 64, 96) and no bit set from 64 to 71.
bool addr_nat64_prefix(const struct prefix *p);
// Writes to *v4 the IPv4 address that *a contains for the translator with prefix *p (RFC 6052
// section 2.2); ignores the bits after it. False if *a is not under that prefix.
bool addr_nat64(const struct prefix *p, const struct addr *a, struct addr *v4);

// Returns the class of an address that addr_canonical has returned.
enum addr_class addr_class(const struct addr *a);

// Text to address; no brackets, ports, zones or surrounding blanks. Returns 0, or -EINVAL with *out
// unchanged.
int addr_parse(const char *text, struct addr *out);
// Address to text (RFC 5952 for IPv6). len, the size of buf, is at least ADDR_TEXT_LEN. Returns
// buf.
char *addr_format(const struct addr *a, char *buf, size_t len);
// "a.b.c.d:port" or "[v6]:port". len, the size of buf, is at least ADDR_TEXT_LEN + 8. Returns buf.
char *addr_format_endpoint(const struct endpoint *e, char *buf, size_t len);

// Compares as 128-bit numbers: -1, 0 or 1.
int addr_cmp(const struct addr *a, const struct addr *b);

// Reads "addr/len" or "addr" (a host prefix). The length counts in the notation used: "10.0.0.0/8"
// gives len 104. Returns 0, or -EINVAL if the text is malformed or host bits are set.
int addr_prefix_parse(const char *text, struct prefix *out);
// True if the address is under the prefix. An IPv6 prefix never contains an IPv4 address, not even
// ::/0.
bool addr_prefix_contains(const struct prefix *p, const struct addr *a);
// Returns the prefix of len bits (of the 128-bit form) that contains an address.
struct prefix addr_prefix_at(const struct addr *a, uint8_t len);
// Returns the first and last address of a prefix.
struct addr_range addr_prefix_range(const struct prefix *p);

// Reads "a", "a-b" (same family, a <= b) or a prefix. Returns 0 or -EINVAL.
int addr_range_parse(const char *text, struct addr_range *out);
// Splits a range into the smallest set of prefixes that covers exactly it. Returns their number (at
// most 254) and writes at most max of them, in ascending order.
unsigned int addr_range_prefixes(const struct addr_range *r, struct prefix *out, unsigned int max);
// Returns the address after a. Undefined for the all-ones address.
struct addr addr_next(const struct addr *a);
