// SPDX-License-Identifier: BSD-3-Clause
// Writes a plain frame (untagged, without options and extension headers) in place of another one.
// Inline, because nearly every frame is plain. Ports, sums and checksums have the byte order of the
// packet here.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <rte_common.h>
#include <rte_mbuf.h>

#include "addr.h"
#include "dp_burst.h"
#include "path/fastpath.h"
#include "link/tx.h"
#include "net.h"
#include "path/rewrite.h"
#include "turn.h"
#include "turn_mark.h"
#include "udp.h"
#include "path/worker.h"

// Converts a 16-bit value to the byte order of the packet.
static inline uint16_t to_be16(uint16_t v)
{
	return __builtin_bswap16(v);
}

// 16 bits at any address.
struct word16 {
	uint16_t v;
} __rte_packed __rte_may_alias;

// Writes a 16-bit value. gcc would first combine neighbouring values into one word, which takes
// more instructions than writing each.
static inline void write_raw16(uint8_t *p, uint16_t v)
{
	((volatile struct word16 *)p)->v = v;
}

static inline uint16_t fast_headers_sum_addrs(const struct addr *a, const struct addr *b)
{
	return udp_fold(udp_sum4(a->d[0], a->d[1], b->d[0], b->d[1]));
}

// Sum of bytes. odd: an odd number of bytes precedes them in the packet, so they swap places within
// 16-bit words.
static inline uint16_t fast_headers_sum(const uint8_t *p, size_t len, bool odd)
{
	uint16_t sum;

	if (len < 8)
		sum = len > 0 ? to_be16(csum_fold(csum_add(0, p, len))) : 0;
	else
		sum = udp_fold(udp_sum(0, 0, p, len));
	return odd ? to_be16(sum) : sum;
}

// A frame that is made out of another one, in place.
struct fast_headers {
	const struct addr *src, *dst;
	uint8_t *payload; // the old payload
	int moved; // how many bytes later the new payload begins
	uint16_t sport, dport, udp_len;
	uint32_t udp; // its UDP checksum, not folded yet
	uint32_t ip; // growth of the IPv4 header's sum, without the parts that change at every hop
};

// A UDP checksum is never 0, and neither is the amount that it changes by. So the sum is not 0
// either, and the result is 0xffff as UDP requires, never 0.
static inline void fast_headers_write_udp(const struct fast_headers *p)
{
	uint8_t *udp = p->payload + p->moved - NET_UDP_LEN;

	write_raw16(udp, p->sport);
	write_raw16(udp + 2, p->dport);
	write_raw16(udp + 4, to_be16(p->udp_len));
	write_raw16(udp + 6, udp_fold32(p->udp));
}

// Writes the IPv4 header and returns its address. The identification stays when DF is set, because
// it has no meaning then (RFC 6864 section 4).
static __rte_always_inline uint8_t *fast_headers_write_ip4(
	struct worker *w, const struct fast_headers *p)
{
	const uint8_t *old = p->payload - NET_UDP_LEN - NET_IP4_LEN;
	const uint16_t tos = load_raw16(old), hops = load_raw16(old + 8) - 1;
	const uint16_t total = to_be16(p->udp_len + NET_IP4_LEN);
	// 0xfffe: TTL decremented
	uint32_t id = load_raw32(old + 4), sum = p->ip + 0xffff + 0xfffe - load_raw16(old + 10);
	uint8_t *ip = p->payload + p->moved - NET_UDP_LEN - NET_IP4_LEN;
	uint16_t checksum;

	if (unlikely((id & to_be16(0x4000) << 16) == 0)) {
		sum += (uint16_t)~id;
		id = (id & 0xffff0000) | to_be16(rewrite_ip_id(w));
		sum += (uint16_t)id;
	}
	checksum = (uint16_t)~udp_fold32(sum);
	write_raw16(ip, tos);
	write_raw16(ip + 2, total);
	memcpy(ip + 4, &id, 4);
	write_raw16(ip + 8, hops);
	write_raw16(ip + 10, checksum);
	memcpy(ip + 12, &p->src->w[3], 4);
	memcpy(ip + 16, &p->dst->w[3], 4);
	return ip;
}

static __rte_always_inline uint8_t *fast_headers_write_ip6(const struct fast_headers *p)
{
	const uint8_t *old = p->payload - NET_UDP_LEN - NET_IP6_LEN;
	const uint64_t first =
		(load_raw32(old) & 0x0000f0ff) | // no flow label: it belongs to the old flow
		(uint64_t)to_be16(p->udp_len) << 32 | (uint64_t)17 << 48 |
		(uint64_t)(uint8_t)(old[7] - 1) << 56;
	uint8_t *ip = p->payload + p->moved - NET_UDP_LEN - NET_IP6_LEN;

	memcpy(ip, &first, 8);
	memcpy(ip + 8, p->src, 16);
	memcpy(ip + 24, p->dst, 16);
	return ip;
}

// Headers for a datagram of a leg, from its line; length and sums are filled in later.
static __rte_always_inline struct fast_headers fast_headers_from_line(
	const struct turn_line *l, const struct source *src, uint8_t *payload, unsigned int leg)
{
	const uint32_t from_client = leg - 1; // all ones: then the source port is the relay port

	return (struct fast_headers){.src = &src->addr,
		.dst = &l->end[leg ^ 1],
		.payload = payload,
		.sport = (uint16_t)((l->relay_port & from_client) | (src->port & ~from_client)),
		.dport = to_be16(turn_mark_port(l->mark[leg ^ 1]))};
}

static inline void fast_headers_send(struct worker *w, const struct neigh_hop *hop,
	struct rte_mbuf *m, uint8_t *ip, const bool is_v4)
{
	struct outbox *o = &w->tx[hop->port];

	__asm__("" : "+r"(o)); // one address, or gcc computes one more for each member
	memcpy(ip - NET_ETH_LEN, hop, 8);
	memcpy(ip - NET_ETH_LEN + 6, &o->tail[is_v4], 8);
	if (unlikely(o->n == DP_BURST - 1))
		tx_put(w, hop->port, m); // full after this one: tx_put sends the burst
	else
		o->m[o->n++] = m;
}

// rewrite_frame and sending in one, for a plain datagram to a neighbour whose MAC is known. False
// if a condition is not met, and then nothing has been changed.
bool fast_headers_relay(struct worker *w, struct rte_mbuf *m, const struct turn_view *v,
	const struct rewrite *r, uint16_t neigh);
