// SPDX-License-Identifier: BSD-3-Clause
// Sends datagrams that exceed the MTU of their path. Every fragment is copied into its own buffer,
// because it needs its own headers and the senders of frames expect a single buffer.
#include <rte_mbuf.h>

#include "ip/fragment_out.h"
#include "datapath.h"
#include "drop_of.h"
#include "fragment.h"
#include "link/nexthop.h"
#include "net.h"
#include "path/worker.h"

void fragment_out_send(struct worker *w, struct rte_mbuf *m, const struct net_frame *f,
	const struct fragment_route *route)
{
	const uint32_t len = m->data_len - (uint32_t)f->l4_off;
	const uint16_t room = net_fragment_room(f->is_v4, route->mtu);
	const uint32_t n = (len + room - 1) / room;
	struct net_fragment_cut c = {
		.id = net_fragment_id(&w->fragment_key, &f->src, &f->dst, w->fragment_id++)};
	struct rte_mbuf *out[NET_FRAGMENTS_MAX];

	unsigned int reason;

	reason = n > NET_FRAGMENTS_MAX ? DP_DROP_MTU : nexthop_takes(w, route->neigh, n);
	if (reason == DP_OK && rte_pktmbuf_alloc_bulk(w->dp->pool, out, n) != 0)
		reason = DP_DROP_NO_MBUF;
	if (reason != DP_OK) {
		worker_drop(w, m, reason);
		return;
	}
	for (uint32_t i = 0; i < n; i++) {
		uint8_t *frame = rte_pktmbuf_mtod(out[i], uint8_t *);

		c.off = (uint16_t)(i * room);
		c.more = i + 1 < n;
		c.len = (uint16_t)(c.more ? room : len - c.off);
		out[i]->data_len = (uint16_t)net_fragment_write(
			frame, rte_pktmbuf_mtod(m, const uint8_t *), f->l3_off, &c);
		out[i]->pkt_len = out[i]->data_len;
		nexthop_send(w, out[i], route->port, route->neigh);
	}
	w->live.made += n;
	w->live.consumed++;
	w->live.fragments_out += n;
	rte_pktmbuf_free(m);
}
