// SPDX-License-Identifier: BSD-3-Clause
// Messages between workers: neighbours' answers, extended and ended redirects, clients whose
// session has ended. They use the packets' rings, so that a worker has nothing more to poll.
#include "workers/messages.h"
#include "clients/streams.h"
#include "datapath.h"
#include "invariant.h"
#include "link/nexthop.h"
#include "turn.h"
#include "turn_shard.h"
#include "path/worker.h"
#include "workers/mbuf_meta.h"

static struct rte_mbuf *make_message(struct worker *w, enum mbuf_meta_kind kind)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(w->dp->pool);

	if (m != NULL)
		mbuf_meta_of(m)->kind = (uint8_t)kind;
	return m;
}

// Sends a message. Frees it if there is no room.
static bool send_message(struct worker *w, unsigned int dst, struct rte_mbuf *m)
{
	ASSERT(!mbuf_meta_is_packet(mbuf_meta_of(m)->kind)); // handover counts the packets
	if (rte_ring_sp_enqueue(w->out[dst], m) == 0) {
		w->kicks |= UINT64_C(1) << dst & w->dp->waiters;
		return true;
	}
	rte_pktmbuf_free(m);
	return false;
}

void messages_neighbour(
	struct worker *w, uint8_t port, const struct net_neigh_msg *msg, bool from_ask)
{
	for (unsigned int dst = 0; dst < w->dp->nb_workers; dst++) {
		struct rte_mbuf *m = dst != w->id ? make_message(w, MBUF_META_NEIGHBOUR) : NULL;

		if (m == NULL)
			continue;
		mbuf_meta_of(m)->port = port;
		mbuf_meta_of(m)->from_ask = from_ask;
		mbuf_meta_of(m)->neighbour = *msg;
		// a lost message does no harm: a worker that needs the answer asks again
		send_message(w, dst, m);
	}
}

bool messages_client_ended(struct worker *w, unsigned int dst, const struct turn_view *v)
{
	struct rte_mbuf *m = make_message(w, MBUF_META_CLIENT_ENDED);

	if (m == NULL)
		return false;
	mbuf_meta_of(m)->datagram = *v;
	return send_message(w, dst, m);
}

static bool note_send(struct worker *w, const struct turn_redirect_note *note)
{
	struct rte_mbuf *m = make_message(w, MBUF_META_REDIRECT);

	if (m == NULL)
		return false;
	mbuf_meta_of(m)->redirect = *note;
	return send_message(w, note->redirect_worker, m);
}

void messages_notes(struct worker *w)
{
	unsigned int sent = 0;

	w->nb_notes +=
		turn_redirect_notes(w->shard, w->note + w->nb_notes, DP_NOTES_MAX - w->nb_notes);
	// in order: the last note about a client must come last
	while (sent < w->nb_notes && note_send(w, &w->note[sent]))
		sent++;
	ASSERT(w->nb_notes <= DP_NOTES_MAX && sent <= w->nb_notes);
	w->nb_notes -= sent;
	memmove(w->note, w->note + sent, w->nb_notes * sizeof(w->note[0]));
}

void messages_apply(struct worker *w, struct rte_mbuf *m)
{
	const struct mbuf_meta *p = mbuf_meta_of(m);

	ASSERT(!mbuf_meta_is_packet(p->kind) && p->kind <= MBUF_META_CLIENT_ENDED);
	if (p->kind == MBUF_META_NEIGHBOUR)
		nexthop_learn(w, p->port, &p->neighbour, p->from_ask);
	else if (p->kind == MBUF_META_REDIRECT)
		turn_redirect_apply(w->shard, &p->redirect);
	else
		streams_end(w, &p->datagram);
	rte_pktmbuf_free(m);
}
