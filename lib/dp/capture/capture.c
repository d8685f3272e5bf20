// SPDX-License-Identifier: BSD-3-Clause
// A capture: the copies that workers make, and the functions of the thread that requested it.
// Between each worker and that thread there are two rings, one for frames and one for notes about
// allocations. A full ring loses copies, which are counted, and never a packet.
#include <errno.h>

#include <rte_malloc.h>
#include <rte_mbuf.h>

#include "capture/capture.h"
#include "capture/capture_filter.h"
#include "capture/capture_look.h"
#include "clock.h"
#include "counter.h"
#include "datapath.h"
#include "secret.h"
#include "super/super.h"
#include "turn_event.h"
#include "turn_listing.h"
#include "path/worker.h"

#define RINGS_BYTES (16u << 20) // for the rings of all workers together
#define RING_MIN (512u << 10) // per ring: a quarter has room for the longest frame
#define RING_MAX (4u << 20)
#define NOTES_BYTES (64u << 10)
#define FILTERS 2 // the filter in use and the next one

struct dp_capture {
	struct capture_filter master, given[FILTERS];
	unsigned int active; // index into given: the filter in use
	struct capture *source; // the worker whose frame dp_capture_first returned
	void *mem; // memory of all rings
	struct capture one[] __rte_cache_aligned; // by worker
};

// --- the worker's side ---------------------------------------------------------------------------

static bool is_listener(const struct worker *w, const struct endpoint *e)
{
	const struct turn_config *c = &w->dp->conf->turn;

	for (uint32_t i = 0; i < c->nb_listeners; i++)
		if (endpoint_eq(&c->listeners[i].endpoint, e))
			return true;
	return false;
}

// Remembers a datagram if this is its first fragment, or finds the datagram of another fragment.
static bool is_piece(struct capture *c, const struct capture_look *l, uint64_t *allocation)
{
	for (unsigned int i = 0; i < CAPTURE_PIECES; i++) {
		const struct capture_piece *p = &c->piece[i];

		if (p->id != l->id || !addr_eq(&p->src, &l->src) || !addr_eq(&p->dst, &l->dst))
			continue;
		*allocation = p->allocation;
		return true;
	}
	return false;
}

static bool is_wanted(struct capture *c, const struct capture_look *l, uint64_t *allocation)
{
	if (!capture_filter_frame(c->filter, l, allocation))
		return l->piece && !l->flow && is_piece(c, l, allocation);
	if (l->piece && l->flow)
		c->piece[c->next_piece++ % CAPTURE_PIECES] =
			(struct capture_piece){l->src, l->dst, l->id, *allocation};
	return true;
}

// Bytes to keep of a frame or message; *mask: some of them must be masked.
static uint32_t snap_len(
	const struct worker *w, const struct rte_mbuf *m, const struct capture_look *l, bool *mask)
{
	const struct dp_capture_wanted *a = &w->capture->filter->wanted;
	const uint8_t *data = rte_pktmbuf_mtod(m, const uint8_t *);
	uint32_t n = m->pkt_len;

	*mask = false;
	if (!a->payload) {
		n = l->headers;
		// data from a peer is payload, even if it looks like STUN
		*mask = l->udp && (is_listener(w, &l->end[0]) || is_listener(w, &l->end[1]));
		if (*mask)
			n += capture_message_keep(data + n, m->data_len - n);
	}
	return RTE_MIN(n, a->snap);
}

static void *reserve_frame(struct capture *c, uint32_t len)
{
	void *p = capture_ring_room(&c->frames, (uint32_t)sizeof(struct dp_capture_frame) + len);

	if (p == NULL)
		counter_add(&c->lost, 1);
	return p;
}

static void copy_frame(struct worker *w, const struct rte_mbuf *m, const struct capture_look *l,
	struct dp_capture_frame *f)
{
	struct dp_capture_frame *dst;
	const void *src;
	bool mask;

	f->len = m->pkt_len;
	f->cut = snap_len(w, m, l, &mask);
	f->frames = (uint16_t)port_super_frames(m);
	if (f->kind == DP_CAPTURE_RX && (m->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED) != 0)
		f->tag = m->vlan_tci | DP_CAPTURE_TAGGED;
	dst = reserve_frame(w->capture, f->cut);
	if (dst == NULL)
		return;
	*dst = *f;
	// copies only if the frame is in several segments
	src = rte_pktmbuf_read(m, 0, f->cut, dst->data);
	if (src != NULL && src != dst->data)
		memcpy(dst->data, src, f->cut);
	if (mask && f->cut > l->headers)
		capture_message_mask(dst->data + l->headers, f->cut - l->headers);
	capture_ring_put(&w->capture->frames, (uint32_t)sizeof(*dst) + f->cut);
}

// Copies a frame if it matches.
static void capture_frame(struct worker *w, const struct rte_mbuf *m, struct dp_capture_frame *f)
{
	struct capture_look l;

	capture_look(rte_pktmbuf_mtod(m, const uint8_t *), m->data_len, &l);
	if (is_wanted(w->capture, &l, &f->id))
		copy_frame(w, m, &l, f);
}

static void capture_frames(struct worker *w, const struct dp_capture_frame *base,
	struct rte_mbuf *const *m, unsigned int n)
{
	const struct capture_filter *wanted = w->capture->filter;

	// if a capture is of drops alone, nothing must be checked here
	for (unsigned int i = 0; i < n && (wanted->nb > 0 || wanted->wanted.of_source); i++) {
		struct dp_capture_frame f;

		if (likely(capture_filter_skips(
			    wanted, rte_pktmbuf_mtod(m[i], const uint8_t *), m[i]->data_len)))
			continue;
		f = *base;
		capture_frame(w, m[i], &f);
	}
}

void capture_rx(struct worker *w, uint8_t port, unsigned int n)
{
	const struct dp_capture_frame f = {
		.ns = clock_wall_ns(), .kind = DP_CAPTURE_RX, .port = port};

	capture_frames(w, &f, w->burst.m, n);
}

void capture_tx(struct worker *w, uint8_t port, struct rte_mbuf *const *m, unsigned int n)
{
	const struct dp_capture_frame f = {
		.ns = clock_wall_ns(), .kind = DP_CAPTURE_TX, .port = port};

	capture_frames(w, &f, m, n);
}

static void copy_message(
	struct worker *w, struct dp_capture_frame *f, const uint8_t *data, uint32_t len)
{
	const struct dp_capture_wanted *a = &w->capture->filter->wanted;
	struct dp_capture_frame *dst;

	f->message = true;
	f->frames = 1;
	f->len = len;
	f->cut = RTE_MIN(a->payload ? len : capture_message_keep(data, len), a->snap);
	dst = reserve_frame(w->capture, f->cut);
	if (dst == NULL)
		return;
	*dst = *f;
	memcpy(dst->data, data, f->cut);
	if (!a->payload)
		capture_message_mask(dst->data, f->cut);
	capture_ring_put(&w->capture->frames, (uint32_t)sizeof(*dst) + f->cut);
}

void capture_message(struct worker *w, enum dp_capture_kind kind, const struct turn_view *v)
{
	const struct capture_filter *filter = w->capture->filter;
	struct dp_capture_frame f = {.ns = clock_wall_ns(),
		.kind = (uint8_t)kind,
		.client = {v->src, v->src_port},
		.listener = v->listener};

	if (filter->wanted.decrypted &&
		capture_filter_message(filter, &f.client, v->listener, &f.id))
		copy_message(w, &f, v->data, v->len);
}

void capture_burst(struct worker *w, enum dp_capture_kind kind)
{
	for (unsigned int i = 0; i < w->burst.n; i++)
		capture_message(w, kind, &w->burst.turn.view[i]);
}

// True if a packet has no frame headers, like messages of streams and handshakes between worker and
// thread. A frame has the MAC of one of our ports, or does not look like a message.
static bool is_bare(const struct worker *w, const struct rte_mbuf *m)
{
	const uint8_t *data = rte_pktmbuf_mtod(m, const uint8_t *);

	if (m->data_len >= NET_ETH_LEN) {
		for (unsigned int i = 0; i < w->dp->nb_ports; i++) {
			const uint8_t *mac = w->dp->port[i].port->mac;

			if (memcmp(data, mac, 6) == 0 || memcmp(data + 6, mac, 6) == 0)
				return false;
		}
	}
	return capture_message_is(data, m->data_len);
}

void capture_drop(struct worker *w, const struct rte_mbuf *m, unsigned int reason)
{
	struct dp_capture_frame f = {
		.ns = clock_wall_ns(), .kind = DP_CAPTURE_DROP, .reason = (uint16_t)reason};
	const bool asked = reason == w->capture->filter->wanted.drop;
	struct capture_look l;

	if (is_bare(w, m)) {
		if (asked)
			copy_message(w, &f, rte_pktmbuf_mtod(m, const uint8_t *), m->data_len);
		return;
	}
	capture_look(rte_pktmbuf_mtod(m, const uint8_t *), m->data_len, &l);
	if (is_wanted(w->capture, &l, &f.id) || asked)
		copy_frame(w, m, &l, &f);
}

void capture_event(struct worker *w, const struct turn_event *e)
{
	struct capture *c = w->capture;
	struct turn_filter f = c->filter->wanted.follow;
	struct turn_walk walk = {0};
	struct dp_capture_note *note;
	struct turn_info info;

	if ((e->kind != TURN_EVENT_MADE && e->kind != TURN_EVENT_ENDED) || f.wants == 0 ||
		((f.wants & TURN_FILTER_ID) != 0 && f.id != e->id))
		return;
	f.wants |= TURN_FILTER_ID;
	f.id = e->id;
	if (turn_listing_rows(w->shard, &f, &walk, &info, 1) == 0)
		return;
	note = capture_ring_room(&c->notes, sizeof(*note));
	if (note == NULL) {
		counter_add(&c->lost_notes, 1);
		return;
	}
	*note = (struct dp_capture_note){e->kind == TURN_EVENT_ENDED, info};
	capture_ring_put(&c->notes, sizeof(*note));
}

void capture_set(struct worker *w, const struct capture_filter *f)
{
	struct dp_capture *c = w->dp->capture;

	w->capture = f != NULL && c != NULL ? &c->one[w->id] : NULL;
	if (w->capture == NULL)
		return;
	w->capture->filter = f;
	// later fragments may belong to another allocation
	memset(w->capture->piece, 0, sizeof(w->capture->piece));
}

// --- the requester's side ------------------------------------------------------------------------

static uint32_t ring_bytes(const struct dp *d)
{
	const uint32_t each = rte_align32prevpow2(RINGS_BYTES / d->nb_workers);

	return RTE_MIN(RTE_MAX(each, RING_MIN), RING_MAX);
}

int dp_capture_open(struct dp *d, const struct dp_capture_wanted *wanted)
{
	const uint32_t ring = ring_bytes(d);
	const size_t each = ring + NOTES_BYTES;
	struct dp_capture *c;

	if (d->capture != NULL)
		return -EBUSY;
	c = secret_alloc(sizeof(*c) + d->nb_workers * sizeof(c->one[0]));
	if (c == NULL)
		return -ENOMEM;
	c->mem = secret_alloc(d->nb_workers * each);
	if (c->mem == NULL) {
		secret_free(c);
		return -ENOMEM;
	}
	// the pages must be mapped before a worker writes them
	memset(c->mem, 1, d->nb_workers * each);
	for (unsigned int i = 0; i < d->nb_workers; i++) {
		uint8_t *mem = (uint8_t *)c->mem + i * each;

		capture_ring_init(&c->one[i].frames, mem, ring);
		capture_ring_init(&c->one[i].notes, mem + ring, NOTES_BYTES);
	}
	capture_filter_init(&c->master, wanted);
	d->capture = c;
	return 0;
}

bool dp_capture_add(struct dp *d, const struct turn_info *i)
{
	return capture_filter_add(&d->capture->master, &d->conf->turn, i);
}

bool dp_capture_remove(struct dp *d, uint64_t id)
{
	return capture_filter_remove(&d->capture->master, id);
}

const struct capture_filter *dp_capture_filter(struct dp *d)
{
	struct dp_capture *c = d->capture;

	c->active = (c->active + 1) % FILTERS;
	c->given[c->active] = c->master;
	return &c->given[c->active];
}

const struct dp_capture_frame *dp_capture_first(struct dp *d, uint64_t before_ns)
{
	const struct dp_capture_frame *oldest = NULL;

	for (unsigned int i = 0; i < d->nb_workers; i++) {
		struct capture *c = &d->capture->one[i];
		uint32_t len;
		const struct dp_capture_frame *first = capture_ring_first(&c->frames, &len);

		if (first == NULL || first->ns >= before_ns ||
			(oldest != NULL && first->ns >= oldest->ns))
			continue;
		oldest = first;
		d->capture->source = c;
	}
	return oldest;
}

void dp_capture_next(struct dp *d)
{
	capture_ring_drop(&d->capture->source->frames);
}

bool dp_capture_note(struct dp *d, struct dp_capture_note *out)
{
	for (unsigned int i = 0; i < d->nb_workers; i++) {
		struct capture_ring *r = &d->capture->one[i].notes;
		uint32_t len;
		const struct dp_capture_note *n = capture_ring_first(r, &len);

		if (n == NULL)
			continue;
		*out = *n;
		capture_ring_drop(r);
		return true;
	}
	return false;
}

uint64_t dp_capture_lost(const struct dp *d, uint64_t *notes)
{
	uint64_t lost = 0;

	*notes = 0;
	for (unsigned int i = 0; i < d->nb_workers; i++) {
		lost += __atomic_load_n(&d->capture->one[i].lost, __ATOMIC_RELAXED);
		*notes += __atomic_load_n(&d->capture->one[i].lost_notes, __ATOMIC_RELAXED);
	}
	return lost;
}

void dp_capture_close(struct dp *d)
{
	if (d->capture == NULL)
		return;
	secret_free(d->capture->mem);
	secret_free(d->capture);
	d->capture = NULL;
}

void capture_free(struct dp *d)
{
	for (unsigned int i = 0; i < d->nb_made; i++)
		d->worker[i]->capture = NULL;
	dp_capture_close(d);
}
