// SPDX-License-Identifier: BSD-3-Clause
// Addresses, prefixes and endpoints: conversion from and to text, classes of addresses, comparison.
#include "addr.h"
#include "bytes.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

// An IPv4 address begins here in the 128-bit form.
#define V4_BITS 96

typedef unsigned __int128 u128;

static u128 to_number(const struct addr *a)
{
	return (u128)load_be64(a->b) << 64 | load_be64(a->b + 8);
}

static struct addr from_number(u128 v)
{
	struct addr a;

	store_be64(a.b, (uint64_t)(v >> 64));
	store_be64(a.b + 8, (uint64_t)v);
	return a;
}

// Returns a number with the low n bits set.
static u128 low_bits(unsigned int n)
{
	return n >= 128 ? ~(u128)0 : ((u128)1 << n) - 1;
}

struct addr addr_canonical(struct addr a)
{
	static const uint8_t compatible[12];
	// RFC 6052 section 2.1. The local-use prefix 64:ff9b:1::/48 of RFC 8215 has no fixed place
	// for the IPv4 address: such an address stays unchanged and gets class ADDR_TRANSITION
	static const uint8_t nat64[12] = {0x00, 0x64, 0xff, 0x9b};

	if (memcmp(a.b, nat64, 12) == 0)
		return addr_from_v4(a.b + 12);
	if (memcmp(a.b, compatible, 12) == 0 && load_be32(a.b + 12) > 1)
		return addr_from_v4(a.b + 12);
	return a;
}

#define NAT64_ZERO 8 // byte that is zero by RFC 6052 section 2.2: no part of the IPv4 address

bool addr_nat64_prefix(const struct prefix *p)
{
	if (addr_is_v4(&p->addr) || p->addr.b[NAT64_ZERO] != 0)
		return false;
	return p->len == 96 || (p->len >= 32 && p->len <= 64 && p->len % 8 == 0);
}

bool addr_nat64(const struct prefix *p, const struct addr *a, struct addr *v4)
{
	unsigned int pos = p->len / 8u;
	uint8_t carried[4];

	if (!addr_prefix_contains(p, a))
		return false;
	for (unsigned int i = 0; i < 4; i++) {
		pos += pos == NAT64_ZERO;
		carried[i] = a->b[pos++];
	}
	*v4 = addr_from_v4(carried);
	return true;
}

static enum addr_class class_of_v4(const uint8_t v4[4])
{
	if (v4[0] == 0)
		return ADDR_UNSPECIFIED;
	if (v4[0] == 127)
		return ADDR_LOOPBACK;
	if (v4[0] == 169 && v4[1] == 254)
		return ADDR_LINK_LOCAL;
	if (v4[0] >= 240)
		return ADDR_RESERVED;
	return v4[0] >= 224 ? ADDR_MULTICAST : ADDR_UNICAST;
}

enum addr_class addr_class(const struct addr *a)
{
	const uint64_t hi = load_be64(a->b), lo = load_be64(a->b + 8);

	if (addr_is_v4(a))
		return class_of_v4(a->b + 12);
	if (hi == 0 && lo <= 1)
		return lo == 0 ? ADDR_UNSPECIFIED : ADDR_LOOPBACK;
	if (a->b[0] == 0xff)
		return ADDR_MULTICAST;
	// ISATAP (RFC 5214 section 6.1): the universal bit of the interface identifier may be set.
	// It is tested before link-local, because an operator who allows fe80::/10 has not allowed
	// a tunnel
	if ((lo >> 32 & ~0x02000000ull) == 0x5efe)
		return ADDR_TRANSITION;
	// fe80::/10, and the deprecated fec0::/10 (RFC 3879)
	if (a->b[0] == 0xfe && a->b[1] >= 0x80)
		return ADDR_LINK_LOCAL;
	if (hi >> 32 == 0x20010000 || hi >> 48 == 0x2002 || hi >> 16 == 0x0064ff9b0001)
		return ADDR_TRANSITION;
	return ADDR_UNICAST;
}

int addr_parse(const char *text, struct addr *out)
{
	uint8_t wire[16];

	if (inet_pton(AF_INET, text, wire) == 1)
		*out = addr_from_v4(wire);
	else if (inet_pton(AF_INET6, text, wire) == 1)
		*out = addr_from_v6(wire);
	else
		return -EINVAL;
	return 0;
}

char *addr_format(const struct addr *a, char *buf, size_t len)
{
	const char *text;

	if (addr_is_v4(a))
		text = inet_ntop(AF_INET, a->b + 12, buf, (socklen_t)len);
	else
		text = inet_ntop(AF_INET6, a->b, buf, (socklen_t)len);
	if (text == NULL && len > 0)
		buf[0] = '\0';
	return buf;
}

char *addr_format_endpoint(const struct endpoint *e, char *buf, size_t len)
{
	char text[ADDR_TEXT_LEN];

	addr_format(&e->addr, text, sizeof(text));
	snprintf(buf, len, addr_is_v4(&e->addr) ? "%s:%u" : "[%s]:%u", text, e->port);
	return buf;
}

int addr_cmp(const struct addr *a, const struct addr *b)
{
	const int diff = memcmp(a->b, b->b, sizeof(a->b));

	return (diff > 0) - (diff < 0);
}

struct addr addr_next(const struct addr *a)
{
	return from_number(to_number(a) + 1);
}

// Copies text up to its end or to stop, whichever comes first. -EINVAL if it is too long for an
// address.
static int copy_addr(const char *text, const char *stop, char out[ADDR_TEXT_LEN])
{
	const size_t len = stop != NULL ? (size_t)(stop - text) : strlen(text);

	if (len >= ADDR_TEXT_LEN)
		return -EINVAL;
	memcpy(out, text, len);
	out[len] = '\0';
	return 0;
}

// Reads one to three digits up to the end of text, a number of at most max; -EINVAL for any other
// text.
static int parse_len(const char *text, int max)
{
	const size_t digits = strspn(text, "0123456789");
	int len;

	if (digits == 0 || digits > 3 || text[digits] != '\0')
		return -EINVAL;
	len = atoi(text);
	return len <= max ? len : -EINVAL;
}

int addr_prefix_parse(const char *text, struct prefix *out)
{
	const char *slash = strchr(text, '/');
	char host[ADDR_TEXT_LEN];
	struct prefix p;
	int len = 128;

	if (copy_addr(text, slash, host) != 0 || addr_parse(host, &p.addr) != 0)
		return -EINVAL;
	if (slash != NULL) {
		// the length counts in the notation used: ::ffff:10.0.0.0/104 is 10.0.0.0/8
		const int base = strchr(host, ':') == NULL ? V4_BITS : 0;

		len = parse_len(slash + 1, 128 - base);
		if (len < 0)
			return -EINVAL;
		len += base;
	}
	if ((to_number(&p.addr) & low_bits(128 - (unsigned int)len)) != 0)
		return -EINVAL;
	p.len = (uint8_t)len;
	*out = p;
	return 0;
}

bool addr_prefix_contains(const struct prefix *p, const struct addr *a)
{
	// ::/0 is all IPv6 addresses; only the 128-bit form makes IPv4 addresses appear to be in it
	if (p->len < V4_BITS && addr_is_v4(a))
		return false;
	return ((to_number(a) ^ to_number(&p->addr)) & ~low_bits(128u - p->len)) == 0;
}

struct prefix addr_prefix_at(const struct addr *a, uint8_t len)
{
	return (struct prefix){
		.addr = from_number(to_number(a) & ~low_bits(128u - len)), .len = len};
}

struct addr_range addr_prefix_range(const struct prefix *p)
{
	return (struct addr_range){
		.lo = p->addr, .hi = from_number(to_number(&p->addr) | low_bits(128u - p->len))};
}

int addr_range_parse(const char *text, struct addr_range *out)
{
	const char *dash = strchr(text, '-');
	struct addr_range r;
	struct prefix p;
	char lo[ADDR_TEXT_LEN];

	if (dash == NULL) {
		if (addr_prefix_parse(text, &p) != 0)
			return -EINVAL;
		*out = addr_prefix_range(&p);
		return 0;
	}
	if (copy_addr(text, dash, lo) != 0 || addr_parse(lo, &r.lo) != 0 ||
		addr_parse(dash + 1, &r.hi) != 0)
		return -EINVAL;
	if (addr_is_v4(&r.lo) != addr_is_v4(&r.hi) || addr_cmp(&r.lo, &r.hi) > 0)
		return -EINVAL;
	*out = r;
	return 0;
}

static unsigned int trailing_zeros(u128 v)
{
	if (v == 0)
		return 128;
	if ((uint64_t)v != 0)
		return (unsigned int)__builtin_ctzll((uint64_t)v);
	return 64 + (unsigned int)__builtin_ctzll((uint64_t)(v >> 64));
}

unsigned int addr_range_prefixes(const struct addr_range *r, struct prefix *out, unsigned int max)
{
	const u128 hi = to_number(&r->hi);
	u128 lo = to_number(&r->lo);
	unsigned int n = 0;

	// each step takes the largest aligned block that begins at lo and ends at or before hi
	while (lo <= hi) {
		unsigned int host = trailing_zeros(lo);

		while ((lo | low_bits(host)) > hi)
			host--;
		if (n < max)
			out[n] = (struct prefix){from_number(lo), (uint8_t)(128 - host)};
		n++;
		lo |= low_bits(host);
		if (lo == hi)
			break;
		lo++;
	}
	return n;
}
