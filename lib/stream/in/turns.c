// SPDX-License-Identifier: BSD-3-Clause
// Lists of connections, by worker (turns.h).
#include "in/turns.h"

#include <string.h>

#include "clock.h"
#include "conn.h"
#include "in/incoming.h"
#include "invariant.h"
#include "thread.h"

#define PORTION_NS (1000 * 1000) // time for turns in a round; the last turn may exceed it

void turns_init(struct turns *q)
{
	*q = (struct turns){0};
	memset(q->list, 0xff, sizeof(q->list)); // all bytes 0xff: CONN_NONE
}

void turns_add(struct thread *t, struct conn *c, enum turns_list list)
{
	if (c->queued != TURNS_NONE)
		return;
	ASSERT(list != TURNS_NONE && c->state != CONN_FREE && c->state != CONN_ENDED);
	c->queued = (uint8_t)list;
	ilist_append(
		&t->turns.list[c->home][list], ILIST_LINKS(t->conn, link), (uint32_t)(c - t->conn));
	t->turns.busy |= UINT64_C(1) << c->home;
}

void turns_remove(struct thread *t, struct conn *c)
{
	struct ilist *lists = t->turns.list[c->home];

	if (c->queued == TURNS_NONE)
		return;
	ilist_remove(&lists[c->queued], ILIST_LINKS(t->conn, link), (uint32_t)(c - t->conn));
	c->queued = TURNS_NONE;
	c->turn = c->asked = 0;
	if (lists[TURNS_READ].first == CONN_NONE && lists[TURNS_ASK].first == CONN_NONE)
		t->turns.busy &= ~(UINT64_C(1) << c->home);
}

// Gives the first connection of a list its turn. False if the list is empty, or the worker has no
// room.
static bool serve_turn(struct thread *t, unsigned int w, enum turns_list list)
{
	const struct stream_config *conf = &t->s->conf;
	const uint32_t i = t->turns.list[w][list].first;
	enum incoming left = INCOMING_DRY;
	struct conn *c = &t->conn[i];

	if (i == CONN_NONE)
		return false;
	if (list == TURNS_ASK && !conf->ops->may_ask(conf->ctx, t->index, w)) {
		t->stalled = true;
		return false;
	}
	if (c->state == CONN_OPEN)
		left = incoming_turn(t, c);
	if (left == INCOMING_NO_ROOM) {
		t->stalled = true;
		return false;
	}
	turns_remove(t, c); // no effect if it is closed now
	if (left == INCOMING_MORE)
		turns_add(t, c, TURNS_READ);
	else if (left == INCOMING_ASKS)
		turns_add(t, c, TURNS_ASK);
	else
		conn_watch(t, c);
	return true;
}

// Returns the next worker with a non-empty list, in rotation.
static unsigned int next_of(const struct turns *q, uint64_t busy)
{
	ASSERT(busy != 0 && q->next < STREAM_WORKERS_MAX);
	const uint64_t behind = busy & UINT64_MAX << q->next;

	return (unsigned int)__builtin_ctzll(behind != 0 ? behind : busy);
}

void turns_run(struct thread *t)
{
	const uint64_t until_ns = t->turns.busy != 0 ? clock_monotonic_ns() + PORTION_NS : 0;
	uint64_t stuck = t->untold; // workers that have no room

	while ((t->turns.busy & ~stuck) != 0 && clock_monotonic_ns() < until_ns) {
		const unsigned int w = next_of(&t->turns, t->turns.busy & ~stuck);
		const bool asked = serve_turn(t, w, TURNS_ASK);

		t->turns.next = (w + 1) % STREAM_WORKERS_MAX;
		if (!serve_turn(t, w, TURNS_READ) && !asked)
			stuck |= UINT64_C(1) << w;
	}
	t->hungry |= (t->turns.busy & ~stuck) != 0;
}
