// SPDX-License-Identifier: BSD-3-Clause
// IP fragments: parsing a fragment, and fragmenting a frame (RFC 791 section 3.2, RFC 8200 section
// 4.5). PURE. For reassembly see reassembly.h.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "addr.h"
#include "hash.h"
#include "net.h"

#define NET_FRAGMENT_HEADER_LEN 8 // bytes of IPv6's Fragment header
#define NET_FRAGMENT_UNIT 8 // bytes of a unit of offsets
#define NET_FRAGMENTS_MAX 64 // of one datagram, sent and received
#define NET_IP6_MTU_MIN 1280 // RFC 8200 section 5

// A fragment. Lengths and offsets are in bytes of the fragmented data: UDP header and payload.
struct net_fragment {
	struct addr src, dst;
	const uint8_t *data; // points into the frame
	uint32_t id; // host order; 16 bits with IPv4
	uint16_t off, len;
	uint8_t proto, tos, ttl;
	bool more; // more fragments follow
};

// Reads a UDP fragment from a frame for which net_frame_parse returned NET_DROP_FRAGMENT and *f.
// Returns NET_OK, NET_DROP_FRAGMENT (not UDP) or NET_DROP_FRAGMENT_MALFORMED. On NET_OK a first
// fragment has the whole UDP header.
enum net_drop net_fragment_read(
	const uint8_t *data, const struct net_frame *f, struct net_fragment *out);

// Returns the bytes of a datagram in each of its fragments except the last, on a path with this
// MTU: a multiple of 8. Over IPv6 a fragment has at most 1280 bytes, headers included (RFC 8656
// section 13.2).
uint16_t net_fragment_room(bool is_v4, uint16_t mtu);

// Returns the identification of the nth fragmented datagram from src to dst: 16 bits with IPv4, 32
// with IPv6. Each pair of addresses has a separate permutation of n, with a key from the CSPRNG
// that is used for nothing else (RFC 7739 section 5). So an identification repeats only after all
// others of its pair, and those of other pairs reveal nothing about it.
uint32_t net_fragment_id(
	const struct hash_key *key, const struct addr *src, const struct addr *dst, uint32_t n);

// A part of a frame to send as one fragment.
struct net_fragment_cut {
	uint32_t id; // equal in all fragments of the frame; host order
	uint16_t off, len; // see struct net_fragment
	bool more;
};

// Writes one fragment of a UDP frame in the format of net_write_udp, with its IP header at l3_off
// and without DF. The fragment is a whole frame at out, which must have room for the headers,
// NET_FRAGMENT_HEADER_LEN and c->len. Returns its length.
uint32_t net_fragment_write(
	uint8_t *out, const uint8_t *frame, uint16_t l3_off, const struct net_fragment_cut *c);
