// SPDX-License-Identifier: BSD-3-Clause
// ICMP errors about UDP datagrams (RFC 792, RFC 4443). PURE.
#pragma once

#include "net.h"

// An error, and the datagram that it is about as far as it is quoted.
struct net_icmp_error {
	struct endpoint src, dst; // of that datagram; ports in host order
	uint32_t len; // bytes of its IP packet, or of the fragment that is quoted
	uint32_t mtu; // too_big: of the next hop; 0 = the router does not tell (RFC 1191 section 5)
	uint8_t type, code;
	bool too_big; // fragmentation needed and DF set, or Packet Too Big
};

// Whether a parsed frame, whose ICMP message is at icmp, is an error of the types that RFC 8656
// section 11.5 names: 3 and 11 of ICMPv4; 1, 2 and 3 of ICMPv6.
bool net_icmp_error_is(const struct net_frame *f, const uint8_t *icmp);
// Reads such an error. False when it quotes no UDP header, or a datagram that we cannot have sent:
// with IP options or extension headers other than Fragment, with lengths that contradict each
// other, with port 0, or over IPv6 without a checksum. The quoted addresses are not judged.
bool net_icmp_error_parse(
	const struct net_frame *f, const uint8_t *icmp, struct net_icmp_error *out);

// --- writing -------------------------------------------------------------------------------------

enum net_icmp_kind {
	NET_ICMP_PORT, // port unreachable
	NET_ICMP_TTL, // TTL or hop limit exceeded in transit
	NET_ICMP_TOO_BIG, // fragmentation needed and DF set, or Packet Too Big
};

// An error of ours. mtu: of NET_ICMP_TOO_BIG; id: IPv4 identification.
struct net_icmp_report {
	enum net_icmp_kind kind;
	uint32_t mtu;
	uint16_t id;
};

// Bytes of the longest frame that net_icmp_error_write makes.
#define NET_ICMP_ERROR_MAX (NET_ETH_LEN + NET_VLAN_LEN + 1280)
// Writes the frame of an error about an IP packet of len bytes that we have received: from the
// address that it was sent to, to its source. As much of it is quoted as fits 576 bytes (RFC 1812
// section 4.3.2.3), or 1280 with IPv6 (RFC 4443 section 3). Whether it may be reported at all is
// the caller's to know. Returns the length of the frame; buf holds NET_ICMP_ERROR_MAX bytes.
size_t net_icmp_error_write(uint8_t *buf, const struct net_l2 *l2, const uint8_t *packet,
	size_t len, const struct net_icmp_report *r);
