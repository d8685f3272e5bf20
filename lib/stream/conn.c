// SPDX-License-Identifier: BSD-3-Clause
// A connection: its states, input, output and deadlines.
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "conn.h"
#include "framing.h"
#include "handle.h"
#include "identity/tls_offer.h"
#include "invariant.h"
#include "out/outgoing.h"
#include "tos.h"

#define TLS_HANDSHAKE 0x16 // first byte from a TLS client: the content type of its record

struct stream_from conn_from(const struct thread *t, const struct conn *c)
{
	return (struct stream_from){.client = c->client,
		.listener = t->s->listener[c->listener].index,
		.tos = c->tos,
		.conn = conn_handle(t, c)};
}

// --- beginning and end ---------------------------------------------------------------------------

static uint32_t slot_take(struct thread *t)
{
	uint32_t i = t->free;

	if (i != CONN_NONE)
		t->free = t->conn[i].link.next;
	else if (t->used < t->max)
		i = t->used++;
	return i;
}

static void slot_give(struct thread *t, struct conn *c)
{
	const uint32_t i = (uint32_t)(c - t->conn);

	ASSERT(i < t->used && c->queued == TURNS_NONE && !c->young && c->out.first == NULL);
	ASSERT(c->ssl == NULL && c->rest == NULL);
	*c = (struct conn){.generation = c->generation, .link.next = t->free};
	t->free = i;
}

static void young_add(struct thread *t, struct conn *c)
{
	ASSERT(!c->young && !c->heard);
	c->young = true;
	ilist_append(&t->young, ILIST_LINKS(t->conn, by_age), (uint32_t)(c - t->conn));
}

void conn_young_drop(struct thread *t, struct conn *c)
{
	if (!c->young)
		return;
	c->young = false;
	ilist_remove(&t->young, ILIST_LINKS(t->conn, by_age), (uint32_t)(c - t->conn));
}

static int epoll_of(const struct thread *t, const struct conn *c)
{
	return c->fresh ? t->fresh : t->epoll;
}

static bool start_tls(struct thread *t, struct conn *c)
{
	c->ssl = tls_open(t->s, c);
	c->state = CONN_HANDSHAKE;
	if (c->ssl != NULL)
		stats_add(&t->stats.tls, 1);
	return c->ssl != NULL;
}

bool conn_open(
	struct thread *t, int fd, uint8_t listener, const struct endpoint *client, bool trusted)
{
	const struct stream_listener *l = &t->s->listener[listener];
	const uint32_t i = slot_take(t);
	struct epoll_event e = {.events = EPOLLIN, .data.u64 = i};
	struct conn *c;

	if (i == CONN_NONE) // closed connections not yet known to every worker occupy slots, too
		return false;
	c = &t->conn[i];
	ASSERT(c->state == CONN_FREE && t->live[i] == 0);
	*c = (struct conn){.fd = fd,
		.generation = c->generation + 1 != 0 ? c->generation + 1 : 1,
		.state = l->mode == STREAM_DETECT ? CONN_DETECT : CONN_OPEN,
		.client = *client,
		.listener = listener,
		.tos = tos_accepted(fd, l),
		.fresh = l->mode != STREAM_PLAIN,
		.trusted = trusted,
		.events = EPOLLIN,
		.opened_ms = t->now_ms,
		.heard_ms = t->now_ms};
	c->home = (uint8_t)t->s->conf.ops->home(t->s->conf.ctx, client, l->index);
	if ((l->mode == STREAM_TLS && !start_tls(t, c)) ||
		epoll_ctl(epoll_of(t, c), EPOLL_CTL_ADD, fd, &e) != 0) {
		if (c->ssl != NULL)
			stats_add(&t->stats.tls, -1);
		SSL_free(c->ssl);
		slot_give(t, c);
		return false;
	}
	__atomic_store_n(&t->cipher[i], NULL, __ATOMIC_RELAXED);
	__atomic_store_n(&t->live[i], c->generation, __ATOMIC_RELEASE);
	stats_add(&t->stats.connections, 1);
	young_add(t, c);
	return true;
}

// libssl forbids SSL_shutdown after an error, and before the handshake there is nothing to shut
// down. A client that has not received all bytes of its peer gets no close_notify, either.
static void tls_end(struct thread *t, struct conn *c, bool in_order)
{
	if (c->ssl == NULL)
		return;
	if (c->state >= CONN_OPEN && in_order)
		SSL_shutdown(c->ssl);
	SSL_free(c->ssl);
	c->ssl = NULL;
	stats_add(&t->stats.tls, -1);
}

// Workers are notified of closed connections in order, each worker separately, so that a worker
// without room delays only its own clients.
static void ended_add(struct thread *t, struct conn *c)
{
	const uint32_t i = (uint32_t)(c - t->conn);

	ASSERT(c->queued == TURNS_NONE && t->live[i] == 0);
	c->state = CONN_ENDED;
	c->told = 0;
	ilist_append(&t->ended.list, ILIST_LINKS(t->conn, link), i);
	for (unsigned int w = 0; w < t->s->conf.workers; w++)
		if (t->ended.pending[w] == CONN_NONE)
			t->ended.pending[w] = i;
}

void conn_close(struct thread *t, struct conn *c, uint64_t *reason)
{
	const uint32_t i = (uint32_t)(c - t->conn);
	bool whole = true;

	ASSERT(c->state != CONN_FREE && c->state != CONN_ENDED && t->stats.connections > 0);
	stats_add(reason, 1);
	stats_add(&t->stats.connections, -1);
	refused_by_counter(t, &c->client, t->s->listener[c->listener].index, reason);
	// before the workers are notified: see stream_alive
	__atomic_store_n(&t->live[i], 0, __ATOMIC_SEQ_CST);
#define X(type, field, waits, work, closed) \
	if (c->state == CONN_SPLICED)       \
		whole = closed(t, c);
	STREAM_CONNS(X)
#undef X
	tls_end(t, c,
		whole && reason != &t->stats.failed && reason != &t->stats.rekeys &&
			reason != &t->stats.relay_denied);
	conn_young_drop(t, c);
	close(c->fd);
	free(c->rest);
	c->rest = NULL;
	c->rest_len = 0;
	free(c->offered);
	c->offered = NULL;
	queue_clear(&c->out);
	if (c->trusted || c->spared)
		conn_limits_give_total(&t->s->caps);
	else
		conn_limits_give(&t->s->caps, &c->client.addr);
	turns_remove(t, c);
	if (c->given)
		ended_add(t, c);
	else
		slot_give(t, c);
}

uint64_t *conn_failure(struct thread *t, const struct conn *c)
{
	return c->rekeys > TLS_REKEYS ? &t->stats.rekeys : &t->stats.failed;
}

bool conn_give_way(struct thread *t)
{
	// reset: otherwise the kernel would keep the rest of the connection for a minute
	static const struct linger now = {.l_onoff = 1, .l_linger = 0};

	if (t->young.first == CONN_NONE)
		return false;
	setsockopt(t->conn[t->young.first].fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	conn_close(t, &t->conn[t->young.first], &t->stats.gave_way);
	return true;
}

// Notifies every worker, because the allocation may be on another worker than the home
// (RESERVATION-TOKEN).
void conn_tell_ends(struct thread *t)
{
	const struct stream_config *conf = &t->s->conf;

	for (unsigned int w = 0; w < conf->workers; w++) {
		uint32_t *next = &t->ended.pending[w];

		for (; *next != CONN_NONE; *next = t->conn[*next].link.next) {
			struct conn *c = &t->conn[*next];
			const struct stream_from origin = conn_from(t, c);

			if (!conf->ops->ended(conf->ctx, t->index, w, &origin))
				break;
			ASSERT(c->state == CONN_ENDED && c->told < conf->workers);
			c->told++;
		}
		t->untold &= ~(UINT64_C(1) << w);
		t->untold |= (uint64_t)(*next != CONN_NONE) << w;
	}
	while (t->ended.list.first != CONN_NONE &&
		t->conn[t->ended.list.first].told == conf->workers) {
		struct conn *c = &t->conn[t->ended.list.first];

		ASSERT(c->state == CONN_ENDED);
		ilist_remove(&t->ended.list, ILIST_LINKS(t->conn, link), t->ended.list.first);
		slot_give(t, c);
	}
	t->stalled |= t->untold != 0; // retry soon
}

void conn_judge(struct thread *t, struct conn *c)
{
	const uint64_t patience = load_number(&t->s->conf.handshake_s) * UINT64_C(1000);
	const uint64_t idle = load_number(&t->s->conf.idle_s) * UINT64_C(1000);
	const uint64_t since = c->heard ? c->rest_ms : c->opened_ms;
	const bool owing = !c->heard || c->rest_len > 0 || c->skip > 0;
	// the client is not late while a worker makes its bytes wait, or while we do not read
	const bool reading = (t->untold >> c->home & 1) == 0 && c->queued == TURNS_NONE &&
		!c->waits && (c->events & EPOLLIN) != 0;

	if (c->rekeys > 0 && c->rekeys <= TLS_REKEYS)
		c->rekeys--; // allows one more per check, so twice a second
	if (c->state == CONN_FREE || c->state == CONN_ENDED || c->state == CONN_SPLICED)
		return;
	if (c->spared && t->now_ms > c->lease_ms)
		conn_spare(t, c, false);
	// its ConnectionBind, or the answer to it, was dropped
	if (c->waits && t->now_ms > c->heard_ms + patience)
		conn_answered(t, c);
	if (owing && reading && t->now_ms > since + patience)
		conn_close(t, c, &t->stats.slow);
	else if (c->queued == TURNS_NONE && t->now_ms > c->heard_ms + idle &&
		t->now_ms > c->lease_ms)
		conn_close(t, c, &t->stats.idle);
}

bool conn_may_be_read(const struct thread *t, const struct conn *c)
{
	return c->out.kept <= t->s->conf.queue / 2;
}

void conn_watch(struct thread *t, struct conn *c)
{
	const bool writing =
		c->out.first != NULL || (c->state == CONN_HANDSHAKE && SSL_want_write(c->ssl));
	const bool reading = conn_may_be_read(t, c) && c->queued == TURNS_NONE && !c->waits;
	struct epoll_event e = {.events = (reading ? EPOLLIN : 0u) | (writing ? EPOLLOUT : 0u),
		.data.u64 = (uint64_t)(c - t->conn)};

	if (c->state == CONN_ENDED || c->state == CONN_FREE || c->state == CONN_SPLICED ||
		e.events == c->events)
		return;
	if (reading && (c->events & EPOLLIN) == 0)
		c->rest_ms = t->now_ms; // an incomplete message could not continue meanwhile
	c->events = e.events;
	epoll_ctl(epoll_of(t, c), EPOLL_CTL_MOD, c->fd, &e);
}

// Moves a newly open connection from thread.fresh to thread.epoll.
static void conn_settle(struct thread *t, struct conn *c)
{
	struct epoll_event e = {.events = c->events, .data.u64 = (uint64_t)(c - t->conn)};

	if (!c->fresh || c->state != CONN_OPEN)
		return;
	epoll_ctl(t->fresh, EPOLL_CTL_DEL, c->fd, NULL);
	c->fresh = false;
	if (epoll_ctl(t->epoll, EPOLL_CTL_ADD, c->fd, &e) != 0)
		conn_close(t, c, &t->stats.failed);
}

// --- out -----------------------------------------------------------------------------------------

struct conn *conn_of(struct thread *t, uint64_t handle)
{
	const uint32_t i = handle_index(handle);
	struct conn *c = &t->conn[i];

	return i < t->used && c->state == CONN_OPEN && c->generation == handle_generation(handle)
		? c
		: NULL;
}

// Bytes after the ConnectionBind are read in the connection's next turn.
bool conn_waits_for(const struct conn *c, const uint8_t *message, size_t len)
{
	return c->waits && len >= STUN_HEADER_LEN && message[0] <= STUN_FIRST_MAX &&
		memcmp(c->bind_tid, message + CONN_TID_AT, STUN_TID_LEN) == 0;
}

void conn_answered(struct thread *t, struct conn *c)
{
	if (!c->waits)
		return;
	c->waits = false;
	turns_add(t, c, TURNS_READ);
}

void conn_spare(struct thread *t, struct conn *c, bool spared)
{
	if (c->trusted || c->spared == spared)
		return;
	ASSERT(c->state != CONN_FREE && c->state != CONN_ENDED);
	c->spared = spared;
	conn_limits_spare(&t->s->caps, &c->client.addr, spared);
}

void conn_lease(struct thread *t, struct conn *c, uint32_t lease_s)
{
	c->lease_ms = t->now_ms + lease_s * UINT64_C(1000);
	conn_spare(t, c, lease_s > 0);
}

// --- events --------------------------------------------------------------------------------------

static void detect_tls(struct thread *t, struct conn *c)
{
	uint8_t first;
	const int n = tls_io_peek(c, &first);

	if (n == IO_LATER)
		return;
	if (n < 0)
		conn_close(t, c, n == IO_CLOSED ? &t->stats.closed : &t->stats.failed);
	else if (first != TLS_HANDSHAKE)
		c->state = CONN_OPEN;
	else if (!tls_allowed(t, &c->client.addr))
		conn_close(t, c, &t->stats.refused_rate);
	else if (!start_tls(t, c))
		conn_close(t, c, &t->stats.failed);
}

static void continue_handshake(struct thread *t, struct conn *c)
{
	const int rc = tls_io_handshake(c);

	if (rc > 0) {
		c->state = CONN_OPEN;
		free(c->offered);
		c->offered = NULL;
		__atomic_store_n(
			&t->cipher[c - t->conn], SSL_get_cipher_name(c->ssl), __ATOMIC_RELAXED);
		stats_add(&t->stats.handshakes, 1);
	} else if (rc != IO_LATER) {
		refused_note(t,
			&(struct stream_refused){.client = c->client,
				.listener = t->s->listener[c->listener].index,
				.reason = (uint8_t)tls_offer_why(c->ended || rc == IO_CLOSED),
				.offered = c->offered != NULL ? c->offered : ""});
		conn_close(t, c, &t->stats.handshake_failed);
	}
}

// A connection that is likely to have its turn in this round stays watched by epoll. A connection
// that waits for longer does not, so that epoll does not report it again.
static void become_readable(struct thread *t, struct conn *c)
{
	if (c->queued != TURNS_NONE || c->waits)
		conn_watch(t, c);
	else
		turns_add(t, c, TURNS_READ);
}

void conn_event(struct thread *t, struct conn *c, uint32_t events)
{
#define X(type, field, waits, work, closed) \
	if (c->state == CONN_SPLICED)       \
		return work(t, c);
	STREAM_CONNS(X)
#undef X
	if (c->state == CONN_DETECT)
		detect_tls(t, c);
	if (c->state == CONN_HANDSHAKE)
		continue_handshake(t, c);
	if (c->state == CONN_OPEN && (events & EPOLLOUT) != 0)
		outgoing_portion(t, c); // epoll reports it again
	if (c->state == CONN_OPEN && c->waits && (events & (EPOLLHUP | EPOLLERR)) != 0)
		conn_close(t, c, &t->stats.failed);
	if (c->state == CONN_OPEN &&
		((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0 || tls_io_pending(c)))
		become_readable(t, c);
	else
		conn_watch(t, c);
	conn_settle(t, c);
}
