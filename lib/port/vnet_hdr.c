// SPDX-License-Identifier: BSD-3-Clause
// Translates between the virtio-net header of a frame and the flags and fields of its mbuf.

#include <errno.h>

#include "bytes.h"
#include "net.h"
#include "vnet_hdr.h"

// True if the checksum in a virtio-net header belongs to the frame's outer UDP or TCP header, after
// at most one VLAN tag and without IPv6 extension headers. (It may belong to an encapsulated
// packet.) The first buffer of m must contain that header.
static bool is_own(const struct virtio_net_hdr *h, const struct rte_mbuf *m)
{
	const uint8_t *data = rte_pktmbuf_mtod(m, const uint8_t *);
	uint32_t l3 = NET_ETH_LEN, l4;
	uint8_t proto;
	uint16_t type;

	if (m->data_len < NET_ETH_LEN + NET_VLAN_LEN + NET_IP4_LEN)
		return false;
	type = load_be16(data + l3 - 2);
	if (type == NET_ETHERTYPE_VLAN) {
		l3 += NET_VLAN_LEN;
		type = load_be16(data + l3 - 2);
	}
	if (type == NET_ETHERTYPE_IP4) {
		l4 = l3 + 4u * (data[l3] & 0xf);
		proto = data[l3 + NET_IP4_PROTO_AT];
	} else if (type == NET_ETHERTYPE_IP6) {
		l4 = l3 + NET_IP6_LEN;
		proto = data[l3 + NET_IP6_NEXT_AT];
	} else {
		return false;
	}
	return h->csum_start == l4 &&
		((proto == NET_PROTO_UDP && h->csum_offset == NET_UDP_CHECKSUM_AT) ||
			(proto == NET_PROTO_TCP && h->csum_offset == NET_TCP_CHECKSUM_AT));
}

// Completes a checksum that the kernel left to the device: the field holds the folded sum of the
// pseudo-header (VIRTIO 1.2 section 5.1.6.2). Relaying only updates checksums, so the field must be
// complete first. The frame has not crossed a wire, so the checksum is known to be correct.
static int complete_checksum(const struct virtio_net_hdr *h, struct rte_mbuf *m)
{
	uint8_t *data = rte_pktmbuf_mtod(m, uint8_t *);
	const uint32_t start = h->csum_start, field = start + h->csum_offset;
	uint16_t sum;

	// the frame is longer than the MTU: no port accepts it
	if (m->nb_segs != 1 || field + 2 > m->data_len)
		return -EINVAL;
	sum = (uint16_t)~csum_fold(csum_add(0, data + start, m->data_len - start));
	// in UDP, 0 means "no checksum" (RFC 768)
	store_be16(data + field, sum == 0 && h->csum_offset == NET_UDP_CHECKSUM_AT ? 0xffff : sum);
	if (is_own(h, m))
		m->ol_flags |= RTE_MBUF_F_RX_L4_CKSUM_GOOD;
	return 0;
}

static int super_received(const struct virtio_net_hdr *h, struct rte_mbuf *m, uint16_t checksum)
{
	const bool partial = (h->flags & VIRTIO_NET_HDR_F_NEEDS_CSUM) != 0;

	if (h->gso_size == 0)
		return -EINVAL;
	if (partial && (h->csum_offset != checksum || !is_own(h, m)))
		return -EINVAL;
	m->ol_flags |= RTE_MBUF_F_RX_LRO;
	if (partial || (h->flags & VIRTIO_NET_HDR_F_DATA_VALID) != 0)
		m->ol_flags |= RTE_MBUF_F_RX_L4_CKSUM_GOOD;
	m->tso_segsz = h->gso_size;
	return 0;
}

int vnet_hdr_received(const struct virtio_net_hdr *h, struct rte_mbuf *m)
{
	switch (h->gso_type & ~VIRTIO_NET_HDR_GSO_ECN) {
	case VIRTIO_NET_HDR_GSO_NONE:
		if ((h->flags & VIRTIO_NET_HDR_F_NEEDS_CSUM) != 0)
			return complete_checksum(h, m);
		if ((h->flags & VIRTIO_NET_HDR_F_DATA_VALID) != 0)
			m->ol_flags |= RTE_MBUF_F_RX_L4_CKSUM_GOOD;
		return 0;
	case VIRTIO_NET_HDR_GSO_UDP_L4:
		return super_received(h, m, NET_UDP_CHECKSUM_AT);
	case VIRTIO_NET_HDR_GSO_TCPV4:
	case VIRTIO_NET_HDR_GSO_TCPV6:
		return super_received(h, m, NET_TCP_CHECKSUM_AT);
	default:
		return -EINVAL;
	}
}

int vnet_hdr_super(struct virtio_net_hdr *h, const struct rte_mbuf *m)
{
	const bool tcp = (m->ol_flags & RTE_MBUF_F_TX_TCP_SEG) != 0;
	const uint32_t l4 = (uint32_t)m->l2_len + m->l3_len;
	const uint32_t headers = l4 + m->l4_len;

	if (m->tso_segsz == 0 || m->l2_len < NET_ETH_LEN || headers > m->data_len ||
		m->l4_len < (tcp ? NET_TCP_LEN : NET_UDP_LEN))
		return -EINVAL;
	*h = (struct virtio_net_hdr){
		.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM,
		.gso_type = VIRTIO_NET_HDR_GSO_UDP_L4,
		.hdr_len = (uint16_t)headers,
		.gso_size = m->tso_segsz,
		.csum_start = (uint16_t)l4,
		.csum_offset = tcp ? NET_TCP_CHECKSUM_AT : NET_UDP_CHECKSUM_AT,
	};
	if (tcp) {
		const uint8_t flags =
			*rte_pktmbuf_mtod_offset(m, const uint8_t *, l4 + NET_TCP_FLAGS_AT);

		h->gso_type = (m->ol_flags & RTE_MBUF_F_TX_IPV6) != 0 ? VIRTIO_NET_HDR_GSO_TCPV6
								      : VIRTIO_NET_HDR_GSO_TCPV4;
		if ((flags & NET_TCP_CWR) != 0)
			h->gso_type |= VIRTIO_NET_HDR_GSO_ECN;
	}
	return 0;
}
