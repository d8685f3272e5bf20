// SPDX-License-Identifier: BSD-3-Clause
// Sends frames. A queue has one owner, so there are no locks: a worker without a queue of its own
// on a port gives its frames to one that has.
#include "link/tx.h"
#include "capture/capture.h"
#include "coalesce.h"
#include "see/stats.h"
#include "see/timing.h"
#include "datapath.h"
#include "dp_burst.h"
#include "drop_of.h"
#include "exception/exception_note.h"
#include "invariant.h"
#include "port.h"
#include "path/worker.h"
#include "workers/handover.h"

// A virtual port may accept a part of a burst and then the rest at once, because its ring is
// drained inside the call. A NIC whose ring is full stays full much longer than these retries.
#define TX_RETRIES 4

_Static_assert(DP_BURST <= PORT_COALESCE_MAX, "an outbox is coalesced in one call");

// Drops a frame that was counted as sent, for every datagram in it.
static void drop_unsent(struct worker *w, struct rte_mbuf *m)
{
	const uint32_t headers = m->l2_len + m->l3_len + m->l4_len;
	unsigned int n = 1;

	if ((m->ol_flags & RTE_MBUF_F_TX_UDP_SEG) != 0) {
		n = (m->pkt_len - headers + m->tso_segsz - 1) / m->tso_segsz;
		w->live.uso_frames--;
		w->live.uso_segments -= n;
		timing_lost(w, m);
	}
	ASSERT(n > 0 && w->live.tx >= n);
	w->live.tx -= n;
	w->live.tx_bytes -= m->pkt_len + (n - 1) * headers;
	w->live.drop[DP_DROP_TX_FULL] += n - 1;
	worker_drop(w, m, DP_DROP_TX_FULL);
}

// Retries the frames of a burst that the port has not accepted, which may be all. Drops those that
// it never accepts.
static void offer_rest(
	struct worker *w, struct port *p, struct rte_mbuf **m, unsigned int n, bool stalled)
{
	unsigned int sent = 0, stalls = stalled;

	w->live.tx_short++;
	while (sent < n && stalls <= TX_RETRIES) {
		const uint16_t more = port_tx(p, w->id, m + sent, (uint16_t)(n - sent));

		w->live.tx_retried++;
		sent += more;
		stalls += more == 0;
	}
	ASSERT(sent <= n);
	for (; sent < n; sent++)
		drop_unsent(w, m[sent]);
}

// Makes super-frames from the runs in an outbox and counts them. Returns the number of frames left.
static unsigned int coalesce_outbox(struct worker *w, const struct port *p, struct outbox *o)
{
	const struct port_super uso = {
		.segments = __atomic_load_n(&p->uso.segments, __ATOMIC_RELAXED),
		.bufs = p->uso.bufs,
		.bytes = p->uso.bytes};
	const struct port_coalesced c = port_coalesce(&uso, p->vlan, o->m, o->n, NULL);

	w->live.uso_frames += c.supers;
	w->live.uso_segments += c.segments;
	return c.frames;
}

static void flush_one(struct worker *w, uint8_t index)
{
	struct outbox *o = &w->tx[index];
	struct port *p = w->dp->port[index].port;
	unsigned int frames = o->n, sent;
	uint64_t bytes = 0;
	bool timed;

	if (o->n == 0)
		return;
	timed = unlikely(w->timing.m != NULL) && timing_goes(w, o);
#pragma GCC unroll 8
	for (unsigned int i = 0; i < frames; i++)
		bytes += o->m[i]->pkt_len;
	w->live.tx_bytes += bytes;
	w->live.tx += o->n;
	if (unlikely(__atomic_load_n(&p->uso.segments, __ATOMIC_RELAXED) > 1))
		frames = coalesce_outbox(w, p, o);
	ASSERT(frames > 0 && frames <= o->n && o->n <= DP_BURST);
	w->live.tx_hist[stats_class(frames)]++;
	if (unlikely(w->capture != NULL))
		capture_tx(w, index, o->m, frames);
	sent = port_tx(p, w->id, o->m, (uint16_t)frames);
	ASSERT(sent <= frames);
	if (unlikely(sent < frames))
		offer_rest(w, p, o->m + sent, frames - sent, sent == 0);
	if (unlikely(timed))
		timing_sent(w);
	o->n = 0;
}

void tx_put(struct worker *w, uint8_t port, struct rte_mbuf *m)
{
	const uint16_t queues = w->dp->port[port].port->nb_txq;
	struct outbox *o = &w->tx[port];

	if (unlikely(w->id >= queues)) {
		handover_frame(w, w->id % queues, m, port);
		return;
	}
	ASSERT(o->n < DP_BURST && m->pkt_len > 0);
	o->m[o->n++] = m;
	if (o->n == DP_BURST)
		flush_one(w, port);
}

void tx_put_super(
	struct worker *w, uint8_t port, struct rte_mbuf *m, const struct exception_note *note)
{
	struct port *p = w->dp->port[port].port;

	flush_one(w, port);
	if (unlikely(w->capture != NULL))
		capture_tx(w, port, &m, 1);
	for (unsigned int tries = 0; tries <= TX_RETRIES; tries++) {
		if (port_tx(p, w->id, &m, 1) == 0)
			continue;
		w->live.tx += note->frames;
		w->live.tx_bytes += note->bytes;
		w->live.tx_hist[0]++;
		return;
	}
	w->live.drop[DP_DROP_TX_FULL] += note->frames - 1;
	worker_drop(w, m, DP_DROP_TX_FULL);
}

void tx_flush(struct worker *w)
{
	for (unsigned int i = 0; i < w->dp->nb_ports; i++)
		flush_one(w, (uint8_t)i);
}
