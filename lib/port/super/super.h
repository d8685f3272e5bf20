// SPDX-License-Identifier: BSD-3-Clause
// A super-frame is one frame, in one mbuf or a chain, that represents many UDP datagrams or TCP
// segments of one flow. It has one set of headers.
//
// A super-frame to send has RTE_MBUF_F_TX_UDP_SEG or RTE_MBUF_F_TX_TCP_SEG, with RTE_MBUF_F_TX_IPV4
// or _IPV6 (and RTE_MBUF_F_TX_IP_CKSUM for IPv4). l2_len, l3_len, l4_len and tso_segsz (payload
// bytes of each frame except the last) are set. The headers are those of one frame with the total
// length, and the IPv4 header checksum is correct for it. The UDP or TCP checksum field holds the
// folded, not inverted sum of the pseudo-header with the total length, as a Linux virtio-net header
// requires; a port whose device requires another sum changes it.
//
// A received super-frame has RTE_MBUF_F_RX_LRO and tso_segsz. Its headers are those of one frame
// with the total length. If the L4 checksum flag is RTE_MBUF_F_RX_L4_CKSUM_GOOD or _NONE, ignore
// the UDP or TCP checksum field; with any other flag the checksum is wrong. The IPv4 header
// checksum is correct, or must be ignored if RTE_MBUF_F_RX_IP_CKSUM_GOOD is set.
#pragma once

#include <stdbool.h>

#include <rte_mbuf.h>

// Returns the number of frames that a super-frame represents; 1 for any other frame, and for one
// that port_super_cut would not cut because its headers contradict it. Any thread.
unsigned int port_super_frames(const struct rte_mbuf *m);

// Describes a super-frame. port_super_read returns false if m is not a super-frame, or its headers
// contradict it. Any thread.
struct port_super_info {
	unsigned int frames;
	uint32_t len; // bytes of payload
	uint32_t bytes; // bytes of all frames together
	uint32_t mtu; // MTU required by the longest of their IP packets
	bool tcp; // TCP, else UDP
};
bool port_super_read(const struct rte_mbuf *m, struct port_super_info *out);

// Turns a received super-frame, in place, into one that another port can send whole. The caller
// must know that its L4 checksum is correct, because each frame gets a new one. False if the
// headers contradict the frame or are not all in the first buffer; m must not be used then.
bool port_super_forward(struct rte_mbuf *m);

// Cuts a super-frame, sent or received, into plain frames of one mbuf each from pool, and writes
// them to out, which has room for max of them (at least port_super_frames(m)). The super-frame may
// be UDP or TCP over IPv4 (options too) or IPv6 (without extension headers), after at most one VLAN
// tag. Each frame has complete headers: lengths, IPv4 identification counting up from the first,
// IPv4 header checksum, TCP sequence number and flags (FIN and PSH only in the last, CWR only in
// the first), and a full UDP or TCP checksum. The frames request no offload. If m was received,
// their flags say that both checksums are good, because they are new. A payload not longer than
// tso_segsz becomes one frame. Data after the IP packet (Ethernet padding) is dropped.
//
// Returns the number of frames. Returns 0 if the pool has too few mbufs, max is too small, a frame
// would not fit in a buffer, or the headers contradict m: a length beyond the data or beyond
// another length, tso_segsz 0, neither UDP nor TCP, a fragment, header lengths in the mbuf (to
// send) that differ from the headers, or a wrong IPv4 header checksum (received). The caller still
// owns m, which is never changed. Any thread.
unsigned int port_super_cut(const struct rte_mbuf *m, struct rte_mempool *pool,
	struct rte_mbuf **out, unsigned int max);

// Like port_super_cut, in two steps: the first frame alone (NULL on failure), and later all others.
struct rte_mbuf *port_super_first(const struct rte_mbuf *m, struct rte_mempool *pool);
unsigned int port_super_rest(const struct rte_mbuf *m, struct rte_mempool *pool,
	struct rte_mbuf **out, unsigned int max);
