// SPDX-License-Identifier: BSD-3-Clause
// Relays bytes between a client and a peer, over TLS or not. An end of stream is passed on after
// all bytes before it. When both directions have ended, or one side has failed, both sides are
// closed. A side that has not received the end of the other's stream is reset: it may not have
// received all bytes, and must not mistake the cut for the end.
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "conn.h"
#include "invariant.h"
#include "out/outgoing.h"
#include "features/tcp/hub.h"
#include "features/tcp/orders.h"
#include "features/tcp/sockets.h"
#include "features/tcp/splice.h"

#define EVENTS (EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET)
#define TURNS 4 // buffers that one connection relays before the next one has its turn

// One direction.
struct direction {
	uint8_t *buf; // size bytes
	uint32_t size, pos, len; // [pos, pos + len) waits to be written
	bool ended; // no more comes
	bool shut; // the other side knows the end, too
	bool dry; // the rates allow no byte now
};

struct splice {
	struct hub_conn *peer; // owned by this thread, except for the hash chains
	struct direction to_peer, to_client;
	struct conn *client;
	struct splice *next, **link; // in a list that waits for rates; link NULL: in no list
};

static bool direction_make(struct direction *w, uint32_t size)
{
	w->size = size;
	w->buf = malloc(size);
	return w->buf != NULL;
}

static void splice_free(struct splice *s)
{
	if (s == NULL)
		return;
	free(s->to_peer.buf);
	free(s->to_client.buf);
	free(s);
}

static struct stream_flow flow_of(const struct splice *s, bool to_client)
{
	return (struct stream_flow){
		.owner = s->peer->owner, .worker = s->peer->worker, .to_client = to_client};
}

// Takes the bytes that followed the ConnectionBind. They count as relayed even above the rates. If
// the allocation has ended, they are dropped: the tick will notice that end.
static void rest_take(const struct thread *t, struct splice *s, struct conn *c)
{
	const struct stream_config *conf = &t->s->conf;
	const struct stream_flow f = flow_of(s, false);

	if (c->rest_len > 0 && conf->relay.ops->relayed(conf->ctx, &f, 0, c->rest_len)) {
		memcpy(s->to_peer.buf, c->rest + c->rest_at, c->rest_len);
		s->to_peer.len = c->rest_len;
	}
	free(c->rest);
	c->rest = NULL;
	c->rest_len = 0;
}

bool splice_begin(struct thread *t, struct conn *c, struct hub_conn *p)
{
	const uint32_t size = t->s->hub->conf.buffer;
	struct splice *s = calloc(1, sizeof(*s));
	struct epoll_event e = {.data.u64 = WATCH_PEER | hub_index(t->s->hub, p)};

	sockets_reset(c->fd);
	sockets_reset(p->fd);
	if (s == NULL || !direction_make(&s->to_peer, c->rest_len > size ? c->rest_len : size) ||
		!direction_make(&s->to_client, size) ||
		epoll_ctl(t->epoll, EPOLL_CTL_ADD, p->fd, &e) != 0) {
		splice_free(s);
		return false;
	}
	s->peer = p;
	s->client = c;
	rest_take(t, s, c);
	p->splice = s;
	p->client = (uint32_t)(c - t->conn);
	c->splice = s;
	c->state = CONN_SPLICED;
	return true;
}

// --- the four ends -------------------------------------------------------------------------------

static bool would_block(void)
{
	return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

static int peer_read(const struct hub_conn *p, uint8_t *buf, uint32_t len)
{
	const ssize_t n = recv(p->fd, buf, len, 0);

	if (n == 0)
		return __atomic_load_n(&p->cut, __ATOMIC_ACQUIRE) ? IO_FAILED : IO_CLOSED;
	return n > 0 ? (int)n : would_block() ? IO_LATER : IO_FAILED;
}

static int peer_write(int fd, const uint8_t *buf, uint32_t len)
{
	const ssize_t n = send(fd, buf, len, MSG_NOSIGNAL);

	return n >= 0 ? (int)n : would_block() ? IO_LATER : IO_FAILED;
}

// Over TLS a FIN without close_notify is a truncation (RFC 8446 6.1).
static int client_read(struct conn *c, uint8_t *buf, uint32_t len)
{
	const int n = tls_io_read(c, buf, len);

	return n == IO_CLOSED && c->ssl != NULL && c->ended ? IO_FAILED : n;
}

// Queued answers are written first.
static int client_write(struct thread *t, struct conn *c, const uint8_t *buf, uint32_t len)
{
	int n;

	if (!outgoing_flush(t, c))
		return c->state == CONN_SPLICED ? IO_LATER : IO_FAILED;
	n = tls_io_write(c, buf, len);
	return n == IO_CLOSED ? IO_FAILED : n;
}

// Passes on an end of stream after the written bytes. False if the peer is gone, as an unread reset
// shows.
static bool peer_shut(int fd)
{
	sockets_finish(fd);
	return shutdown(fd, SHUT_WR) == 0;
}

static bool client_shut(struct conn *c)
{
	sockets_finish(c->fd);
	return tls_io_finish(c);
}

// --- both directions------------------------------------------------------------------------------

// Handles the result of a read: sets *moved, or the direction has ended. False if it has failed.
static bool read_done(struct direction *w, int n, bool *moved)
{
	if (n > 0) {
		ASSERT(w->len == 0 && (uint32_t)n <= w->size);
		w->pos = 0;
		w->len = (uint32_t)n;
		*moved = true;
	} else if (n == IO_CLOSED) {
		w->ended = *moved = true;
	}
	return n != IO_FAILED;
}

// Reads as many bytes as the allocation may relay into an empty direction. False if the read
// failed.
static bool fill_buffer(struct thread *t, struct splice *s, struct direction *w, bool *moved)
{
	const struct stream_config *conf = &t->s->conf;
	const struct stream_flow f = flow_of(s, w == &s->to_client);
	uint32_t allowed;
	int n;

	if (w->len > 0 || w->ended)
		return true;
	allowed = conf->relay.ops->allow(conf->ctx, &f, w->size);
	if (allowed == 0 && !w->dry && conf->relay.ops->lives(conf->ctx, f.worker, &f.owner))
		stats_add(&t->stats.relay_held, 1);
	w->dry = allowed == 0; // the tick notices the end of the allocation
	if (w->dry)
		return true;
	n = f.to_client ? peer_read(s->peer, w->buf, allowed)
			: client_read(s->client, w->buf, allowed);
	if (!conf->relay.ops->relayed(conf->ctx, &f, allowed, n > 0 ? (uint32_t)n : 0) && n > 0) {
		w->dry = true; // drop bytes that are not counted
		return true;
	}
	return read_done(w, n, moved);
}

static bool wrote_done(struct direction *w, int n, uint64_t *counter, bool *moved)
{
	if (n < 0)
		return false;
	ASSERT((uint32_t)n <= w->len && w->pos + w->len <= w->size);
	w->pos += (uint32_t)n;
	w->len -= (uint32_t)n;
	*moved |= n > 0;
	stats_add(counter, n);
	return true;
}

static bool to_peer(struct thread *t, struct splice *s, bool *moved)
{
	struct direction *w = &s->to_peer;
	const int fd = s->peer->fd;

	if (!fill_buffer(t, s, w, moved))
		return false;
	if (w->len > 0 &&
		!wrote_done(w, peer_write(fd, w->buf + w->pos, w->len), &t->stats.relay_to_peers,
			moved))
		return false;
	if (w->ended && w->len == 0 && !w->shut)
		return w->shut = peer_shut(fd);
	return true;
}

static bool to_client(struct thread *t, struct splice *s, bool *moved)
{
	struct direction *w = &s->to_client;
	struct conn *c = s->client;

	if (!fill_buffer(t, s, w, moved))
		return false;
	if (w->len > 0 &&
		!wrote_done(w, client_write(t, c, w->buf + w->pos, w->len),
			&t->stats.relay_to_clients, moved))
		return false;
	if (w->ended && w->len == 0 && !w->shut) {
		if (!outgoing_flush(t, c))
			return c->state == CONN_SPLICED; // else s was freed with it
		return w->shut = client_shut(c);
	}
	return true;
}

// Makes epoll report the next change of each side once: any of them causes a new try. So epoll does
// not repeat the event of a side that cannot be read because the other side is full.
static void rearm_epoll(struct thread *t, struct conn *c, struct splice *s)
{
	struct epoll_event e = {.events = EVENTS, .data.u64 = (uint64_t)(c - t->conn)};

	c->events = e.events;
	epoll_ctl(t->epoll, EPOLL_CTL_MOD, c->fd, &e);
	e.data.u64 = WATCH_PEER | hub_index(t->s->hub, s->peer);
	epoll_ctl(t->epoll, EPOLL_CTL_MOD, s->peer->fd, &e);
}

static void dry_remove(struct splice *s)
{
	if (s->link == NULL)
		return;
	ASSERT(*s->link == s && (s->next == NULL || s->next->link == &s->next));
	*s->link = s->next;
	if (s->next != NULL)
		s->next->link = s->link;
	s->link = NULL;
}

static void dry_put(struct splice **list, struct splice *s)
{
	dry_remove(s);
	s->next = *list;
	s->link = list;
	if (s->next != NULL)
		s->next->link = &s->next;
	*list = s;
}

void splice_dry(struct thread *t)
{
	struct splice *list = t->relay.dry;

	t->relay.dry = NULL;
	if (list != NULL)
		list->link = &list;
	while (list != NULL) {
		struct splice *s = list;

		dry_remove(s);
		splice_work(t, s->client);
	}
}

void splice_want(const struct thread *t, struct hub_conn *p)
{
	struct epoll_event e = {.events = EVENTS, .data.u64 = WATCH_PEER | hub_index(t->s->hub, p)};

	__atomic_store_n(&p->wanted, true, __ATOMIC_RELEASE);
	epoll_ctl(t->s->thread[p->thread]->epoll, EPOLL_CTL_MOD, p->fd, &e); // wakes its thread
}

// Ends a connection that blocks a Connect, once its client has closed its direction and the peer
// has all its bytes. Nobody reads the peer's remaining bytes, and the reset frees the 5-tuple.
static bool give_way(struct thread *t, struct splice *s)
{
	if (!s->to_peer.shut || !__atomic_load_n(&s->peer->wanted, __ATOMIC_ACQUIRE))
		return false;
	if (sockets_unsent(s->peer->fd)) {
		dry_put(&t->relay.dry, s); // retries in a few milliseconds
		return false;
	}
	sockets_reset(s->peer->fd);
	conn_close(t, s->client, &t->stats.closed);
	return true;
}

void splice_work(struct thread *t, struct conn *c)
{
	struct splice *s = c->splice;
	bool moved = true;
	unsigned int i;

	// libssl may have bytes that epoll does not report: after all turns they still go to the
	// peer, without another read of the socket
	for (i = 0; moved && (i < TURNS || (s->to_peer.len == 0 && tls_io_pending(c))); i++) {
		moved = false;
		c->chunk = i < TURNS;
		if (!to_peer(t, s, &moved) || (i < TURNS && !to_client(t, s, &moved))) {
			if (c->state == CONN_SPLICED)
				conn_close(t, c, conn_failure(t, c));
			return;
		}
		if (s->to_peer.shut && s->to_client.shut)
			return conn_close(t, c, &t->stats.closed);
		if (moved)
			c->heard_ms = t->now_ms;
	}
	if (give_way(t, s))
		return;
	if (s->to_peer.dry || s->to_client.dry)
		dry_put(&t->relay.dry, s);
	if (i >= TURNS || c->events != EVENTS)
		rearm_epoll(t, c, s);
}

bool splice_is_ending(const struct splice *s)
{
	return s->to_peer.ended || s->to_client.ended;
}

bool splice_closed(struct thread *t, struct conn *c)
{
	struct hub *h = t->s->hub;
	struct splice *s = c->splice;
	const bool whole = s->to_client.shut;

	c->splice = NULL;
	dry_remove(s);
	pthread_mutex_lock(&h->lock);
	if (!s->to_peer.shut)
		hub_conn_cut(h, s->peer);
	orders_end(t, s->peer);
	pthread_mutex_unlock(&h->lock);
	splice_free(s);
	return whole;
}
