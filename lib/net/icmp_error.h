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
