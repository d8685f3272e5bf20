// SPDX-License-Identifier: BSD-3-Clause
// Usage of data relayed over TCP.
#include "features/tcp/tcp_usage.h"
#include "invariant.h"
#include "shard.h"
#include "features/tcp/tcp_table.h"

#define LOOK_MS 256 // period in which all ports are checked once

// The two parts of tcp_port.moved: bytes since the last fold (always below 17 TB), and a number.
// The number grows when an allocation ends. So a thread that has seen the allocation live adds
// nothing to the word after its last fold, nor to that of the next allocation.
#define MOVED_BYTES ((UINT64_C(1) << 44) - 1)
#define MOVED_NUMBER (UINT64_C(1) << 44)

// --- the worker's side ---------------------------------------------------------------------------

void tcp_usage_begin(struct turn_shard *s, struct tcp_port *p)
{
	// `moved` has no bytes left from the last allocation.
	for (unsigned int leg = 0; leg < 2; leg++)
		ASSERT((__atomic_load_n(&p->moved[leg], __ATOMIC_RELAXED) & MOVED_BYTES) == 0);
#define X(begin, take, settle) begin(s, (uint32_t)(p - s->tcp.port));
	TURN_CREDITS(X)
#undef X
}

static struct tcp_port *port_of(const struct turn_shard *s, uint32_t slot)
{
	return &s->tcp.port[tcp_table_port_index(s, slot) / s->workers];
}

static void fold_bytes(struct turn_shard *s, uint32_t slot, unsigned int leg, uint64_t more)
{
	struct turn_line *l = alloc_at(s, slot);
	struct line_count c = line_count(l, leg);
	const uint64_t bytes = c.bytes + more, spilled = bytes / TURN_SPILL_BYTES;

	s->usage[slot].bytes[leg] += (uint32_t)spilled;
	sums_bytes(s, slot, leg, spilled * TURN_SPILL_BYTES);
	c.bytes = (uint32_t)(bytes % TURN_SPILL_BYTES);
	ASSERT(c.bytes < TURN_SPILL_BYTES);
	line_set_count(l, leg, c);
}

// Adds the bytes that the stream threads have noted to the usage of a TCP allocation.
static void fold_usage(struct turn_shard *s, uint32_t slot)
{
	struct tcp_port *p = port_of(s, slot);

	for (unsigned int leg = 0; leg < 2; leg++)
		if ((__atomic_load_n(&p->moved[leg], __ATOMIC_RELAXED) & MOVED_BYTES) != 0)
			fold_bytes(s, slot, leg,
				__atomic_fetch_and(&p->moved[leg], ~MOVED_BYTES, __ATOMIC_RELAXED) &
					MOVED_BYTES);
}

void tcp_usage_end(struct turn_shard *s, uint32_t slot)
{
	struct tcp_port *p = port_of(s, slot);

	for (unsigned int leg = 0; leg < 2; leg++) {
		uint64_t was = __atomic_load_n(&p->moved[leg], __ATOMIC_RELAXED);

		// a thread that reads this value also sees that the port has no allocation
		while (!__atomic_compare_exchange_n(&p->moved[leg], &was,
			(was & ~MOVED_BYTES) + MOVED_NUMBER, false, __ATOMIC_RELEASE,
			__ATOMIC_RELAXED))
			;
		fold_bytes(s, slot, leg, was & MOVED_BYTES);
	}
}

void tcp_usage_show(const struct turn_shard *s, uint32_t slot, struct turn_usage *out)
{
	for (unsigned int leg = 0; alloc_is_tcp(s, slot) && leg < 2; leg++)
		out->leg[leg].bytes +=
			__atomic_load_n(&port_of(s, slot)->moved[leg], __ATOMIC_RELAXED) &
			MOVED_BYTES;
}

bool tcp_usage_tick(struct turn_shard *s)
{
	struct tcp_table *t = &s->tcp;
	const uint64_t passed_ms = s->now_ms - t->folded_ms;
	uint64_t n = t->nb * passed_ms / LOOK_MS + (passed_ms > 0);

	if (t->nb == 0)
		return false;
	t->folded_ms = s->now_ms;
	for (n = n < t->nb ? n : t->nb; n > 0; n--) {
		const struct tcp_port *p = &t->port[t->fold];

		if (p->allocation != 0)
			fold_usage(s, p->slot);
		t->fold = (t->fold + 1) % t->nb;
	}
	return false;
}

// --- the threads' side ---------------------------------------------------------------------------

uint32_t turn_tcp_take(
	struct turn_shard *s, const struct turn_tcp_way *w, uint32_t want, uint64_t now_ms)
{
	uint32_t n = turn_tcp_table_lives(s, w->port_index, w->allocation) ? want : 0;

#define X(begin, take, settle) \
	if (n > 0)             \
		n = take(s, w, n, now_ms);
	TURN_CREDITS(X)
#undef X
	return n;
}

// Adds bytes, unless the allocation has ended. The number in the word detects an end between the
// check and the change.
static bool note_bytes(struct turn_shard *s, const struct turn_tcp_way *w, uint32_t bytes)
{
	uint64_t *word, was;

	if (!turn_tcp_table_lives(s, w->port_index, w->allocation))
		return false;
	word = &s->tcp.port[w->port_index / s->workers].moved[w->leg];
	do {
		was = __atomic_load_n(word, __ATOMIC_ACQUIRE);
		if (!turn_tcp_table_lives(s, w->port_index, w->allocation))
			return false;
	} while (!__atomic_compare_exchange_n(
		word, &was, was + bytes, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	return true;
}

bool turn_tcp_moved(struct turn_shard *s, const struct turn_tcp_way *w,
	const struct turn_tcp_bytes *n, uint64_t now_ms)
{
	if (!note_bytes(s, w, n->moved))
		return false;
#define X(begin, take, settle) settle(s, w, n, now_ms);
	TURN_CREDITS(X)
#undef X
	return true;
}
