// SPDX-License-Identifier: BSD-3-Clause
// Constants of the wire formats, and header writers that several files of lib/net share.
#pragma once

#include "bytes.h"
#include "net.h"
#include "udp.h"

#define ICMP_ECHO_REPLY 0
#define ICMP_UNREACHABLE 3
#define ICMP_FRAGMENTATION_NEEDED 4 // code of ICMP_UNREACHABLE
#define ICMP_ECHO_REQUEST 8
#define ICMP_TIME_EXCEEDED 11
#define ICMP6_UNREACHABLE 1
#define ICMP6_TOO_BIG 2
#define ICMP6_TIME_EXCEEDED 3
#define ICMP6_ECHO_REQUEST 128
#define ICMP6_ECHO_REPLY 129
#define ICMP6_NEIGHBOR_SOLICITATION 135
#define ICMP6_NEIGHBOR_ADVERTISEMENT 136

#define ICMP_HEADER_LEN 8

// TTL of packets that we originate. ND messages must have 255 (RFC 4861 section 7.1).
#define TTL_DEFAULT 64
#define TTL_ND 255

// See csum_addrs. The 12 bytes before an IPv4 address add up to 0xffff, which is zero in one's
// complement, so both families use the same code.
static inline uint32_t addrs_sum(const struct addr *src, const struct addr *dst)
{
	const uint64_t s = udp_add(src->d[0], src->d[1]), d = udp_add(dst->d[0], dst->d[1]);

	return __builtin_bswap16(udp_fold(udp_add(s, d)));
}

// Sum of the 20 bytes of an IPv4 header without options, in memory order.
static inline uint16_t ip4_header_sum(const uint8_t *ip)
{
	uint32_t w[5];

	memcpy(w, ip, sizeof(w));
	return udp_fold((uint64_t)w[0] + w[1] + w[2] + w[3] + w[4]);
}

// Computes the header checksum of an IPv4 header without options into its field.
static inline void ip4_write_checksum(uint8_t *ip)
{
	uint16_t checksum = 0;

	memcpy(ip + 10, &checksum, 2);
	checksum = (uint16_t)~ip4_header_sum(ip);
	memcpy(ip + 10, &checksum, 2);
}

// Writes the Ethernet header, tagged or not, and returns the position after it.
static inline uint8_t *eth_write(uint8_t *p, const struct net_l2 *l2, uint16_t ethertype)
{
	memcpy(p, l2->dst, 6);
	memcpy(p + 6, l2->src, 6);
	p += 12;
	if (l2->vlan != 0) {
		store_be16(p, NET_ETHERTYPE_VLAN);
		store_be16(p + 2, l2->vlan);
		p += NET_VLAN_LEN;
	}
	store_be16(p, ethertype);
	return p + 2;
}

// Fields of an IPv6 header other than its addresses.
struct ip6_fields {
	uint16_t payload_len;
	uint8_t tos, proto, ttl;
};

static inline uint8_t *ip6_write(
	uint8_t *p, struct ip6_fields fields, const struct addr *src, const struct addr *dst)
{
	// flow label 0: "not labelled" (RFC 6437 section 2)
	store_be32(p, 0x60000000u | (uint32_t)fields.tos << 20);
	store_be16(p + 4, fields.payload_len);
	p[6] = fields.proto;
	p[7] = fields.ttl;
	memcpy(p + 8, src->b, 16);
	memcpy(p + 24, dst->b, 16);
	return p + NET_IP6_LEN;
}

// Fills in the checksum field of an ICMPv6 message (RFC 4443 section 2.3).
static inline void icmp6_write_checksum(
	uint8_t *icmp, uint16_t len, const struct addr *src, const struct addr *dst)
{
	uint32_t sum = csum_addrs(src, dst) + len + NET_PROTO_ICMP6;

	store_be16(icmp + 2, 0);
	store_be16(icmp + 2, (uint16_t)~csum_fold(csum_add(sum, icmp, len)));
}
