// SPDX-License-Identifier: BSD-3-Clause
// TTL and hop limit of datagrams to clients that have moved.
#include <rte_mbuf.h>

#include "ip/hops.h"
#include "bytes.h"
#include "net.h"
#include "turn.h"

#define HOPS_MOST 64 // usual TTL of hosts; no path is longer
#define HOPS_MOVED 8

bool hops_spend(struct rte_mbuf *m, const struct turn_view *v)
{
	uint8_t *data = rte_pktmbuf_mtod(m, uint8_t *), *ip;
	uint16_t before;
	struct net_frame f;
	uint8_t left;

	net_frame_describe(data, (uint16_t)(v->data - data), v->len, &f);
	ip = data + f.l3_off;
	left = f.ttl < HOPS_MOST ? f.ttl : HOPS_MOST;
	if (left <= HOPS_MOVED)
		return false;
	left -= HOPS_MOVED - 1; // rewriting takes the last
	if (!f.is_v4) {
		ip[7] = left;
		return true;
	}
	before = load_be16(ip + 8);
	ip[8] = left;
	store_be16(ip + 10, csum_update(load_be16(ip + 10), before, load_be16(ip + 8)));
	return true;
}
