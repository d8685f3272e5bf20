// SPDX-License-Identifier: BSD-3-Clause
// Free relay ports (RFC 8656 7.2, RFC 6056). The pairs of a family are kept in one array in an
// order that puts those with both ports rested first, then those with the even one, with the odd
// one, with none: a uniform choice of any kind is one random number. A pair changes segment by at
// most three swaps. A freed port waits in the FIFO of its parity until it is found rested by a
// later take: nothing runs on a timer.
#include "turn_int.h"

#define NONE UINT32_MAX
#define REUSE_MIN_MS 1000 // a port is never given out earlier than this for want of rested ones
#define SETTLE_MAX 64 // rested ports moved from each FIFO by a take
#define SEARCH_MAX 64 // resting ports of each FIFO looked at for a pair

enum port_state {
	PORT_UNUSABLE, // outside the range, or a listener's
	PORT_TAKEN,
	PORT_RESTING, // on a FIFO
	PORT_RESTED,
};

// Which ports of a pair are rested: the segments of the order.
enum segment { SEG_BOTH, SEG_EVEN, SEG_ODD, SEG_NEITHER, NB_SEGS };

// A resting port on its FIFO.
struct rest {
	uint64_t freed_ms;
	uint32_t next, prev;
};

struct fifo {
	uint32_t head, tail; // the head has rested longest
};

struct pool {
	uint32_t begin; // position of the family's first pair
	uint32_t end[NB_SEGS]; // position behind each segment
	uint32_t nb_usable, nb_free;
	struct fifo resting[2]; // by parity
};

// All indexed by slot, or by pair = slot / 2.
struct ports {
	struct csprng *rng;
	struct pool pool[2]; // IPv4, IPv6
	uint32_t slots_v4; // slots below it are IPv4
	struct rest *rest;
	uint32_t *order; // pairs by position
	uint32_t *pos; // position by pair
	uint8_t *state; // enum port_state
};

static struct pool *pool_of(struct ports *p, uint32_t slot)
{
	return &p->pool[slot >= p->slots_v4];
}

// --- segments -----------------------------------------------------------------------------------

static uint32_t segment_begin(const struct pool *o, enum segment s)
{
	return s == SEG_BOTH ? o->begin : o->end[s - 1];
}

static uint32_t segment_len(const struct pool *o, enum segment s)
{
	return o->end[s] - segment_begin(o, s);
}

static enum segment segment_at(const struct pool *o, uint32_t pos)
{
	enum segment s = SEG_BOTH;

	while (pos >= o->end[s])
		s++;
	return s;
}

static enum segment segment_for(const struct ports *p, uint32_t pair)
{
	const bool even = p->state[pair * 2] == PORT_RESTED;
	const bool odd = p->state[pair * 2 + 1] == PORT_RESTED;

	if (even)
		return odd ? SEG_BOTH : SEG_EVEN;
	return odd ? SEG_ODD : SEG_NEITHER;
}

// Exchanges a pair with the one at a position.
static void swap_to(struct ports *p, uint32_t pair, uint32_t to)
{
	const uint32_t from = p->pos[pair];
	const uint32_t other = p->order[to];

	p->order[from] = other;
	p->pos[other] = from;
	p->order[to] = pair;
	p->pos[pair] = to;
}

// Changes the state of a port and moves its pair to where it then belongs: border by border, each
// time to the edge of its segment, which the border then passes.
static void set_state(struct ports *p, uint32_t slot, enum port_state state)
{
	struct pool *o = pool_of(p, slot);
	const uint32_t pair = slot / 2;
	enum segment s = segment_at(o, p->pos[pair]);
	enum segment to;

	p->state[slot] = (uint8_t)state;
	to = segment_for(p, pair);
	for (; s < to; s++)
		swap_to(p, pair, --o->end[s]);
	for (; s > to; s--)
		swap_to(p, pair, o->end[s - 1]++);
}

// --- FIFOs --------------------------------------------------------------------------------------

static void fifo_append(struct ports *p, uint32_t slot, uint64_t now_ms)
{
	struct fifo *f = &pool_of(p, slot)->resting[slot & 1];

	p->rest[slot] = (struct rest){.freed_ms = now_ms, .next = NONE, .prev = f->tail};
	if (f->tail != NONE)
		p->rest[f->tail].next = slot;
	else
		f->head = slot;
	f->tail = slot;
}

static void fifo_remove(struct ports *p, uint32_t slot)
{
	struct fifo *f = &pool_of(p, slot)->resting[slot & 1];
	const struct rest r = p->rest[slot];

	if (r.prev != NONE)
		p->rest[r.prev].next = r.next;
	else
		f->head = r.next;
	if (r.next != NONE)
		p->rest[r.next].prev = r.prev;
	else
		f->tail = r.prev;
}

static bool rested_for(const struct ports *p, uint32_t slot, uint64_t now_ms, uint64_t rest_ms)
{
	const uint64_t freed_ms = p->rest[slot].freed_ms;

	// strictly later even without a quarantine: look-ups of a burst stay valid for its round
	return now_ms > freed_ms && now_ms - freed_ms >= rest_ms;
}

// Moves the longest-resting port of a parity to the rested ones; false when its time has not come.
static bool settle_one(struct ports *p, struct pool *o, int odd, uint64_t now_ms, uint64_t rest_ms)
{
	const uint32_t slot = o->resting[odd].head;

	if (slot == NONE || !rested_for(p, slot, now_ms, rest_ms))
		return false;
	fifo_remove(p, slot);
	set_state(p, slot, PORT_RESTED);
	return true;
}

static void settle(
	struct ports *p, struct pool *o, enum ports_kind kind, uint64_t now_ms, uint64_t rest_ms)
{
	bool more = true;

	for (int odd = 0; odd < 2; odd++) {
		for (int n = 0; n < SETTLE_MAX; n++) {
			if (!settle_one(p, o, odd, now_ms, rest_ms))
				break;
		}
	}
	// The two ports of a pair may lie far apart. Each port settles once per rest, so this is
	// constant work in the long run.
	while (kind == PORTS_PAIR && segment_len(o, SEG_BOTH) == 0 && more) {
		more = settle_one(p, o, 0, now_ms, rest_ms);
		more = settle_one(p, o, 1, now_ms, rest_ms) || more;
	}
}

// --- choice -------------------------------------------------------------------------------------

// Every rested port that fits is equally likely. NONE when there is none.
static uint32_t choose(const struct ports *p, const struct pool *o, enum ports_kind kind)
{
	const uint32_t both = segment_len(o, SEG_BOTH);
	const uint32_t even = segment_len(o, SEG_EVEN);
	uint32_t n = both, r;

	if (kind == PORTS_EVEN)
		n = both + even;
	else if (kind == PORTS_ANY)
		n = both * 2 + even + segment_len(o, SEG_ODD);
	if (n == 0)
		return NONE;
	r = csprng_below(p->rng, n);
	if (kind != PORTS_ANY)
		return p->order[o->begin + r] * 2;
	if (r < both * 2)
		return p->order[o->begin + r / 2] * 2 + r % 2;
	r -= both * 2;
	return p->order[o->end[SEG_BOTH] + r] * 2 + (r >= even);
}

static bool reusable(const struct ports *p, uint32_t slot, uint64_t now_ms)
{
	return p->state[slot] == PORT_RESTED ||
		(p->state[slot] == PORT_RESTING && rested_for(p, slot, now_ms, REUSE_MIN_MS));
}

// A pair that could be reused, by the first FIFO entry that has one. The odd FIFO has those whose
// even port is rested already.
static uint32_t reuse_pair(const struct ports *p, const struct pool *o, uint64_t now_ms)
{
	for (int odd = 0; odd < 2; odd++) {
		uint32_t slot = o->resting[odd].head;

		for (int n = 0; n < SEARCH_MAX && slot != NONE; n++) {
			// those behind have rested even less
			if (!reusable(p, slot, now_ms))
				break;
			if (reusable(p, slot ^ 1, now_ms))
				return slot & ~1u;
			slot = p->rest[slot].next;
		}
	}
	return NONE;
}

// With nothing rested: the port that has rested longest, if that is long enough.
static uint32_t reuse(
	const struct ports *p, const struct pool *o, enum ports_kind kind, uint64_t now_ms)
{
	const uint32_t odd = o->resting[1].head;
	uint32_t slot = o->resting[0].head;

	if (kind == PORTS_PAIR)
		return reuse_pair(p, o, now_ms);
	if (kind == PORTS_ANY && odd != NONE &&
		(slot == NONE || p->rest[odd].freed_ms < p->rest[slot].freed_ms))
		slot = odd;
	return slot != NONE && reusable(p, slot, now_ms) ? slot : NONE;
}

// Each port that had not rested in full counts as early, of a pair too.
static void claim(struct ports *p, uint32_t slot, uint64_t *early)
{
	if (p->state[slot] == PORT_RESTING) {
		fifo_remove(p, slot);
		(*early)++;
	}
	set_state(p, slot, PORT_TAKEN);
	pool_of(p, slot)->nb_free--;
}

bool ports_take(struct ports *p, bool is_v4, enum ports_kind kind, uint64_t now_ms,
	uint32_t quarantine_s, uint32_t *slot, uint64_t *early)
{
	struct pool *o = &p->pool[!is_v4];
	uint32_t s;

	settle(p, o, kind, now_ms, quarantine_s * UINT64_C(1000));
	s = choose(p, o, kind);
	if (s == NONE)
		s = reuse(p, o, kind, now_ms);
	if (s == NONE)
		return false;
	claim(p, s, early);
	if (kind == PORTS_PAIR)
		claim(p, s + 1, early);
	*slot = s;
	return true;
}

void ports_give(struct ports *p, uint32_t slot, uint64_t now_ms)
{
	// given back twice it would be on a FIFO twice, and later be two clients' port
	if (p->state[slot] != PORT_TAKEN)
		return;
	set_state(p, slot, PORT_RESTING);
	fifo_append(p, slot, now_ms);
	pool_of(p, slot)->nb_free++;
}

bool ports_has_family(const struct ports *p, bool is_v4)
{
	return p->pool[!is_v4].nb_usable > 0;
}

uint32_t ports_free(const struct ports *p, bool is_v4)
{
	return p->pool[!is_v4].nb_free;
}

// --- making -------------------------------------------------------------------------------------

size_t ports_size(const struct turn_relay_map *map, unsigned int worker)
{
	const size_t n = turn_relay_slots(map, worker);
	const size_t len = sizeof(struct ports) + n * sizeof(struct rest) +
		n / 2 * 2 * sizeof(uint32_t) + n * sizeof(uint8_t);

	return (len + 7) & ~(size_t)7;
}

// An empty pool over the pairs [begin, end).
static void family_init(struct pool *o, uint32_t begin, uint32_t end)
{
	*o = (struct pool){.begin = begin, .end = {begin, begin, begin, end}};
	o->resting[0] = o->resting[1] = (struct fifo){NONE, NONE};
}

struct ports *ports_create(
	void *mem, const struct turn_relay_map *map, unsigned int worker, struct csprng *rng)
{
	const uint32_t n = turn_relay_slots(map, worker);
	struct ports *p = mem;

	p->rng = rng;
	p->slots_v4 = relay_slots_v4(map, worker);
	p->rest = (struct rest *)(p + 1);
	p->order = (uint32_t *)(p->rest + n);
	p->pos = p->order + n / 2;
	p->state = (uint8_t *)(p->pos + n / 2);
	family_init(&p->pool[0], 0, p->slots_v4 / 2);
	family_init(&p->pool[1], p->slots_v4 / 2, n / 2);
	for (uint32_t pair = 0; pair < n / 2; pair++)
		p->order[pair] = p->pos[pair] = pair;
	for (uint32_t slot = 0; slot < n; slot++) {
		if (!turn_relay_usable(map, worker, slot))
			continue;
		set_state(p, slot, PORT_RESTED);
		pool_of(p, slot)->nb_usable++;
		pool_of(p, slot)->nb_free++;
	}
	return p;
}
