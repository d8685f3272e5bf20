// SPDX-License-Identifier: BSD-3-Clause
// Reads super-frames. The code trusts no field of the frame: it may come from another host.
#include "super/super_shape.h"

#include "bytes.h"
#include "net.h"

#define TX_SUPER (RTE_MBUF_F_TX_UDP_SEG | RTE_MBUF_F_TX_TCP_SEG)
#define SUPER (TX_SUPER | RTE_MBUF_F_RX_LRO)

// --- reading a chain ----------------------------------------------------------------------------

void super_reader_copy(struct super_reader *r, uint8_t *dst, uint32_t n)
{
	while (n > 0) {
		const uint32_t part = RTE_MIN(n, r->m->data_len - r->off);

		memcpy(dst, rte_pktmbuf_mtod_offset(r->m, const uint8_t *, r->off), part);
		dst += part;
		n -= part;
		r->off += part;
		if (r->off == r->m->data_len)
			*r = (struct super_reader){.m = r->m->next};
	}
}

void super_reader_skip(struct super_reader *r, uint32_t n)
{
	while (n > 0) {
		const uint32_t part = RTE_MIN(n, r->m->data_len - r->off);

		n -= part;
		r->off += part;
		if (r->off == r->m->data_len)
			*r = (struct super_reader){.m = r->m->next};
	}
}

static bool chain_whole(const struct rte_mbuf *m)
{
	const struct rte_mbuf *s = m;
	unsigned int n;
	uint32_t len = 0;

	for (n = 0; s != NULL && n < m->nb_segs; s = s->next, n++)
		len += s->data_len;
	return n == m->nb_segs && len == m->pkt_len;
}

// --- headers, of which `have` bytes are there ----------------------------------------------------

static bool parse_l2(struct super_shape *s, uint32_t have)
{
	uint16_t type;

	s->l3 = NET_ETH_LEN;
	if (have < NET_ETH_LEN + NET_VLAN_LEN)
		return false;
	type = load_be16(s->headers + NET_ETH_TYPE_AT);
	if (type == NET_ETHERTYPE_VLAN) {
		type = load_be16(s->headers + NET_ETH_LEN + 2);
		s->l3 += NET_VLAN_LEN;
	}
	s->is_v4 = type == NET_ETHERTYPE_IP4;
	return s->is_v4 || type == NET_ETHERTYPE_IP6;
}

// Reads the IP header. *end gets the offset of the end of the IP packet, by its length field.
static bool parse_l3(struct super_shape *s, uint32_t have, bool verify, uint32_t *end)
{
	const uint8_t *ip = s->headers + s->l3;
	uint32_t ihl = NET_IP6_LEN;
	uint8_t proto;

	if (have < s->l3 + (s->is_v4 ? (uint32_t)NET_IP4_LEN : NET_IP6_LEN) ||
		ip[0] >> 4 != (s->is_v4 ? 4 : 6))
		return false;
	if (s->is_v4) {
		ihl = (ip[0] & 15u) * 4;
		if (ihl < NET_IP4_LEN || have < s->l3 + ihl ||
			(load_be16(ip + NET_IP4_FRAGMENT_AT) & NET_IP4_FRAGMENTED) != 0 ||
			(verify && csum_fold(csum_add(0, ip, ihl)) != 0xffff))
			return false;
		*end = (uint32_t)s->l3 + load_be16(ip + NET_IP4_LENGTH_AT);
		proto = ip[NET_IP4_PROTO_AT];
	} else {
		*end = s->l3 + ihl + load_be16(ip + NET_IP6_LENGTH_AT);
		proto = ip[NET_IP6_NEXT_AT];
	}
	s->l4 = (uint16_t)(s->l3 + ihl);
	s->is_tcp = proto == NET_PROTO_TCP;
	return s->is_tcp || proto == NET_PROTO_UDP;
}

static bool parse_l4(struct super_shape *s, uint32_t have, uint32_t end)
{
	const uint8_t *l4 = s->headers + s->l4;
	uint32_t len = NET_UDP_LEN;

	if (s->is_tcp) {
		if (have < (uint32_t)s->l4 + NET_TCP_LEN)
			return false;
		len = (l4[NET_TCP_OFFSET_AT] >> 4) * 4u;
		if (len < NET_TCP_LEN)
			return false;
	}
	if (have < s->l4 + len || end < s->l4 + len)
		return false;
	s->payload = (uint16_t)(s->l4 + len);
	s->len = end - s->payload;
	return s->is_tcp || load_be16(l4 + NET_UDP_LENGTH_AT) == end - s->l4;
}

// True if the mbuf's offload request agrees with the headers.
static bool tx_agrees(const struct super_shape *s, const struct rte_mbuf *m)
{
	const uint64_t seg = m->ol_flags & TX_SUPER;

	return seg == (s->is_tcp ? RTE_MBUF_F_TX_TCP_SEG : RTE_MBUF_F_TX_UDP_SEG) &&
		m->l2_len == s->l3 && m->l3_len == s->l4 - s->l3 && m->l4_len == s->payload - s->l4;
}

bool super_shape_read(struct super_shape *s, const struct rte_mbuf *m)
{
	const bool sent = (m->ol_flags & TX_SUPER) != 0;
	const bool verify =
		!sent && (m->ol_flags & RTE_MBUF_F_RX_IP_CKSUM_MASK) != RTE_MBUF_F_RX_IP_CKSUM_GOOD;
	const uint32_t have = RTE_MIN(m->pkt_len, (uint32_t)SUPER_HEADERS_MAX);
	struct super_reader r = {.m = m};
	uint32_t end;

	if ((m->ol_flags & SUPER) == 0 || m->tso_segsz == 0 || !chain_whole(m))
		return false;
	super_reader_copy(&r, s->headers, have);
	s->m = m;
	s->size = m->tso_segsz;
	return parse_l2(s, have) && parse_l3(s, have, verify, &end) && end <= m->pkt_len &&
		parse_l4(s, have, end) && (!sent || tx_agrees(s, m));
}

unsigned int super_shape_frames(const struct super_shape *s)
{
	return s->len > s->size ? (s->len + s->size - 1) / s->size : 1;
}

uint32_t super_shape_len(const struct super_shape *s, unsigned int i)
{
	return RTE_MIN(s->len - i * s->size, (uint32_t)s->size);
}

// --- a frame to send ----------------------------------------------------------------------------

void super_finish(struct rte_mbuf *m, uint16_t l2, uint16_t l3, uint16_t size)
{
	const uint16_t udp_len = (uint16_t)(m->pkt_len - l2 - l3);
	uint8_t *ip = rte_pktmbuf_mtod_offset(m, uint8_t *, l2), *udp = ip + l3;
	uint32_t pseudo;

	m->tx_offload = 0;
	m->l2_len = l2 & 0x7f;
	m->l3_len = l3 & 0x1ff;
	m->l4_len = NET_UDP_LEN;
	m->tso_segsz = size;
	m->ol_flags |= RTE_MBUF_F_TX_UDP_SEG;
	if (load_be16(ip - 2) == NET_ETHERTYPE_IP4) {
		m->ol_flags |= RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM;
		store_be16(ip + NET_IP4_LENGTH_AT, (uint16_t)(l3 + udp_len));
		store_be16(ip + NET_IP4_CHECKSUM_AT, 0);
		store_be16(ip + NET_IP4_CHECKSUM_AT, (uint16_t)~csum_fold(csum_add(0, ip, l3)));
		pseudo = csum_add(0, ip + NET_IP4_ADDRS_AT, NET_IP4_ADDRS_LEN);
	} else {
		m->ol_flags |= RTE_MBUF_F_TX_IPV6;
		store_be16(ip + NET_IP6_LENGTH_AT, udp_len);
		pseudo = csum_add(0, ip + NET_IP6_ADDRS_AT, NET_IP6_ADDRS_LEN);
	}
	store_be16(udp + NET_UDP_LENGTH_AT, udp_len);
	store_be16(udp + NET_UDP_CHECKSUM_AT, csum_fold(pseudo + NET_PROTO_UDP + udp_len));
}
