// SPDX-License-Identifier: BSD-3-Clause
// Fragments of IP: reading one, and cutting a frame into some (RFC 791 section 3.2, RFC 8200
// section 4.5). PURE. reassembly.h puts together what was read.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "addr.h"
#include "hash.h"
#include "net.h"

#define NET_FRAGMENT_HEADER_LEN 8 // of IPv6
#define NET_FRAGMENT_UNIT 8 // offsets count in these
#define NET_FRAGMENTS_MAX 64 // of one datagram, out and in
#define NET_IP6_MTU_MIN 1280 // RFC 8200 section 5

// A fragment. Lengths and offsets are in bytes of what was cut: the UDP header and its payload.
struct net_fragment {
	struct addr src, dst;
	const uint8_t *data; // in the frame
	uint32_t id; // host order; 16 bits with IPv4
	uint16_t off, len;
	uint8_t proto, tos, ttl;
	bool more; // it is not the last one
};

// Reads a fragment of UDP out of a frame about which net_frame_parse has said NET_DROP_FRAGMENT; f
// is as that has left it. NET_OK, or a reason: NET_DROP_FRAGMENT (no UDP) or _MALFORMED. A first
// fragment has all of the UDP header then.
enum net_drop net_fragment_read(
	const uint8_t *data, const struct net_frame *f, struct net_fragment *out);

// How many bytes of a datagram go into each of its fragments but the last, on a way with this MTU:
// a multiple of 8. Over IPv6 a fragment never has more than 1280 bytes, headers included (RFC 8656
// section 13.2).
uint16_t net_fragment_room(bool is_v4, uint16_t mtu);

// The identification of the nth datagram that leaves in fragments, to go from src to dst: 16 bits
// with IPv4, 32 with IPv6. For each pair of addresses it is a permutation of n of its own, under a
// key from the CSPRNG that nothing else is hashed with (RFC 7739 section 5). So none comes back
// before all others of its pair, and identifications of other pairs tell nothing about it.
uint32_t net_fragment_id(
	const struct hash_key *key, const struct addr *src, const struct addr *dst, uint32_t n);

// A part of a frame that is to be sent as a fragment of its own.
struct net_fragment_cut {
	uint32_t id; // of all fragments of the frame; host order
	uint16_t off, len; // as in struct net_fragment
	bool more;
};

// Writes the fragment of a frame of UDP, as net_write_udp writes it with its IP header at l3_off:
// a frame of its own, at out, where there is room for the headers, NET_FRAGMENT_HEADER_LEN and
// c->len. The frame is without DF. Returns the length.
uint32_t net_fragment_write(
	uint8_t *out, const uint8_t *frame, uint16_t l3_off, const struct net_fragment_cut *c);
