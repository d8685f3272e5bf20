// SPDX-License-Identifier: BSD-3-Clause
// Orders are carried out at once, except a Connect, whose answers wait with the connection. All of
// this is rare compared to the transfer of bytes, and needs the hub's lock.
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "conn.h"
#include "listen.h"
#include "out/outgoing.h"
#include "features/tcp/again.h"
#include "features/tcp/hub.h"
#include "features/tcp/orders.h"
#include "features/tcp/rules.h"
#include "features/tcp/sockets.h"
#include "features/tcp/splice.h"

#define ACCEPT_BURST 8
#define ASK_AGAIN_MS 400 // until a worker that has not answered is asked again
#define SCAN_PARTS 5 // each tick checks one part of all entries

static struct hub *hub_of(const struct thread *t)
{
	return t->s->hub;
}

static uint64_t timeout_ms(const struct thread *t)
{
	return hub_of(t)->conf.timeout_s * UINT64_C(1000);
}

static const uint8_t *answer_at(const struct ordered *d, enum stream_answer which)
{
	const uint8_t *p = d->answers;

	for (unsigned int i = 0; i < which; i++)
		p += d->o.len[i];
	return p;
}

static void send_answer(struct thread *t, const struct ordered *d, enum stream_answer which)
{
	outgoing_answer(t, d->conn, answer_at(d, which), d->o.len[which]);
}

// Publishes the number of connections of an allocation for the worker.
static void publish_count(const struct thread *t, const struct hub_alloc *a)
{
	const struct stream_config *c = &t->s->conf;

	if (!__atomic_load_n(&t->s->stop, __ATOMIC_ACQUIRE))
		c->relay.ops->counted(c->ctx, a->worker, &a->id, a->nb);
}

static void watch_port(const struct thread *t, struct hub_alloc *a, bool paused)
{
	struct epoll_event e = {
		.events = paused ? 0 : EPOLLIN, .data.u64 = WATCH_PORT | a->id.port_index};

	if (a->paused != paused)
		epoll_ctl(t->s->thread[a->thread]->fresh, EPOLL_CTL_MOD, a->fd, &e);
	a->paused = paused;
}

void orders_end(struct thread *t, struct hub_conn *c)
{
	struct hub_alloc *a = hub_alloc_of(hub_of(t), &c->owner);
	const struct stream_alloc owner = c->owner;
	const struct endpoint peer = c->peer;
	const bool wanted = c->wanted;

	hub_conn_end(hub_of(t), c);
	stats_add(&t->stats.relay_connections, -1);
	if (wanted)
		again_ended(hub_of(t), &owner, &peer);
	if (a == NULL)
		return;
	publish_count(t, a);
	if (a->paused && a->unjudged < HUB_UNJUDGED)
		watch_port(t, a, false);
}

struct hub_conn *orders_begin(
	struct thread *t, struct hub_alloc *a, const struct endpoint *peer, int fd)
{
	struct hub_conn *c = hub_conn_begin(hub_of(t), a, peer, fd);

	c->since_ms = t->now_ms;
	c->thread = (uint8_t)t->index;
	stats_add(&t->stats.relay_connections, 1);
	publish_count(t, a);
	return c;
}

static void alloc_end(struct thread *t, struct hub_alloc *a)
{
	stats_add(&t->stats.relay_ports, a->fd >= 0 ? -1 : 0);
	hub_alloc_end(hub_of(t), a);
}

// Counts a failed call, if it failed for lack of descriptors.
static void count_no_file(struct thread *t, bool failed)
{
	stats_add(&t->stats.relay_files, failed && listen_no_file());
}

// --- orders --------------------------------------------------------------------------------------

static void order_listen(struct thread *t, const struct ordered *d)
{
	struct hub *h = hub_of(t);
	struct hub_alloc *a =
		d->o.owner.port_index < h->conf.ports ? &h->alloc[d->o.owner.port_index] : NULL;
	struct epoll_event e = {.events = EPOLLIN, .data.u64 = WATCH_PORT | d->o.owner.port_index};

	if (a != NULL && a->id.allocation != 0)
		alloc_end(t, a); // replaced: the port has a new allocation
	a = hub_alloc_begin(h, &d->o);
	if (a == NULL)
		return send_answer(t, d, STREAM_ANSWER_NO_PORT);
	a->control = d->conn;
	t->s->conf.relay.ops->device(t->s->conf.ctx, &a->relayed.addr, a->device);
	a->thread = (uint8_t)t->index;
	a->fd = t->relay.off ? -1 : sockets_listen(&a->relayed, a->device);
	if (a->fd >= 0 && epoll_ctl(t->fresh, EPOLL_CTL_ADD, a->fd, &e) != 0) {
		close(a->fd);
		a->fd = -1;
	}
	if (a->fd < 0) {
		count_no_file(t, !t->relay.off);
		a->failed = true;
		stats_add(&t->stats.relay_unopened, 1);
		return send_answer(t, d, STREAM_ANSWER_NO_PORT);
	}
	stats_add(&t->stats.relay_ports, 1);
	send_answer(t, d, STREAM_ANSWER_DONE);
}

// Returns the reason not to connect to a peer, with the counter of such refusals in *counter, or
// STREAM_ANSWER_DONE.
static enum stream_answer connect_judge(
	struct thread *t, const struct hub_alloc *a, const struct ordered *d, uint64_t **counter)
{
	struct hub *h = hub_of(t);
	int local;

	if (a == NULL || a->fd < 0)
		return STREAM_ANSWER_FAILED;
	if (hub_conn_of_peer(h, &d->o.owner, &d->o.endpoint) != NULL)
		return STREAM_ANSWER_EXISTS;
	if (!rules_allow(t, a->user, &d->o.endpoint))
		return STREAM_ANSWER_DENIED;
	if (!hub_may(h, a))
		return STREAM_ANSWER_QUOTA;
	if (d->since_ms == 0 && !hub_may_connect(h, a, t->now_ms)) {
		*counter = &t->stats.relay_hasty;
		return STREAM_ANSWER_QUOTA;
	}
	if (d->o.peer_index != UINT32_MAX)
		return STREAM_ANSWER_DONE;
	local = sockets_is_own(&d->o.endpoint.addr);
	count_no_file(t, local < 0);
	return local == 0   ? STREAM_ANSWER_DONE
		: local > 0 ? STREAM_ANSWER_DENIED
			    : STREAM_ANSWER_FAILED;
}

// Keeps the two answers that are still possible. False without memory.
static bool keep_answers(struct hub_conn *c, const struct ordered *d)
{
	const uint16_t done = d->o.len[STREAM_ANSWER_DONE], failed = d->o.len[STREAM_ANSWER_FAILED];

	c->answers = malloc((size_t)done + failed + 1);
	if (c->answers == NULL)
		return false;
	memcpy(c->answers, answer_at(d, STREAM_ANSWER_DONE), done);
	memcpy(c->answers + done, answer_at(d, STREAM_ANSWER_FAILED), failed);
	c->len[0] = done;
	c->len[1] = failed;
	return true;
}

// Begins a connection; epoll reports the outcome. False if it has failed already. If the kernel
// still has the last connection of this 5-tuple, the Connect may wait.
static bool connect_begin(struct thread *t, struct hub_alloc *a, const struct ordered *d)
{
	const int fd = sockets_connect(&a->relayed, a->device, &d->o.endpoint);
	struct epoll_event e = {.events = EPOLLOUT};
	struct hub_conn *c;

	count_no_file(t, fd < 0);
	if (fd < 0)
		return errno == EADDRNOTAVAIL && again_wait(t, a, d, NULL);
	c = orders_begin(t, a, &d->o.endpoint, fd);
	c->state = HUB_CONNECTING;
	c->asked = true;
	e.data.u64 = WATCH_PEER | hub_index(hub_of(t), c);
	if (hub_conn_name(hub_of(t), c, d->o.id) && keep_answers(c, d) &&
		epoll_ctl(t->epoll, EPOLL_CTL_ADD, fd, &e) == 0)
		return true;
	orders_end(t, c);
	return false;
}

// Returns the allocation whose relayed transport address is the peer, if it has room for a
// connection.
static struct hub_alloc *peer_alloc(
	struct hub *h, const struct hub_alloc *a, const struct ordered *d)
{
	struct hub_alloc *b = d->o.peer_index < h->conf.ports ? &h->alloc[d->o.peer_index] : NULL;

	return b != NULL && b != a && b->fd >= 0 && endpoint_eq(&b->relayed, &d->o.endpoint) &&
			b->unjudged < HUB_UNJUDGED && hub_may(h, b) &&
			h->nb + 2 <= h->conf.connections &&
			(b->user != a->user || h->user[a->user].connections + 2 <= h->conf.per_user)
		? b
		: NULL;
}

// Connects two allocations of this host in process, like their datagrams: the kernel has no path
// between sockets that are bound to an interface. The other allocation's worker decides about it as
// about any peer.
static bool connect_inside(struct thread *t, struct hub_alloc *a, const struct ordered *d)
{
	struct hub_alloc *b = peer_alloc(hub_of(t), a, d);
	struct hub_conn *c, *p;
	int fd[2];

	if (b == NULL)
		return false;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fd) != 0) {
		count_no_file(t, true);
		return false;
	}
	c = orders_begin(t, a, &d->o.endpoint, fd[0]);
	c->state = HUB_PENDING;
	c->asked = true;
	p = orders_begin(t, b, &a->relayed, fd[1]);
	p->state = HUB_ACCEPTED;
	hub_conn_pair(hub_of(t), c, p);
	b->unjudged++;
	if (!hub_conn_name(hub_of(t), c, d->o.id)) {
		orders_end(t, c);
		orders_end(t, p);
		return false;
	}
	bitset_put(&hub_of(t)->untold, hub_index(hub_of(t), p), true);
	t->relay.untold++;
	stats_add(&t->stats.relay_connected, 1);
	send_answer(t, d, STREAM_ANSWER_DONE);
	return true;
}

void orders_connect(struct thread *t, const struct ordered *d)
{
	struct hub_alloc *a = hub_alloc_of(hub_of(t), &d->o.owner);
	uint64_t *refused = &t->stats.relay_refused;
	enum stream_answer outcome = connect_judge(t, a, d, &refused);

	if (outcome == STREAM_ANSWER_EXISTS &&
		again_wait(t, a, d, hub_conn_of_peer(hub_of(t), &d->o.owner, &d->o.endpoint)))
		return;
	if (outcome == STREAM_ANSWER_DONE) {
		if (d->o.peer_index != UINT32_MAX ? connect_inside(t, a, d)
						  : connect_begin(t, a, d))
			return;
		outcome = STREAM_ANSWER_FAILED;
	}
	stats_add(outcome == STREAM_ANSWER_FAILED ? &t->stats.relay_failed : refused, 1);
	send_answer(t, d, outcome);
}

// Returns the connection that a ConnectionBind names, if it waits for this user on this listener.
static struct hub_conn *to_bind(struct thread *t, const struct ordered *d)
{
	struct hub *h = hub_of(t);
	struct hub_conn *p = hub_conn_find(h, d->o.id);

	if (p == NULL || p->state != HUB_PENDING || p->listener != d->o.listener ||
		!hub_is_user(h, p, &d->o))
		return NULL;
	if (rules_allow(t, p->user, &p->peer))
		return p;
	rules_end(t, p);
	return NULL;
}

static void order_bind(struct thread *t, const struct ordered *d)
{
	struct conn *c = conn_of(t, d->conn);
	struct hub_conn *p = to_bind(t, d);

	if (c == NULL)
		return;
	if (p == NULL) {
		stats_add(&t->stats.relay_unknown, 1);
		conn_answered(t, c);
		return send_answer(t, d, STREAM_ANSWER_UNKNOWN);
	}
	epoll_ctl(t->s->thread[p->thread]->epoll, EPOLL_CTL_DEL, p->fd, NULL);
	p->thread = (uint8_t)t->index;
	c->waits = false; // bytes since then are for the peer
	send_answer(t, d, STREAM_ANSWER_DONE);
	if (conn_of(t, d->conn) != c || !splice_begin(t, c, p)) {
		if (conn_of(t, d->conn) == c)
			conn_close(t, c, &t->stats.failed);
		return orders_end(t, p);
	}
	p->state = HUB_BOUND;
	c->heard_ms = t->now_ms;
	conn_spare(t, c, true); // the connection belongs to an allocation
	stats_add(&t->stats.relay_bound, 1);
	splice_work(t, c);
}

static void order_admit(struct thread *t, const struct ordered *d)
{
	struct hub *h = hub_of(t);
	const uint32_t i = (uint32_t)d->o.peer;
	struct hub_conn *c = i < h->used ? &h->conn[i] : NULL;
	struct hub_alloc *a;

	if (c == NULL || c->serial != d->o.peer >> 32 || c->state != HUB_ACCEPTED)
		return;
	a = hub_alloc_of(h, &c->owner);
	if (a != NULL && hub_conn_find(h, d->o.id) != NULL) { // the worker will draw another ID
		bitset_put(&h->untold, i, true);
		t->relay.untold++;
		return;
	}
	if (a == NULL || d->o.id == 0 || !hub_conn_name(h, c, d->o.id)) {
		stats_add(&t->stats.relay_strangers, 1);
		sockets_reset(c->fd);
		return orders_end(t, c);
	}
	if (!rules_allow(t, c->user, &c->peer))
		return rules_end(t, c);
	c->state = HUB_PENDING;
	c->since_ms = t->now_ms;
	stats_add(&t->stats.relay_accepted, 1);
	if (--a->unjudged < HUB_UNJUDGED)
		watch_port(t, a, false);
	outgoing_answer(t, c->control, d->answers, d->o.len[STREAM_ANSWER_DONE]);
}

static void order_rekey(struct thread *t, const struct ordered *d)
{
	struct hub_alloc *a = hub_alloc_of(hub_of(t), &d->o.owner);

	if (a != NULL)
		hub_alloc_rekey(a, &d->o);
	send_answer(t, d, STREAM_ANSWER_DONE);
}

void orders_take(struct thread *t, const struct stream_message *m)
{
	struct ordered d = {.conn = m->conn, .answers = m->data + sizeof(d.o)};
	struct hub *h = hub_of(t);

	if (h == NULL || m->len < sizeof(d.o))
		return;
	memcpy(&d.o, m->data, sizeof(d.o));
	if (d.o.kind != STREAM_ORDER_ADMIT && conn_of(t, m->conn) != NULL)
		conn_lease(t, conn_of(t, m->conn), m->lease_s);
	pthread_mutex_lock(&h->lock);
	switch (d.o.kind) {
	case STREAM_ORDER_LISTEN:
		order_listen(t, &d);
		break;
	case STREAM_ORDER_CONNECT:
		orders_connect(t, &d);
		break;
	case STREAM_ORDER_BIND:
		order_bind(t, &d);
		break;
	case STREAM_ORDER_ADMIT:
		order_admit(t, &d);
		break;
	case STREAM_ORDER_REKEY:
		order_rekey(t, &d);
		break;
	}
	pthread_mutex_unlock(&h->lock);
}

// --- peers ---------------------------------------------------------------------------------------

// Asks the worker about a connection, in the buffer of m.
static void ask_worker(struct thread *t, struct hub_conn *c, const struct stream_message *m)
{
	const struct stream_config *conf = &t->s->conf;
	const struct stream_attempt a = {.owner = c->owner,
		.peer = c->peer,
		.number = (uint64_t)c->serial << 32 | hub_index(hub_of(t), c),
		.conn = c->control};

	c->asked_ms = t->now_ms;
	conf->relay.ops->attempt(conf->ctx, t->index, c->worker, m, &a);
}

void orders_ask(struct thread *t)
{
	const struct stream_config *conf = &t->s->conf;
	struct hub *h = hub_of(t);
	struct stream_message m;
	uint32_t i = 0;

	pthread_mutex_lock(&h->lock);
	t->relay.untold = 0;
	while ((i = bitset_next(&h->untold, i, h->used)) < h->used) {
		struct hub_conn *c = &h->conn[i++];

		if (c->thread != t->index)
			continue;
		if (conf->ops->take(conf->ctx, t->index, c->worker, &m)) {
			bitset_put(&h->untold, hub_index(h, c), false);
			ask_worker(t, c, &m);
		} else {
			t->relay.untold++; // retry in the next round
			t->stalled = true;
		}
	}
	pthread_mutex_unlock(&h->lock);
}

// Without a descriptor no connection can be accepted, and epoll would report a waiting one in every
// round.
static bool refuse_waiting(struct thread *t, const struct hub_alloc *a)
{
	struct endpoint peer;
	int fd;

	if (!listen_no_file())
		return false;
	listen_spare(t);
	fd = sockets_accept(a->fd, &peer);
	if (fd >= 0) {
		sockets_reset(fd);
		close(fd);
		stats_add(&t->stats.relay_files, 1);
	} else {
		t->stalled = true;
	}
	listen_hold(t);
	return fd >= 0;
}

// Accepts one connection and asks the worker about it. False if no connection waits, or the worker
// has no room now.
static bool accept_one(struct thread *t, struct hub_alloc *a)
{
	const struct stream_config *conf = &t->s->conf;
	struct epoll_event e = {.events = 0};
	struct stream_message m;
	struct endpoint peer;
	struct hub_conn *c;
	bool refused = false;
	int fd;

	if (!conf->ops->take(conf->ctx, t->index, a->worker, &m)) {
		t->stalled = true;
		return false;
	}
	fd = sockets_accept(a->fd, &peer);
	if (fd < 0 || !hub_may(hub_of(t), a)) {
		if (fd < 0)
			refused = refuse_waiting(t, a);
		conf->ops->release(conf->ctx, t->index, a->worker, m.buf);
		if (fd < 0)
			return refused;
		stats_add(&t->stats.relay_full, 1);
		sockets_reset(fd);
		close(fd);
		return true;
	}
	c = orders_begin(t, a, &peer, fd);
	c->state = HUB_ACCEPTED;
	e.data.u64 = WATCH_PEER | hub_index(hub_of(t), c);
	epoll_ctl(t->epoll, EPOLL_CTL_ADD, fd, &e); // for its end; bytes wait in the kernel
	a->unjudged++;
	ask_worker(t, c, &m);
	return true;
}

void orders_port(struct thread *t, uint32_t port_index, uint32_t events)
{
	struct hub *h = hub_of(t);
	struct hub_alloc *a = &h->alloc[port_index];

	pthread_mutex_lock(&h->lock);
	if (a->fd >= 0 && a->thread == t->index) {
		for (unsigned int i = 0; i < ACCEPT_BURST && a->unjudged < HUB_UNJUDGED; i++)
			if (!accept_one(t, a))
				break;
		if (a->unjudged >= HUB_UNJUDGED)
			watch_port(t, a, true);
	}
	pthread_mutex_unlock(&h->lock);
}

static void finish_connect(struct thread *t, struct hub_conn *c, bool good)
{
	const uint8_t *reply = good ? c->answers : c->answers + c->len[0];
	struct epoll_event e = {.data.u64 = WATCH_PEER | hub_index(hub_of(t), c)};

	stats_add(good ? &t->stats.relay_connected : &t->stats.relay_failed, 1);
	outgoing_answer(t, c->control, reply, c->len[!good]);
	free(c->answers);
	c->answers = NULL;
	if (!good)
		return orders_end(t, c);
	c->state = HUB_PENDING;
	c->since_ms = t->now_ms;
	epoll_ctl(t->epoll, EPOLL_CTL_MOD, c->fd, &e); // received bytes wait in the kernel
}

void orders_fail(struct thread *t, struct hub_conn *c)
{
	finish_connect(t, c, false);
}

void orders_peer(struct thread *t, uint32_t index, uint32_t events)
{
	struct hub *h = hub_of(t);
	struct hub_conn *c = &h->conn[index];
	bool bound;
	int rc;

	pthread_mutex_lock(&h->lock);
	bound = c->state == HUB_BOUND && c->thread == t->index;
	if (c->thread == t->index && c->state == HUB_WAITING) {
		again_go_on(t, c);
	} else if (c->thread == t->index && c->state == HUB_CONNECTING) {
		rc = sockets_connected(c->fd);
		if (rc != 0)
			finish_connect(t, c, rc > 0);
	} else if (c->thread == t->index && (c->state == HUB_PENDING || c->state == HUB_ACCEPTED) &&
		(events & (EPOLLERR | EPOLLHUP)) != 0) {
		orders_end(t, c); // reset: nothing is left to bind
	}
	pthread_mutex_unlock(&h->lock);
	if (bound) // no other thread can end it
		splice_work(t, &t->conn[c->client]);
}

// --- time ----------------------------------------------------------------------------------------

static bool alloc_lives(const struct thread *t, uint8_t worker, const struct stream_alloc *p)
{
	const struct stream_config *c = &t->s->conf;

	return c->relay.ops->lives(c->ctx, worker, p);
}

// Asks a worker again: its answer is lost if its queue to this thread was full.
static void ask_again(struct thread *t, struct hub_conn *c)
{
	if (c->state != HUB_ACCEPTED || t->now_ms < c->asked_ms + ASK_AGAIN_MS)
		return;
	bitset_put(&hub_of(t)->untold, hub_index(hub_of(t), c), true);
	t->relay.untold++;
}

// Checks a connection. Returns the cost of that.
static unsigned int judge_conn(struct thread *t, struct hub_conn *c)
{
	const bool late = t->now_ms > c->since_ms + timeout_ms(t);

	if (c->state == HUB_FREE || c->thread != t->index)
		return 1;
	if (c->state == HUB_BOUND) {
		struct conn *client = &t->conn[c->client];

		if (alloc_lives(t, c->worker, &c->owner) &&
			!(splice_is_ending(c->splice) &&
				t->now_ms > client->heard_ms + timeout_ms(t)))
			return 1;
		conn_close(t, client, &t->stats.closed);
		return HUB_END_COST;
	}
	if (c->state == HUB_WAITING) {
		again_go_on(t, c);
		return HUB_END_COST;
	}
	if (!late && alloc_lives(t, c->worker, &c->owner)) {
		ask_again(t, c);
		return 1;
	}
	if (c->state == HUB_CONNECTING) {
		orders_fail(t, c);
		return HUB_END_COST;
	}
	stats_add(&t->stats.relay_unbound, 1);
	orders_end(t, c);
	return HUB_END_COST;
}

// Checks an allocation. Returns the cost of that.
static unsigned int judge_alloc(struct thread *t, struct hub_alloc *a)
{
	const struct stream_config *conf = &t->s->conf;
	struct stream_message m;

	if (a->id.allocation == 0 || a->thread != t->index)
		return 1;
	if (!alloc_lives(t, a->worker, &a->id)) {
		alloc_end(t, a);
		return HUB_END_COST;
	}
	if (a->failed && conf->ops->take(conf->ctx, t->index, a->worker, &m)) {
		conf->relay.ops->unopened(conf->ctx, t->index, a->worker, &m, &a->id);
		a->failed = false;
	}
	return 1;
}

// Schedules the check of one part of nb entries. A round leaves the rest to the next one.
static void look_ask(struct relay_look *l, uint32_t nb)
{
	l->left += nb / SCAN_PARTS + 1;
	if (l->left > nb)
		l->left = nb;
}

// Returns the next one of nb entries.
static uint32_t look_next(struct relay_look *l, uint32_t nb)
{
	if (l->next >= nb)
		l->next = 0;
	l->left--;
	return l->next++;
}

void orders_tick(struct thread *t)
{
	struct hub *h = hub_of(t);

	pthread_mutex_lock(&h->lock);
	look_ask(&t->relay.conns, h->used);
	look_ask(&t->relay.allocs, h->conf.ports);
	pthread_mutex_unlock(&h->lock);
}

bool orders_are_due(const struct thread *t)
{
	return t->relay.conns.left > 0 || t->relay.allocs.left > 0;
}

// Each kind has its own budget, so that closing many of one does not delay the other.
void orders_review(struct thread *t)
{
	struct hub *h = hub_of(t);

	pthread_mutex_lock(&h->lock);
	for (unsigned int cost = 0; cost < HUB_PORTION && t->relay.conns.left > 0;)
		cost += judge_conn(t, &h->conn[look_next(&t->relay.conns, h->used)]);
	for (unsigned int cost = 0; cost < HUB_PORTION && t->relay.allocs.left > 0;)
		cost += judge_alloc(t, &h->alloc[look_next(&t->relay.allocs, h->conf.ports)]);
	pthread_mutex_unlock(&h->lock);
}
