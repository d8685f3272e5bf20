// SPDX-License-Identifier: BSD-3-Clause
// The DTLS handshakes of a stream thread: a table of the current ones by session, a queue of those
// with waiting datagrams, and the outcomes to report to the workers.
#include <stdlib.h>

#include "dtls_hello.h"
#include "dtls_pieces.h"
#include "identity/identities.h"
#include "thread.h"

#define TICK_MS 100 // milliseconds: most delay of a retransmission
// Limit of datagrams with encrypted records per handshake. One is usual. A datagram that arrives
// too early costs 17 KB in libssl.
#define SEALED_MAX 8
#define WAITING_MAX 8 // waiting datagrams of one handshake; a flight has one to four
#define PIECES_MAX 32 // datagrams of a fragmented ClientHello

// A waiting datagram of a client.
struct later {
	struct later *next;
	uint16_t len;
	uint8_t data[];
};

struct handshake {
	struct handshake *next; // in its bucket, or in the list of ended handshakes
	struct handshake *after, *before; // in the queue of handshakes with waiting datagrams
	struct later *waiting; // oldest first; the very first is the ClientHello
	struct dtls_pieces *pieces; // fragments of its ClientHello until that is whole; else NULL
	struct dtls_handshake *handshake; // NULL before it has begun, and once it has ended
	struct dtls_session *session; // its outcome; NULL = failed
	uint64_t conn;
	struct addr source;
	uint64_t until_ms;
	uint8_t worker;
	uint8_t listener; // the listener that received its ClientHello
	uint8_t sealed; // datagrams with encrypted records
	bool in_pieces; // its ClientHello comes in fragments
	bool counted; // the limits count it
	bool ended;
};

// The thread and handshake that send_out works for.
struct flight_context {
	struct thread *t;
	const struct handshake *s;
};

static struct handshake **bucket_of(struct thread *t, unsigned int w, uint64_t conn)
{
	return &t->handshakes.bucket[(conn ^ conn >> 32 ^ w * 37u) % HANDSHAKE_BUCKETS];
}

static struct handshake **find_handshake(struct thread *t, unsigned int w, uint64_t conn)
{
	struct handshake **slot = bucket_of(t, w, conn);

	while (*slot != NULL && ((*slot)->conn != conn || (*slot)->worker != w))
		slot = &(*slot)->next;
	return slot;
}

static bool send_datagram(struct thread *t, unsigned int w, const uint8_t *data, size_t len,
	const struct stream_message *meta)
{
	const struct stream_config *conf = &t->s->conf;
	struct stream_message m;

	if (len > conf->room || !conf->ops->take(conf->ctx, t->index, w, &m))
		return false;
	memcpy(m.data, data, len);
	m.len = (uint16_t)len;
	m.kind = meta->kind;
	m.conn = meta->conn;
	conf->ops->datagram(conf->ctx, t->index, w, &m);
	return true;
}

// Sends a datagram of the server. Without room it is lost, and is retransmitted later.
static void send_out(void *ctx, const uint8_t *data, size_t len)
{
	const struct flight_context *route = ctx;
	const struct stream_message meta = {.kind = STREAM_HANDSHAKE, .conn = route->s->conn};

	send_datagram(route->t, route->s->worker, data, len, &meta);
}

// Counts and reports a failed handshake.
static void refuse_handshake(struct thread *t, const struct handshake *s, uint64_t *reason)
{
	const struct endpoint client = {.addr = s->source};

	stats_add(reason, 1);
	refused_by_counter(t, &client, STREAM_NO_LISTENER, reason);
}

static void session_gone(struct thread *t, const struct addr *source)
{
	conn_limits_give(&t->s->sessions, source);
	stats_add(&t->stats.dtls_sessions, -1);
}

// --- the queue -----------------------------------------------------------------------------------

static void line_up(struct thread *t, struct handshake *s)
{
	struct handshakes *all = &t->handshakes;

	s->after = NULL;
	s->before = all->last;
	*(all->last != NULL ? &all->last->after : &all->first) = s;
	all->last = s;
}

static void step_out(struct thread *t, struct handshake *s)
{
	struct handshakes *all = &t->handshakes;

	*(s->before != NULL ? &s->before->after : &all->first) = s->after;
	*(s->after != NULL ? &s->after->before : &all->last) = s->before;
}

// Keeps a datagram. Without room it is lost, and is retransmitted later.
static void keep_datagram(struct thread *t, struct handshake *s, const struct stream_message *m)
{
	struct later **end = &s->waiting, *l = malloc(sizeof(*l) + m->len);
	const unsigned int most = s->in_pieces && s->handshake == NULL ? PIECES_MAX : WAITING_MAX;
	unsigned int n = 0;

	for (; *end != NULL; end = &(*end)->next)
		n++;
	if (l == NULL || n >= most) {
		stats_add(&t->stats.dtls_overrun, 1);
		free(l);
		return;
	}
	l->next = NULL;
	l->len = m->len;
	memcpy(l->data, m->data, m->len);
	*end = l;
	if (n == 0)
		line_up(t, s);
}

static void free_waiting(struct handshake *s)
{
	while (s->waiting != NULL) {
		struct later *l = s->waiting;

		s->waiting = l->next;
		free(l);
	}
}

// --- a handshake ---------------------------------------------------------------------------------

// Ends a handshake: moves it from its bucket to the list of outcomes to report.
static void end_handshake(struct thread *t, struct handshake **slot, bool complete)
{
	struct handshake *s = *slot;

	*slot = s->next;
	s->next = t->handshakes.ended;
	t->handshakes.ended = s;
	s->ended = true;
	if (s->waiting != NULL)
		step_out(t, s);
	if (complete)
		s->session = dtls_settle(s->handshake);
	dtls_handshake_free(s->handshake);
	s->handshake = NULL;
	dtls_pieces_free(s->pieces);
	s->pieces = NULL;
	if (s->session != NULL) {
		stats_add(&t->stats.dtls_handshakes, 1);
		return;
	}
	if (complete) // no memory for the session
		refuse_handshake(t, s, &t->stats.dtls_failed);
	if (s->counted)
		session_gone(t, &s->source);
}

static void feed_datagram(struct thread *t, struct handshake **slot, uint8_t *data, uint16_t len)
{
	struct flight_context route = {t, *slot};
	struct dtls_wire w = {.in = data, .in_len = len, .out = send_out, .ctx = &route};
	int rc;

	if (dtls_is_sealed(data, len)) {
		if ((*slot)->sealed == SEALED_MAX)
			return;
		(*slot)->sealed++;
	}
	rc = dtls_handshake((*slot)->handshake, &w);
	if (rc == IO_LATER)
		return;
	if (rc < 0)
		refuse_handshake(t, *slot, &t->stats.dtls_failed);
	end_handshake(t, slot, rc > 0);
}

// True if the limits allow another session. Else increments the counter of the reason.
static bool admit_handshake(struct thread *t, struct handshake *s)
{
	switch (conn_limits_take(&t->s->sessions, &s->source)) {
	case CONN_LIMITS_TOTAL:
		refuse_handshake(t, s, &t->stats.dtls_refused_total);
		return false;
	case CONN_LIMITS_SOURCE:
		refuse_handshake(t, s, &t->stats.dtls_refused_source);
		return false;
	case CONN_LIMITS_NETWORK:
		refuse_handshake(t, s, &t->stats.dtls_refused_network);
		return false;
	case CONN_LIMITS_OK:
		break;
	}
	s->counted = true;
	stats_add(&t->stats.dtls_sessions, 1);
	return true;
}

// Gets the ClientHello that a datagram contains or completes in w->in; else sets w->in_len to 0.
// False without memory.
static bool hello_whole(struct handshake *s, struct later *l, struct dtls_wire *w)
{
	w->in = l->data;
	w->in_len = l->len;
	if (!s->in_pieces)
		return true; // libssl reports the fault
	if (s->pieces == NULL)
		s->pieces = dtls_pieces_begin(l->data, l->len);
	if (s->pieces == NULL)
		return false;
	w->in_len = 0;
	if (dtls_pieces_add(s->pieces, l->data, l->len))
		w->in = dtls_pieces_record(s->pieces, &w->in_len);
	return true;
}

// Starts libssl's handshake with its ClientHello, once that is whole.
static void open_with(struct thread *t, struct handshake **slot, struct later *l)
{
	struct flight_context route = {t, *slot};
	struct dtls_wire w = {.out = send_out, .ctx = &route};
	const bool kept = hello_whole(*slot, l, &w);

	if (kept && w.in_len == 0)
		return;
	pthread_mutex_lock(&t->s->tls_lock);
	if (kept)
		(*slot)->handshake = dtls_open(identities_dtls(t->s->identities, (*slot)->listener),
			t->s->conf.dtls.mtu, &w);
	pthread_mutex_unlock(&t->s->tls_lock);
	if ((*slot)->handshake != NULL) {
		dtls_pieces_free((*slot)->pieces);
		(*slot)->pieces = NULL;
		feed_datagram(t, slot, NULL, 0);
		return;
	}
	refuse_handshake(t, *slot, &t->stats.dtls_failed);
	end_handshake(t, slot, false);
}

bool handshake_work(struct thread *t)
{
	struct handshake *s = t->handshakes.first, **slot;
	struct later *l;

	if (s == NULL)
		return false;
	step_out(t, s);
	l = s->waiting;
	s->waiting = l->next;
	if (s->waiting != NULL)
		line_up(t, s);
	slot = find_handshake(t, s->worker, s->conn);
	if (s->handshake == NULL)
		open_with(t, slot, l);
	else
		feed_datagram(t, slot, l->data, l->len);
	free(l);
	return t->handshakes.first != NULL;
}

static void begin_handshake(struct thread *t, unsigned int w, const struct stream_message *m)
{
	const struct stream_config *conf = &t->s->conf;
	struct handshake **slot = bucket_of(t, w, m->conn);
	struct handshake *s = calloc(1, sizeof(*s));
	struct dtls_hello h;

	if (s == NULL) { // if this fails, the worker is notified when it gives the session up
		conf->ops->handshake_ended(conf->ctx, t->index, w, m->conn, NULL);
		return;
	}
	*s = (struct handshake){.next = *slot,
		.conn = m->conn,
		.source = m->source,
		.until_ms = t->now_ms + load_number(&conf->dtls.handshake_s) * UINT64_C(1000),
		.worker = (uint8_t)w,
		.listener = m->listener,
		.in_pieces = dtls_hello_read(m->data, m->len, &h) && !h.whole};
	*slot = s;
	if (admit_handshake(t, s))
		keep_datagram(t, s, m);
	if (s->waiting == NULL)
		end_handshake(t, slot, false);
}

void handshake_take(struct thread *t, unsigned int w, const struct stream_message *m)
{
	const struct stream_message back = {.kind = STREAM_BYTES, .conn = m->conn};
	const struct stream_config *conf = &t->s->conf;
	struct handshake **slot = find_handshake(t, w, m->conn);

	switch ((enum stream_kind)m->kind) {
	case STREAM_HELLO:
		begin_handshake(t, w, m);
		break;
	case STREAM_HANDSHAKE:
		if (*slot != NULL)
			keep_datagram(t, *slot, m);
		else if (handshake_tell(t)) // the worker must be notified of the end first
			send_datagram(t, w, m->data, m->len, &back);
		break;
	case STREAM_GONE:
		if (m->session != NULL) {
			dtls_session_free(m->session);
			session_gone(t, &m->source);
		} else if (*slot != NULL) {
			end_handshake(t, slot, false);
		} else if (handshake_tell(t)) { // report outcomes in order
			conf->ops->handshake_ended(conf->ctx, t->index, w, m->conn, NULL);
		}
		break;
	default:
		break;
	}
}

// Returns datagrams that arrived after the end of a complete handshake to the worker: they belong
// to the session.
static void give_back(struct thread *t, const struct handshake *s)
{
	const struct stream_message back = {.kind = STREAM_BYTES, .conn = s->conn};

	for (const struct later *l = s->waiting; l != NULL && s->session != NULL; l = l->next)
		send_datagram(t, s->worker, l->data, l->len, &back);
}

bool handshake_tell(struct thread *t)
{
	const struct stream_config *conf = &t->s->conf;

	while (t->handshakes.ended != NULL) {
		struct handshake *s = t->handshakes.ended;

		if (!conf->ops->handshake_ended(
			    conf->ctx, t->index, s->worker, s->conn, s->session))
			return false;
		t->handshakes.ended = s->next;
		give_back(t, s);
		free_waiting(s);
		free(s);
	}
	return true;
}

void handshake_tick(struct thread *t)
{
	if (t->now_ms < t->handshakes.ticked_ms + TICK_MS)
		return;
	t->handshakes.ticked_ms = t->now_ms;
	for (unsigned int i = 0; i < HANDSHAKE_BUCKETS; i++) {
		struct handshake **slot = &t->handshakes.bucket[i];

		while (*slot != NULL) {
			struct flight_context route = {t, *slot};
			struct dtls_wire w = {.out = send_out, .ctx = &route};

			if (t->now_ms > (*slot)->until_ms) {
				refuse_handshake(t, *slot, &t->stats.dtls_failed);
				end_handshake(t, slot, false);
				continue;
			}
			if ((*slot)->handshake != NULL)
				dtls_handshake_tick((*slot)->handshake, &w);
			slot = &(*slot)->next;
		}
	}
}

static void free_list(struct thread *t, struct handshake *s)
{
	while (s != NULL) {
		struct handshake *next = s->next;

		if (s->counted && (!s->ended || s->session != NULL))
			session_gone(t, &s->source);
		free_waiting(s);
		dtls_handshake_free(s->handshake);
		dtls_pieces_free(s->pieces);
		dtls_session_free(s->session);
		free(s);
		s = next;
	}
}

void handshake_close(struct thread *t)
{
	for (unsigned int i = 0; i < HANDSHAKE_BUCKETS; i++)
		free_list(t, t->handshakes.bucket[i]);
	free_list(t, t->handshakes.ended);
	t->handshakes = (struct handshakes){.ended = NULL};
}
