// SPDX-License-Identifier: BSD-3-Clause
// Relays super-frames whole. The first datagram is relayed like any other, as a frame of its own.
// If the line of its allocation vouches for it, it vouches for all datagrams of the super-frame,
// because only their lengths differ. They then follow the first one in the same frame. Otherwise
// they are cut, and each is handled separately.
#include "link/gso_whole.h"
#include "datapath.h"
#include "dp_burst.h"
#include "path/fastpath.h"
#include "path/meter.h"
#include "invariant.h"
#include "link/tx.h"
#include "port.h"
#include "stun.h"
#include "super/super.h"
#include "turn_drop.h"
#include "turn_line.h"
#include "path/worker.h"

static struct port_super limits_of(const struct worker *w, uint8_t port)
{
	const struct port_super *uso = &w->dp->port[port].port->uso;

	return (struct port_super){.segments = __atomic_load_n(&uso->segments, __ATOMIC_RELAXED),
		.bufs = uso->bufs,
		.bytes = uso->bytes};
}

static bool any_takes(const struct worker *w)
{
	for (unsigned int i = 0; i < w->dp->nb_ports; i++)
		if (limits_of(w, (uint8_t)i).segments > 1)
			return true;
	return false;
}

bool gso_whole_begin(struct worker *w, struct rte_mbuf *m, const struct port_super_info *info)
{
	struct rte_mbuf *first;

	if (info->frames < 2 || w->plain_max == 0 || w->capture != NULL || !any_takes(w))
		return false;
	ASSERT(w->pieces.whole.m == NULL); // one at a time
	first = port_super_first(m, w->dp->pool);
	if (first == NULL)
		return false;
	w->pieces.whole = (struct whole){.m = m,
		.first = first,
		.frames = info->frames,
		.len = info->len,
		.rest_bytes = info->bytes - first->pkt_len};
	w->burst.m[0] = first;
	return true;
}

// Sets the change at the front of each datagram: a ChannelData header is removed or added.
static void set_edit(const struct worker *w, struct whole *x)
{
	const struct turn_view *v = &w->burst.turn.view[0];
	const struct turn_line *l = &w->lines[v->slot];
	const uint32_t full = turn_line_front(l, v, v->leg);
	struct turn_view last = *v;
	uint32_t shorter;

	ASSERT(x->len > (x->frames - 1) * v->len && x->len <= x->frames * v->len);
	last.len = (uint16_t)(x->len - (x->frames - 1) * v->len);
	shorter = turn_line_front(l, &last, v->leg);
	if (v->leg == TURN_FROM_CLIENT)
		x->edit.taken = CHANNEL_HEADER_LEN;
	else
		x->edit.put = CHANNEL_HEADER_LEN;
	memcpy(x->edit.front[0], &full, sizeof(full));
	memcpy(x->edit.front[1], &shorter, sizeof(shorter));
}

// Charges all datagrams except the first to the rates that apply; the first is charged separately.
// False, and nothing is charged, if a rate does not allow it. Then each datagram is charged
// separately.
static bool meter_rest(struct worker *w, struct whole *x, uint16_t len)
{
	const uint32_t rest = x->frames - 1;

	if (!meter_is_on(w))
		return true;
	x->rest_data = x->len - len - rest * x->edit.taken;
	x->paid = meter_pay_more(w, x->slot, x->leg, rest, x->rest_data);
	return x->paid;
}

void gso_whole_look(struct worker *w)
{
	const struct turn_view *v = &w->burst.turn.view[0];
	struct whole *x = &w->pieces.whole;

	if (w->burst.n != 1 || w->burst.m[0] != x->first || w->burst.turn.nb_elsewhere > 0 ||
		!fastpath_vouches(w, &x->out))
		return;
	x->slot = v->slot;
	x->leg = v->leg;
	set_edit(w, x);
	x->vouched = (x->leg == TURN_FROM_PEER || port_super_alike(x->m, &x->edit)) &&
		meter_rest(w, x, v->len);
	if (x->vouched && w->tx[x->out].n >= DP_BURST - 1)
		tx_flush(w); // the datagram must stay in its outbox
}

// Counts all datagrams except the first, as if each had been relayed separately.
static void count_rest(struct worker *w, const struct whole *x, const struct rte_mbuf *first)
{
	const uint32_t headers = first->l2_len + first->l3_len + first->l4_len;
	const uint32_t rest = x->frames - 1, size = first->tso_segsz - x->edit.put;
	const uint32_t last = (first->pkt_len - headers - rest * first->tso_segsz) - x->edit.put;
	struct turn_line *l = &w->lines[x->slot];

	ASSERT(x->frames >= 2 && last > 0 && last <= size);
	for (uint32_t i = 1; i <= rest; i++) {
		turn_line_add(l, x->leg, i < rest ? size : last);
		turn_line_added(w->shard, l, x->slot, x->leg);
	}
	w->live.rx_bytes += x->rest_bytes;
	w->live.tx += rest;
	w->live.tx_bytes += (uint64_t)rest * headers;
	w->live.uso_frames++;
	w->live.uso_segments += x->frames;
	w->live.whole_frames++;
}

// Sends all datagrams after the first one. False: they must be cut.
static bool follow_first(struct worker *w, struct whole *x, struct rte_mbuf *m)
{
	const struct outbox *o = &w->tx[x->out];
	const struct port_super limits = limits_of(w, x->out);

	if (!x->vouched || o->n == 0 || o->m[o->n - 1] != x->first)
		return false;
	return port_super_follow(o->m[o->n - 1], m, &x->edit, &limits, w->dp->pool);
}

bool gso_whole_end(struct worker *w, uint8_t port)
{
	struct whole *x = &w->pieces.whole;
	const struct outbox *o = &w->tx[x->out];
	struct rte_mbuf *m = x->m, *first;

	ASSERT(x->frames >= 2 && (!x->paid || x->vouched));
	x->m = NULL;
	if (!follow_first(w, x, m)) {
		if (x->paid)
			meter_give_more(w, x->slot, x->leg, x->frames - 1, x->rest_data);
		return false;
	}
	first = o->m[o->n - 1];
	count_rest(w, x, first);
	if (x->leg == TURN_FROM_PEER && w->dp->nb_workers > 1)
		steer_count(w->steer[port].came, (first->ol_flags & RTE_MBUF_F_TX_IPV4) != 0,
			x->frames - 1);
	rte_pktmbuf_free(m);
	return true;
}
