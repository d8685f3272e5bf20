// SPDX-License-Identifier: BSD-3-Clause
// Super-frames: many UDP datagrams, or many segments of a TCP connection, of one flow as one frame
// with one set of headers, in one mbuf or a chain.
//
// To be sent: RTE_MBUF_F_TX_UDP_SEG or RTE_MBUF_F_TX_TCP_SEG with RTE_MBUF_F_TX_IPV4 or _IPV6 (and
// RTE_MBUF_F_TX_IP_CKSUM for IPv4), l2_len, l3_len, l4_len and tso_segsz (payload bytes of each but
// the last) set. The headers are those of a frame as long as the whole; the IPv4 header checksum is
// right for it, and the UDP or TCP checksum field holds the folded, not inverted sum of the
// pseudo-header with the length of the whole (what a Linux virtio-net header wants; a port whose
// device wants another sum changes it).
//
// Received: RTE_MBUF_F_RX_LRO and tso_segsz; headers of a frame as long as the whole. The UDP or
// TCP checksum field is not to be looked at when the L4 checksum flag is
// RTE_MBUF_F_RX_L4_CKSUM_GOOD or _NONE, and wrong otherwise. The IPv4 header checksum is right
// unless RTE_MBUF_F_RX_IP_CKSUM_GOOD spares looking.
#pragma once

#include <stdbool.h>

#include <rte_mbuf.h>

struct port_super;

// Frames a super-frame stands for; 1 for any other, and for what port_segment would not cut because
// it is not what it says.
unsigned int port_segments(const struct rte_mbuf *m);

// What it stands for, more closely. False when it is none or not what it says.
struct port_super_info {
	unsigned int frames;
	uint32_t bytes; // of all the frames
	uint32_t mtu; // that the longest of their IP packets needs
	bool tcp; // else UDP
};
bool port_super_read(const struct rte_mbuf *m, struct port_super_info *out);

// Makes of a super-frame received one to be sent, in place: to go on whole, by another port. Its
// L4 checksum has to be known to be right, since a new one is made of each frame it stands for.
// False when it is not what it says or its headers are not all in the first buffer; m is then not
// to be used.
bool port_super_forward(struct rte_mbuf *m);

// Cuts a super-frame, sent or received, UDP or TCP, IPv4 (options too) or IPv6 (without extension
// headers), behind at most one VLAN tag, into plain frames of one mbuf each, from pool, and writes
// them to out (max of them at least port_segments(m)). Each has whole headers: lengths, IPv4
// identification counting up from the first and header checksum, TCP sequence number and flags (FIN
// and PSH in the last alone, CWR in the first alone), and a full UDP or TCP checksum. No offload is
// asked for; where m was received, the flags say that both checksums are good, for they are new. A
// payload not longer than tso_segsz is one frame; what lies behind the IP packet (Ethernet padding)
// is left out.
//
// Returns how many. 0 when there is not enough in the pool, max is too small, a frame would not fit
// a buffer, or m is not what it says: a length beyond the data or beyond another length, tso_segsz
// 0, neither UDP nor TCP, a fragment, header lengths to be sent that are not those of the headers,
// a wrong IPv4 header checksum received. m stays the caller's, untouched in any case. Any thread.
unsigned int port_segment(const struct rte_mbuf *m, struct rte_mempool *pool, struct rte_mbuf **out,
	unsigned int max);

#define PORT_COALESCE_MAX 32 // frames in one call

struct port_coalesced {
	unsigned int frames; // left in m, super-frames included
	unsigned int supers, segments; // super-frames made, and the datagrams in them
};

// Makes super-frames to be sent, within limits, of the runs of UDP datagrams of one flow and one
// size (the last of a run may be shorter) among m[0, n), n at most PORT_COALESCE_MAX: whole frames
// with checksums, one buffer each that nobody else has, behind a VLAN tag when vlan is not 0. The
// frames that are left come to stand at the front of m. A flow's order stays, of different flows it
// may change; nothing passes a frame that is no whole UDP datagram. Alone stay datagrams without
// payload, without a UDP checksum, and those of IPv4 without DF: who cuts them again would give
// them a checksum, or identifications that count up. Every mbuf stays the caller's: that of a
// joined datagram is freed or sent with its super-frame. frame_of: NULL, or where to write of each
// of the n datagrams the number of the frame that it leaves in. Any thread.
struct port_coalesced port_coalesce(const struct port_super *limits, uint16_t vlan,
	struct rte_mbuf **m, unsigned int n, uint8_t *frame_of);
