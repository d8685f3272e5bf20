// SPDX-License-Identifier: BSD-3-Clause
// Super-frames received: cut at the entrance into the datagrams they stand for, which then go the
// way of any other. Counters count those datagrams, so that a sender's habits do not show in them.
#include "link/gso_rx.h"
#include "datapath.h"
#include "dp_burst.h"
#include "drop_of.h"
#include "exception/exception.h"
#include "net.h"
#include "super.h"
#include "worker.h"

static void super_drop(
	struct worker *w, struct rte_mbuf *m, const struct port_super_info *s, unsigned int reason)
{
	w->live.rx_bytes += s->bytes; // if it is cut, accept_burst counts them
	w->live.drop[reason] += s->frames - 1;
	worker_drop(w, m, reason);
}

// DP_SENT, or why it is not cut.
static unsigned int super_check(
	const struct worker *w, uint8_t port, uint64_t flags, const struct port_super_info *s)
{
	flags &= RTE_MBUF_F_RX_L4_CKSUM_MASK;
	if (s->tcp && w->dp->exception[port] == NULL)
		return drop_of_net(NET_DROP_PROTOCOL);
	if (!s->tcp && s->frames > DP_SUPER_MAX)
		return DP_DROP_SUPER;
	if (s->mtu > w->dp->port[port].port->mtu)
		return DP_DROP_RX_OVERSIZE;
	// cutting makes new checksums: a wrong one has to be found out before
	if (flags != RTE_MBUF_F_RX_L4_CKSUM_GOOD && flags != RTE_MBUF_F_RX_L4_CKSUM_NONE)
		return drop_of_net(NET_DROP_UDP_CHECKSUM);
	return DP_SENT;
}

// Cuts m into pieces and frees it; nothing of one that is dropped.
static void super_cut(struct worker *w, uint8_t port, struct rte_mbuf *m)
{
	struct pieces *b = &w->pieces;
	struct port_super_info s;
	unsigned int reason;

	if (!port_super_read(m, &s)) {
		w->live.rx++;
		w->live.rx_bytes += m->pkt_len;
		worker_drop(w, m, DP_DROP_SUPER);
		return;
	}
	w->live.rx += s.frames;
	reason = super_check(w, port, m->ol_flags, &s);
	if (reason == DP_SENT && s.tcp) {
		// whole, as the kernel's own NIC would have given it
		reason = exception_super(w, port, m, &s);
		if (reason == DP_SENT) {
			w->live.rx_bytes += s.bytes;
			return;
		}
	}
	if (reason != DP_SENT) {
		super_drop(w, m, &s, reason);
		return;
	}
	b->nb_cut = port_super_cut(m, w->dp->pool, b->cut, DP_SUPER_MAX);
	if (b->nb_cut == 0)
		super_drop(w, m, &s, DP_DROP_NO_MBUF);
	else
		rte_pktmbuf_free(m);
}

unsigned int gso_rx_begin(struct worker *w, uint8_t port, unsigned int n)
{
	struct pieces *b = &w->pieces;

	memcpy(b->in, w->burst.m, n * sizeof(b->in[0]));
	b->in_at = 0;
	b->nb_in = n;
	return gso_rx_next(w, port);
}

unsigned int gso_rx_next(struct worker *w, uint8_t port)
{
	struct pieces *b = &w->pieces;
	unsigned int n = 0;

	while (n < DP_BURST) {
		struct rte_mbuf *m;

		if (b->cut_at < b->nb_cut) {
			w->burst.m[n++] = b->cut[b->cut_at++];
			continue;
		}
		if (b->in_at == b->nb_in)
			break;
		m = b->in[b->in_at++];
		b->cut_at = b->nb_cut = 0;
		if ((m->ol_flags & RTE_MBUF_F_RX_LRO) != 0) {
			super_cut(w, port, m);
			continue;
		}
		w->live.rx++;
		w->burst.m[n++] = m;
	}
	return n;
}
