// SPDX-License-Identifier: BSD-3-Clause
// Clients over TCP, TLS and DTLS. The sender hands in requests and media; messages from the server
// go to the receiver, which is on the same lane. A connection that cannot take more bytes keeps the
// rest of one message, and requests. Media for it is then not sent but counted as held back, so no
// connection waits for another.
#include "links/links.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "client/clients.h"
#include "framing.h"
#include "lanes/receiver.h"
#include "lanes/sender.h"
#include "stun.h"

#define EVENTS 64
#define CHUNK 16384 // most bytes of one read, and of one TLS record
#define READS 16 // per connection and round
#define TICK_MS 20
#define HANDSHAKE_MS 5000 // MODE_HANDSHAKE: how long one connection may take
#define FILES_SPARE 256 // descriptors kept for everything else

// --- a connection --------------------------------------------------------------------------------

static void watch_link(struct links *s, uint32_t k)
{
	struct link *c = &s->link[k];
	const bool writing = c->state == LINK_HANDSHAKE
		? !c->wire.connected || (c->wire.ssl != NULL && SSL_want_write(c->wire.ssl))
		: pending_left(&c->out) > 0;
	struct epoll_event e = {.events = EPOLLIN | (writing ? EPOLLOUT : 0u), .data.u32 = k};

	if (c->state == LINK_CLOSED || e.events == c->events)
		return;
	epoll_ctl(s->epoll, c->events == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, c->wire.fd, &e);
	c->events = e.events;
}

static void link_close(struct lane *l, uint32_t k, bool hard)
{
	struct links *s = l->links;
	struct link *c = &s->link[k];

	s->nb_handshakes -= c->state == LINK_HANDSHAKE;
	wire_close(&c->wire, hard);
	pending_clear(&c->out);
	free(c->rest);
	*c = (struct link){.state = LINK_CLOSED};
}

// The server or the network has closed the connection. It counts only if the client still needed
// it.
static void link_lost(struct lane *l, uint32_t k)
{
	struct clients *p = l->sender->clients;
	const bool in_handshake = l->links->link[k].state == LINK_HANDSHAKE;
	const uint8_t state = p != NULL ? clients_at(p, k)->state : CLIENT_READY;

	if (in_handshake)
		l->stats.link.failed++;
	else if (state != CLIENT_IDLE && state != CLIENT_RELEASING)
		l->stats.link.broken++;
	link_close(l, k, false);
	if (p != NULL)
		client_cut(p, k);
}

// Notes the TLS version and cipher of the lane's first connection.
static void name_cipher(struct links *s, const struct wire *w)
{
	if (s->named || w->ssl == NULL)
		return;
	snprintf(s->cipher, sizeof(s->cipher), "%s %s", SSL_get_version(w->ssl),
		SSL_get_cipher_name(w->ssl));
	__atomic_store_n(&s->named, true, __ATOMIC_RELEASE);
}

static void continue_handshake(struct lane *l, uint32_t k)
{
	struct link *c = &l->links->link[k];
	const int rc = wire_handshake(&c->wire);

	if (rc < 0) {
		link_lost(l, k);
	} else if (rc > 0) {
		c->state = LINK_UP;
		l->links->nb_handshakes--;
		l->stats.link.up++;
		name_cipher(l->links, &c->wire);
	}
}

static bool link_begin(struct lane *l, uint32_t k)
{
	const struct config *c = l->engine->config;
	struct links *s = l->links;
	const uint32_t i = l->sender->first + k * l->sender->step;
	const struct endpoint local = side_host(&c->client, i);
	struct link *link = &s->link[k];

	l->stats.link.opened++;
	if (wire_open(&link->wire, l->engine->tls, c->transport, &local.addr, &c->server) != 0) {
		l->stats.link.failed++;
		if (l->sender->clients != NULL)
			client_cut(l->sender->clients, k);
		return false;
	}
	link->state = LINK_HANDSHAKE;
	link->begun_ms = l->now_ms;
	s->nb_handshakes++;
	if (link->wire.datagrams) // starts the handshake, which may be complete at once
		continue_handshake(l, k);
	watch_link(s, k);
	return link->state != LINK_CLOSED;
}

// --- output --------------------------------------------------------------------------------------

static void flush_link(struct lane *l, uint32_t k)
{
	struct link *c = &l->links->link[k];

	while (pending_left(&c->out) > 0) {
		const int n = wire_write(&c->wire, pending_next(&c->out), pending_left(&c->out));

		if (n < 0) {
			link_lost(l, k);
			return;
		}
		if (n == WIRE_LATER)
			return;
		pending_wrote(&c->out, (size_t)n);
	}
}

// Keeps bytes until there is room. Over DTLS only one message may wait, because each message must
// be written by itself.
static bool keep_bytes(struct link *c, const uint8_t *data, size_t len)
{
	if (c->wire.datagrams && pending_left(&c->out) > 0)
		return false;
	return pending_put(&c->out, data, len);
}

// Writes a message of client k, or keeps it to be written later. False when it was not taken.
static bool write_message(struct lane *l, uint32_t k, const uint8_t *data, size_t len, bool media)
{
	struct link *c = &l->links->link[k];
	int n;

	if (c->state == LINK_CLOSED)
		return false;
	if (c->state == LINK_HANDSHAKE || pending_left(&c->out) > 0)
		return !media && keep_bytes(c, data, len);
	n = wire_write(&c->wire, data, len);
	if (n < 0) {
		link_lost(l, k);
		return false;
	}
	if ((size_t)n == len)
		return true;
	if (n == WIRE_LATER && c->wire.ssl == NULL && media)
		return false; // no byte was written; with TLS libssl would have begun a record
	if (!keep_bytes(
		    c, data + n, len - (size_t)n)) { // half a message is out: the stream is broken
		link_lost(l, k);
		return false;
	}
	watch_link(l->links, k);
	return true;
}

static int direction_of(enum frame_kind kind)
{
	return kind == FRAME_UP ? DIRECTION_UP : kind == FRAME_ECHO ? DIRECTION_ECHO : -1;
}

void links_send(struct lane *l, uint32_t k, struct rte_mbuf *m, enum frame_kind kind, uint16_t len)
{
	const struct link *c = &l->links->link[k];
	const int dir = direction_of(kind);
	const bool handshakes_only = l->engine->mode == MODE_HANDSHAKE,
		   media = dir >= 0 && !handshakes_only;
	const uint16_t pad = config_reliable(l->engine->config) ? stun_framing_pad(m->data_len) : 0;
	bool taken;

	if (pad > 0)
		memset(rte_pktmbuf_append(m, pad), 0, pad); // padding, RFC 8656 12.5
	taken = (c->state != LINK_CLOSED || (!media && link_begin(l, k))) &&
		write_message(l, k, rte_pktmbuf_mtod(m, const uint8_t *), m->data_len, media);
	if (dir >= 0 && taken) {
		l->stats.sent[dir]++;
		l->stats.sent_bytes[dir] += len;
	} else if (media) {
		l->stats.link.held_back++;
	}
	rte_pktmbuf_free(m);
}

// --- input ---------------------------------------------------------------------------------------

static void deliver_message(struct lane *l, uint32_t k, const uint8_t *data, size_t len)
{
	struct rte_mbuf *m = lane_alloc(l);
	uint8_t *buf;

	if (m == NULL)
		return;
	buf = (uint8_t *)rte_pktmbuf_append(m, (uint16_t)len);
	if (buf == NULL) { // longer than any answer to our requests
		l->stats.stray++;
		rte_pktmbuf_free(m);
		return;
	}
	memcpy(buf, data, len);
	receiver_message(l, l->sender->first + k * l->sender->step, m);
}

// Delivers the whole messages among n bytes. Returns the bytes used, or -1 if they are not
// messages.
static ssize_t cut_messages(struct lane *l, uint32_t k, const uint8_t *p, size_t n)
{
	size_t pos = 0;

	while (pos < n) {
		struct stun_framing f;
		const enum stun_framing_state state =
			stun_framing_scan(p + pos, n - pos, CHANNEL_MAX, &f);

		if (state == STUN_FRAMING_BAD || f.size > CHUNK)
			return -1;
		if (state == STUN_FRAMING_SHORT)
			break;
		deliver_message(l, k, p + pos, f.len);
		pos += f.size;
	}
	return (ssize_t)pos;
}

// Processes n new bytes, which lie in scratch after the rest kept earlier. False if they are not
// messages.
static bool stream_input(struct lane *l, uint32_t k, size_t n)
{
	struct link *c = &l->links->link[k];
	uint8_t *p = l->links->scratch, *rest = NULL;
	ssize_t done;

	if (c->rest_len > 0)
		memcpy(p, c->rest, c->rest_len);
	n += c->rest_len;
	done = cut_messages(l, k, p, n);
	if (done < 0)
		return false;
	n -= (size_t)done;
	if (n > 0) {
		rest = malloc(n);
		if (rest == NULL)
			return false;
		memcpy(rest, p + done, n);
	}
	free(c->rest);
	c->rest = rest;
	c->rest_len = (uint32_t)n;
	return true;
}

// Reads once. False when there is nothing more to read, or the connection has closed.
static bool read_link(struct lane *l, uint32_t k)
{
	struct link *c = &l->links->link[k];
	const int n = wire_read(&c->wire, l->links->scratch + c->rest_len, CHUNK);
	bool good = true;

	if (n == WIRE_LATER)
		return false;
	if (n > 0 && c->wire.datagrams)
		deliver_message(l, k, l->links->scratch, (size_t)n);
	else if (n > 0)
		good = stream_input(l, k, (size_t)n);
	if (n < 0 || !good)
		link_lost(l, k);
	else if (l->engine->config->mode == MODE_HANDSHAKE)
		link_close(l, k, true); // its request was answered
	else
		return c->wire.ssl != NULL || n == CHUNK;
	return false;
}

// Reads up to READS times, and then on while libssl holds decrypted bytes: epoll reports no event
// for those.
static void read_all(struct lane *l, uint32_t k)
{
	const struct link *c = &l->links->link[k];

	for (unsigned int i = 0; read_link(l, k); i++)
		if (i >= READS && (c->wire.ssl == NULL || !SSL_has_pending(c->wire.ssl)))
			return;
}

// --- events and time -----------------------------------------------------------------------------

static void handle_event(struct lane *l, uint32_t k, uint32_t events)
{
	struct link *c = &l->links->link[k];

	if (c->state == LINK_HANDSHAKE)
		continue_handshake(l, k);
	if (c->state == LINK_UP)
		flush_link(l, k);
	if (c->state == LINK_UP && (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0)
		read_all(l, k);
	watch_link(l->links, k);
}

// Retransmits DTLS handshakes, and ends handshakes that take too long.
static void tick_links(struct lane *l)
{
	struct links *s = l->links;
	const bool handshakes_only = l->engine->config->mode == MODE_HANDSHAKE;

	if (l->now_ms < s->ticked_ms + TICK_MS)
		return;
	s->ticked_ms = l->now_ms;
	if (s->nb_handshakes == 0 && !handshakes_only)
		return;
	for (uint32_t k = 0; k < l->sender->nb_flows; k++) {
		struct link *c = &s->link[k];

		if (c->state == LINK_HANDSHAKE)
			wire_tick(&c->wire);
		if (handshakes_only && c->state != LINK_CLOSED &&
			l->now_ms > c->begun_ms + HANDSHAKE_MS)
			link_lost(l, k);
	}
}

bool links_round(struct lane *l)
{
	struct links *s = l->links;
	struct epoll_event e[EVENTS];
	const int n = epoll_wait(s->epoll, e, EVENTS, 0);

	if (n > 0)
		l->now = rte_rdtsc();
	for (int i = 0; i < n; i++)
		if (s->link[e[i].data.u32].state != LINK_CLOSED)
			handle_event(l, e[i].data.u32, e[i].events);
	tick_links(l);
	return n > 0;
}

bool links_open(const struct lane *l, uint32_t k)
{
	return l->links->link[k].state != LINK_CLOSED;
}

// --- created and freed by the main lcore ---------------------------------------------------------

int links_prepare(struct engine *e, char *error, size_t len)
{
	const struct config *c = e->config;
	const rlim_t need = (rlim_t)c->clients + FILES_SPARE;
	struct rlimit r;

	if (!config_links(c))
		return 0;
	if (getrlimit(RLIMIT_NOFILE, &r) == 0 && r.rlim_cur < need) {
		r = (struct rlimit){need, r.rlim_max < need ? need : r.rlim_max};
		if (setrlimit(RLIMIT_NOFILE, &r) != 0) {
			snprintf(error, len,
				"--clients %u: %lu open files are more than the limit (ulimit -n)",
				c->clients, (unsigned long)need);
			return -1;
		}
	}
	if (c->transport == TRANSPORT_TCP)
		return 0;
	e->tls = wire_context(c, error, len);
	return e->tls != NULL ? 0 : -1;
}

struct links *links_create(struct lane *l)
{
	struct links *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return NULL;
	s->link = calloc(l->sender->nb_flows + 1, sizeof(*s->link));
	s->scratch = malloc(2 * CHUNK);
	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	l->links = s;
	if (s->link != NULL && s->scratch != NULL && s->epoll >= 0)
		return s;
	links_free(l);
	return NULL;
}

void links_free(struct lane *l)
{
	struct links *s = l->links;

	if (s == NULL)
		return;
	for (uint32_t k = 0; s->link != NULL && k < l->sender->nb_flows; k++)
		if (s->link[k].state != LINK_CLOSED)
			link_close(l, k, false);
	if (s->epoll >= 0)
		close(s->epoll);
	free(s->scratch);
	free(s->link);
	free(s);
	l->links = NULL;
}

const char *links_cipher(const struct engine *e)
{
	const struct links *s = e->nb_lanes > 0 ? e->lane[0]->links : NULL;

	return s != NULL && __atomic_load_n(&s->named, __ATOMIC_ACQUIRE) ? s->cipher : "";
}
