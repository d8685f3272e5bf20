// SPDX-License-Identifier: BSD-3-Clause
// Reads the PROXY header at the start of each connection from a balancer, and not one byte beyond
// it. Then hands the connection to the stream thread that serves this client.
#include "proxy/proxy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "conn.h"
#include "hash.h"
#include "ilist.h"
#include "listen.h"
#include "proxy/proxy_header.h"
#include "thread.h"

#define WATCH_HANDED (WATCH_PROXY | UINT32_MAX) // the pipe with connections from other threads
#define CHAINS_LEAST 64
#define CHAIN_LOAD 4 // most connections per hash chain, on average

// --- balancers -----------------------------------------------------------------------------------

struct rule {
	struct prefix sources[STREAM_PROXIES_MAX];
	unsigned int nb_from; // 0: no headers on this listener
	uint16_t room;
};

struct proxies {
	pthread_mutex_t lock; // guards rule
	struct rule rule[]; // by index of the listener in streams.listener
};

static void rule_set(struct rule *r, const struct stream_listener *l)
{
	r->nb_from = l->nb_proxy < STREAM_PROXIES_MAX ? l->nb_proxy : STREAM_PROXIES_MAX;
	if (r->nb_from > 0)
		memcpy(r->sources, l->proxy, r->nb_from * sizeof(*r->sources));
	r->room = l->proxy_room;
}

bool proxies_make(struct streams *s)
{
	const unsigned int nb = s->conf.nb_listeners;
	struct proxies *p = calloc(1, sizeof(*p) + nb * sizeof(p->rule[0]));

	if (p == NULL)
		return false;
	pthread_mutex_init(&p->lock, NULL);
	for (unsigned int i = 0; i < nb; i++) {
		rule_set(&p->rule[i], &s->listener[i]);
		s->listener[i].proxy = NULL; // owned by the caller
	}
	s->proxies = p;
	return true;
}

void proxies_change(struct streams *s, const struct stream_config *c)
{
	pthread_mutex_lock(&s->proxies->lock);
	for (unsigned int i = 0; i < s->conf.nb_listeners; i++)
		rule_set(&s->proxies->rule[i], &c->listeners[i]);
	pthread_mutex_unlock(&s->proxies->lock);
}

void proxies_free(struct streams *s)
{
	if (s->proxies == NULL)
		return;
	pthread_mutex_destroy(&s->proxies->lock);
	free(s->proxies);
}

enum verdict { DIRECT, BALANCER, STRANGER };

static enum verdict judge_source(
	struct streams *s, uint8_t listener, const struct addr *source, uint16_t *room)
{
	struct proxies *p = s->proxies;
	const struct rule *r = &p->rule[listener];
	enum verdict v = STRANGER;

	pthread_mutex_lock(&p->lock);
	*room = r->room;
	if (r->nb_from == 0)
		v = DIRECT;
	for (unsigned int i = 0; i < r->nb_from && v == STRANGER; i++)
		if (addr_prefix_contains(&r->sources[i], source))
			v = BALANCER;
	pthread_mutex_unlock(&p->lock);
	return v;
}

// --- the state of a thread -----------------------------------------------------------------------

// A connection whose header is not complete yet.
struct waiting {
	struct endpoint peer; // the balancer
	int fd; // -1: free
	struct ilist_link by_age; // its member next also links the free list
	uint8_t listener;
	uint16_t have, room; // bytes received; longest header allowed
	uint64_t since_ms;
	uint8_t *header;
};

// A connection on its way to another thread.
struct handed {
	struct endpoint client;
	int fd;
	uint8_t listener;
};
_Static_assert(sizeof(struct handed) <= 512, "POSIX: such writes to a pipe are atomic");

struct proxy {
	struct waiting *waiting; // max entries
	uint32_t max, free;
	struct ilist by_age; // oldest first
	int in, out; // a pipe: other threads write to out
	// Hash chains of connections, by client. The entry of a closed connection stays until its
	// slot is reused, or a search of its chain meets it.
	uint32_t *first,
		*next; // 1 + index of a connection, or 0; first[hash], next[connection]
	uint64_t *hash; // by connection
	uint32_t mask; // of hashes
};

static uint64_t client_hash(const struct thread *t, const struct endpoint *c, uint8_t listener)
{
	// sharing the key of the rate limiter is safe, because no hash leaves the process
	return hash_addr(
		&t->s->begun.key, &c->addr, UINT64_C(1) << 32 | (uint64_t)listener << 16 | c->port);
}

static uint32_t count_chains(uint32_t connections)
{
	uint32_t n = CHAINS_LEAST;

	while (n < connections / CHAIN_LOAD)
		n *= 2;
	return n;
}

static void places_make(struct proxy *p)
{
	p->free = CONN_NONE;
	p->by_age = ILIST_EMPTY;
	p->waiting = calloc(p->max, sizeof(*p->waiting));
	for (uint32_t i = p->max; p->waiting != NULL && i-- > 0; p->free = i)
		p->waiting[i] = (struct waiting){.fd = -1, .by_age.next = p->free};
}

bool proxy_open(struct thread *t)
{
	struct proxy *p = calloc(1, sizeof(*p));
	struct epoll_event e = {.events = EPOLLIN, .data.u64 = WATCH_HANDED};
	int ends[2] = {-1, -1};

	if (p == NULL)
		return false;
	t->proxy = p;
	p->max = t->s->conf.headers > 0 ? t->s->conf.headers : 1;
	p->mask = count_chains(t->max) - 1;
	places_make(p);
	p->first = calloc((size_t)p->mask + 1, sizeof(*p->first));
	p->next = calloc(t->max, sizeof(*p->next));
	p->hash = calloc(t->max, sizeof(*p->hash));
	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
		ends[0] = ends[1] = -1;
	p->in = ends[0];
	p->out = ends[1];
	return p->waiting != NULL && p->first != NULL && p->next != NULL && p->hash != NULL &&
		p->in >= 0 && epoll_ctl(t->fresh, EPOLL_CTL_ADD, p->in, &e) == 0;
}

static void give_back(struct proxy *p, struct waiting *w)
{
	const uint32_t i = (uint32_t)(w - p->waiting);

	ilist_remove(&p->by_age, ILIST_LINKS(p->waiting, by_age), i);
	free(w->header);
	*w = (struct waiting){.fd = -1, .by_age.next = p->free};
	p->free = i;
}

// Closes a connection without a complete header.
static void end_waiting(struct thread *t, struct waiting *w, uint64_t *reason)
{
	const struct stream_from origin = {
		.client = w->peer, .listener = t->s->listener[w->listener].index};

	listen_refuse(t, w->fd, &origin, reason);
	give_back(t->proxy, w);
}

void proxy_close(struct thread *t)
{
	struct proxy *p = t->proxy;
	struct handed h;

	if (p == NULL)
		return;
	while (p->waiting != NULL && p->by_age.first != CONN_NONE)
		end_waiting(t, &p->waiting[p->by_age.first], &t->stats.proxy_closed);
	while (p->in >= 0 && read(p->in, &h, sizeof(h)) == sizeof(h))
		close(h.fd);
	if (p->in >= 0) {
		close(p->in);
		close(p->out);
	}
	free(p->waiting);
	free(p->first);
	free(p->next);
	free(p->hash);
	free(p);
	t->proxy = NULL;
}

// --- clients -------------------------------------------------------------------------------------

static void chain_remove(struct proxy *p, uint32_t i)
{
	uint32_t *slot = &p->first[p->hash[i] & p->mask];

	while (*slot != 0 && *slot != i + 1)
		slot = &p->next[*slot - 1];
	if (*slot != 0)
		*slot = p->next[i];
	p->next[i] = 0;
}

static bool is_open(const struct conn *c)
{
	return c->state != CONN_FREE && c->state != CONN_ENDED;
}

// True if a client has a connection on a listener. Removes entries of closed connections.
static bool is_here(
	struct thread *t, uint64_t hash, const struct endpoint *client, uint8_t listener)
{
	struct proxy *p = t->proxy;

	for (uint32_t *slot = &p->first[hash & p->mask]; *slot != 0;) {
		const uint32_t i = *slot - 1;
		const struct conn *c = &t->conn[i];

		if (!is_open(c)) {
			*slot = p->next[i];
			p->next[i] = 0;
			continue;
		}
		if (c->listener == listener && endpoint_eq(&c->client, client))
			return true;
		slot = &p->next[i];
	}
	return false;
}

static void note_client(struct thread *t, uint64_t hash)
{
	struct proxy *p = t->proxy;
	const uint32_t i = t->young.last; // conn_open has just made it

	chain_remove(p, i); // remove the entry of the slot's last user
	p->hash[i] = hash;
	p->next[i] = p->first[hash & p->mask];
	p->first[hash & p->mask] = i + 1;
}

// Opens the client's connection on this thread.
static void admit_client(struct thread *t, const struct handed *h)
{
	const uint64_t hash = client_hash(t, &h->client, h->listener);
	const struct stream_from origin = {
		.client = h->client, .listener = t->s->listener[h->listener].index};

	if (is_here(t, hash, &h->client, h->listener)) {
		listen_refuse(t, h->fd, &origin, &t->stats.proxy_taken);
		return;
	}
	if (listen_admit(t, h->fd, h->listener, &h->client))
		note_client(t, hash);
}

// Gives a connection with a complete header to the thread of its client.
static void hand_over(struct thread *t, struct waiting *w, const struct endpoint *client)
{
	const struct handed h = {.client = *client, .fd = w->fd, .listener = w->listener};
	const uint64_t hash = client_hash(t, client, w->listener);
	struct thread *target = t->s->thread[(hash >> 32) % t->s->nb_threads];

	epoll_ctl(t->fresh, EPOLL_CTL_DEL, w->fd, NULL); // conn_open watches it
	if (target != t && write(target->proxy->out, &h, sizeof(h)) != sizeof(h)) {
		end_waiting(t, w, &t->stats.proxy_gave_way);
		return;
	}
	give_back(t->proxy, w);
	if (target == t)
		admit_client(t, &h);
}

static void take_handed(struct thread *t)
{
	struct handed h;

	if (read(t->proxy->in, &h, sizeof(h)) == sizeof(h))
		admit_client(t, &h);
}

// --- headers -------------------------------------------------------------------------------------

static void await_header(
	struct thread *t, int fd, uint8_t listener, const struct endpoint *peer, uint16_t room)
{
	struct proxy *p = t->proxy;
	const struct stream_from origin = {
		.client = *peer, .listener = t->s->listener[listener].index};
	struct epoll_event e = {.events = EPOLLIN};
	struct waiting *w;
	uint32_t i;

	if (p->free == CONN_NONE)
		end_waiting(t, &p->waiting[p->by_age.first], &t->stats.proxy_gave_way);
	i = p->free;
	w = &p->waiting[i];
	e.data.u64 = WATCH_PROXY | i;
	w->header = malloc(room > PROXY_TEXT_LONGEST ? room : PROXY_TEXT_LONGEST);
	if (w->header == NULL || epoll_ctl(t->fresh, EPOLL_CTL_ADD, fd, &e) != 0) {
		free(w->header);
		w->header = NULL;
		listen_refuse(t, fd, &origin, &t->stats.refused_files);
		return;
	}
	p->free = w->by_age.next;
	*w = (struct waiting){.peer = *peer,
		.fd = fd,
		.listener = listener,
		.room = room,
		.since_ms = t->now_ms,
		.header = w->header};
	ilist_append(&p->by_age, ILIST_LINKS(p->waiting, by_age), i);
}

bool proxy_accept(struct thread *t, int fd, uint8_t listener, const struct endpoint *peer)
{
	const struct stream_from origin = {
		.client = *peer, .listener = t->s->listener[listener].index};
	uint16_t room;

	switch (judge_source(t->s, listener, &peer->addr, &room)) {
	case DIRECT:
		return false;
	case STRANGER:
		listen_refuse(t, fd, &origin, &t->stats.refused_proxy);
		return true;
	case BALANCER:
		await_header(t, fd, listener, peer, room);
		return true;
	}
	return false;
}

// Handles a connection after the check of its header.
static void settle_header(struct thread *t, struct waiting *w, enum proxy_header_answer answer,
	const struct proxy_header *h)
{
	switch (answer) {
	case PROXY_HEADER_CLIENT:
		hand_over(t, w, &h->client);
		break;
	case PROXY_HEADER_OWN:
		stats_add(&t->stats.proxy_own, 1);
		hand_over(t, w, &w->peer);
		break;
	case PROXY_HEADER_NONE:
		end_waiting(t, w, &t->stats.proxy_none);
		break;
	case PROXY_HEADER_LONG:
		end_waiting(t, w, &t->stats.proxy_long);
		break;
	default:
		end_waiting(t, w, &t->stats.proxy_bad);
		break;
	}
}

// Reads the bytes of a header that have arrived, and none beyond the header: those belong to the
// client.
static void read_header(struct thread *t, struct waiting *w)
{
	struct proxy_header h;

	proxy_header_read(w->header, w->have, w->room, &h);
	for (;;) {
		enum proxy_header_answer answer;
		const ssize_t n = recv(w->fd, w->header + w->have, h.len - w->have, 0);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n <= 0) {
			end_waiting(t, w, &t->stats.proxy_closed);
			return;
		}
		w->have = (uint16_t)(w->have + n);
		answer = proxy_header_read(w->header, w->have, w->room, &h);
		if (answer == PROXY_HEADER_SHORT)
			continue;
		settle_header(t, w, answer, &h);
		return;
	}
}

void proxy_event(struct thread *t, uint64_t data)
{
	struct waiting *w = &t->proxy->waiting[(uint32_t)data];

	if (data == WATCH_HANDED)
		take_handed(t);
	else if (w->fd >= 0)
		read_header(t, w);
}

void proxy_tick(struct thread *t)
{
	const struct proxy *p = t->proxy;
	const uint64_t patience = load_number(&t->s->conf.handshake_s) * UINT64_C(1000);

	while (p != NULL && p->by_age.first != CONN_NONE &&
		t->now_ms > p->waiting[p->by_age.first].since_ms + patience)
		end_waiting(t, &p->waiting[p->by_age.first], &t->stats.proxy_slow);
}
