// SPDX-License-Identifier: BSD-3-Clause
// ICMP errors about UDP datagrams (RFC 792, RFC 4443). PURE.
#pragma once

#include "net.h"

// An ICMP error, with the quoted fields of the datagram that caused it.
struct net_icmp_error {
	struct endpoint src, dst; // of that datagram; ports in host order
	uint32_t len; // bytes of its IP packet, or of the quoted fragment
	uint32_t mtu; // too_big: of the next hop; 0 = unknown (RFC 1191 section 5)
	uint8_t type, code;
	bool too_big; // fragmentation needed and DF set, or Packet Too Big
};

// True if a parsed frame, with its ICMP message at icmp, is an error of the types in RFC 8656
// section 11.5: ICMPv4 types 3 and 11, ICMPv6 types 1, 2 and 3.
bool net_icmp_error_is(const struct net_frame *f, const uint8_t *icmp);
// Reads such an error. False if it quotes no UDP header, or a datagram that we cannot have sent:
// with IP options or extension headers other than Fragment, with contradictory lengths, with port
// 0, or over IPv6 without a checksum. Does not check the quoted addresses.
bool net_icmp_error_parse(
	const struct net_frame *f, const uint8_t *icmp, struct net_icmp_error *out);

// --- writing -------------------------------------------------------------------------------------

enum net_icmp_kind {
	NET_ICMP_PORT, // port unreachable
	NET_ICMP_TTL, // TTL or hop limit exceeded in transit
	NET_ICMP_TOO_BIG, // fragmentation needed and DF set, or Packet Too Big
};

// An error to send. mtu: for NET_ICMP_TOO_BIG; id: IPv4 identification.
struct net_icmp_report {
	enum net_icmp_kind kind;
	uint32_t mtu;
	uint16_t id;
};

// Bytes of the longest frame that net_icmp_error_write makes.
#define NET_ICMP_ERROR_MAX (NET_ETH_LEN + NET_VLAN_LEN + 1280)
// Writes the frame of an error about a received IP packet of len bytes, from its destination
// address to its source. Quotes as much of the packet as fits in 576 bytes (RFC 1812 section
// 4.3.2.3), or in 1280 with IPv6 (RFC 4443 section 3). The caller must check that an error may be
// sent. Returns the length of the frame; buf has NET_ICMP_ERROR_MAX bytes.
size_t net_icmp_error_write(uint8_t *buf, const struct net_l2 *l2, const uint8_t *packet,
	size_t len, const struct net_icmp_report *r);
