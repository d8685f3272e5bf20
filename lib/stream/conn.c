// SPDX-License-Identifier: BSD-3-Clause
// One connection: its states, its bytes in and out, its deadlines.
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "conn.h"
#include "framing.h"
#include "out/outgoing.h"
#include "relay/splice.h"
#include "stun.h"
#include "tos.h"

#define TLS_HANDSHAKE 0x16 // first byte from a TLS client: the content type of its record
#define CONNECTION_BIND 0x0b // second byte of a ConnectionBind request; the first is 0
#define ASK_BURST 8 // requests of one connection before another one has its turn

static struct stream_from from_of(const struct thread *t, const struct conn *c)
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
		t->free = t->conn[i].next;
	else if (t->used < t->max)
		i = t->used++;
	return i;
}

static void slot_give(struct thread *t, struct conn *c)
{
	const uint32_t i = (uint32_t)(c - t->conn);

	*c = (struct conn){.generation = c->generation, .next = t->free};
	t->free = i;
}

static void young_add(struct thread *t, struct conn *c)
{
	const uint32_t i = (uint32_t)(c - t->conn);

	c->young = true;
	c->younger = CONN_NONE;
	c->older = t->youngest;
	*(c->older != CONN_NONE ? &t->conn[c->older].younger : &t->oldest) = i;
	t->youngest = i;
}

static void young_drop(struct thread *t, struct conn *c)
{
	if (!c->young)
		return;
	c->young = false;
	*(c->older != CONN_NONE ? &t->conn[c->older].younger : &t->oldest) = c->younger;
	*(c->younger != CONN_NONE ? &t->conn[c->younger].older : &t->youngest) = c->older;
}

// Queues a connection that may not ask its worker now. There is a list for each worker, so a client
// with many requests keeps nobody else from asking, or from being relayed.
static void hold(struct thread *t, struct conn *c)
{
	struct held *h = &t->held[c->home];
	const uint32_t i = (uint32_t)(c - t->conn);

	young_drop(t, c);
	c->held = true;
	c->next = CONN_NONE;
	c->prev = h->last;
	*(h->last != CONN_NONE ? &t->conn[h->last].next : &h->first) = i;
	h->last = i;
	t->stalled = true;
	count(&t->stats.stalled, 1);
}

static void unhold(struct thread *t, struct conn *c)
{
	struct held *h = &t->held[c->home];

	*(c->prev != CONN_NONE ? &t->conn[c->prev].next : &h->first) = c->next;
	*(c->next != CONN_NONE ? &t->conn[c->next].prev : &h->last) = c->prev;
	c->held = false;
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
		count(&t->stats.tls, 1);
	return c->ssl != NULL;
}

bool conn_open(struct thread *t, int fd, uint8_t listener, const struct endpoint *client)
{
	const struct stream_listener *l = &t->s->listener[listener];
	const uint32_t i = slot_take(t);
	struct epoll_event e = {.events = EPOLLIN, .data.u64 = i};
	struct conn *c;

	if (i == CONN_NONE) // connections whose end still has to be told take slots too
		return false;
	c = &t->conn[i];
	*c = (struct conn){.fd = fd,
		.generation = c->generation + 1 != 0 ? c->generation + 1 : 1,
		.state = l->mode == STREAM_DETECT ? CONN_DETECT : CONN_OPEN,
		.client = *client,
		.listener = listener,
		.tos = tos_accepted(fd, l),
		.fresh = l->mode != STREAM_PLAIN,
		.events = EPOLLIN,
		.opened_ms = t->now_ms,
		.heard_ms = t->now_ms};
	c->home = (uint8_t)t->s->conf.ops->home(t->s->conf.ctx, client, l->index);
	if ((l->mode == STREAM_TLS && !start_tls(t, c)) ||
		epoll_ctl(epoll_of(t, c), EPOLL_CTL_ADD, fd, &e) != 0) {
		if (c->ssl != NULL)
			count(&t->stats.tls, -1);
		SSL_free(c->ssl);
		slot_give(t, c);
		return false;
	}
	__atomic_store_n(&t->cipher[i], NULL, __ATOMIC_RELAXED);
	__atomic_store_n(&t->live[i], c->generation, __ATOMIC_RELEASE);
	count(&t->stats.connections, 1);
	young_add(t, c);
	return true;
}

// libssl forbids SSL_shutdown after an error, and without a handshake there is nothing to end. Who
// is cut off from a peer has not got all of its bytes.
static void tls_end(struct thread *t, struct conn *c, bool in_order)
{
	if (c->ssl == NULL)
		return;
	if (c->state >= CONN_OPEN && in_order)
		SSL_shutdown(c->ssl);
	SSL_free(c->ssl);
	c->ssl = NULL;
	count(&t->stats.tls, -1);
}

void conn_close(struct thread *t, struct conn *c, uint64_t *reason)
{
	const uint32_t i = (uint32_t)(c - t->conn);
	bool whole = true;

	count(reason, 1);
	count(&t->stats.connections, -1);
	refused_by_counter(t, &c->client, t->s->listener[c->listener].index, reason);
	// before the workers are told: see stream_alive
	__atomic_store_n(&t->live[i], 0, __ATOMIC_SEQ_CST);
	if (c->state == CONN_SPLICED)
		whole = splice_closed(t, c);
	tls_end(t, c,
		whole && reason != &t->stats.failed && reason != &t->stats.rekeys &&
			reason != &t->stats.relay_denied);
	young_drop(t, c);
	close(c->fd);
	free(c->rest);
	c->rest = NULL;
	c->rest_len = 0;
	queue_clear(&c->out);
	conn_limits_give(&t->s->caps, &c->client.addr);
	if (t->blocked[c->home] == i)
		t->blocked[c->home] = CONN_NONE;
	if (c->held)
		unhold(t, c);
	if (!c->given) {
		slot_give(t, c);
		return;
	}
	c->state = CONN_ENDED;
	c->told = 0;
	c->next = t->ended;
	t->ended = i;
}

uint64_t *conn_failure(struct thread *t, const struct conn *c)
{
	return c->rekeys > TLS_REKEYS ? &t->stats.rekeys : &t->stats.failed;
}

bool conn_give_way(struct thread *t)
{
	// reset: otherwise the kernel would keep the rest of the connection for a minute
	static const struct linger now = {.l_onoff = 1, .l_linger = 0};

	if (t->oldest == CONN_NONE)
		return false;
	setsockopt(t->conn[t->oldest].fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	conn_close(t, &t->conn[t->oldest], &t->stats.gave_way);
	return true;
}

// Tells every worker, because the allocation may be with another one than the home
// (RESERVATION-TOKEN).
bool conn_tell(struct thread *t, struct conn *c)
{
	const struct stream_config *conf = &t->s->conf;
	const struct stream_from from = from_of(t, c);

	while (c->told < conf->workers && conf->ops->ended(conf->ctx, t->index, c->told, &from))
		c->told++;
	if (c->told < conf->workers)
		return false;
	slot_give(t, c);
	return true;
}

void conn_judge(struct thread *t, struct conn *c)
{
	const uint64_t patience = changing(&t->s->conf.handshake_s) * UINT64_C(1000);
	const uint64_t idle = changing(&t->s->conf.idle_s) * UINT64_C(1000);
	const uint64_t since = c->heard ? c->rest_ms : c->opened_ms;
	const bool owing = !c->heard || c->rest_len > 0 || c->skip > 0;
	// the client is not late when a worker makes its bytes wait, or when we do not read
	const bool reading = t->blocked[c->home] == CONN_NONE && !c->held && !c->waits &&
		(c->events & EPOLLIN) != 0;

	if (c->rekeys > 0 && c->rekeys <= TLS_REKEYS)
		c->rekeys--; // so many more in a second as it is looked at
	if (c->state == CONN_FREE || c->state == CONN_ENDED || c->state == CONN_SPLICED)
		return;
	// its ConnectionBind, or the answer, was dropped
	if (c->waits && t->now_ms > c->heard_ms + patience)
		conn_answered(t, c);
	if (owing && reading && t->now_ms > since + patience)
		conn_close(t, c, &t->stats.slow);
	else if (!c->held && t->now_ms > c->heard_ms + idle && t->now_ms > c->lease_ms)
		conn_close(t, c, &t->stats.idle);
}

// Tells epoll what to wait for. While a client does not read our answers, we read no more requests
// from it.
void conn_watch(struct thread *t, struct conn *c)
{
	const bool writing =
		c->out.first != NULL || (c->state == CONN_HANDSHAKE && SSL_want_write(c->ssl));
	const bool reading = c->out.kept <= t->s->conf.queue / 2 && !c->held && !c->waits;
	struct epoll_event e = {.events = (reading ? EPOLLIN : 0u) | (writing ? EPOLLOUT : 0u),
		.data.u64 = (uint64_t)(c - t->conn)};

	if (c->state == CONN_ENDED || c->state == CONN_FREE || c->state == CONN_SPLICED ||
		e.events == c->events)
		return;
	if (reading && (c->events & EPOLLIN) == 0)
		c->rest_ms = t->now_ms; // a message that had begun could not go on meanwhile
	c->events = e.events;
	epoll_ctl(epoll_of(t, c), EPOLL_CTL_MOD, c->fd, &e);
}

// Moves a connection that has opened to the epoll that comes before those not open yet.
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

// --- in ------------------------------------------------------------------------------------------

// Gives a message to the worker. False: the worker has no buffer for it now.
static bool give(struct thread *t, struct conn *c, const uint8_t *p, uint16_t len)
{
	const struct stream_config *conf = &t->s->conf;
	const struct stream_from from = from_of(t, c);
	struct stream_message m;

	if (!conf->ops->take(conf->ctx, t->index, c->home, &m))
		return false;
	memcpy(m.data, p, len);
	m.len = len;
	m.conn = from.conn;
	conf->ops->send(conf->ctx, t->index, c->home, &m, &from);
	t->kicks |= UINT64_C(1) << c->home;
	c->given = true;
	count(&t->stats.rx, 1);
	return true;
}

// A ConnectionBind request, behind which there may be bytes for a peer (RFC 6062 4.5).
static bool is_bind(const struct thread *t, const uint8_t *message)
{
	return t->s->hub != NULL && message[0] == 0 && message[1] == CONNECTION_BIND;
}

// Gives the worker every whole message in n bytes. Returns how many bytes are done with. The
// connection may be closed by then.
static size_t take_frames(struct thread *t, struct conn *c, const uint8_t *p, size_t n)
{
	const struct stream_config *conf = &t->s->conf;
	unsigned int asked = 0;
	size_t at = 0;

	while (at < n) {
		enum stun_framing_state state;
		struct stun_framing f;

		if (c->skip > 0) {
			const uint32_t k = c->skip < n - at ? c->skip : (uint32_t)(n - at);

			c->skip -= k;
			at += k;
			continue;
		}
		state = stun_framing_scan(p + at, n - at, CHANNEL_MAX_RFC5766, &f);
		// no client begins with ChannelData, but HTTP's GET looks like it
		if (state == STUN_FRAMING_BAD || (!c->heard && p[at] > STUN_FIRST_MAX)) {
			conn_close(t, c, &t->stats.garbage);
			return n;
		}
		if (f.len > conf->room && n - at >= STUN_FRAMING_JUDGED) {
			count(&t->stats.oversize, 1);
			c->skip = f.size;
		} else if (state == STUN_FRAMING_SHORT) {
			break;
		} else if (stun_framing_is_request(p + at) &&
			(asked++ == ASK_BURST ||
				!conf->ops->may_ask(conf->ctx, t->index, c->home))) {
			hold(t, c);
			break;
		} else if (give(t, c, p + at, (uint16_t)f.len)) {
			c->waits = is_bind(t, p + at);
			at += f.size;
		} else {
			t->blocked[c->home] = (uint32_t)(c - t->conn);
			t->stalled = true;
			count(&t->stats.stalled, 1);
			young_drop(t, c); // it has asked, and now waits for us
			break;
		}
		young_drop(t, c);
		c->heard = true;
		c->heard_ms = c->rest_ms = t->now_ms;
		if (c->waits)
			break;
	}
	return at;
}

// Keeps the bytes that were not taken. p may lie in the bytes kept before.
static void keep_rest(struct thread *t, struct conn *c, const uint8_t *p, size_t len)
{
	uint8_t *rest = NULL;

	if (c->state != CONN_OPEN)
		return;
	if (len > 0) {
		rest = malloc(len);
		if (rest == NULL) {
			conn_close(t, c, &t->stats.failed);
			return;
		}
		memcpy(rest, p, len);
		if (c->rest_len == 0 && c->skip == 0)
			c->rest_ms = t->now_ms;
	}
	free(c->rest);
	c->rest = rest;
	c->rest_len = (uint32_t)len;
}

// Reads one TLS record, or what has come over TCP. True when there may be more to read.
static bool read_one(struct thread *t, struct conn *c)
{
	size_t n = c->rest_len, used;
	const int got = tls_io_read(c, t->scratch + n, STREAM_CHUNK);

	if (got == IO_LATER)
		return false;
	if (got < 0) {
		conn_close(t, c, got == IO_CLOSED ? &t->stats.closed : conn_failure(t, c));
		return false;
	}
	count(&t->stats.rx_bytes, got);
	if (n > 0)
		memcpy(t->scratch, c->rest, n);
	n += (size_t)got;
	used = take_frames(t, c, t->scratch, n);
	keep_rest(t, c, t->scratch + used, n - used);
	return c->state == CONN_OPEN && t->blocked[c->home] == CONN_NONE && !c->held && !c->waits;
}

// Reads one chunk from the socket, and takes every whole message in it.
static void read_some(struct thread *t, struct conn *c)
{
	if (c->waits)
		return;
	if (t->blocked[c->home] != CONN_NONE || t->untold || c->held) {
		t->stalled = true;
		return;
	}
	c->chunk = true;
	c->more = false;
	// libssl is not asked once more for what it says it does not have
	while (read_one(t, c) && tls_io_pending(c))
		;
	t->hungry |= c->more;
}

static void resume_rest(struct thread *t, struct conn *c)
{
	const size_t used = take_frames(t, c, c->rest, c->rest_len);

	if (used > 0 && c->state == CONN_OPEN)
		keep_rest(t, c, c->rest + used, c->rest_len - used);
	if (c->state == CONN_OPEN && tls_io_pending(c))
		read_some(t, c);
}

void conn_resume(struct thread *t, struct conn *c)
{
	t->blocked[c->home] = CONN_NONE;
	resume_rest(t, c);
}

// A connection that asks again goes to the end of the list.
void conn_resume_held(struct thread *t, unsigned int worker)
{
	const struct stream_config *conf = &t->s->conf;
	const uint32_t last = t->held[worker].last;
	uint32_t i = CONN_NONE;

	while (i != last && t->blocked[worker] == CONN_NONE &&
		conf->ops->may_ask(conf->ctx, t->index, worker)) {
		struct conn *c;

		i = t->held[worker].first;
		c = &t->conn[i];
		unhold(t, c);
		resume_rest(t, c);
		conn_watch(t, c);
	}
}

// --- out -----------------------------------------------------------------------------------------

struct conn *conn_of(struct thread *t, uint64_t handle)
{
	const uint32_t i = (uint32_t)handle & 0xffffff;
	struct conn *c = &t->conn[i];

	return i < t->used && c->state == CONN_OPEN && c->generation == handle >> 32 ? c : NULL;
}

// What a client has sent behind its ConnectionBind is read on in turn.
void conn_answered(struct thread *t, struct conn *c)
{
	if (!c->waits)
		return;
	c->waits = false;
	hold(t, c);
}

void conn_lease(struct thread *t, uint64_t handle, uint32_t lease_s)
{
	struct conn *c = conn_of(t, handle);

	if (c != NULL)
		c->lease_ms = t->now_ms + lease_s * UINT64_C(1000);
}

// --- events --------------------------------------------------------------------------------------

static void detect(struct thread *t, struct conn *c)
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

static void shake(struct thread *t, struct conn *c)
{
	const int rc = tls_io_handshake(c);

	if (rc > 0) {
		c->state = CONN_OPEN;
		__atomic_store_n(
			&t->cipher[c - t->conn], SSL_get_cipher_name(c->ssl), __ATOMIC_RELAXED);
		count(&t->stats.handshakes, 1);
	} else if (rc != IO_LATER) {
		conn_close(t, c, &t->stats.handshake_failed);
	}
}

void conn_event(struct thread *t, struct conn *c, uint32_t events)
{
	if (c->state == CONN_SPLICED)
		return splice_work(t, c);
	if (c->state == CONN_DETECT)
		detect(t, c);
	if (c->state == CONN_HANDSHAKE)
		shake(t, c);
	if (c->state == CONN_OPEN && (events & EPOLLOUT) != 0)
		outgoing_flush(t, c);
	if (c->state == CONN_OPEN && c->waits && (events & (EPOLLHUP | EPOLLERR)) != 0)
		conn_close(t, c, &t->stats.failed);
	if (c->state == CONN_OPEN &&
		((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0 || tls_io_pending(c)))
		read_some(t, c);
	conn_watch(t, c);
	conn_settle(t, c);
}
