// SPDX-License-Identifier: BSD-3-Clause
#include <rte_malloc.h>

#include "backlog.h"
#include "dp_int.h"

#define CLIENT_MIN 32 // packets that a client may always have, or a quarter of all requests
#define PRESSED_ROUNDS 32
#define RELAYING_MS 1000 // a worker that relays is one that has within this time
#define CLIENT_MARK 0xffffff // port and listener

_Static_assert(BACKLOG_BURST == DP_BURST, "what a queue gives at most");

// Packets of stream clients: as many as there may be requests of others, and a burst, so that their
// rings are read at the latest when none is left.
static uint32_t streams_of(const struct conf *c)
{
	return streams_size(c) > 0 ? c->backlog + DP_BURST : 0;
}

// Entries of the ring: requests, as many datagrams behind them, and what streams have.
static uint32_t slots_of(const struct conf *c)
{
	return rte_align32pow2(2 * c->backlog + streams_of(c));
}

size_t backlog_size(const struct conf *c)
{
	return slots_of(c) *
		(sizeof(struct rte_mbuf *) + sizeof(struct backlog_bucket) + sizeof(uint16_t));
}

int backlog_create(struct worker *w, int socket)
{
	const struct conf *c = w->dp->conf;
	struct backlog *b = &w->backlog;

	*b = (struct backlog){.nb_slots = slots_of(c),
		.max = c->backlog,
		.stream_max = streams_of(c),
		.client_max = (uint16_t)RTE_MAX(c->backlog / 4, (uint32_t)CLIENT_MIN),
		.budget = c->requests};
	b->mem = rte_zmalloc_socket("backlog", backlog_size(c), RTE_CACHE_LINE_SIZE, socket);
	if (b->mem == NULL)
		return -ENOMEM;
	b->ring = b->mem;
	b->bucket = (struct backlog_bucket *)(b->ring + b->nb_slots);
	b->next = (uint16_t *)(b->bucket + b->nb_slots);
	csprng_bytes(&w->rng, &b->key, sizeof(b->key));
	return 0;
}

void backlog_free(struct backlog *b)
{
	rte_free(b->mem);
}

static struct backlog_bucket *bucket_of(const struct backlog *b, const struct turn_view *v)
{
	const uint64_t hash = hash_addr(&b->key, &v->src, v->mark & CLIENT_MARK);

	return &b->bucket[hash & (b->nb_slots - 1)];
}

// Whether something of this client waits.
static bool has_client(
	const struct backlog *b, const struct backlog_bucket *of, const struct turn_view *v)
{
	uint16_t at = of->head;

	for (uint16_t i = 0; i < of->n; i++, at = b->next[at]) {
		const struct turn_view *other = &parcel_of(b->ring[at])->datagram;

		if (addr_eq(&other->src, &v->src) && ((other->mark ^ v->mark) & CLIENT_MARK) == 0)
			return true;
	}
	return false;
}

static void append(struct backlog *b, struct backlog_bucket *to, struct rte_mbuf *m)
{
	const uint16_t at = (uint16_t)((b->head + b->n++) & (b->nb_slots - 1));

	b->ring[at] = m;
	if (to->n++ == 0)
		to->head = at;
	else
		b->next[to->tail] = at;
	to->tail = at;
}

static bool is_stream(const struct turn_view *v)
{
	return (v->flags & DP_STREAM) != 0;
}

// What a redirect has brought here from a stream has waited where it came from, no more of it in a
// round than that worker answers; here nothing would hold its client back.
static bool has_waited(const struct turn_view *v)
{
	return is_stream(v) && v->via != TURN_NO_WORKER;
}

static bool is_full(const struct backlog *b, const struct turn_view *v, uint16_t of_client)
{
	if (is_stream(v))
		return b->streams >= b->stream_max;
	if (of_client >= b->client_max)
		return true;
	if (view_is_request(v))
		return b->requests >= b->max;
	return b->n - b->requests - b->streams >= b->nb_slots - b->stream_max - b->max;
}

bool backlog_take(struct worker *w, struct rte_mbuf *m, const struct turn_view *v)
{
	struct backlog *b = &w->backlog;
	struct backlog_bucket *to;

	if (likely(!backlog_concerns(w, v)) || has_waited(v))
		return false;
	to = bucket_of(b, v);
	if (!view_is_request(v) && !has_client(b, to, v))
		return false;
	if (is_full(b, v, to->n)) {
		worker_drop(w, m, DP_DROP_BACKLOG);
		return true;
	}
	parcel_of(m)->datagram = *v;
	append(b, to, m);
	if (is_stream(v))
		b->streams++;
	else
		b->requests += view_is_request(v);
	return true;
}

// Takes the oldest packet out; its datagram stays in its private area.
static struct rte_mbuf *pop(struct worker *w)
{
	struct backlog *b = &w->backlog;
	struct rte_mbuf *m = b->ring[b->head];
	const struct turn_view *v = &parcel_of(m)->datagram;
	struct backlog_bucket *from = bucket_of(b, v);

	// the oldest of all is the oldest of its bucket
	from->head = b->next[b->head];
	from->n--;
	if (!is_stream(v)) {
		b->requests -= view_is_request(v);
	} else {
		b->streams--;
		if (view_is_request(v))
			streams_asked(w, v);
	}
	b->head = (b->head + 1) & (b->nb_slots - 1);
	b->n--;
	return m;
}

// Requests to be answered in this round. Behind a full burst there may be more to relay, and the
// ring it came from fills while we are at work: then one a round where nothing has been relayed of
// late, and one in PRESSED_ROUNDS, however much there is to relay, where something has.
static unsigned int backlog_share(struct worker *w, bool full)
{
	struct backlog *b = &w->backlog;
	const bool relaying = w->now_ms - b->relayed_ms < RELAYING_MS;

	if (!full)
		return relaying ? b->budget : DP_BURST;
	if (relaying && ++b->waited < PRESSED_ROUNDS)
		return 0;
	b->waited = 0;
	return 1;
}

unsigned int backlog_fill(struct worker *w)
{
	struct backlog *b = &w->backlog;
	const bool full = b->full;
	unsigned int left;

	w->burst.n = 0;
	b->full = false;
	if (likely(b->n == 0))
		return 0;
	left = backlog_share(w, full);
	while (b->n > 0 && w->burst.n < DP_BURST) {
		struct rte_mbuf *m = b->ring[b->head];

		if (view_is_request(&parcel_of(m)->datagram) && left-- == 0)
			break;
		pop(w);
		w->burst.turn.view[w->burst.n] = parcel_of(m)->datagram;
		w->burst.m[w->burst.n++] = m;
	}
	return w->burst.n;
}

void backlog_drain(struct worker *w)
{
	while (w->backlog.n > 0)
		worker_drop(w, pop(w), DP_DROP_STOPPING);
}
