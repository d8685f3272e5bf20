// SPDX-License-Identifier: BSD-3-Clause
// The relayed datagram that nearly every one is: from wire to wire, one family, with a checksum,
// a whole payload, a ChannelData header taken off or put on, a template at hand. Its new headers
// are written straight from the template. Anything else is rewrite.c's.
#include "bytes.h"
#include "dp_int.h"
#include "udp.h"

// A 16-bit value as it lies in memory.
static inline uint16_t be16(uint16_t v)
{
	return __builtin_bswap16(v);
}

// The UDP checksum, as it lies in memory, when the words summing to removed are replaced by those
// summing to added (RFC 1624 eqn. 3). The complement of a sum is its distance from 2^48 - 1, a
// multiple of 2^16 - 1.
static inline uint16_t checksum_swap(uint16_t old, uint64_t removed, uint64_t added)
{
	const uint64_t zero = (UINT64_C(1) << 48) - 1;
	const uint16_t v = (uint16_t)~udp_fold((uint16_t)~old + added + (zero - removed));

	return v != 0 ? v : 0xffff;
}

// Sum of two addresses of one family.
static inline uint64_t pair_sum(const struct addr *a, const struct addr *b, bool is_v4)
{
	if (likely(is_v4))
		return (uint64_t)a->w[3] + b->w[3];
	return udp_fold(udp_add(udp_add(a->d[0], a->d[1]), udp_add(b->d[0], b->d[1])));
}

static inline void write_ip4(uint8_t *ip, const struct template *t, const struct net_frame *f,
	uint16_t total, uint32_t id_df)
{
	const uint32_t src = t->src.addr.w[3], dst = t->dst.addr.w[3];
	const uint32_t w0 = 0x45u | (uint32_t)f->tos << 8 | (uint32_t)be16(total) << 16;
	uint32_t w2 = (uint32_t)(f->ttl - 1) | 17u << 8;

	w2 |= (uint32_t)(uint16_t)~udp_fold((uint64_t)w0 + id_df + w2 + src + dst) << 16;
	memcpy(ip, &w0, 4);
	memcpy(ip + 4, &id_df, 4);
	memcpy(ip + 8, &w2, 4);
	memcpy(ip + 12, &src, 4);
	memcpy(ip + 16, &dst, 4);
}

static inline void write_ip6(
	uint8_t *ip, const struct template *t, const struct net_frame *f, uint16_t udp_len)
{
	const uint32_t w0 = __builtin_bswap32(0x60000000u | (uint32_t)f->tos << 20);
	const uint32_t w1 = (uint32_t)be16(udp_len) | 17u << 16 | (uint32_t)(f->ttl - 1) << 24;

	memcpy(ip, &w0, 4);
	memcpy(ip + 4, &w1, 4);
	memcpy(ip + 8, &t->src.addr, 16);
	memcpy(ip + 24, &t->dst.addr, 16);
}

// Ethernet and IP header in front of a UDP header; returns the first byte of the frame.
static inline uint8_t *write_headers(struct worker *w, uint8_t *udp, const struct template *t,
	const struct net_frame *f, uint32_t flags)
{
	const uint16_t udp_len = load_be16(udp + 4);
	uint8_t *ip = udp - (f->is_v4 ? NET_IP4_LEN : NET_IP6_LEN);
	uint8_t *frame = ip - NET_ETH_LEN;

	if (likely(f->is_v4))
		write_ip4(ip, t, f, (uint16_t)(udp_len + NET_IP4_LEN),
			(uint32_t)be16(rewrite_ip_id(w)) |
				((flags & TURN_PLAN_DF) != 0 ? 0x40u << 16 : 0));
	else
		write_ip6(ip, t, f, udp_len);
	memcpy(frame + 6, w->dp->port[t->place].l2.src, 6);
	store_be16(frame + 12, f->is_v4 ? 0x0800 : 0x86dd);
	return frame;
}

// All that makes a datagram unusual.
static inline bool unusual(const struct worker *w, const struct rte_mbuf *m,
	const struct net_frame *f, const struct turn_plan *plan, const struct template *t)
{
	const struct dp_port *port = &w->dp->port[t->place];
	const uint32_t headers = NET_UDP_LEN + (f->is_v4 ? NET_IP4_LEN : NET_IP6_LEN);

	return t->hop != HOP_WIRE || t->generation != neigh_generation(w->neigh) ||
		f->is_v4 != addr_is_v4(&t->src.addr) || f->ttl <= 1 || f->l4_checksum == 0 ||
		plan->front_len > CHANNEL_HEADER_LEN || plan->off + plan->len != f->payload_len ||
		plan->off + plan->front_len != CHANNEL_HEADER_LEN || port->l2.vlan != 0 ||
		headers + plan->front_len + plan->len > port->port->mtu ||
		// room in front: the new headers are at most as long as these, and 4
		(uint32_t)m->data_off + f->payload_off + plan->off <
		NET_ETH_LEN + headers + plan->front_len;
}

bool relay_plain(struct worker *w, struct rte_mbuf *m, const struct net_frame *f,
	const struct turn_plan *plan)
{
	const struct template *t = &w->template[plan->flow];
	const uint16_t udp_len = (uint16_t)(NET_UDP_LEN + plan->front_len + plan->len);
	const uint32_t ports = (uint32_t)be16(t->src.port) | (uint32_t)be16(t->dst.port) << 16;
	uint8_t *payload = rte_pktmbuf_mtod_offset(m, uint8_t *, f->payload_off), *frame;
	uint64_t removed, added;
	uint32_t front, fields;
	const uint8_t *mac;

	if (unlikely(unusual(w, m, f, plan, t)))
		return false;
	mac = neigh_mac(w->neigh, t->neigh, w->now_ms);
	if (unlikely(mac == NULL))
		return false;
	removed = pair_sum(&f->src, &f->dst, f->is_v4) + udp_load32(payload - NET_UDP_LEN) +
		2 * (uint64_t)be16((uint16_t)(f->payload_len + NET_UDP_LEN));
	added = pair_sum(&t->src.addr, &t->dst.addr, f->is_v4) + ports +
		2 * (uint64_t)be16(udp_len);
	if (plan->front_len != 0) { // ChannelData header on
		front = (uint32_t)be16(plan->channel) | (uint32_t)be16(plan->len) << 16;
		payload -= CHANNEL_HEADER_LEN;
		memcpy(payload, &front, CHANNEL_HEADER_LEN);
		added += front;
	} else { // and off
		removed += udp_load32(payload);
		payload += CHANNEL_HEADER_LEN;
	}
	fields = (uint32_t)be16(udp_len) |
		(uint32_t)checksum_swap(be16(f->l4_checksum), removed, added) << 16;
	memcpy(payload - 8, &ports, 4);
	memcpy(payload - 4, &fields, 4);
	frame = write_headers(w, payload - NET_UDP_LEN, t, f, plan->flags);
	memcpy(frame, mac, 6);
	rewrite_set_frame(m, frame, (uint32_t)(payload - frame) + plan->front_len + plan->len);
	tx_put(w, t->place, m);
	return true;
}
