// SPDX-License-Identifier: BSD-3-Clause
// Checks connections with peers against rules that have changed since they were made.
//
// A connection is checked when it comes to a thread (a Connect, an answer of the worker, a
// binding), and after each change of the rules. Both checks use the rules of that moment, so that
// no connection escapes: neither one that the worker checked against the old rules, nor one that
// moves from a thread which has not checked it yet to a thread that is past its index.
#include <pthread.h>

#include "conn.h"
#include "features/tcp/again.h"
#include "features/tcp/hub.h"
#include "features/tcp/orders.h"
#include "features/tcp/rules.h"
#include "features/tcp/sockets.h"

bool rules_allow(const struct thread *t, uint32_t user, const struct endpoint *peer)
{
	const struct stream_config *c = &t->s->conf;

	return c->relay.ops->may_be_peer(c->ctx, t->s->hub->user[user].realm, peer);
}

// Resets both sides. The kernel discards the bytes that it still has for the peer, and the client
// does not mistake the end for the end of the peer's stream.
void rules_end(struct thread *t, struct hub_conn *c)
{
	if (c->state == HUB_WAITING)
		return again_go_on(t, c); // the peer is checked again
	sockets_reset(c->fd);
	if (c->state == HUB_BOUND) {
		struct conn *client = &t->conn[c->client];

		sockets_reset(client->fd);
		return conn_close(t, client, &t->stats.relay_denied);
	}
	stats_add(&t->stats.relay_denied, 1);
	if (c->state == HUB_CONNECTING)
		return orders_fail(t, c);
	orders_end(t, c);
}

static unsigned int review_conn(struct thread *t, struct hub_conn *c)
{
	if (c->state == HUB_FREE || c->thread != t->index || rules_allow(t, c->user, &c->peer))
		return 1;
	rules_end(t, c);
	return HUB_END_COST;
}

bool rules_are_due(const struct thread *t)
{
	return t->s->hub != NULL &&
		(t->relay.mine.left > 0 ||
			t->relay.rules != __atomic_load_n(&t->s->hub->rules, __ATOMIC_ACQUIRE));
}

// If the rules change during a check of all connections, the check goes around once from its
// current index instead of restarting, so that frequent reloads do not keep it from the last
// entries.
void rules_review(struct thread *t)
{
	const uint32_t rules = __atomic_load_n(&t->s->hub->rules, __ATOMIC_ACQUIRE);
	struct hub *h = t->s->hub;
	unsigned int cost = 0;

	pthread_mutex_lock(&h->lock);
	if (t->relay.rules != rules) {
		t->relay.rules = rules;
		t->relay.mine.left = h->used;
	}
	for (; cost < HUB_PORTION && t->relay.mine.left > 0; t->relay.mine.left--) {
		if (t->relay.mine.next >= h->used)
			t->relay.mine.next = 0;
		cost += review_conn(t, &h->conn[t->relay.mine.next++]);
	}
	pthread_mutex_unlock(&h->lock);
}
