// SPDX-License-Identifier: BSD-3-Clause
// Makes super-frames (super.h) of the datagrams of a burst.
#pragma once

#include <stdint.h>

struct port_super;
struct rte_mbuf;

#define PORT_COALESCE_MAX 32 // frames of one call

struct port_coalesced {
	unsigned int frames; // frames left in m, super-frames included
	unsigned int supers, segments; // super-frames made, and the datagrams in them
};

// Makes super-frames to be sent, within limits, of the runs of UDP datagrams among m[0, n). A run
// has one flow and one size; its last datagram may be shorter. n is at most PORT_COALESCE_MAX. The
// frames in m are whole, with checksums, behind a VLAN tag when vlan is not 0; each is one buffer
// that nobody else has. The frames that are left move to the front of m.
//
// Datagrams of one flow keep their order; those of different flows may change theirs. No datagram
// passes a frame that is no whole UDP datagram. Three kinds of datagrams stay alone: those without
// payload, those without a UDP checksum, and those of IPv4 without DF. Whoever cuts a super-frame
// again would give them a checksum, or identifications that count up.
//
// Every mbuf stays the caller's; the mbuf of a joined datagram is freed or sent with its
// super-frame. frame_of may be NULL. Else frame_of[i] gets the number of the frame in which
// datagram i leaves, for each of the n datagrams. Any thread.
struct port_coalesced port_coalesce(const struct port_super *limits, uint16_t vlan,
	struct rte_mbuf **m, unsigned int n, uint8_t *frame_of);
