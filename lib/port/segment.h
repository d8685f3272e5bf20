// SPDX-License-Identifier: BSD-3-Clause
// Super-frames: many UDP datagrams, or many segments of a TCP connection, of one flow as one frame
// with one set of headers, in one mbuf or a chain.
//
// To be sent: RTE_MBUF_F_TX_UDP_SEG or RTE_MBUF_F_TX_TCP_SEG with RTE_MBUF_F_TX_IPV4 or _IPV6 (and
// RTE_MBUF_F_TX_IP_CKSUM for IPv4), l2_len, l3_len, l4_len and tso_segsz (payload bytes of each but
// the last) set. The headers are those of a frame as long as the whole; the IPv4 header checksum is
// right for it, and the UDP or TCP checksum field holds the folded, not inverted sum of the
// pseudo-header as the driver wants it (Linux virtio-net header: with the length of the whole).
//
// Received: RTE_MBUF_F_RX_LRO and tso_segsz; headers of a frame as long as the whole. The checksum
// is not to be looked at when RTE_MBUF_F_RX_L4_CKSUM_GOOD is set, and wrong otherwise.
#pragma once

#include <rte_mbuf.h>

// Frames a super-frame stands for; 1 for any other.
unsigned int port_segments(const struct rte_mbuf *m);

// Cuts a super-frame, sent or received, UDP or TCP, IPv4 or IPv6, behind at most one VLAN tag, into
// plain frames of one mbuf each, from pool, and writes them to out (max of them at least
// port_segments(m)). Each has whole headers: lengths, IPv4 identification counting up from the
// first and header checksum, TCP sequence number and flags (FIN and PSH in the last alone, CWR in
// the first alone), and a full UDP or TCP checksum. No offload is asked for. Returns how many; 0
// when the pool has not enough (m is untouched) or m is not what it says. m stays the caller's.
unsigned int port_segment(const struct rte_mbuf *m, struct rte_mempool *pool, struct rte_mbuf **out,
	unsigned int max);
