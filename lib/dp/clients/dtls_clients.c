// SPDX-License-Identifier: BSD-3-Clause
// Decrypts and encrypts datagrams of DTLS clients. A decrypted record becomes the plain frame that
// it would have been over UDP, with correct headers and checksums, and is handled like one.
#include "clients/dtls_clients.h"
#include "addr.h"
#include "path/backlog.h"
#include "bytes.h"
#include "capture/capture.h"
#include "clients/sessions.h"
#include "clients/streams.h"
#include "see/event_rings.h"
#include "ask/hot.h"
#include "datapath.h"
#include "dp_burst.h"
#include "dp_view.h"
#include "drop_of.h"
#include "dtls.h"
#include "dtls_cookie.h"
#include "dtls_hello.h"
#include "path/fastpath.h"
#include "framing.h"
#include "link/local_addrs.h"
#include "net.h"
#include "path/rewrite.h"
#include "stream.h"
#include "stun.h"
#include "turn.h"
#include "path/worker.h"
#include "workers/handover.h"
#include "workers/mbuf_meta.h"
#include "workers/messages.h"

#define HANDSHAKE_DATAGRAMS 64 // limit per handshake: ten are usual, and ten more for each loss
#define HELLO_MARK 8 // bytes of a ClientHello's random that identify it
#define FRESH_TTL 64

// --- out: records in buffers of their own --------------------------------------------------------

// Where libssl's datagrams for a client are sent.
struct outlet {
	struct worker *w;
	const struct session *c;
};

static struct endpoint client_of(const struct session *c)
{
	return (struct endpoint){c->client, c->port};
}

// Sends an alert, or a part of a handshake. Without a free buffer it is lost.
static void send_made(void *ctx, const uint8_t *data, size_t len)
{
	const struct outlet *o = ctx;
	struct rte_mbuf *m = rte_pktmbuf_alloc(o->w->dp->pool);
	const struct endpoint client = client_of(o->c);

	if (m == NULL)
		return;
	o->w->live.made++;
	if (REWRITE_ANSWER_AT + len > m->buf_len) {
		worker_drop(o->w, m, DP_DROP_HEADROOM);
		return;
	}
	memcpy((uint8_t *)m->buf_addr + REWRITE_ANSWER_AT, data, len);
	rewrite_answer(o->w, m, o->c->listener, &client, (uint16_t)len);
}

void dtls_clients_bye(struct worker *w, const struct session *c)
{
	struct outlet o = {w, c};
	struct dtls_wire wire = {.out = send_made, .ctx = &o};

	dtls_session_close(c->dtls, &wire);
	w->live.dtls.unsealed += wire.unsealed;
}

// --- in: before there is a session ---------------------------------------------------------------

static uint64_t mark_of(const struct dtls_hello *h)
{
	uint64_t mark;

	memcpy(&mark, h->random, HELLO_MARK);
	return mark;
}

// Sends a HelloVerifyRequest in place of the ClientHello. It is shorter, so spoofed requests are
// not amplified. It needs no rate limit, which an attacker could exhaust.
static void ask_cookie(struct worker *w, struct rte_mbuf *m, const struct turn_view *v,
	const struct dtls_hello *h, const struct endpoint *server)
{
	const struct endpoint client = {v->src, v->src_port};
	uint8_t answer[DTLS_VERIFY_LEN];

	dtls_cookie_ask(&w->sessions->cookies, h, &client, server, answer);
	w->live.dtls.verify++;
	memcpy((uint8_t *)m->buf_addr + REWRITE_ANSWER_AT, answer, sizeof(answer));
	rewrite_answer(w, m, v->listener, &client, sizeof(answer));
}

// Drops a datagram that cannot lead to a connection, and reports the event.
static void refuse_client(struct worker *w, struct rte_mbuf *m, const struct turn_view *v,
	unsigned int reason, enum stream_refusal refusal)
{
	const struct endpoint client = {v->src, v->src_port};

	events_refused(w, &client, v->listener, refusal);
	worker_drop(w, m, reason);
}

// Gives a datagram of a handshake to its thread. False if it has been dropped.
static bool give_datagram(struct worker *w, struct rte_mbuf *m, const struct turn_view *v,
	struct session *c, enum stream_kind kind)
{
	struct mbuf_meta *p = mbuf_meta_of(m);

	if (c->given++ >= HANDSHAKE_DATAGRAMS) {
		c->given = HANDSHAKE_DATAGRAMS;
		worker_drop(w, m, DP_DROP_DTLS_RECORD);
		return false;
	}
	rewrite_set_frame(m, v->data, v->len);
	p->kind = MBUF_META_DTLS;
	p->dtls.conn = sessions_conn(w, c);
	p->dtls.session = NULL;
	p->dtls.source = c->client;
	p->dtls.kind = (uint8_t)kind;
	p->dtls.listener = c->listener;
	if (!streams_give(w, sessions_thread(w, c), m)) {
		worker_drop(w, m, DP_DROP_STREAM_FULL);
		return false;
	}
	w->live.consumed++;
	return true;
}

// Begins a handshake for a ClientHello with a proved source address. Gives up another handshake of
// this client that may be in progress.
static void begin_handshake(struct worker *w, struct rte_mbuf *m, const struct turn_view *v,
	struct session *replaced, uint64_t mark)
{
	struct session *c;

	if (!limiter_take(&w->sessions->begun, &w->hot->handshakes, &v->src, w->now_ms)) {
		refuse_client(w, m, v, DP_DROP_DTLS_RATE, STREAM_REFUSED_DTLS_RATE);
		return;
	}
	if (replaced != NULL)
		sessions_give_up(w, replaced);
	c = sessions_add(w, &v->src, v->src_port, v->listener);
	if (c == NULL) {
		refuse_client(w, m, v, DP_DROP_DTLS_FULL, STREAM_REFUSED_DTLS_FULL);
		return;
	}
	c->hello = mark;
	if (!give_datagram(w, m, v, c, STREAM_HELLO))
		sessions_refused(w, sessions_conn(w, c), NULL);
}

// Handles a ClientHello with a valid cookie. Its client may have another handshake in progress, or
// a session. A session ends only when a new one is complete. To replace a handshake, the cookie
// must have been made after that handshake began.
static void handle_cookie(struct worker *w, struct rte_mbuf *m, const struct turn_view *v,
	const struct dtls_hello *h, const struct endpoint *server)
{
	const struct session *open =
		sessions_find(w, &v->src, v->src_port, v->listener, SESSION_OPEN);
	struct session *c = sessions_find(w, &v->src, v->src_port, v->listener, SESSION_HANDSHAKE);
	const uint64_t mark = mark_of(h), number = dtls_cookie_number(h);

	if (c != NULL && c->hello == mark)
		give_datagram(w, m, v, c, STREAM_HANDSHAKE);
	else if (open != NULL && open->hello == mark)
		worker_drop(w, m, DP_DROP_DTLS_RECORD);
	else if (sessions_is_fresh(w, v, number) && (c == NULL || number >= c->number))
		begin_handshake(w, m, v, c, mark);
	else
		ask_cookie(w, m, v, h, server);
}

// Handles a fragment of a ClientHello that has no room for a cookie. It is useful only after one
// with a valid cookie. Other clients send all fragments again, with the requested cookie.
static void handle_fragment(struct worker *w, struct rte_mbuf *m, const struct turn_view *v)
{
	struct session *c = sessions_find(w, &v->src, v->src_port, v->listener, SESSION_HANDSHAKE);

	if (c != NULL)
		give_datagram(w, m, v, c, STREAM_HANDSHAKE);
	else
		worker_drop(w, m, DP_DROP_DTLS_FRAGMENT);
}

static void handle_hello(struct worker *w, struct rte_mbuf *m, const struct turn_view *v,
	const struct endpoint *server)
{
	const struct endpoint client = {v->src, v->src_port};
	struct dtls_fragment f;
	struct dtls_hello h;

	if (!dtls_hello_read(v->data, v->len, &h)) {
		if (dtls_hello_fragment(v->data, v->len, &f) && f.len < f.total)
			handle_fragment(w, m, v);
		else
			refuse_client(w, m, v, DP_DROP_DTLS_HELLO, STREAM_REFUSED_DTLS_HELLO);
	} else if (dtls_cookie_good(&w->sessions->cookies, &h, &client, server)) {
		handle_cookie(w, m, v, &h, server);
	} else {
		ask_cookie(w, m, v, &h, server);
	}
}

static void keep_sealed(
	struct worker *w, struct rte_mbuf *m, const struct turn_view *v, uint64_t conn, bool bare)
{
	struct sealed *s = &w->sessions->sealed[w->sessions->n++];

	*s = (struct sealed){.m = m,
		.view = *v,
		.conn = conn,
		.outcome = 1,
		.bare = bare,
		.in = (uint8_t *)(uintptr_t)v->data,
		.in_len = v->len};
}

// Handles a datagram that is no ClientHello.
static void handle_record(struct worker *w, struct rte_mbuf *m, const struct turn_view *v)
{
	const struct session *open =
		sessions_find(w, &v->src, v->src_port, v->listener, SESSION_OPEN);
	struct session *in_handshake = NULL;

	// if the client has both, handshake messages belong to the new one
	if (open == NULL || v->data[0] == DTLS_HANDSHAKE || v->data[0] == DTLS_CCS)
		in_handshake =
			sessions_find(w, &v->src, v->src_port, v->listener, SESSION_HANDSHAKE);
	if (in_handshake != NULL)
		give_datagram(w, m, v, in_handshake, STREAM_HANDSHAKE);
	else if (open != NULL)
		keep_sealed(w, m, v, sessions_conn(w, open), false);
	else
		refuse_client(w, m, v, DP_DROP_DTLS_UNKNOWN, STREAM_REFUSED_DTLS_UNKNOWN);
}

bool dtls_clients_take(
	struct worker *w, struct rte_mbuf *m, const struct turn_view *v, bool may_wait)
{
	const uint8_t *data = rte_pktmbuf_mtod(m, const uint8_t *);
	struct turn_view view = *v;
	struct net_frame f;
	const struct local_addr *laddr;

	net_frame_describe(data, (uint16_t)(v->data - data), v->len, &f);
	laddr = local_addrs_find(w->local, &f.dst);
	view.listener = laddr != NULL ? local_addrs_dtls(w->local, laddr, f.dport) : LOCAL_NO_DTLS;
	if (view.listener == LOCAL_NO_DTLS)
		return false; // for a UDP listener
	if (v->len > 0 && v->data[0] <= STUN_FIRST_MAX)
		refuse_client(w, m, &view, DP_DROP_DTLS_PLAIN, STREAM_REFUSED_DTLS_PLAIN);
	else if (v->len == 0 || !dtls_first_byte(v->data[0]))
		worker_drop(w, m, DP_DROP_DTLS_PLAIN);
	else if (v->len < DTLS_RECORD_LEN)
		worker_drop(w, m, DP_DROP_DTLS_UNKNOWN);
	else if (dtls_hello_is(v->data, v->len) && may_wait)
		backlog_hello(w, m, v);
	else if (dtls_hello_is(v->data, v->len))
		handle_hello(w, m, &view, &(struct endpoint){f.dst, f.dport});
	else
		handle_record(w, m, &view);
	return true;
}

// --- in: records of a session --------------------------------------------------------------------

// Reduces a datagram to a message inside it: moves and corrects the headers.
static void shrink_frame(
	struct rte_mbuf *m, const struct turn_view *v, uint8_t *message, uint16_t len)
{
	const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *);
	const uint16_t head = (uint16_t)(v->data - frame), removed = (uint16_t)(v->len - len);
	uint8_t *data = message - head, *udp = message - NET_UDP_LEN;
	struct net_frame f;
	uint8_t *ip;

	memmove(data, frame, head);
	net_frame_describe(data, head, len, &f);
	ip = data + f.l3_off;
	if (f.is_v4) {
		const uint16_t old = load_be16(ip + 2), new = (uint16_t)(old - removed);

		store_be16(ip + 2, new);
		store_be16(ip + 10, csum_update(load_be16(ip + 10), old, new));
	} else {
		store_be16(ip + 4, (uint16_t)(load_be16(ip + 4) - removed));
	}
	store_be16(udp + 4, (uint16_t)(len + NET_UDP_LEN));
	store_be16(udp + 6, csum_udp(&f.src, &f.dst, udp, (uint16_t)(len + NET_UDP_LEN)));
	rewrite_set_frame(m, data, (uint32_t)head + len);
}

// The IP fields that a message came with. A message that came before this worker got the session
// has lost its headers.
static struct net_ip received_ip(const struct sealed *s)
{
	const uint8_t *frame;
	struct net_frame f;

	if (s->bare)
		return (struct net_ip){.ttl = FRESH_TTL + 1};
	frame = rte_pktmbuf_mtod(s->m, const uint8_t *);
	net_frame_describe(frame, (uint16_t)(s->view.data - frame), s->view.len, &f);
	return (struct net_ip){.tos = f.tos, .ttl = f.ttl, .df = f.df};
}

// Builds a frame around the payload at REWRITE_ANSWER_AT. It came in one datagram with others, or
// before this worker got its session.
static void wrap_payload(struct worker *w, struct rte_mbuf *m, const struct session *c,
	const struct net_ip *ip, uint16_t len)
{
	const struct source *source = fastpath_listener_source(w, c->listener);
	const struct endpoint server = {source->addr, __builtin_bswap16(source->port)};
	const struct endpoint client = client_of(c);
	static const struct net_l2 untagged;
	uint8_t *payload = (uint8_t *)m->buf_addr + REWRITE_ANSWER_AT;
	uint8_t *frame = net_write_udp(payload, len, &untagged, &client, &server, ip, 0);

	store_be16(payload - 2,
		csum_udp(&client.addr, &server.addr, payload - NET_UDP_LEN,
			(uint16_t)(len + NET_UDP_LEN)));
	rewrite_set_frame(m, frame, (uint32_t)(payload - frame) + len);
}

static void append_message(struct worker *w, struct rte_mbuf *m, const struct turn_view *v)
{
	struct burst *b = &w->burst;

	b->m[b->n] = m;
	b->turn.view[b->n++] = *v;
}

// Adds the last message of a datagram, which keeps its buffer.
static void add_last(struct worker *w, struct sealed *s, uint8_t *message, uint16_t len)
{
	struct turn_view v = s->view;

	shrink_frame(s->m, &v, message, len);
	v.data = message;
	v.len = len;
	v.flags = DP_DTLS |
		(v.flags & (DP_IPV4 | DP_FRAGMENTED | (len >= CHANNEL_HEADER_LEN ? DP_PLAIN : 0)));
	v.state = 0;
	v.via = TURN_NO_WORKER;
	v.stream = s->conn;
	append_message(w, s->m, &v);
	s->m = NULL;
}

static void add_copy(struct worker *w, const struct session *c, const struct sealed *s,
	const uint8_t *message, uint16_t len)
{
	const struct net_ip ip = received_ip(s);
	struct rte_mbuf *m = rte_pktmbuf_alloc(w->dp->pool);
	struct turn_view v = sessions_view(w, c);
	uint8_t *dst;

	w->live.made++;
	if (m == NULL) {
		w->live.drop[DP_DROP_NO_MBUF]++;
		return;
	}
	dst = (uint8_t *)m->buf_addr + REWRITE_ANSWER_AT;
	v.data = dst;
	v.len = len;
	if ((uint32_t)REWRITE_ANSWER_AT + len > m->buf_len) {
		worker_drop(w, m, DP_DROP_HEADROOM);
		return;
	}
	memcpy(dst, message, len);
	wrap_payload(w, m, c, &ip, len);
	append_message(w, m, &v);
}

// Finishes a datagram that holds no more messages.
static void finish_sealed(struct worker *w, struct session *c, const struct sealed *s)
{
	struct rte_mbuf *m = s->m;
	const int n = s->outcome;

	if (n == IO_CLOSED)
		dtls_clients_bye(w, c);
	if (n == IO_CLOSED || n == IO_FAILED)
		sessions_end(w, c, n == IO_CLOSED ? &w->live.dtls.closed : &w->live.dtls.failed);
	if (m == NULL)
		return;
	if (s->bare) {
		rte_pktmbuf_free(m); // the datagram was not counted as received
	} else if (n == IO_LATER && !s->used) {
		worker_drop(w, m, DP_DROP_DTLS_RECORD);
	} else {
		w->live.consumed++;
		rte_pktmbuf_free(m);
	}
}

// Drops the rest of a datagram when the burst's share of records is used up.
static void drop_rest(struct worker *w, struct sealed *s)
{
	if (s->in_len < DTLS_RECORD_LEN)
		return;
	s->in_len = 0;
	w->live.made++;
	w->live.drop[DP_DROP_DTLS_MANY]++;
}

// Decrypts the next message of a datagram. Each datagram may have one record; beyond that, all of a
// burst share SESSIONS_MORE.
static int read_one(struct worker *w, struct session *c, struct sealed *s, uint8_t **message)
{
	struct outlet o = {w, c};
	const uint16_t guaranteed = s->begun ? 0 : 1;
	struct dtls_wire wire = {.in = s->in,
		.in_len = s->in_len,
		.most = (uint16_t)(guaranteed + w->sessions->more),
		.out = send_made,
		.ctx = &o};
	const int n = dtls_session_read(c->dtls, &wire, message);

	w->sessions->more -= wire.opened > guaranteed ? wire.opened - guaranteed : 0;
	s->begun = true;
	s->in = wire.in;
	s->in_len = wire.in_len;
	w->live.dtls.again += wire.outs;
	w->live.dtls.unsealed += wire.unsealed;
	s->used |= wire.outs > 0 || n > 0;
	if (w->sessions->more == 0)
		drop_rest(w, s);
	return n;
}

// Takes one message out of a datagram. Returns the result; IO_LATER if none is left.
static int open_one(struct worker *w, struct session *c, struct sealed *s)
{
	uint8_t *message;
	const int n = read_one(w, c, s, &message);

	if (n <= 0)
		return n;
	if (s->in_len == 0 && !s->bare)
		add_last(w, s, message, (uint16_t)n);
	else
		add_copy(w, c, s, message, (uint16_t)n);
	c->heard_ms = w->now_ms;
	w->live.dtls.rx++;
	return s->in_len > 0 ? n : IO_LATER;
}

static void drop_sealed(struct worker *w, struct sealed *s)
{
	if (s->m != NULL && !s->bare)
		worker_drop(w, s->m, DP_DROP_DTLS_ENDED);
	else
		rte_pktmbuf_free(s->m);
}

// Opens all messages of a datagram. True when it is finished. A session ends only after its last
// messages, which are in the burst, have been relayed.
static bool open_all(struct worker *w, struct sealed *s)
{
	struct session *c = sessions_of(w, s->conn);

	if (c == NULL || c->state != SESSION_OPEN) {
		drop_sealed(w, s);
		return true;
	}
	while (s->outcome >= 0 && w->burst.n < DP_BURST) {
		s->outcome = open_one(w, c, s);
		if (s->outcome == IO_LATER)
			break;
	}
	if (s->outcome > 0 || (s->outcome < 0 && w->burst.n > 0))
		return false;
	finish_sealed(w, c, s);
	return true;
}

unsigned int dtls_clients_open_burst(struct worker *w)
{
	struct sessions *s = w->sessions;

	w->burst.n = 0;
	while (s->next_sealed < s->n && open_all(w, &s->sealed[s->next_sealed]))
		s->next_sealed++;
	if (s->next_sealed == s->n)
		s->next_sealed = s->n = 0;
	return w->burst.n;
}

// --- out -----------------------------------------------------------------------------------------

// A message to encrypt in its buffer. The record may overlap it.
struct record {
	struct rte_mbuf *m;
	const uint8_t *message;
	uint8_t *out;
	uint16_t len; // of the message, then of the record
};

static void capture_record(struct worker *w, const struct session *c, const struct record *r)
{
	struct turn_view v = sessions_view(w, c);

	v.data = r->message;
	v.len = r->len;
	capture_message(w, DP_CAPTURE_DTLS_OUT, &v);
}

// Returns DP_OK or a drop reason.
static unsigned int encrypt_message(struct worker *w, uint64_t conn, struct record *r)
{
	struct session *c = sessions_of(w, conn);
	int n;

	if (c == NULL || c->state != SESSION_OPEN)
		return DP_DROP_DTLS_ENDED;
	if (r->len > DTLS_MESSAGE_MAX)
		return DP_DROP_MTU;
	if (r->out + r->len + DTLS_OVERHEAD_MAX > (uint8_t *)r->m->buf_addr + r->m->buf_len)
		return DP_DROP_HEADROOM;
	if (unlikely(w->capture != NULL))
		capture_record(w, c, r);
	n = dtls_session_write(c->dtls, r->message, r->len, r->out);
	if (n < 0) {
		sessions_end(w, c, &w->live.dtls.failed);
		return DP_DROP_DTLS_ENDED;
	}
	if (n == IO_LATER) {
		w->live.dtls.unsealed++;
		return DP_DROP_DTLS_CIPHER;
	}
	r->len = (uint16_t)n;
	w->live.dtls.tx++;
	return DP_OK;
}

// Hands a message in m over to the worker that owns the session. Media has lease_s 0.
static void give_to_owner(struct worker *w, struct rte_mbuf *m, const struct turn_view *client,
	bool media, uint32_t lease_s)
{
	struct mbuf_meta *p = mbuf_meta_of(m);

	p->seal.client = client->src;
	p->seal.port = client->src_port;
	p->seal.listener = client->listener;
	p->seal.conn = client->stream;
	p->seal.owner = w->id;
	p->seal.media = media;
	p->seal.lease_s = lease_s;
	handover_seal(w, sessions_home(client->stream), m);
}

// Encrypts the message in m and sends it.
static void send_encrypted(struct worker *w, struct rte_mbuf *m, uint64_t conn)
{
	struct record r = {.m = m,
		.message = rte_pktmbuf_mtod(m, const uint8_t *),
		.out = (uint8_t *)m->buf_addr + REWRITE_ANSWER_AT,
		.len = m->data_len};
	const unsigned int reason = encrypt_message(w, conn, &r);
	const struct session *c = sessions_of(w, conn);
	struct endpoint client;

	if (reason != DP_OK || c == NULL) {
		worker_drop(w, m, reason);
		return;
	}
	client = client_of(c);
	rewrite_answer(w, m, c->listener, &client, r.len);
}

uint16_t dtls_clients_overhead(const struct worker *w, uint32_t slot)
{
	const uint64_t conn = w->stream_at[slot];
	const struct session *c = sessions_home(conn) == w->id ? sessions_of(w, conn) : NULL;

	return c != NULL && c->state == SESSION_OPEN ? dtls_session_overhead(c->dtls)
						     : DTLS_OVERHEAD_MAX;
}

bool dtls_clients_seal(struct worker *w, struct rte_mbuf *m, const struct turn_view *v,
	const struct rewrite *r, uint16_t *len)
{
	const uint16_t pad = r->front_len > CHANNEL_HEADER_LEN ? -r->len & 3 : 0;
	const uint64_t conn = w->stream_at[v->slot];
	uint8_t *payload = (uint8_t *)(uintptr_t)v->data + r->off, *front = payload - r->front_len;
	struct record rec = {.m = m,
		.message = front,
		.out = (uint8_t *)(uintptr_t)v->data,
		.len = (uint16_t)(r->front_len + r->len + pad)};
	unsigned int reason = DP_DROP_HEADROOM;

	if (front >= (uint8_t *)m->buf_addr &&
		payload + r->len + pad <= (uint8_t *)m->buf_addr + m->buf_len) {
		memcpy(front, r->front, r->front_len);
		memset(payload + r->len, 0, pad);
		if (sessions_home(conn) != w->id) {
			const struct turn_line *l = &w->lines[v->slot];
			const struct turn_view client = {.src = l->end[TURN_FROM_CLIENT],
				.mark = l->mark[TURN_FROM_CLIENT],
				.stream = conn};

			rewrite_set_frame(m, front, rec.len);
			give_to_owner(w, m, &client, true, 0);
			return false;
		}
		reason = encrypt_message(w, conn, &rec);
	}
	*len = rec.len;
	if (reason != DP_OK)
		worker_drop(w, m, reason);
	return reason == DP_OK;
}

void dtls_clients_reply(struct worker *w, struct rte_mbuf *m, const struct turn_view *v,
	const uint8_t *message, uint16_t len)
{
	const bool here = sessions_home(v->stream) == w->id;
	const struct session *c = sessions_of(w, v->stream);
	const bool alive = !here || (c != NULL && c->state == SESSION_OPEN);
	const uint32_t lease_s = streams_lease(w, v, alive);
	uint8_t *dst = (uint8_t *)m->buf_addr + REWRITE_ANSWER_AT;

	if ((uint32_t)REWRITE_ANSWER_AT + len > m->buf_len) {
		worker_drop(w, m, DP_DROP_HEADROOM);
		return;
	}
	memcpy(dst, message, len);
	rewrite_set_frame(m, dst, len);
	if (here)
		send_encrypted(w, m, v->stream);
	else
		give_to_owner(w, m, v, false, lease_s);
}

void dtls_clients_redirected(struct worker *w, const struct turn_view *v, unsigned int dst)
{
	struct session *c = sessions_of(w, v->stream);

	if (c != NULL)
		c->away |= UINT64_C(1) << dst;
}

void dtls_clients_reply_for(struct worker *w, struct rte_mbuf *m)
{
	const struct mbuf_meta *p = mbuf_meta_of(m);
	struct session *c = sessions_of(w, p->seal.conn);

	if (c == NULL || c->state != SESSION_OPEN) {
		const struct turn_view v = {.src = p->seal.client,
			.src_port = p->seal.port,
			.listener = p->seal.listener,
			.leg = TURN_FROM_CLIENT,
			.via = TURN_NO_WORKER,
			.stream = p->seal.conn};

		// its allocation was made or used after its worker had heard of the session's end
		sessions_tell_end(w, p->seal.owner, &v);
		worker_drop(w, m, DP_DROP_DTLS_ENDED);
		return;
	}
	if (!p->seal.media)
		c->lease_ms = w->now_ms + p->seal.lease_s * UINT64_C(1000);
	send_encrypted(w, m, p->seal.conn);
}

void dtls_clients_from_thread(struct worker *w, struct rte_mbuf *m)
{
	const struct mbuf_meta *p = mbuf_meta_of(m);
	const uint64_t conn = p->dtls.conn;
	struct session *c = sessions_of(w, conn);
	struct turn_view v = {.data = rte_pktmbuf_mtod(m, const uint8_t *), .len = m->data_len};
	struct endpoint client;

	if (p->kind == MBUF_META_DTLS_NOTE && c != NULL && c->state == SESSION_HANDSHAKE &&
		p->dtls.session != NULL) {
		sessions_opened(w, c, p->dtls.session);
		rte_pktmbuf_free(m);
	} else if (p->kind == MBUF_META_DTLS_NOTE) {
		sessions_refused(w, conn, p->dtls.session);
		rte_pktmbuf_free(m);
	} else if (p->dtls.kind == STREAM_BYTES) {
		keep_sealed(w, m, &v, conn, true);
	} else if (c != NULL && c->state == SESSION_HANDSHAKE) {
		w->live.made++;
		sessions_spend(w, c);
		client = client_of(c);
		rewrite_answer(w, m, c->listener, &client, m->data_len);
	} else {
		rte_pktmbuf_free(m);
	}
}
