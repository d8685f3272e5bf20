// SPDX-License-Identifier: BSD-3-Clause
// Cuts super-frames in software, for ports that turn out not to take them and for those received
// whole. The code believes nothing in the frame: it may come from another host.
#include "super.h"

#include "bytes.h"
#include "net.h"

#define TX_SUPER (RTE_MBUF_F_TX_UDP_SEG | RTE_MBUF_F_TX_TCP_SEG)
#define SUPER (TX_SUPER | RTE_MBUF_F_RX_LRO)

#define RX_GOOD (RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_GOOD)

#define HEADERS_MAX (NET_ETH_LEN + NET_VLAN_LEN + 60 + 60) // IPv4 and TCP with all options

// The parts of a super-frame: offsets in the frame, and a contiguous copy of its headers.
struct shape {
	uint16_t l3, l4, payload;
	uint32_t len; // bytes of payload
	uint16_t size; // bytes of payload of each frame except the last
	bool is_v4, is_tcp;
	uint8_t headers[HEADERS_MAX];
};

// --- reading a chain ----------------------------------------------------------------------------

struct reader {
	const struct rte_mbuf *m;
	uint32_t off;
};

// Copies the next n bytes, however the chain spreads them. The caller knows that so many are left.
static void reader_copy(struct reader *r, uint8_t *to, uint32_t n)
{
	while (n > 0) {
		const uint32_t part = RTE_MIN(n, r->m->data_len - r->off);

		memcpy(to, rte_pktmbuf_mtod_offset(r->m, const uint8_t *, r->off), part);
		to += part;
		n -= part;
		r->off += part;
		if (r->off == r->m->data_len)
			*r = (struct reader){.m = r->m->next};
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

// --- headers: have is how much of them there is -------------------------------------------------

static bool parse_l2(struct shape *s, uint32_t have)
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

// Reads the IP header. *end becomes the offset at which the IP packet says it ends.
static bool parse_l3(struct shape *s, uint32_t have, bool verify, uint32_t *end)
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

static bool parse_l4(struct shape *s, uint32_t have, uint32_t end)
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

// True when the mbuf's offload request agrees with the headers.
static bool tx_agrees(const struct shape *s, const struct rte_mbuf *m)
{
	const uint64_t seg = m->ol_flags & TX_SUPER;

	return seg == (s->is_tcp ? RTE_MBUF_F_TX_TCP_SEG : RTE_MBUF_F_TX_UDP_SEG) &&
		m->l2_len == s->l3 && m->l3_len == s->l4 - s->l3 && m->l4_len == s->payload - s->l4;
}

// Reads m. False: m is no super-frame, or its headers contradict it.
static bool shape_read(struct shape *s, const struct rte_mbuf *m)
{
	const bool sent = (m->ol_flags & TX_SUPER) != 0;
	const bool verify =
		!sent && (m->ol_flags & RTE_MBUF_F_RX_IP_CKSUM_MASK) != RTE_MBUF_F_RX_IP_CKSUM_GOOD;
	const uint32_t have = RTE_MIN(m->pkt_len, (uint32_t)HEADERS_MAX);
	struct reader r = {.m = m};
	uint32_t end;

	if ((m->ol_flags & SUPER) == 0 || m->tso_segsz == 0 || !chain_whole(m))
		return false;
	reader_copy(&r, s->headers, have);
	s->size = m->tso_segsz;
	return parse_l2(s, have) && parse_l3(s, have, verify, &end) && end <= m->pkt_len &&
		parse_l4(s, have, end) && (!sent || tx_agrees(s, m));
}

static unsigned int shape_frames(const struct shape *s)
{
	return s->len > s->size ? (s->len + s->size - 1) / s->size : 1;
}

// --- one plain frame ----------------------------------------------------------------------------

static void write_l3(uint8_t *ip, const struct shape *s, unsigned int i, uint32_t l4_len)
{
	const uint16_t ihl = (uint16_t)(s->l4 - s->l3);

	if (!s->is_v4) {
		store_be16(ip + NET_IP6_LENGTH_AT, (uint16_t)l4_len);
		return;
	}
	store_be16(ip + NET_IP4_LENGTH_AT, (uint16_t)(ihl + l4_len));
	store_be16(ip + NET_IP4_ID_AT, (uint16_t)(load_be16(ip + NET_IP4_ID_AT) + i));
	store_be16(ip + NET_IP4_CHECKSUM_AT, 0);
	store_be16(ip + NET_IP4_CHECKSUM_AT, (uint16_t)~csum_fold(csum_add(0, ip, ihl)));
}

// Writes the UDP or TCP header of frame i. Header and payload are in place behind the IP header.
static void write_l4(uint8_t *ip, const struct shape *s, unsigned int i, uint32_t l4_len)
{
	uint8_t *l4 = ip + s->l4 - s->l3,
		*field = l4 + (s->is_tcp ? NET_TCP_CHECKSUM_AT : NET_UDP_CHECKSUM_AT);
	uint32_t sum = s->is_v4 ? csum_add(0, ip + NET_IP4_ADDRS_AT, NET_IP4_ADDRS_LEN)
				: csum_add(0, ip + NET_IP6_ADDRS_AT, NET_IP6_ADDRS_LEN);
	uint16_t checksum;

	if (s->is_tcp) {
		store_be32(l4 + NET_TCP_SEQUENCE_AT,
			load_be32(l4 + NET_TCP_SEQUENCE_AT) + i * s->size);
		if (i > 0)
			l4[NET_TCP_FLAGS_AT] &= (uint8_t)~NET_TCP_CWR;
		if (i + 1 < shape_frames(s))
			l4[NET_TCP_FLAGS_AT] &= (uint8_t) ~(NET_TCP_FIN | NET_TCP_PSH);
	} else {
		store_be16(l4 + NET_UDP_LENGTH_AT, (uint16_t)l4_len);
	}
	store_be16(field, 0);
	sum = csum_add(sum + (s->is_tcp ? NET_PROTO_TCP : NET_PROTO_UDP) + l4_len, l4, l4_len);
	checksum = (uint16_t)~csum_fold(sum);
	// In UDP 0 would say "no checksum" (RFC 768); in TCP it is a sum like any other
	store_be16(field, checksum == 0 && !s->is_tcp ? 0xffff : checksum);
}

static void write_frame(
	struct rte_mbuf *out, const struct shape *s, unsigned int i, struct reader *r)
{
	const uint32_t len = RTE_MIN(s->len - i * s->size, (uint32_t)s->size);
	const uint32_t l4_len = (uint32_t)(s->payload - s->l4) + len;
	uint8_t *frame = rte_pktmbuf_mtod(out, uint8_t *);

	memcpy(frame, s->headers, s->payload);
	reader_copy(r, frame + s->payload, len);
	write_l3(frame + s->l3, s, i, l4_len);
	write_l4(frame + s->l3, s, i, l4_len);
	out->data_len = (uint16_t)(s->payload + len);
	out->pkt_len = s->payload + len;
}

// --- the calls ----------------------------------------------------------------------------------

unsigned int port_super_frames(const struct rte_mbuf *m)
{
	struct shape s;

	if (likely((m->ol_flags & SUPER) == 0) || !shape_read(&s, m))
		return 1;
	return shape_frames(&s);
}

bool port_super_read(const struct rte_mbuf *m, struct port_super_info *out)
{
	struct shape s;

	if (!shape_read(&s, m))
		return false;
	*out = (struct port_super_info){.frames = shape_frames(&s), .tcp = s.is_tcp};
	out->bytes = out->frames * s.payload + s.len;
	out->mtu = s.payload - (uint32_t)s.l3 + RTE_MIN(s.len, (uint32_t)s.size);
	return true;
}

bool port_super_forward(struct rte_mbuf *m)
{
	uint8_t *ip, *l4;
	uint32_t l4_len, sum;
	struct shape s;

	if (!shape_read(&s, m) || s.payload > m->data_len || s.payload + s.len != m->pkt_len)
		return false;
	ip = rte_pktmbuf_mtod_offset(m, uint8_t *, s.l3);
	l4 = ip + s.l4 - s.l3;
	l4_len = (uint32_t)(s.payload - s.l4) + s.len;
	sum = s.is_v4 ? csum_add(0, ip + NET_IP4_ADDRS_AT, NET_IP4_ADDRS_LEN)
		      : csum_add(0, ip + NET_IP6_ADDRS_AT, NET_IP6_ADDRS_LEN);
	sum += (s.is_tcp ? NET_PROTO_TCP : NET_PROTO_UDP) + l4_len;
	store_be16(l4 + (s.is_tcp ? NET_TCP_CHECKSUM_AT : NET_UDP_CHECKSUM_AT), csum_fold(sum));
	m->ol_flags &= RTE_MBUF_F_EXTERNAL | RTE_MBUF_F_INDIRECT;
	m->ol_flags |= s.is_tcp ? RTE_MBUF_F_TX_TCP_SEG : RTE_MBUF_F_TX_UDP_SEG;
	m->ol_flags |= s.is_v4 ? RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM : RTE_MBUF_F_TX_IPV6;
	m->l2_len = s.l3;
	m->l3_len = (uint64_t)(s.l4 - s.l3);
	m->l4_len = (uint64_t)(s.payload - s.l4);
	return true;
}

unsigned int port_super_cut(
	const struct rte_mbuf *m, struct rte_mempool *pool, struct rte_mbuf **out, unsigned int max)
{
	const uint32_t room = rte_pktmbuf_data_room_size(pool) - RTE_PKTMBUF_HEADROOM;
	struct reader r = {.m = m};
	struct shape s;
	unsigned int n;

	if (!shape_read(&s, m))
		return 0;
	n = shape_frames(&s);
	if (n > max || s.payload + RTE_MIN(s.len, (uint32_t)s.size) > room ||
		rte_pktmbuf_alloc_bulk(pool, out, n) != 0)
		return 0;
	reader_copy(&r, s.headers, s.payload); // moves r on to the payload
	for (unsigned int i = 0; i < n; i++) {
		write_frame(out[i], &s, i, &r);
		if ((m->ol_flags & RTE_MBUF_F_RX_LRO) != 0)
			out[i]->ol_flags |= RX_GOOD; // we just computed the checksums
	}
	return n;
}
