// SPDX-License-Identifier: BSD-3-Clause
// The table of allocations, connections and users of relaying over TCP.
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "features/tcp/hub.h"
#include "invariant.h"

// --- making and freeing --------------------------------------------------------------------------

static uint32_t *create_chains(uint32_t nb)
{
	uint32_t *c = malloc(nb * sizeof(*c));

	if (c != NULL)
		memset(c, 0xff, nb * sizeof(*c)); // HUB_NONE
	return c;
}

static bool arrays_make(struct hub *h)
{
	const struct stream_relay *c = &h->conf;
	uint32_t nb = 16;

	while (nb < c->connections)
		nb *= 2;
	h->mask = nb - 1;
	h->alloc = calloc(c->ports, sizeof(*h->alloc));
	h->conn = calloc(c->connections, sizeof(*h->conn));
	h->untold_mem = calloc(1, bitset_size(c->connections));
	h->user = calloc((size_t)c->ports + c->connections, sizeof(*h->user));
	h->by_id = create_chains(nb);
	h->by_peer = create_chains(nb);
	h->by_user = create_chains(nb);
	if (h->untold_mem != NULL)
		bitset_init(&h->untold, h->untold_mem, c->connections);
	return h->alloc != NULL && h->conn != NULL && h->untold_mem != NULL && h->user != NULL &&
		h->by_id != NULL && h->by_peer != NULL && h->by_user != NULL &&
		getrandom(&h->key, sizeof(h->key), 0) == sizeof(h->key);
}

struct hub *hub_create(const struct stream_relay *conf)
{
	struct hub *h = calloc(1, sizeof(*h));
	pthread_mutexattr_t recursive;

	if (h == NULL)
		return NULL;
	pthread_mutexattr_init(&recursive);
	pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&h->lock, &recursive);
	pthread_mutexattr_destroy(&recursive);
	h->conf = *conf;
	h->free = h->free_user = HUB_NONE;
	if (!arrays_make(h)) {
		hub_free(h);
		return NULL;
	}
	for (uint32_t i = 0; i < conf->ports; i++)
		h->alloc[i].fd = -1;
	return h;
}

void hub_free(struct hub *h)
{
	if (h == NULL)
		return;
	for (uint32_t i = 0; h->conn != NULL && i < h->used; i++) {
		if (h->conn[i].state != HUB_FREE)
			close(h->conn[i].fd);
		free(h->conn[i].answers);
	}
	for (uint32_t i = 0; h->alloc != NULL && i < h->conf.ports; i++)
		if (h->alloc[i].fd >= 0)
			close(h->alloc[i].fd);
	pthread_mutex_destroy(&h->lock);
	free(h->alloc);
	free(h->conn);
	free(h->untold_mem);
	free(h->user);
	free(h->by_id);
	free(h->by_peer);
	free(h->by_user);
	free(h);
}

// --- users ---------------------------------------------------------------------------------------

static uint64_t user_hash(const struct hub *h, const uint8_t ident[STREAM_IDENT_LEN], uint8_t realm)
{
	struct addr a;

	_Static_assert(sizeof(a) == STREAM_IDENT_LEN, "an ident is hashed like an address");
	memcpy(&a, ident, sizeof(a));
	return hash_addr(&h->key, &a, realm);
}

static uint32_t user_chain(
	const struct hub *h, const uint8_t ident[STREAM_IDENT_LEN], uint8_t realm)
{
	return (uint32_t)user_hash(h, ident, realm) & h->mask;
}

static bool is_user(const struct hub_user *u, const struct stream_order *o)
{
	return u->realm == o->realm && memcmp(u->ident, o->ident, sizeof(u->ident)) == 0;
}

// Returns the user of an order, and adds it if needed. There is room: each user has an allocation
// or a connection.
static uint32_t user_take(struct hub *h, const struct stream_order *o)
{
	uint32_t *head = &h->by_user[user_chain(h, o->ident, o->realm)], i = *head;

	while (i != HUB_NONE && !is_user(&h->user[i], o))
		i = h->user[i].next;
	if (i != HUB_NONE)
		return i;
	i = h->free_user;
	if (i != HUB_NONE)
		h->free_user = h->user[i].next;
	else
		i = h->used_users++;
	ASSERT(i < h->conf.ports + h->conf.connections);
	ASSERT(h->user[i].allocations == 0 && h->user[i].connections == 0);
	h->user[i] = (struct hub_user){.realm = o->realm, .next = *head};
	memcpy(h->user[i].ident, o->ident, sizeof(h->user[i].ident));
	*head = i;
	return i;
}

// Removes a user without allocations and connections.
static void user_give(struct hub *h, uint32_t user)
{
	struct hub_user *u = &h->user[user];
	uint32_t *link;

	if (u->allocations > 0 || u->connections > 0)
		return;
	link = &h->by_user[user_chain(h, u->ident, u->realm)];
	while (*link != user) {
		ASSERT(*link != HUB_NONE);
		link = &h->user[*link].next;
	}
	*link = u->next;
	u->next = h->free_user;
	h->free_user = user;
}

void hub_alloc_rekey(struct hub_alloc *a, const struct stream_order *o)
{
	memcpy(a->binder[1], a->binder[0], STREAM_IDENT_LEN);
	memcpy(a->binder[0], o->ident, STREAM_IDENT_LEN);
}

bool hub_is_user(struct hub *h, const struct hub_conn *c, const struct stream_order *o)
{
	const struct hub_alloc *a = hub_alloc_of(h, &c->owner);

	return a != NULL && h->user[a->user].realm == o->realm &&
		(memcmp(a->binder[0], o->ident, STREAM_IDENT_LEN) == 0 ||
			memcmp(a->binder[1], o->ident, STREAM_IDENT_LEN) == 0);
}

// --- allocations ---------------------------------------------------------------------------------

struct hub_alloc *hub_alloc_begin(struct hub *h, const struct stream_order *o)
{
	struct hub_alloc *a;

	if (o->owner.port_index >= h->conf.ports)
		return NULL;
	a = &h->alloc[o->owner.port_index];
	if (a->id.allocation != 0)
		hub_alloc_end(h, a);
	*a = (struct hub_alloc){.id = o->owner,
		.relayed = o->endpoint,
		.user = user_take(h, o),
		.fd = -1,
		.worker = o->worker,
		.listener = o->listener};
	hub_alloc_rekey(a, o);
	hub_alloc_rekey(a, o);
	h->user[a->user].allocations++;
	return a;
}

struct hub_alloc *hub_alloc_of(struct hub *h, const struct stream_alloc *p)
{
	struct hub_alloc *a = p->port_index < h->conf.ports ? &h->alloc[p->port_index] : NULL;

	return a != NULL && p->allocation != 0 && a->id.allocation == p->allocation ? a : NULL;
}

void hub_alloc_end(struct hub *h, struct hub_alloc *a)
{
	const uint32_t user = a->user;

	if (a->fd >= 0)
		close(a->fd);
	*a = (struct hub_alloc){.fd = -1};
	ASSERT(h->user[user].allocations > 0);
	h->user[user].allocations--;
	user_give(h, user);
}

// --- connections ---------------------------------------------------------------------------------

static uint32_t peer_chain(
	const struct hub *h, const struct stream_alloc *p, const struct endpoint *peer)
{
	const uint64_t extra = p->allocation ^ (uint64_t)peer->port << 16;

	return (uint32_t)hash_addr(&h->key, &peer->addr, extra) & h->mask;
}

struct hub_conn *hub_conn_of_peer(
	struct hub *h, const struct stream_alloc *p, const struct endpoint *peer)
{
	uint32_t i = h->by_peer[peer_chain(h, p, peer)];

	while (i != HUB_NONE &&
		(!h->conn[i].asked || h->conn[i].owner.allocation != p->allocation ||
			!endpoint_eq(&h->conn[i].peer, peer)))
		i = h->conn[i].next_peer;
	return i != HUB_NONE ? &h->conn[i] : NULL;
}

bool hub_may(const struct hub *h, const struct hub_alloc *a)
{
	return h->nb < h->conf.connections && a->nb < h->conf.per_allocation &&
		h->user[a->user].connections < h->conf.per_user;
}

// The rate buckets remember users that the table has removed.
bool hub_may_connect(struct hub *h, const struct hub_alloc *a, uint64_t now_ms)
{
	const struct hub_user *u = &h->user[a->user];
	struct bucket *b = &h->connects[user_hash(h, u->ident, u->realm) % HUB_CONNECTS];

	return bucket_take(b, &h->conf.connects, now_ms * BUCKET_MS);
}

struct hub_conn *hub_conn_begin(
	struct hub *h, struct hub_alloc *a, const struct endpoint *peer, int fd)
{
	uint32_t i = h->free, *head = &h->by_peer[peer_chain(h, &a->id, peer)];
	struct hub_conn *c;

	if (i != HUB_NONE)
		h->free = h->conn[i].next_id;
	else
		i = h->used++;
	c = &h->conn[i];
	ASSERT(i < h->conf.connections && c->state == HUB_FREE && h->nb < h->used);
	*c = (struct hub_conn){.owner = a->id,
		.peer = *peer,
		.control = a->control,
		.serial = c->serial + 1,
		.user = a->user,
		.next_id = HUB_NONE,
		.next_peer = *head,
		.mate = HUB_NONE,
		.fd = fd,
		.thread = a->thread,
		.worker = a->worker,
		.listener = a->listener};
	*head = i;
	h->nb++;
	a->nb++;
	h->user[a->user].connections++;
	ASSERT(a->nb <= h->nb && h->nb <= h->used);
	return c;
}

// IDs are random, so they need no hash.
static uint32_t id_chain(const struct hub *h, uint32_t id)
{
	return id & h->mask;
}

struct hub_conn *hub_conn_find(struct hub *h, uint32_t id)
{
	uint32_t i = h->by_id[id_chain(h, id)];

	while (i != HUB_NONE && h->conn[i].id != id)
		i = h->conn[i].next_id;
	return i != HUB_NONE ? &h->conn[i] : NULL;
}

bool hub_conn_name(struct hub *h, struct hub_conn *c, uint32_t id)
{
	uint32_t *head = &h->by_id[id_chain(h, id)];

	if (hub_conn_find(h, id) != NULL)
		return false;
	c->id = id;
	c->next_id = *head;
	*head = hub_index(h, c);
	return true;
}

void hub_conn_pair(struct hub *h, struct hub_conn *a, struct hub_conn *b)
{
	ASSERT(a != b && a->mate == HUB_NONE && b->mate == HUB_NONE);
	a->mate = hub_index(h, b);
	a->mate_serial = b->serial;
	b->mate = hub_index(h, a);
	b->mate_serial = a->serial;
}

void hub_conn_cut(struct hub *h, const struct hub_conn *c)
{
	struct hub_conn *mate = c->mate != HUB_NONE ? &h->conn[c->mate] : NULL;

	if (mate != NULL && mate->state != HUB_FREE && mate->serial == c->mate_serial)
		__atomic_store_n(&mate->cut, true, __ATOMIC_RELEASE);
}

void hub_conn_end(struct hub *h, struct hub_conn *c)
{
	struct hub_alloc *a = hub_alloc_of(h, &c->owner);
	const uint32_t i = hub_index(h, c);
	uint32_t *link = &h->by_peer[peer_chain(h, &c->owner, &c->peer)];

	while (*link != i) {
		ASSERT(*link != HUB_NONE);
		link = &h->conn[*link].next_peer;
	}
	*link = c->next_peer;
	if (c->id != 0) {
		link = &h->by_id[id_chain(h, c->id)];
		while (*link != i)
			link = &h->conn[*link].next_id;
		*link = c->next_id;
	}
	if (a != NULL) {
		ASSERT(a->nb > 0 && (c->state != HUB_ACCEPTED || a->unjudged > 0));
		a->nb--;
		a->unjudged -= c->state == HUB_ACCEPTED;
	}
	bitset_put(&h->untold, i, false);
	ASSERT(h->user[c->user].connections > 0 && h->nb > 0);
	h->user[c->user].connections--;
	user_give(h, c->user);
	close(c->fd);
	free(c->answers);
	*c = (struct hub_conn){.serial = c->serial, .next_id = h->free};
	h->free = i;
	h->nb--;
}
