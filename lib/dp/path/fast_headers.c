// SPDX-License-Identifier: BSD-3-Clause
// Writes plain frames for datagrams that have a plan: a faster path than rewrite_frame.
#include "path/fast_headers.h"
#include "addr.h"
#include "dp_view.h"
#include "net.h"
#include "turn.h"
#include "udp.h"
#include "path/worker.h"

// Computes how the checksums change: by all bytes of the old and the new datagram, except those
// that stay.
static void fast_headers_sums(
	struct fast_headers *p, const struct turn_view *v, const struct rewrite *r)
{
	const unsigned int addrs =
		(v->flags & DP_IPV4) != 0 ? NET_IP4_ADDRS_LEN : NET_IP6_ADDRS_LEN;
	const uint8_t *udp = v->data - NET_UDP_LEN, *data = v->data;
	const uint16_t end = (uint16_t)(r->off + r->len),
		       ends = fast_headers_sum_addrs(p->src, p->dst);
	const uint32_t taken = fast_headers_sum(udp - addrs, addrs + NET_PORTS_LEN, false) +
		2u * load_raw16(udp + NET_UDP_LENGTH_AT) + fast_headers_sum(data, r->off, false) +
		fast_headers_sum(data + end, v->len - end, (end & 1) != 0);
	const uint32_t added = (uint32_t)ends + p->sport + p->dport + 2u * to_be16(p->udp_len) +
		fast_headers_sum(r->front, r->front_len, false);
	const uint16_t old_total = load_raw16(udp - NET_IP4_LEN + NET_IP4_LENGTH_AT);

	p->udp = (uint32_t)load_raw16(udp + NET_UDP_CHECKSUM_AT) + udp_fold32(taken) +
		(uint16_t)~udp_fold32(added);
	p->ip = (uint32_t)ends + to_be16(p->udp_len + NET_IP4_LEN) +
		(uint16_t)~udp_fold32(
			(uint32_t)fast_headers_sum(udp - addrs, NET_IP4_ADDRS_LEN, false) +
			old_total);
}

bool fast_headers_relay(struct worker *w, struct rte_mbuf *m, const struct turn_view *v,
	const struct rewrite *r, uint16_t neigh)
{
	const struct neigh_hop *hop = &w->hops[neigh];
	const bool is_v4 = addr_is_v4(&r->src->addr);
	const uint16_t headers = NET_UDP_LEN + (is_v4 ? NET_IP4_LEN : NET_IP6_LEN);
	const uint16_t end = (uint16_t)(r->off + r->len), len = r->front_len + r->len + r->pad;
	const uint8_t *ip4 = v->data - NET_UDP_LEN - NET_IP4_LEN; // valid in a plain IPv4 frame
	uint8_t *data = (uint8_t *)(uintptr_t)v->data, *front = data + r->off - r->front_len, *ip;
	struct fast_headers p = {.src = &r->src->addr,
		.dst = &r->dst->addr,
		.payload = data,
		.moved = r->off - r->front_len,
		.sport = to_be16(r->src->port),
		.dport = to_be16(r->dst->port),
		.udp_len = (uint16_t)(len + NET_UDP_LEN)};

	if ((v->flags & (DP_PLAIN | DP_IPV4)) != (is_v4 ? DP_PLAIN | DP_IPV4 : DP_PLAIN) ||
		hop->serial == NEIGH_NO_SERIAL || w->plain_max == 0 ||
		((r->off | r->front_len) & 1) != 0 || len + (uint32_t)headers > r->mtu ||
		(is_v4 && r->df && (ip4[NET_IP4_FRAGMENT_AT] & NET_IP4_DF) == 0) ||
		(int)m->data_off + p.moved < 0 || r->pad > rte_pktmbuf_tailroom(m))
		return false;
	fast_headers_sums(&p, v, r);
	memset(data + end, 0, r->pad);
	ip = is_v4 ? fast_headers_write_ip4(w, &p) : fast_headers_write_ip6(&p);
	fast_headers_write_udp(&p);
	memcpy(front, r->front, r->front_len);
	m->data_off = (uint16_t)(m->data_off + p.moved);
	m->data_len = (uint16_t)(NET_ETH_LEN + headers + len);
	m->pkt_len = m->data_len;
	m->ol_flags &= RTE_MBUF_F_EXTERNAL | RTE_MBUF_F_INDIRECT;
	fast_headers_send(w, hop, m, ip, is_v4);
	return true;
}
