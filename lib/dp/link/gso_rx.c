// SPDX-License-Identifier: BSD-3-Clause
// Receives super-frames. They are cut into their datagrams first, which are then handled like any
// other, or they are relayed whole if all datagrams take the same path (gso_whole.c). Counters
// count the datagrams, so they do not depend on how a sender groups them.
#include "link/gso_rx.h"
#include "datapath.h"
#include "dp_burst.h"
#include "drop_of.h"
#include "exception/exception.h"
#include "invariant.h"
#include "net.h"
#include "super/super.h"
#include "path/worker.h"

static void super_drop(
	struct worker *w, struct rte_mbuf *m, const struct port_super_info *s, unsigned int reason)
{
	w->live.rx_bytes += s->bytes; // if it is cut, accept_burst counts them
	w->live.drop[reason] += s->frames - 1;
	worker_drop(w, m, reason);
}

// DP_OK if a super-frame can be cut, else a drop reason.
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
	// cutting makes new checksums, so a wrong one must be detected before
	if (flags != RTE_MBUF_F_RX_L4_CKSUM_GOOD && flags != RTE_MBUF_F_RX_L4_CKSUM_NONE)
		return drop_of_net(NET_DROP_UDP_CHECKSUM);
	return DP_OK;
}

// Cuts m into the pieces, and frees m. If it is dropped there are no pieces. rest: without the
// first datagram.
static void super_cut(
	struct worker *w, struct rte_mbuf *m, const struct port_super_info *s, bool rest)
{
	struct pieces *b = &w->pieces;

	b->nb_cut = rest ? port_super_rest(m, w->dp->pool, b->cut, DP_SUPER_MAX)
			 : port_super_cut(m, w->dp->pool, b->cut, DP_SUPER_MAX);
	ASSERT(b->nb_cut <= DP_SUPER_MAX && b->cut_at == 0);
	ASSERT(b->nb_cut == 0 || b->nb_cut == s->frames);
	if (b->nb_cut == 0)
		super_drop(w, m, s, DP_DROP_NO_MBUF);
	else
		rte_pktmbuf_free(m);
}

// Handles a super-frame. True if its first datagram is in the burst, to be relayed ahead. False if
// it has been cut, passed on or dropped.
static bool super_take(struct worker *w, uint8_t port, struct rte_mbuf *m)
{
	struct port_super_info s;
	unsigned int reason;

	if (!port_super_read(m, &s)) {
		w->live.rx++;
		w->live.rx_bytes += m->pkt_len;
		worker_drop(w, m, DP_DROP_SUPER);
		return false;
	}
	w->live.rx += s.frames;
	reason = super_check(w, port, m->ol_flags, &s);
	if (reason == DP_OK && s.tcp) {
		// whole, as the kernel's own NIC would deliver it
		reason = exception_super(w, port, m, &s);
		if (reason == DP_OK) {
			w->live.rx_bytes += s.bytes;
			return false;
		}
	}
	if (reason != DP_OK) {
		super_drop(w, m, &s, reason);
		return false;
	}
	if (gso_whole_begin(w, m, &s))
		return true;
	super_cut(w, m, &s, false);
	return false;
}

// Continues with a super-frame whose first datagram has been relayed ahead.
static void super_rest(struct worker *w, uint8_t port)
{
	const struct whole *x = &w->pieces.whole;
	struct rte_mbuf *m = x->m;
	const struct port_super_info rest = {.frames = x->frames - 1, .bytes = x->rest_bytes};

	if (!gso_whole_end(w, port))
		super_cut(w, m, &rest, true);
}

unsigned int gso_rx_begin(struct worker *w, uint8_t port, unsigned int n)
{
	struct pieces *b = &w->pieces;

	memcpy(b->in, w->burst.m, n * sizeof(b->in[0]));
	ASSERT(b->in_at == b->nb_in && b->whole.m == NULL && n <= DP_BURST);
	b->in_at = 0;
	b->nb_in = n;
	return gso_rx_next(w, port);
}

unsigned int gso_rx_next(struct worker *w, uint8_t port)
{
	struct pieces *b = &w->pieces;
	unsigned int n = 0;

	if (b->whole.m != NULL)
		super_rest(w, port);
	while (n < DP_BURST) {
		struct rte_mbuf *m;

		if (b->cut_at < b->nb_cut) {
			w->burst.m[n++] = b->cut[b->cut_at++];
			continue;
		}
		if (b->in_at == b->nb_in)
			break;
		ASSERT(b->in_at < b->nb_in && b->cut_at == b->nb_cut);
		m = b->in[b->in_at];
		if ((m->ol_flags & RTE_MBUF_F_RX_LRO) == 0) {
			w->live.rx++;
			w->burst.m[n++] = m;
			b->in_at++;
			continue;
		}
		if (n > 0)
			break; // earlier frames go first
		b->in_at++;
		b->cut_at = b->nb_cut = 0;
		if (super_take(w, port, m))
			return 1;
	}
	return n;
}
