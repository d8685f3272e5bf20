// SPDX-License-Identifier: BSD-3-Clause
// Events on their way to management: one ring for each worker and each stream thread, one producer
// and one consumer. A full ring loses events and has no other effect. Anybody can cause refusals,
// so these must not fill a ring: refusals of unproved addresses may use a quarter, all refusals
// together a half. The other half is for authenticated clients: their allocations, and up to three
// quarters of the ring their peers, of which a request may have thousands.
#include <time.h>

#include <rte_cycles.h>
#include <rte_malloc.h>
#include <rte_ring_elem.h>

#include "capture/capture.h"
#include "see/event_rings.h"
#include "rates/bucket.h"
#include "datapath.h"
#include "dp.h"
#include "turn_event.h"
#include "turn_shard.h"
#include "path/worker.h"

#define EVENTS_MIN 64
#define THREAD_EVENTS 256 // for a stream thread, which folds equal refusals
#define REFUSED_PART 2 // refusals may fill 1/REFUSED_PART of a ring
#define UNPROVED_PART 4 // and those of unproved addresses 1/UNPROVED_PART
#define MANY_PARTS 3 // of four: an order, or new peers, may fill a ring up to this

// Events per second that a worker folds for datagrams from unproved sources. In a flood, all others
// cost no more than their drops.
#define UNPROVED_RATE 100

_Static_assert(sizeof(struct turn_event) % 4 == 0, "size of a ring element");
_Static_assert(STREAM_REFUSAL_END <= TURN_CONNECTION_REASONS, "a shard folds these reasons");

static unsigned int ring_entries(const struct conf *c)
{
	return rte_align32pow2(RTE_MAX(c->events, (uint32_t)EVENTS_MIN));
}

static struct rte_ring *ring_make(unsigned int count, int socket)
{
	const ssize_t size = rte_ring_get_memsize_elem(sizeof(struct turn_event), count);
	struct rte_ring *r = size > 0
		? rte_zmalloc_socket("events", (size_t)size, RTE_CACHE_LINE_SIZE, socket)
		: NULL;

	if (r != NULL && rte_ring_init(r, "events", count, RING_F_SP_ENQ | RING_F_SC_DEQ) != 0) {
		rte_free(r);
		return NULL;
	}
	return r;
}

int events_create(struct dp *d)
{
	for (unsigned int i = 0; i < d->nb_workers; i++) {
		struct worker *w = d->worker[i];

		w->events = ring_make(ring_entries(d->conf), (int)rte_lcore_to_socket_id(w->lcore));
		if (w->events == NULL)
			return -ENOMEM;
	}
	for (unsigned int t = 0; t < d->nb_streams; t++) {
		d->stream_events[t] = ring_make(THREAD_EVENTS, SOCKET_ID_ANY);
		if (d->stream_events[t] == NULL)
			return -ENOMEM;
	}
	return 0;
}

void events_free(struct dp *d)
{
	for (unsigned int i = 0; i < d->nb_made; i++) {
		rte_free(d->worker[i]->events);
		d->worker[i]->events = NULL;
	}
	for (unsigned int t = 0; t < d->nb_streams; t++)
		rte_free(d->stream_events[t]);
}

size_t events_size(const struct conf *c)
{
	const ssize_t each = rte_ring_get_memsize_elem(sizeof(struct turn_event), ring_entries(c));
	const ssize_t thread = rte_ring_get_memsize_elem(sizeof(struct turn_event), THREAD_EVENTS);

	return c->workers * (size_t)RTE_MAX(each, (ssize_t)0) +
		c->streams.threads * (size_t)RTE_MAX(thread, (ssize_t)0);
}

// --- adding events -------------------------------------------------------------------------------

static bool has_room(const struct rte_ring *r, const struct turn_event *e)
{
	const unsigned int part = e->proved ? REFUSED_PART : UNPROVED_PART;

	if (e->kind == TURN_EVENT_PEER)
		return rte_ring_count(r) < rte_ring_get_size(r) * MANY_PARTS / 4;
	return !turn_event_refuses(e->kind) || rte_ring_count(r) < rte_ring_get_size(r) / part;
}

void events_put(void *worker, const struct turn_event *e)
{
	struct worker *w = worker;
	const struct dp *d = w->dp;

	if (unlikely(w->capture != NULL))
		capture_event(w, e);
	if (unlikely(d->events_direct)) {
		d->events_take(d->events_ctx, e);
		return;
	}
	if (w->events != NULL && has_room(w->events, e) &&
		rte_ring_sp_enqueue_elem(w->events, (void *)(uintptr_t)e, sizeof(*e)) == 0)
		return;
	w->live.events_lost++;
	if (e->kind == TURN_EVENT_PEER)
		w->live.peer_events_lost++;
	else
		w->live.session_events_lost += !turn_event_refuses(e->kind);
}

unsigned int events_room(const struct worker *w)
{
	const unsigned int most = rte_ring_get_size(w->events) * MANY_PARTS / 4;
	const unsigned int used = rte_ring_count(w->events);

	return used < most ? most - used : 0;
}

void events_refused(struct worker *w, const struct endpoint *client, uint8_t listener,
	enum stream_refusal refusal)
{
	static const struct limit told = {UNPROVED_RATE, UNPROVED_RATE};
	const bool proved = refusal < STREAM_REFUSED_DTLS_HELLO; // by its cookie

	if (proved || bucket_take(&w->unproved, &told, w->now_ms * BUCKET_MS))
		turn_shard_refused(w->shard, client, listener, refusal, proved);
}

bool events_put_refused(struct dp *d, unsigned int t, const struct stream_refused *r)
{
	struct turn_event e = {.at_ms = dp_clock_ms(d),
		.wall_s = (uint64_t)time(NULL),
		.kind = TURN_EVENT_CONNECTION,
		.client = r->client,
		.listener = r->listener,
		.proved = true, // by the TCP handshake, or the DTLS cookie
		.reason = r->reason,
		.more = r->more,
		.name_len = (uint8_t)strnlen(r->offered, sizeof(e.name))};

	memcpy(e.name, r->offered, e.name_len);
	return rte_ring_sp_enqueue_elem(d->stream_events[t], (void *)(uintptr_t)&e, sizeof(e)) == 0;
}

// --- reading events ------------------------------------------------------------------------------

static struct rte_ring *ring_of(const struct dp *d, unsigned int i)
{
	return i < d->nb_workers ? d->worker[i]->events : d->stream_events[i - d->nb_workers];
}

unsigned int dp_events(struct dp *d, struct turn_event *out, unsigned int max)
{
	const unsigned int rings = d->nb_workers + d->nb_streams;
	unsigned int n = 0;

	// the next call continues after the ring at which this one stopped, so that every ring gets
	// its turn
	for (unsigned int empty = 0; empty < rings && n < max;
		d->events_next = (d->events_next + 1) % rings) {
		const unsigned int got = rte_ring_sc_dequeue_burst_elem(ring_of(d, d->events_next),
			out + n, sizeof(*out), RTE_MIN(max - n, 32u), NULL);

		n += got;
		empty = got > 0 ? 0 : empty + 1;
	}
	return n;
}

uint64_t dp_clock_ms(const struct dp *d)
{
	return (rte_rdtsc() - d->tsc_start) / d->tsc_per_ms;
}

void dp_events_to(struct dp *d, void (*take)(void *ctx, const struct turn_event *e), void *ctx)
{
	d->events_take = take;
	d->events_ctx = ctx;
}

void events_drain(struct dp *d)
{
	struct turn_event e[32];
	unsigned int n;

	if (d->events_take == NULL || d->nb_made < d->nb_workers)
		return;
	for (unsigned int i = 0; i < d->nb_workers + d->nb_streams; i++)
		if (ring_of(d, i) == NULL) // start failed before the rings were made
			return;
	while ((n = dp_events(d, e, RTE_DIM(e))) > 0)
		for (unsigned int i = 0; i < n; i++)
			d->events_take(d->events_ctx, &e[i]);
	d->events_direct = true;
}
