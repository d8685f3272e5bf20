// SPDX-License-Identifier: BSD-3-Clause
// A flow is in two lists: the list of its bucket, which has all flows of its network, and the list
// of all flows, oldest first. One walk along the bucket finds the flow of a fragment, counts the
// flows of its source and network, and finds the oldest of them.
#include "ilist.h"
#include "reassembly.h"
#include "invariant.h"

#define NETWORK_MOST 64u // most flows of an IPv6 /48: a walk may visit all of them

#define ECN_MASK 3
#define ECN_CE 3

struct piece {
	uint16_t off, end;
};

struct flow {
	struct addr src, dst;
	uint64_t born_ms;
	uint32_t id;
	uint32_t next, prev; // in the bucket, newest first; next: also in the free list
	struct ilist_link by_age;
	uint32_t bucket;
	uint32_t got, total; // bytes; total is 0 until the last fragment has arrived
	uint32_t furthest;
	uint16_t nb_pieces;
	uint8_t proto, tos, ttl;
	uint8_t ecn; // a bit for each value seen
	uint8_t ended_by; // enum net_drop; NET_OK: still active
	struct piece piece[NET_FRAGMENTS_MAX];
};

struct reassembly {
	struct reassembly_config c;
	uint32_t mask; // buckets - 1
	uint32_t per_network; // limit of flows of an IPv6 /48
	uint32_t held;
	uint32_t free;
	struct ilist by_age; // oldest first
	uint32_t lost[NET_DROP_END];
	bool any_lost;
	struct flow *flow;
	uint32_t *bucket;
};

static uint32_t buckets_of(uint32_t flows)
{
	uint32_t n = 16;

	while (n < 2 * flows)
		n *= 2;
	return n;
}

size_t reassembly_size(const struct reassembly_config *c)
{
	return sizeof(struct reassembly) + (size_t)c->flows * sizeof(struct flow) +
		(size_t)buckets_of(c->flows) * sizeof(uint32_t);
}

// Returns half of all flows, but at least the limit of a source.
static uint32_t network_most(const struct reassembly_config *c)
{
	const uint32_t most = c->flows / 2 < NETWORK_MOST ? c->flows / 2 : NETWORK_MOST;

	return most > c->per_source ? most : c->per_source;
}

struct reassembly *reassembly_create(void *mem, const struct reassembly_config *c)
{
	struct reassembly *r = mem;

	_Static_assert(sizeof(struct reassembly) % _Alignof(struct flow) == 0, "flows follow it");
	r->c = *c;
	r->mask = buckets_of(c->flows) - 1;
	r->per_network = network_most(c);
	r->flow = (struct flow *)(r + 1);
	r->bucket = (uint32_t *)(r->flow + c->flows);
	r->by_age = ILIST_EMPTY;
	r->free = REASSEMBLY_NONE;
	for (uint32_t i = c->flows; i-- > 0;) {
		r->flow[i].next = r->free;
		r->free = i;
	}
	for (uint32_t i = 0; i <= r->mask; i++)
		r->bucket[i] = REASSEMBLY_NONE;
	return r;
}

// --- flows --------------------------------------------------------------------------------------

static bool same_source(const struct addr *a, const struct addr *b)
{
	const struct addr source = addr_source(a), there = addr_source(b);

	return addr_eq(&source, &there);
}

// Removes a flow from both lists.
static void unlink_flow(struct reassembly *r, uint32_t i)
{
	const struct flow *f = &r->flow[i];

	ASSERT(f->prev != REASSEMBLY_NONE ? r->flow[f->prev].next == i : r->bucket[f->bucket] == i);
	ASSERT(f->next == REASSEMBLY_NONE || r->flow[f->next].prev == i);
	if (f->prev != REASSEMBLY_NONE)
		r->flow[f->prev].next = f->next;
	else
		r->bucket[f->bucket] = f->next;
	if (f->next != REASSEMBLY_NONE)
		r->flow[f->next].prev = f->prev;
	ilist_remove(&r->by_age, ILIST_LINKS(r->flow, by_age), i);
}

static void link_flow(struct reassembly *r, uint32_t i, uint32_t bucket)
{
	struct flow *f = &r->flow[i];

	f->bucket = bucket;
	ASSERT(bucket <= r->mask);
	ASSERT(r->by_age.last == REASSEMBLY_NONE || r->flow[r->by_age.last].born_ms <= f->born_ms);
	f->prev = REASSEMBLY_NONE;
	f->next = r->bucket[bucket];
	if (f->next != REASSEMBLY_NONE)
		r->flow[f->next].prev = i;
	r->bucket[bucket] = i;
	ilist_append(&r->by_age, ILIST_LINKS(r->flow, by_age), i);
}

static void drop_pieces(struct reassembly *r, struct flow *f, enum net_drop reason)
{
	ASSERT(r->held >= f->nb_pieces && f->nb_pieces <= NET_FRAGMENTS_MAX);
	r->held -= f->nb_pieces;
	r->lost[reason] += f->nb_pieces;
	r->any_lost = r->any_lost || f->nb_pieces != 0;
	f->nb_pieces = 0;
}

static void end_flow(struct reassembly *r, uint32_t i)
{
	unlink_flow(r, i);
	r->flow[i].next = r->free;
	r->free = i;
}

// Ends the flow of an invalid fragment, but keeps its place, so that its later fragments are
// dropped, too. Returns the reason.
static enum net_drop spoil_flow(struct reassembly *r, struct flow *f, enum net_drop reason)
{
	drop_pieces(r, f, reason);
	f->ended_by = (uint8_t)reason;
	return reason;
}

static bool timed_out(const struct reassembly *r, const struct flow *f, uint64_t now_ms)
{
	return now_ms - f->born_ms >= r->c.timeout_ms;
}

void reassembly_tick(struct reassembly *r, uint64_t now_ms)
{
	for (unsigned int n = 0; n < REASSEMBLY_TICK && r->by_age.first != REASSEMBLY_NONE; n++) {
		const uint32_t i = r->by_age.first;

		if (!timed_out(r, &r->flow[i], now_ms))
			break;
		drop_pieces(r, &r->flow[i], NET_DROP_FRAGMENT_TIMEOUT);
		end_flow(r, i);
	}
}

uint64_t reassembly_next_ms(const struct reassembly *r)
{
	return r->by_age.first != REASSEMBLY_NONE
		? r->flow[r->by_age.first].born_ms + r->c.timeout_ms
		: UINT64_MAX;
}

// Result of a walk along a bucket for a fragment.
struct found {
	uint32_t flow; // flow of the fragment, or REASSEMBLY_NONE
	uint32_t nb_source, oldest; // flows of its source
	uint32_t nb_network, network_oldest; // flows of its network
};

static struct found look_up(
	const struct reassembly *r, uint32_t bucket, const struct net_fragment *p)
{
	struct found found = {REASSEMBLY_NONE, 0, REASSEMBLY_NONE, 0, REASSEMBLY_NONE};
	const struct addr network = addr_network(&p->src);

	for (uint32_t i = r->bucket[bucket]; i != REASSEMBLY_NONE; i = r->flow[i].next) {
		const struct flow *f = &r->flow[i];
		const struct addr there = addr_network(&f->src);

		if (!addr_eq(&there, &network))
			continue;
		found.nb_network++;
		found.network_oldest = i;
		if (!same_source(&f->src, &p->src))
			continue;
		found.nb_source++;
		found.oldest = i;
		if (f->id == p->id && f->proto == p->proto && addr_eq(&f->src, &p->src) &&
			addr_eq(&f->dst, &p->dst))
			found.flow = i;
	}
	return found;
}

// Makes a flow for a fragment.
static uint32_t begin_flow(struct reassembly *r, uint32_t bucket, const struct found *found,
	const struct net_fragment *p, uint64_t now_ms)
{
	uint32_t i = REASSEMBLY_NONE;

	if (found->nb_source >= r->c.per_source) {
		i = found->oldest;
		drop_pieces(r, &r->flow[i], NET_DROP_FRAGMENT_SOURCE);
	} else if (found->nb_network >= r->per_network) {
		i = found->network_oldest;
		drop_pieces(r, &r->flow[i], NET_DROP_FRAGMENT_SOURCE);
	} else if (r->free == REASSEMBLY_NONE) {
		i = r->by_age.first;
		drop_pieces(r, &r->flow[i], NET_DROP_FRAGMENT_FULL);
	}
	if (i != REASSEMBLY_NONE)
		end_flow(r, i);
	ASSERT(r->free != REASSEMBLY_NONE); // a flow has ended if all were in use
	i = r->free;
	r->free = r->flow[i].next;
	r->flow[i].src = p->src;
	r->flow[i].dst = p->dst;
	r->flow[i].born_ms = now_ms;
	r->flow[i].id = p->id;
	r->flow[i].proto = p->proto;
	r->flow[i].got = r->flow[i].total = r->flow[i].furthest = 0;
	r->flow[i].nb_pieces = 0;
	r->flow[i].tos = r->flow[i].ttl = r->flow[i].ecn = 0;
	r->flow[i].ended_by = NET_OK;
	link_flow(r, i, bucket);
	return i;
}

// --- fragments ----------------------------------------------------------------------------------

// True if a fragment's end is consistent with the known end of its datagram.
static bool end_fits(const struct flow *f, const struct net_fragment *p, uint32_t end)
{
	if (p->more)
		return f->total == 0 || end < f->total;
	return f->total == 0 ? f->furthest <= end : f->total == end;
}

// Returns NET_OK if no byte of the fragment has arrived before.
static enum net_drop compare_fragment(
	const struct flow *f, const uint8_t *room, const struct net_fragment *p, uint32_t end)
{
	for (unsigned int i = 0; i < f->nb_pieces; i++) {
		const struct piece *there = &f->piece[i];

		if (p->off >= there->end || there->off >= end)
			continue;
		if (there->off == p->off && there->end == end &&
			memcmp(room + p->off, p->data, p->len) == 0)
			return NET_DROP_FRAGMENT_DUPLICATE;
		return NET_DROP_FRAGMENT_OVERLAP;
	}
	return NET_OK;
}

static enum net_drop put_fragment(struct reassembly *r, uint32_t i, const struct net_fragment *p)
{
	struct flow *f = &r->flow[i];
	const uint32_t end = (uint32_t)p->off + p->len;
	uint8_t *room = r->c.room(r->c.ctx, i);
	enum net_drop bad;

	if (f->ended_by != NET_OK)
		return (enum net_drop)f->ended_by;
	if (end > r->c.longest || f->nb_pieces == NET_FRAGMENTS_MAX)
		return spoil_flow(r, f, NET_DROP_FRAGMENT_LONG);
	bad = compare_fragment(f, room, p, end);
	if (bad == NET_DROP_FRAGMENT_DUPLICATE)
		return bad;
	if (bad == NET_OK && !end_fits(f, p, end))
		bad = NET_DROP_FRAGMENT_MALFORMED;
	f->ecn |= (uint8_t)(1u << (p->tos & ECN_MASK));
	// RFC 3168 section 5.3: CE cannot be combined with Not-ECT fragments
	if (bad == NET_OK && (f->ecn & 1) != 0 && (f->ecn & 1 << ECN_CE) != 0)
		bad = NET_DROP_FRAGMENT_MALFORMED;
	if (bad != NET_OK)
		return spoil_flow(r, f, bad);
	ASSERT(f->got + p->len <= r->c.longest && end <= r->c.longest);
	memcpy(room + p->off, p->data, p->len);
	f->piece[f->nb_pieces++] = (struct piece){p->off, (uint16_t)end};
	f->got += p->len;
	f->furthest = end > f->furthest ? end : f->furthest;
	if (!p->more)
		f->total = end;
	if (p->off == 0) {
		f->tos = p->tos;
		f->ttl = p->ttl;
	}
	ASSERT(f->furthest <= r->c.longest && f->got <= f->furthest);
	ASSERT(f->total == 0 || f->furthest <= f->total);
	r->held++;
	return NET_OK;
}

// Passes a complete flow to the caller.
static void finish_flow(struct reassembly *r, uint32_t i, struct reassembly_whole *whole)
{
	const struct flow *f = &r->flow[i];

	*whole = (struct reassembly_whole){.flow = i,
		.src = f->src,
		.dst = f->dst,
		.len = (uint16_t)f->total,
		.fragments = f->nb_pieces,
		.tos = (f->ecn & 1 << ECN_CE) != 0 ? f->tos | ECN_CE : f->tos,
		.ttl = f->ttl};
	ASSERT(f->ended_by == NET_OK && f->got == f->total && f->furthest == f->total);
	ASSERT(f->nb_pieces > 0 && r->held >= f->nb_pieces);
	r->held -= f->nb_pieces;
	end_flow(r, i);
}

enum net_drop reassembly_add(struct reassembly *r, const struct net_fragment *p, uint64_t now_ms,
	struct reassembly_whole *whole)
{
	const struct addr network = addr_network(&p->src);
	const uint32_t bucket = (uint32_t)hash_addr(&r->c.key, &network, 0) & r->mask;
	struct found found;
	enum net_drop bad;

	whole->flow = REASSEMBLY_NONE;
	reassembly_tick(r, now_ms);
	found = look_up(r, bucket, p);
	if (found.flow == REASSEMBLY_NONE)
		found.flow = begin_flow(r, bucket, &found, p, now_ms);
	bad = put_fragment(r, found.flow, p);
	if (bad == NET_OK && r->flow[found.flow].total == r->flow[found.flow].got)
		finish_flow(r, found.flow, whole);
	return bad;
}

uint32_t reassembly_held(const struct reassembly *r)
{
	return r->held;
}

uint32_t reassembly_lost(struct reassembly *r, enum net_drop reason)
{
	const uint32_t n = r->lost[reason];

	r->lost[reason] = 0;
	r->any_lost = false;
	return n;
}

bool reassembly_any_lost(const struct reassembly *r)
{
	return r->any_lost;
}

uint32_t reassembly_clear(struct reassembly *r)
{
	const uint32_t n = r->held;

	while (r->by_age.first != REASSEMBLY_NONE)
		end_flow(r, r->by_age.first);
	ASSERT(r->by_age.last == REASSEMBLY_NONE);
	r->held = 0;
	return n;
}
