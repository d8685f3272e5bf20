// SPDX-License-Identifier: BSD-3-Clause
// Cuts super-frames in software: those that a port turns out not to accept, and received ones.
#include "super/super.h"

#include "bytes.h"
#include "invariant.h"
#include "net.h"
#include "super/super_shape.h"

#define SUPER (RTE_MBUF_F_TX_UDP_SEG | RTE_MBUF_F_TX_TCP_SEG | RTE_MBUF_F_RX_LRO)
#define RX_GOOD (RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_GOOD)

// --- one plain frame ----------------------------------------------------------------------------

static void write_l3(uint8_t *ip, const struct super_shape *s, unsigned int i, uint32_t l4_len)
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

// Writes the UDP or TCP header of frame i. Header and payload are in place after the IP header.
static void write_l4(uint8_t *ip, const struct super_shape *s, unsigned int i, uint32_t l4_len)
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
		if (i + 1 < super_shape_frames(s))
			l4[NET_TCP_FLAGS_AT] &= (uint8_t) ~(NET_TCP_FIN | NET_TCP_PSH);
	} else {
		store_be16(l4 + NET_UDP_LENGTH_AT, (uint16_t)l4_len);
	}
	store_be16(field, 0);
	sum = csum_add(sum + (s->is_tcp ? NET_PROTO_TCP : NET_PROTO_UDP) + l4_len, l4, l4_len);
	checksum = (uint16_t)~csum_fold(sum);
	// in UDP 0 means "no checksum" (RFC 768); in TCP it is a valid checksum
	store_be16(field, checksum == 0 && !s->is_tcp ? 0xffff : checksum);
}

static void write_frame(
	struct rte_mbuf *out, const struct super_shape *s, unsigned int i, struct super_reader *r)
{
	const uint32_t len = super_shape_len(s, i);
	const uint32_t l4_len = (uint32_t)(s->payload - s->l4) + len;
	uint8_t *frame = rte_pktmbuf_mtod(out, uint8_t *);

	ASSERT(s->payload + len <= rte_pktmbuf_tailroom(out));
	ASSERT(s->l3 < s->l4 && s->l4 < s->payload);
	memcpy(frame, s->headers, s->payload);
	super_reader_copy(r, frame + s->payload, len);
	write_l3(frame + s->l3, s, i, l4_len);
	write_l4(frame + s->l3, s, i, l4_len);
	out->data_len = (uint16_t)(s->payload + len);
	out->pkt_len = s->payload + len;
}

// --- the functions ------------------------------------------------------------------------------

unsigned int port_super_frames(const struct rte_mbuf *m)
{
	struct super_shape s;

	if (likely((m->ol_flags & SUPER) == 0) || !super_shape_read(&s, m))
		return 1;
	return super_shape_frames(&s);
}

bool port_super_read(const struct rte_mbuf *m, struct port_super_info *out)
{
	struct super_shape s;

	if (!super_shape_read(&s, m))
		return false;
	*out = (struct port_super_info){.frames = super_shape_frames(&s), .tcp = s.is_tcp};
	out->len = s.len;
	out->bytes = out->frames * s.payload + s.len;
	out->mtu = s.payload - (uint32_t)s.l3 + RTE_MIN(s.len, (uint32_t)s.size);
	return true;
}

bool port_super_forward(struct rte_mbuf *m)
{
	uint8_t *ip, *l4;
	uint32_t l4_len, sum;
	struct super_shape s;

	if (!super_shape_read(&s, m) || s.payload > m->data_len || s.payload + s.len != m->pkt_len)
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

// Cuts frames [first, first + n) of s.
static bool cut_frames(const struct super_shape *s, struct rte_mempool *pool, struct rte_mbuf **out,
	unsigned int first, unsigned int n)
{
	const uint32_t room = rte_pktmbuf_data_room_size(pool) - RTE_PKTMBUF_HEADROOM;
	struct super_reader r = {.m = s->m};

	if (s->payload + RTE_MIN(s->len, (uint32_t)s->size) > room ||
		rte_pktmbuf_alloc_bulk(pool, out, n) != 0)
		return false;
	super_reader_skip(&r, s->payload + first * (uint32_t)s->size);
	for (unsigned int i = 0; i < n; i++) {
		write_frame(out[i], s, first + i, &r);
		if ((s->m->ol_flags & RTE_MBUF_F_RX_LRO) != 0)
			out[i]->ol_flags |= RX_GOOD; // we just computed the checksums
	}
	return true;
}

unsigned int port_super_cut(
	const struct rte_mbuf *m, struct rte_mempool *pool, struct rte_mbuf **out, unsigned int max)
{
	struct super_shape s;
	unsigned int n;

	if (!super_shape_read(&s, m))
		return 0;
	n = super_shape_frames(&s);
	return n <= max && cut_frames(&s, pool, out, 0, n) ? n : 0;
}

struct rte_mbuf *port_super_first(const struct rte_mbuf *m, struct rte_mempool *pool)
{
	struct super_shape s;
	struct rte_mbuf *out;

	return super_shape_read(&s, m) && cut_frames(&s, pool, &out, 0, 1) ? out : NULL;
}

unsigned int port_super_rest(
	const struct rte_mbuf *m, struct rte_mempool *pool, struct rte_mbuf **out, unsigned int max)
{
	struct super_shape s;
	unsigned int n;

	if (!super_shape_read(&s, m))
		return 0;
	n = super_shape_frames(&s) - 1;
	return n <= max && cut_frames(&s, pool, out, 1, n) ? n : 0;
}
