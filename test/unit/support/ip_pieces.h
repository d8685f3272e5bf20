// SPDX-License-Identifier: BSD-3-Clause
// Hosts that send UDP datagrams in fragments, and hosts that reassemble them. It is written from
// RFC 791 and RFC 8200 and shares no code with lib/net's fragments.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "addr.h"

#define IP_PIECES_MAX 128
#define IP_PIECES_OPEN 16

// A datagram of any length.
struct ip_long {
	struct endpoint src, dst;
	uint32_t len; // of data
	uint8_t tos, ttl;
	unsigned int pieces; // fragments it arrived in
	uint32_t longest; // longest IP packet among these
	uint32_t id;
	uint8_t data[65536];
};

// The frames of a datagram.
struct ip_pieces {
	unsigned int n;
	size_t len[IP_PIECES_MAX];
	uint8_t frame[IP_PIECES_MAX][1600];
};

// A fragment: bytes [off, off + len) of the UDP header and data.
struct ip_piece {
	uint32_t off, len;
	bool more;
};

// Writes an untagged frame with a fragment of the datagram at l4. Returns its length.
size_t ip_piece(uint8_t *frame, const uint8_t macs[12], const struct ip_long *d, const uint8_t *l4,
	struct ip_piece p);
// Writes the UDP header and data of a datagram, with its checksum, to l4. Returns the length.
uint32_t ip_pieces_l4(const struct ip_long *d, uint8_t *l4);
// Cuts a datagram into the fragments of a host whose link has this MTU, at most 1514 bytes.
void ip_pieces_cut(
	struct ip_pieces *p, const struct ip_long *d, const uint8_t macs[12], uint32_t mtu);

// Incomplete datagrams of a receiving host.
struct ip_assembly {
	struct ip_open {
		bool used;
		struct addr src, dst;
		uint32_t id, total, got;
		unsigned int pieces;
		uint32_t longest, next;
		uint8_t tos, ttl;
		uint8_t there[65536], data[65536];
	} open[IP_PIECES_OPEN];
};

// True if an untagged frame is a fragment.
bool ip_pieces_is(const uint8_t *frame);
// Adds a fragment. Returns true if that completes a datagram, which is then in *out. Asserts that
// fragments come in order and do not overlap, that all except the last have a multiple of eight
// bytes, that DF is clear, and that the checksum of the whole is right.
bool ip_assembly_put(struct ip_assembly *a, const uint8_t *frame, size_t len, struct ip_long *out);
