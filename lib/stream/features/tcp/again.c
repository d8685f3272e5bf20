// SPDX-License-Identifier: BSD-3-Clause
// A waiting Connect keeps its order in an entry of the hub's table, which counts as a connection.
// The thread that ends the awaited connection wakes the thread of the Connect by an eventfd.
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include "features/tcp/again.h"
#include "features/tcp/splice.h"
#include "thread.h"

#define AGAIN_MS 1000

// Copies an order with its answers. NULL without memory.
static uint8_t *copy_of(const struct ordered *d)
{
	size_t len = 0;
	uint8_t *copy;

	for (unsigned int i = 0; i < STREAM_ANSWER_END; i++)
		len += d->o.len[i];
	copy = malloc(sizeof(d->o) + len);
	if (copy == NULL)
		return NULL;
	memcpy(copy, &d->o, sizeof(d->o));
	memcpy(copy + sizeof(d->o), d->answers, len);
	return copy;
}

bool again_wait(
	struct thread *t, struct hub_alloc *a, const struct ordered *d, struct hub_conn *until)
{
	struct hub *h = t->s->hub;
	struct epoll_event e = {.events = EPOLLIN};
	struct hub_conn *c;
	int fd;

	if ((until != NULL && until->state != HUB_BOUND) || !hub_may(h, a) ||
		(d->since_ms != 0 && t->now_ms >= d->since_ms + AGAIN_MS))
		return false;
	fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (fd < 0)
		return false;
	c = orders_begin(t, a, &d->o.endpoint, fd);
	c->state = HUB_WAITING;
	c->asked = true;
	c->control = d->conn;
	c->since_ms = d->since_ms != 0 ? d->since_ms : t->now_ms;
	c->answers = copy_of(d);
	e.data.u64 = WATCH_PEER | hub_index(h, c);
	if (c->answers == NULL || epoll_ctl(t->epoll, EPOLL_CTL_ADD, fd, &e) != 0) {
		orders_end(t, c);
		return false;
	}
	if (until != NULL)
		splice_want(t, until);
	return true;
}

void again_go_on(struct thread *t, struct hub_conn *c)
{
	struct ordered d = {.conn = c->control, .since_ms = c->since_ms};
	uint8_t *copy = c->answers;

	c->answers = NULL;
	memcpy(&d.o, copy, sizeof(d.o));
	d.answers = copy + sizeof(d.o);
	orders_end(t, c);
	orders_connect(t, &d);
	free(copy);
}

void again_ended(struct hub *h, const struct stream_alloc *owner, const struct endpoint *peer)
{
	const struct hub_conn *c = hub_conn_of_peer(h, owner, peer);

	if (c != NULL && c->state == HUB_WAITING)
		eventfd_write(c->fd, 1);
}
