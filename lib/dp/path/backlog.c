// SPDX-License-Identifier: BSD-3-Clause
// The two queues of requests (backlog.h): which packets get in, and which come out in a round.
#include <rte_malloc.h>

#include "path/backlog.h"
#include "addr.h"
#include "clients/client.h"
#include "clients/streams.h"
#include "ask/hot.h"
#include "see/losses.h"
#include "csprng.h"
#include "datapath.h"
#include "dp_burst.h"
#include "dp_view.h"
#include "drop_of.h"
#include "hash.h"
#include "invariant.h"
#include "link/local_addrs.h"
#include "turn.h"
#include "turn_mark.h"
#include "path/worker.h"
#include "workers/mbuf_meta.h"

#define CLIENT_MIN 32 // a client may always have this many packets, if that exceeds its share
#define CLIENT_SHARE 4 // a client may have 1/CLIENT_SHARE of the room that is left
#define STRANGERS_TURN 4 // while both kinds wait, one request in STRANGERS_TURN is a stranger's
#define PRESSED_ROUNDS 32
#define RELAYING_MS 1000 // a worker is relaying if it has relayed something within this time
#define COST_BYTES 256 // bytes of a request that cost as much as one request more
#define KIND 1u // the bit of a tag that marks a request

_Static_assert(BACKLOG_BURST == DP_BURST, "a queue gives at most a burst");

// Room for packets of stream clients: as for requests of others, plus a burst, so that their rings
// can be read at the latest when no packet waits.
static uint32_t streams_of(const struct conf *c)
{
	return streams_size(c) > 0 ? c->backlog + DP_BURST : 0;
}

// Entries of a queue: requests, as many datagrams after them, and the packets of streams.
static uint32_t slots_of(const struct conf *c, enum backlog_queue_id queue_id)
{
	return rte_align32pow2(2 * c->backlog + (queue_id == BACKLOG_KNOWN ? streams_of(c) : 0));
}

static size_t queue_size(uint32_t slots)
{
	return slots *
		(sizeof(struct rte_mbuf *) + sizeof(struct backlog_bucket) + sizeof(uint32_t) +
			sizeof(uint16_t));
}

size_t backlog_size(const struct conf *c)
{
	return queue_size(slots_of(c, BACKLOG_KNOWN)) + queue_size(slots_of(c, BACKLOG_STRANGERS));
}

// Carves a queue out of mem. Returns the address after it.
static uint8_t *queue_init(struct backlog_queue *q, uint8_t *mem, uint32_t slots)
{
	q->nb_slots = slots;
	q->ring = (struct rte_mbuf **)mem;
	q->tag = (uint32_t *)(q->ring + slots);
	q->bucket = (struct backlog_bucket *)(q->tag + slots);
	q->next = (uint16_t *)(q->bucket + slots);
	return mem + queue_size(slots);
}

int backlog_create(struct worker *w, int socket)
{
	const struct conf *c = w->dp->conf;
	struct backlog *b = &w->backlog;
	uint8_t *mem;

	*b = (struct backlog){.max = c->backlog,
		.stream_max = streams_of(c),
		.client_max = RTE_MAX(c->backlog / 4, (uint32_t)CLIENT_MIN),
		.budget = w->hot->requests};
	b->mem = rte_zmalloc_socket("backlog", backlog_size(c), RTE_CACHE_LINE_SIZE, socket);
	if (b->mem == NULL)
		return -ENOMEM;
	mem = queue_init(&b->queue[BACKLOG_KNOWN], b->mem, slots_of(c, BACKLOG_KNOWN));
	queue_init(&b->queue[BACKLOG_STRANGERS], mem, slots_of(c, BACKLOG_STRANGERS));
	csprng_bytes(&w->rng, &b->key, sizeof(b->key));
	return 0;
}

void backlog_free(struct backlog *b)
{
	rte_free(b->mem);
}

// --- by client ----------------------------------------------------------------------------------

static uint64_t hash_of(const struct backlog *b, const struct turn_view *v)
{
	return hash_addr(&b->key, &v->src, v->mark & TURN_MARK_CLIENT);
}

static struct backlog_bucket *bucket_of(const struct backlog_queue *q, uint64_t hash)
{
	return &q->bucket[hash & (q->nb_slots - 1)];
}

static uint32_t tag_of(uint64_t hash, bool request)
{
	return ((uint32_t)(hash >> 32) & ~KIND) | (request ? KIND : 0);
}

// True if packets of this client wait in a queue.
static bool has_client(const struct backlog_queue *q, const struct turn_view *v, uint64_t hash)
{
	const struct backlog_bucket *bucket = bucket_of(q, hash);
	uint16_t pos = bucket->head;

	for (uint16_t i = 0; i < bucket->n; i++, pos = q->next[pos]) {
		const struct turn_view *waiting = &mbuf_meta_of(q->ring[pos])->datagram;

		if (((q->tag[pos] ^ tag_of(hash, false)) & ~KIND) == 0 &&
			addr_eq(&waiting->src, &v->src) &&
			((waiting->mark ^ v->mark) & TURN_MARK_CLIENT) == 0)
			return true;
	}
	return false;
}

// True if a client has at least `many` packets of a kind in a queue. Two clients with equal tags
// count as one. The chance is one in two thousand million, and no client can choose its tag.
static bool has_many(const struct backlog_queue *q, uint64_t hash, uint32_t tag, uint32_t many)
{
	const struct backlog_bucket *bucket = bucket_of(q, hash);
	uint16_t pos = bucket->head;
	uint32_t n = 0;

	if (likely(bucket->n < many))
		return false;
	for (uint16_t i = 0; i < bucket->n && n < many; i++, pos = q->next[pos])
		n += q->tag[pos] == tag;
	return n >= many;
}

// --- adding packets -----------------------------------------------------------------------------

// True if a packet is a request. Only ClientHellos have that listener.
static bool is_request(const struct turn_view *v)
{
	return dp_view_is_request(v) || v->listener == LOCAL_ONLY_DTLS;
}

// True if the client is known. An attacker can fake this only by sending from the 5-tuple of a
// known client. A client over a stream or a session has proved its address.
static bool is_known(const struct worker *w, const struct turn_view *v)
{
	return client_is_connected(v) || turn_route_knows(w->shard, v);
}

// The queue of a client: the queue in which its packets wait, else the queue for its kind.
static enum backlog_queue_id choose_queue(
	const struct worker *w, const struct turn_view *v, uint64_t hash)
{
	const struct backlog *b = &w->backlog;
	const bool known = is_known(w, v);
	const enum backlog_queue_id one = known ? BACKLOG_KNOWN : BACKLOG_STRANGERS;

	return has_client(&b->queue[one ^ 1], v, hash) ? one ^ 1 : one;
}

// True if the request came through a redirect from a stream. It has waited on its first worker, and
// a round brings no more of them than that worker answers. Back-pressure to their client would not
// work here.
static bool has_waited(const struct turn_view *v)
{
	return client_is_stream(v) && v->via != TURN_NO_WORKER;
}

static bool is_long(const struct worker *w, const struct rte_mbuf *m)
{
	return m->pool == w->dp->datagrams;
}

// DP_OK if there is room for a packet in a queue, or a drop reason.
static unsigned int check_room(const struct worker *w, const struct rte_mbuf *m,
	enum backlog_queue_id queue_id, const struct turn_view *v, uint64_t hash)
{
	const struct backlog *b = &w->backlog;
	const struct backlog_queue *q = &b->queue[queue_id];
	const bool request = is_request(v);
	const uint32_t left = b->max - q->waiting[request];
	const uint32_t share = RTE_MIN(RTE_MAX(left / CLIENT_SHARE, 1u), b->client_max);

	if (is_long(w, m) && q->longs >= BACKLOG_LONG)
		return queue_id == BACKLOG_KNOWN ? DP_DROP_BACKLOG_KNOWN : DP_DROP_BACKLOG;
	if (client_is_stream(v) ? b->streams < b->stream_max
				: left > 0 && !has_many(q, hash, tag_of(hash, request), share))
		return DP_OK;
	if (!client_is_stream(v) && share > 1)
		return DP_DROP_BACKLOG_CLIENT;
	return queue_id == BACKLOG_KNOWN ? DP_DROP_BACKLOG_KNOWN : DP_DROP_BACKLOG;
}

// True if the counts of the two queues agree.
static inline bool counts_agree(const struct backlog *b)
{
	const struct backlog_queue *known = &b->queue[BACKLOG_KNOWN];
	const struct backlog_queue *strangers = &b->queue[BACKLOG_STRANGERS];
	const uint32_t waiting = known->waiting[0] + known->waiting[1] + strangers->waiting[0] +
		strangers->waiting[1];

	return b->n == known->n + strangers->n && b->n == waiting + b->streams &&
		known->longs <= BACKLOG_LONG && strangers->longs <= BACKLOG_LONG;
}

static void append_packet(
	struct backlog *b, struct backlog_queue *q, struct rte_mbuf *m, uint64_t hash)
{
	const struct turn_view *v = &mbuf_meta_of(m)->datagram;
	const uint16_t pos = (uint16_t)((q->head + q->n++) & (q->nb_slots - 1));
	struct backlog_bucket *bucket = bucket_of(q, hash);
	const bool request = is_request(v);

	ASSERT(q->n <= q->nb_slots && bucket->n < q->n);
	q->ring[pos] = m;
	q->tag[pos] = tag_of(hash, request);
	if (bucket->n++ == 0)
		bucket->head = pos;
	else
		q->next[bucket->tail] = pos;
	bucket->tail = pos;
	b->n++;
	if (client_is_stream(v))
		b->streams++;
	else
		q->waiting[request]++;
}

// Queues a packet, or drops it.
static void enqueue_packet(struct worker *w, struct rte_mbuf *m, enum backlog_queue_id queue_id,
	const struct turn_view *v, uint64_t hash)
{
	struct backlog *b = &w->backlog;
	const unsigned int bad = check_room(w, m, queue_id, v, hash);

	if (bad != DP_OK) {
		if (!is_request(v))
			turn_usage_unplanned(w->shard, v, (enum turn_loss)losses_of(bad));
		worker_drop(w, m, bad);
		return;
	}
	mbuf_meta_of(m)->datagram = *v;
	b->queue[queue_id].longs += is_long(w, m);
	append_packet(b, &b->queue[queue_id], m, hash);
	ASSERT(counts_agree(b));
}

bool backlog_take(struct worker *w, struct rte_mbuf *m, const struct turn_view *v)
{
	const struct backlog *b = &w->backlog;
	enum backlog_queue_id queue_id;
	uint64_t hash;

	if (likely(!backlog_concerns(&w->backlog, v)) || has_waited(v))
		return false;
	hash = hash_of(b, v);
	if (dp_view_is_request(v))
		queue_id = choose_queue(w, v, hash);
	else if (has_client(&b->queue[BACKLOG_KNOWN], v, hash))
		queue_id = BACKLOG_KNOWN;
	else if (has_client(&b->queue[BACKLOG_STRANGERS], v, hash))
		queue_id = BACKLOG_STRANGERS;
	else
		return false;
	enqueue_packet(w, m, queue_id, v, hash);
	return true;
}

void backlog_hello(struct worker *w, struct rte_mbuf *m, const struct turn_view *v)
{
	struct turn_view view = *v;

	view.listener = LOCAL_ONLY_DTLS;
	enqueue_packet(w, m, BACKLOG_STRANGERS, &view, hash_of(&w->backlog, &view));
}

// --- taking packets -----------------------------------------------------------------------------

// Removes the oldest packet of a queue; its datagram stays in its private area.
static struct rte_mbuf *pop_packet(struct worker *w, struct backlog_queue *q)
{
	struct backlog *b = &w->backlog;
	struct rte_mbuf *m = q->ring[q->head];
	const struct turn_view *v = &mbuf_meta_of(m)->datagram;
	struct backlog_bucket *bucket = bucket_of(q, hash_of(b, v));
	const bool request = is_request(v);

	ASSERT(q->n > 0 && bucket->n > 0 && bucket->head == q->head);
	ASSERT(((q->tag[q->head] & KIND) != 0) == request);
	// the oldest of all is also the oldest of its bucket
	bucket->head = q->next[q->head];
	bucket->n--;
	if (!client_is_stream(v)) {
		q->waiting[request]--;
	} else {
		b->streams--;
		if (request)
			streams_asked(w, v);
	}
	q->head = (q->head + 1) & (q->nb_slots - 1);
	q->longs -= is_long(w, m);
	q->n--;
	b->n--;
	ASSERT(counts_agree(b));
	return m;
}

// Number of requests to answer in this round. After a full burst there may be more to relay, and
// the ring that it came from fills in the meantime. Then it is one request per round if nothing was
// relayed recently, and else one in PRESSED_ROUNDS rounds, however much there is to relay.
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

// True if the oldest packet of a queue is a request, which needs budget.
static bool head_is_request(const struct backlog_queue *q)
{
	return (q->tag[q->head] & KIND) != 0;
}

// The queue to take the next packet from: one with a datagram at its head, if all requests before
// it are answered; else that of known clients, unless it is the turn of a stranger. At least one
// packet waits.
static struct backlog_queue *next_queue(struct backlog *b)
{
	struct backlog_queue *known = &b->queue[BACKLOG_KNOWN];
	struct backlog_queue *strangers = &b->queue[BACKLOG_STRANGERS];

	if (strangers->n == 0 || (known->n > 0 && !head_is_request(known)))
		return known;
	if (known->n == 0 || !head_is_request(strangers))
		return strangers;
	return b->turn < STRANGERS_TURN - 1 ? known : strangers;
}

// Budget that a request uses. A CreatePermission may name a hundred peers, or one peer a hundred
// times: the length shows the cost.
static unsigned int request_cost(const struct backlog_queue *q)
{
	return 1 + mbuf_meta_of(q->ring[q->head])->datagram.len / COST_BYTES;
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
		struct backlog_queue *q = next_queue(b);
		struct rte_mbuf *m;

		if (head_is_request(q)) {
			if (left == 0)
				break;
			left -= RTE_MIN(left, request_cost(q));
			b->turn = q == &b->queue[BACKLOG_KNOWN] ? b->turn + request_cost(q) : 0;
		}
		ASSERT(q->n > 0);
		m = pop_packet(w, q);
		w->burst.turn.view[w->burst.n] = mbuf_meta_of(m)->datagram;
		w->burst.m[w->burst.n++] = m;
	}
	return w->burst.n;
}

void backlog_drain(struct worker *w)
{
	struct backlog *b = &w->backlog;

	while (b->n > 0)
		worker_drop(w, pop_packet(w, next_queue(b)), DP_DROP_STOPPING);
}
