// SPDX-License-Identifier: BSD-3-Clause
// Ethernet, IP and UDP headers of the datagrams sent.
#include "lanes/headers.h"

#include "lanes/engine.h"

bool headers_path(struct engine *e, unsigned int side, struct path *p, const struct endpoint *src,
	const struct endpoint *dst)
{
	*p = (struct path){
		.src = *src,
		.dst = *dst,
		.sum = csum_addrs(&src->addr, &dst->addr) + src->port + dst->port,
		.hop = hop_to(e, side, &dst->addr),
	};
	return p->hop != HOP_NONE;
}

bool headers_write(const struct engine *e, unsigned int side, struct rte_mbuf *m,
	const struct path *p, uint32_t sum)
{
	static const struct net_ip ip = {.ttl = 64, .df = true};
	const uint64_t mac =
		p->hop != HOP_NONE ? __atomic_load_n(&e->hop[p->hop].mac, __ATOMIC_RELAXED) : 0;
	const uint16_t len = m->data_len;
	struct net_l2 l2 = e->l2[side];
	uint8_t *payload = rte_pktmbuf_mtod(m, uint8_t *), *frame;
	uint16_t checksum;

	if (unlikely(mac == 0))
		return false;
	memcpy(l2.dst, &mac, sizeof(l2.dst));
	sum += p->sum + NET_PROTO_UDP + 2 * (uint32_t)(len + NET_UDP_LEN);
	checksum = (uint16_t)~csum_fold(sum);
	frame = net_write_udp(
		payload, len, &l2, &p->src, &p->dst, &ip, checksum != 0 ? checksum : 0xffff);
	rte_pktmbuf_prepend(m, (uint16_t)(payload - frame));
	return true;
}
