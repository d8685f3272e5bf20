// SPDX-License-Identifier: BSD-3-Clause
// The timer wheel: the place of a node, and its way down to its tick.
#include "wheel.h"
#include "invariant.h"

#define DIGIT_BITS 6
#define LIST_DUE (WHEEL_LEVELS * WHEEL_SLOTS)
#define FIRST (UINT32_C(1) << 31) // flag in prev: the rest identifies a list
#define CASCADE_MAX 512 // nodes that a call moves down: a slot of a minute may have 100,000

// A tick is a number in base 64, and a level is one digit of it. A node is on the level of the
// highest digit in which its tick differs from the wheel's tick, in the slot of its tick's digit
// there. So every node of a level expires before every node of the levels above, a slot of level 0
// has one tick, and one bit scan finds the next event after a gap of any length. The top level
// wraps around: its slots are the next 63 periods.

_Static_assert(WHEEL_SLOTS == 1 << DIGIT_BITS, "a slot is a digit");

static inline unsigned int tick_digit(uint64_t tick, unsigned int level)
{
	return (unsigned int)(tick >> (level * DIGIT_BITS)) & (WHEEL_SLOTS - 1);
}

static uint32_t *head_of(struct wheel *w, uint32_t list)
{
	return list == LIST_DUE ? &w->due : &w->head[list / WHEEL_SLOTS][list % WHEEL_SLOTS];
}

static void link_node(struct wheel *w, uint32_t id, uint32_t list)
{
	uint32_t *head = head_of(w, list);
	struct wheel_node *n = &w->node[id];

	ASSERT(n->prev == WHEEL_NONE && list <= LIST_DUE);
	ASSERT(list == LIST_DUE ||
		(*head != WHEEL_NONE) ==
			(w->occupied[list / WHEEL_SLOTS] >> list % WHEEL_SLOTS & 1));
	ASSERT(*head == WHEEL_NONE || w->node[*head].prev == (FIRST | list));
	n->prev = FIRST | list;
	n->next = *head;
	if (*head != WHEEL_NONE)
		w->node[*head].prev = id;
	*head = id;
	if (list != LIST_DUE)
		w->occupied[list / WHEEL_SLOTS] |= 1ull << list % WHEEL_SLOTS;
}

// Only the first node of a list stores its list; no other node needs it.
static void unlink_node(struct wheel *w, uint32_t id)
{
	struct wheel_node *n = &w->node[id];
	const uint32_t list = n->prev & ~FIRST;

	ASSERT(n->prev != WHEEL_NONE);
	ASSERT(n->next == WHEEL_NONE || w->node[n->next].prev == id);
	ASSERT((n->prev & FIRST) != 0 || w->node[n->prev].next == id);
	ASSERT((n->prev & FIRST) == 0 || (list <= LIST_DUE && *head_of(w, list) == id));
	if (n->next != WHEEL_NONE)
		w->node[n->next].prev = n->prev;
	if ((n->prev & FIRST) == 0) {
		w->node[n->prev].next = n->next;
	} else {
		*head_of(w, list) = n->next;
		if (n->next == WHEEL_NONE && list != LIST_DUE)
			w->occupied[list / WHEEL_SLOTS] &= ~(1ull << list % WHEEL_SLOTS);
	}
	n->prev = WHEEL_NONE;
}

// Returns the list of a tick, relative to the wheel's current tick.
static uint32_t list_for(const struct wheel *w, uint64_t tick)
{
	const unsigned int top = WHEEL_LEVELS - 1;
	const uint64_t diff = tick ^ w->tick;
	uint64_t periods;
	unsigned int level;

	if (tick < w->tick)
		return LIST_DUE;
	level = diff == 0 ? 0 : (63 - (unsigned int)__builtin_clzll(diff)) / DIGIT_BITS;
	if (level < top)
		return level * WHEEL_SLOTS + tick_digit(tick, level);
	// beyond the range of the wheel: use its last period, where the node will be placed again
	periods = (tick >> (top * DIGIT_BITS)) - (w->tick >> (top * DIGIT_BITS));
	if (periods >= WHEEL_SLOTS)
		periods = WHEEL_SLOTS - 1;
	return top * WHEEL_SLOTS +
		((tick_digit(w->tick, top) + (uint32_t)periods) & (WHEEL_SLOTS - 1));
}

// Returns the full tick of a node, from its low half. It is within 2^31 ticks of the wheel's tick.
static uint64_t tick_of(const struct wheel *w, uint32_t id)
{
	return w->tick + (uint64_t)(int64_t)(int32_t)(w->node[id].tick - (uint32_t)w->tick);
}

static void place_node(struct wheel *w, uint32_t id)
{
	link_node(w, id, list_for(w, tick_of(w, id)));
}

// Returns the tick at which a timer fires, rounded up: it may be late by a tick, never early. A
// time in the past is due now.
static uint64_t tick_for(const struct wheel *w, uint64_t when_ms)
{
	const uint64_t tick = when_ms / WHEEL_TICK_MS + (when_ms % WHEEL_TICK_MS != 0);
	const uint64_t far = w->tick + WHEEL_FAR_MS / WHEEL_TICK_MS;

	if (tick < w->tick)
		return w->tick - 1;
	return tick < far ? tick : far;
}

void wheel_init(struct wheel *w, struct wheel_node *nodes, uint32_t n, uint64_t now_ms)
{
	w->node = nodes;
	w->tick = now_ms / WHEEL_TICK_MS;
	w->due = WHEEL_NONE;
	for (unsigned int level = 0; level < WHEEL_LEVELS; level++) {
		w->occupied[level] = 0;
		for (unsigned int slot = 0; slot < WHEEL_SLOTS; slot++)
			w->head[level][slot] = WHEEL_NONE;
	}
	for (uint32_t id = 0; id < n; id++)
		nodes[id] = (struct wheel_node){.next = WHEEL_NONE, .prev = WHEEL_NONE};
}

bool wheel_armed(const struct wheel *w, uint32_t id)
{
	return w->node[id].prev != WHEEL_NONE;
}

void wheel_cancel(struct wheel *w, uint32_t id)
{
	if (wheel_armed(w, id))
		unlink_node(w, id);
}

void wheel_set(struct wheel *w, uint32_t id, uint64_t when_ms)
{
	wheel_cancel(w, id);
	w->node[id].tick = (uint32_t)tick_for(w, when_ms);
	place_node(w, id);
}

void wheel_set_sooner(struct wheel *w, uint32_t id, uint64_t when_ms)
{
	if (!wheel_armed(w, id) || tick_for(w, when_ms) < tick_of(w, id))
		wheel_set(w, id, when_ms);
}

bool wheel_later(const struct wheel *w, uint32_t id, uint64_t now_ms)
{
	// the timer's time is in the tick before the one at which it fires
	return wheel_armed(w, id) && now_ms / WHEEL_TICK_MS + 1 < tick_of(w, id);
}

// Returns the first tick, from the current one on, at which a slot with nodes begins; all levels
// below that slot are empty. UINT64_MAX if the wheel is empty.
static uint64_t next_event(const struct wheel *w)
{
	for (unsigned int level = 0; level < WHEEL_LEVELS; level++) {
		const uint64_t slots = w->occupied[level];
		const unsigned int slot = tick_digit(w->tick, level);
		const unsigned int shift = level * DIGIT_BITS;

		if (slots != 0) {
			// rotated so that bit 0 is the current slot
			const uint64_t ahead = slots >> slot | slots << (-slot & (WHEEL_SLOTS - 1));

			return ((w->tick >> shift) + (uint64_t)__builtin_ctzll(ahead)) << shift;
		}
	}
	return UINT64_MAX;
}

// Spreads the slots that begin at the current tick over the levels below. False if the budget runs
// out first. Only such leftovers are nodes above level 0 in the slot of the current digit, so the
// next call finds them there.
static bool cascade_slots(struct wheel *w, unsigned int *budget)
{
	for (unsigned int level = WHEEL_LEVELS - 1; level > 0; level--) {
		const uint32_t *head = &w->head[level][tick_digit(w->tick, level)];

		for (; *head != WHEEL_NONE; --*budget) {
			const uint32_t id = *head;

			if (*budget == 0)
				return false;
			unlink_node(w, id);
			place_node(w, id);
		}
	}
	return true;
}

static unsigned int take_nodes(
	struct wheel *w, const uint32_t *head, uint32_t *ids, unsigned int max)
{
	unsigned int n = 0;

	while (n < max && *head != WHEEL_NONE) {
		ids[n] = *head;
		// never before its time
		ASSERT(head == &w->due ? tick_of(w, ids[n]) < w->tick
				       : tick_of(w, ids[n]) == w->tick);
		unlink_node(w, ids[n]);
		n++;
	}
	return n;
}

unsigned int wheel_expire(struct wheel *w, uint64_t now_ms, uint32_t *ids, unsigned int max)
{
	const uint64_t now = now_ms / WHEEL_TICK_MS;
	unsigned int n = take_nodes(w, &w->due, ids, max), budget = CASCADE_MAX;

	// the slots of a tick are spread before the search for the next one: next_event() relies on
	// that
	while (n < max && w->tick <= now && cascade_slots(w, &budget)) {
		const uint64_t event = next_event(w);

		ASSERT(event >= w->tick);
		if (event > now) {
			w->tick = now + 1;
			break;
		}
		if (event > w->tick) {
			w->tick = event;
			continue;
		}
		n += take_nodes(w, &w->head[0][tick_digit(w->tick, 0)], ids + n, max - n);
		if (w->head[0][tick_digit(w->tick, 0)] == WHEEL_NONE)
			w->tick++;
	}
	return n;
}

bool wheel_behind(const struct wheel *w, uint64_t now_ms)
{
	return w->due != WHEEL_NONE || w->tick <= now_ms / WHEEL_TICK_MS;
}

uint64_t wheel_next_ms(const struct wheel *w)
{
	const uint64_t event = w->due != WHEEL_NONE ? 0 : next_event(w);

	return event != UINT64_MAX ? event * WHEEL_TICK_MS : UINT64_MAX;
}
