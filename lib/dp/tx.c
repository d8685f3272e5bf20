// SPDX-License-Identifier: BSD-3-Clause
// Frames on their way out. A queue has one owner, so there are no locks: a worker without a queue
// of its own on a port gives its frames to one that has.
#include "dp_int.h"

// A virtual port may take part of a burst although it would take the rest at once (its ring is
// drained inside the call); a NIC whose ring is full stays full much longer than this.
#define TX_RETRIES 4

static void flush_one(struct worker *w, uint8_t index)
{
	struct outbox *o = &w->tx[index];
	struct port *p = w->dp->port[index].port;
	unsigned int frames = o->n, sent = 0, retries = 0;
	struct port_super uso;
	uint64_t bytes = 0;

	if (o->n == 0)
		return;
	for (unsigned int i = 0; i < o->n; i++)
		bytes += o->m[i]->pkt_len;
	w->live.tx_bytes += bytes;
	w->live.tx += o->n;
	w->live.tx_hist[stats_bucket(o->n)]++;
	uso.segments = __atomic_load_n(&p->uso.segments, __ATOMIC_RELAXED);
	if (unlikely(uso.segments > 1)) {
		uso.bufs = p->uso.bufs;
		uso.bytes = p->uso.bytes;
		frames = tx_coalesce(w, &uso, p->vlan, o);
	}
	while (sent < frames && retries <= TX_RETRIES) {
		const uint16_t n = port_tx(p, w->id, o->m + sent, (uint16_t)(frames - sent));

		sent += n;
		retries += n == 0;
	}
	for (unsigned int i = sent; i < frames; i++)
		tx_drop_unsent(w, o->m[i]);
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
	o->m[o->n++] = m;
	if (o->n == DP_BURST)
		flush_one(w, port);
}

void tx_flush(struct worker *w)
{
	for (unsigned int i = 0; i < w->dp->nb_ports; i++)
		flush_one(w, (uint8_t)i);
}
