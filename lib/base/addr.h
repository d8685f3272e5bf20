// SPDX-License-Identifier: BSD-3-Clause
// One value type for IPv4 and IPv6 addresses, so that every table, list and compare has one path.
// PURE: nothing here allocates, logs, or reads a clock.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

// An IP address in network byte order; IPv4 is held as ::ffff:a.b.c.d. Such an IPv6 address is
// never valid on a wire, so the two cannot be confused. All bytes are always set: compare freely.
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

// What an address is by its bits alone, whatever a policy says of it. ADDR_UNICAST is the rest.
enum addr_class {
	ADDR_UNICAST,
	ADDR_UNSPECIFIED, // 0.0.0.0/8, ::
	ADDR_LOOPBACK, // 127.0.0.0/8, ::1
	ADDR_LINK_LOCAL, // 169.254.0.0/16, fe80::/10, fec0::/10 (site-local)
	ADDR_MULTICAST, // 224.0.0.0/4, ff00::/8
	ADDR_RESERVED, // 240.0.0.0/4 with 255.255.255.255
	ADDR_TRANSITION, // Teredo 2001::/32, 6to4 2002::/16, ISATAP, 64:ff9b:1::/48
};

#define ADDR_TEXT_LEN 46 // longest text form with its NUL

static inline struct addr addr_from_v4(const void *be4)
{
	uint32_t v4;

	memcpy(&v4, be4, 4);
	// whole words (of a little-endian CPU): byte stores would stall a compare that soon follows
	return (struct addr){.d = {0, (uint64_t)v4 << 32 | 0xffff0000}};
}

static inline struct addr addr_from_v6(const void *be16)
{
	struct addr a;

	memcpy(&a, be16, 16);
	return a;
}

static inline bool addr_eq(const struct addr *a, const struct addr *b)
{
	return ((a->d[0] ^ b->d[0]) | (a->d[1] ^ b->d[1])) == 0;
}

static inline bool addr_is_v4(const struct addr *a)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	return memcmp(a->b, mapped, 12) == 0;
}

static inline bool endpoint_eq(const struct endpoint *a, const struct endpoint *b)
{
	return addr_eq(&a->addr, &b->addr) && a->port == b->port;
}

// The one form in which policy, permissions and channels see a peer (RFC 8656 section 21.4 and the
// lessons of CVE-2020-26262 and CVE-2026-27624): IPv4-mapped, IPv4-compatible (but not :: and ::1)
// and NAT64 64:ff9b::/96 become the IPv4 address they carry; all else is returned as it is.
// Idempotent.
struct addr addr_canonical(struct addr a);

// The prefix of a translator of its own has one of these lengths and no bit set from 64 to 71 (RFC
// 6052 section 2.2).
bool addr_nat64_prefix(const struct prefix *p);
// The IPv4 address that an IPv6 address carries for the translator that has the prefix; what is
// behind it does not count. False: the address is not under that prefix.
bool addr_nat64(const struct prefix *p, const struct addr *a, struct addr *v4);

// Class of a canonical address.
enum addr_class addr_class(const struct addr *a);

// Text to address; no brackets, ports, zones or surrounding blanks. 0 or -EINVAL.
int addr_parse(const char *text, struct addr *out);
// Address to text (RFC 5952 for IPv6). buf holds at least ADDR_TEXT_LEN; returns buf.
char *addr_format(const struct addr *a, char *buf, size_t len);
// "a.b.c.d:port" or "[v6]:port"; buf holds at least ADDR_TEXT_LEN + 8; returns buf.
char *endpoint_format(const struct endpoint *e, char *buf, size_t len);

// -1, 0, 1 in the order of the 128-bit number.
int addr_cmp(const struct addr *a, const struct addr *b);

// "addr/len" or "addr" (a host prefix). -EINVAL when malformed or when host bits are set.
int prefix_parse(const char *text, struct prefix *out);
// An IPv6 prefix never contains an IPv4 address, ::/0 included.
bool prefix_contains(const struct prefix *p, const struct addr *a);
// First and last address of a prefix.
struct addr_range prefix_range(const struct prefix *p);

// "a", "a-b" (same family, a <= b) or a prefix. 0 or -EINVAL.
int addr_range_parse(const char *text, struct addr_range *out);
// Smallest set of prefixes that is the range. Returns their number (at most 254), writes at most
// max.
unsigned int addr_range_prefixes(const struct addr_range *r, struct prefix *out, unsigned int max);
// Next address after a. Undefined on the all-ones address.
struct addr addr_next(const struct addr *a);
