// SPDX-License-Identifier: BSD-3-Clause
// Joins datagrams of a burst into super-frames (super.h).
#pragma once

#include <stdint.h>

struct port_super;
struct rte_mbuf;

#define PORT_COALESCE_MAX 32 // frames of one call

struct port_coalesced {
	unsigned int frames; // frames left in m, super-frames included
	unsigned int supers, segments; // super-frames made, and the datagrams in them
};

// Joins the runs of UDP datagrams among m[0, n) into super-frames to send, within limits. A run has
// one flow and one size; its last datagram may be shorter. n is at most PORT_COALESCE_MAX. The
// frames in m are complete, with checksums, and have a VLAN tag if vlan is not 0; each is one
// unshared buffer. The resulting frames move to the front of m.
//
// Datagrams of one flow keep their order; those of different flows may change theirs. No datagram
// passes a frame that is not a whole UDP datagram. Three kinds of datagrams stay alone: those
// without payload, those without a UDP checksum, and those of IPv4 without DF. Cutting a
// super-frame would give them a checksum, or consecutive identifications.
//
// The caller still owns every mbuf; the mbuf of a joined datagram is freed or sent with its
// super-frame. If frame_of is not NULL, frame_of[i] gets the index of the frame that contains
// datagram i, for each of the n datagrams. Any thread.
struct port_coalesced port_coalesce(const struct port_super *limits, uint16_t vlan,
	struct rte_mbuf **m, unsigned int n, uint8_t *frame_of);
