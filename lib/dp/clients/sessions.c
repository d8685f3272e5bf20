// SPDX-License-Identifier: BSD-3-Clause
// The table of a worker's DTLS sessions: slots, handshakes and their limits, used cookies, and how
// a session begins and ends.
#include <errno.h>

#include <rte_malloc.h>

#include "clients/sessions.h"
#include "addr.h"
#include "clients/dtls_clients.h"
#include "clients/streams.h"
#include "ask/hot.h"
#include "csprng.h"
#include "datapath.h"
#include "dp_view.h"
#include "dtls.h"
#include "dtls_cookie.h"
#include "handle.h"
#include "hash.h"
#include "invariant.h"
#include "net.h"
#include "stream.h"
#include "tables/table.h"
#include "turn.h"
#include "turn_config.h"
#include "turn_mark.h"
#include "turn_shard.h"
#include "path/worker.h"
#include "workers/mbuf_meta.h"
#include "workers/messages.h"

#define ROTATE_MS 60000 // a cookie is valid for one to two times this
// each millisecond checks one part of all sessions, so each session is checked once a second
#define SCAN_PARTS 1000
#define SCAN_MS 16 // longest time between two checks of a resting worker
// Time beyond its limit after which a handshake is given up, and the interval at which its thread
// is notified again.
#define GIVE_UP_MS 10000
#define SPENT 4096 // entries for clients with used cookies
#define SPENT_TAG 16 // bits of an entry that identify the client
#define SOURCES 8192 // buckets for the rates of handshakes
#define HANDSHAKE_MTU 1280 // IPv6 carries it on every link

// --- the table -----------------------------------------------------------------------------------

static uint64_t hash_of(
	const struct sessions *s, const struct addr *client, uint16_t port, uint8_t listener)
{
	return hash_addr(&s->key, client, turn_mark_client(port, listener));
}

uint64_t sessions_conn(const struct worker *w, const struct session *c)
{
	return handle_make(c->generation, w->id, (uint32_t)(c - w->sessions->session));
}

struct session *sessions_of(const struct worker *w, uint64_t conn)
{
	struct session *c;

	if (w->sessions == NULL || sessions_home(conn) != w->id)
		return NULL;
	c = &w->sessions->session[handle_index(conn)];
	return c->state != SESSION_FREE && c->generation == handle_generation(conn) ? c : NULL;
}

struct session *sessions_find(const struct worker *w, const struct addr *client, uint16_t port,
	uint8_t listener, enum session_state state)
{
	const struct sessions *s = w->sessions;
	const uint64_t hash = hash_of(s, client, port, listener);
	struct table_iter it = {0};
	uint32_t i;

	while (table_next(&s->table, hash, &it, &i)) {
		struct session *c = &s->session[i];

		if (c->state == state && c->port == port && c->listener == listener &&
			addr_eq(&c->client, client))
			return c;
	}
	return NULL;
}

static void table_drop(struct sessions *s, const struct session *c)
{
	ASSERT(c->state == SESSION_HANDSHAKE || c->state == SESSION_OPEN);
	table_remove(&s->table, hash_of(s, &c->client, c->port, c->listener),
		(uint32_t)(c - s->session));
}

static struct session *slot_take(struct sessions *s)
{
	struct session *c = NULL;

	if (s->free != SESSION_NONE) {
		c = &s->session[s->free];
		s->free = c->next;
	} else if (s->used < s->max) {
		c = &s->session[s->used++];
	}
	return c;
}

static void slot_give(struct sessions *s, struct session *c)
{
	ASSERT(c->dtls == NULL && c->away == 0);
	*c = (struct session){.generation = c->generation, .next = s->free};
	s->free = (uint32_t)(c - s->session);
}

struct session *sessions_add(
	struct worker *w, const struct addr *client, uint16_t port, uint8_t listener)
{
	struct sessions *s = w->sessions;
	struct session *c;

	if (!half_open_room(w, client))
		return NULL;
	c = slot_take(s);
	if (c == NULL)
		return NULL;
	*c = (struct session){.client = *client,
		.port = port,
		.listener = listener,
		.generation = c->generation + 1 != 0 ? c->generation + 1 : 1,
		.heard_ms = w->now_ms,
		.number = dtls_cookies_count(&s->cookies),
		.state = SESSION_HANDSHAKE};
	if (!table_insert(
		    &s->table, hash_of(s, client, port, listener), (uint32_t)(c - s->session))) {
		slot_give(s, c);
		return NULL;
	}
	half_open_add(w, c);
	ASSERT(sessions_of(w, sessions_conn(w, c)) == c);
	return c;
}

// Entry for a client: the lowest number of a fresh cookie, then a part of the client's hash. One
// client may overwrite the entry of another: then a used cookie is valid for one more handshake.
static uint64_t *spent_of(const struct sessions *s, uint64_t hash)
{
	return &s->spent[hash & (SPENT - 1)];
}

void sessions_spend(struct worker *w, struct session *c)
{
	const uint64_t hash = hash_of(w->sessions, &c->client, c->port, c->listener);

	if (c->spent)
		return;
	c->spent = true;
	*spent_of(w->sessions, hash) =
		dtls_cookies_count(&w->sessions->cookies) << SPENT_TAG | hash >> (64 - SPENT_TAG);
}

bool sessions_is_fresh(const struct worker *w, const struct turn_view *v, uint64_t number)
{
	const uint64_t hash = hash_of(w->sessions, &v->src, v->src_port, v->listener);
	const uint64_t spent = *spent_of(w->sessions, hash);

	return (spent & ((1u << SPENT_TAG) - 1)) != hash >> (64 - SPENT_TAG) ||
		number >= spent >> SPENT_TAG;
}

struct turn_view sessions_view(const struct worker *w, const struct session *c)
{
	return (struct turn_view){.src = c->client,
		.src_port = c->port,
		.listener = c->listener,
		.leg = TURN_FROM_CLIENT,
		.flags = DP_DTLS | (addr_is_v4(&c->client) ? DP_IPV4 : 0),
		.via = TURN_NO_WORKER,
		.stream = sessions_conn(w, c)};
}

// --- begin and end of a session ------------------------------------------------------------------

// Sends a note about a session to its thread. False if that is not possible now.
static bool note_session(struct worker *w, const struct session *c, struct dtls_session *s)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(w->dp->pool);

	if (m == NULL)
		return false;
	mbuf_meta_of(m)->kind = MBUF_META_DTLS_NOTE;
	mbuf_meta_of(m)->dtls.conn = sessions_conn(w, c);
	mbuf_meta_of(m)->dtls.session = s;
	mbuf_meta_of(m)->dtls.source = c->client;
	mbuf_meta_of(m)->dtls.kind = STREAM_GONE;
	if (streams_give(w, sessions_thread(w, c), m))
		return true;
	rte_pktmbuf_free(m);
	return false;
}

static bool tell_worker(struct worker *w, const struct session *c, unsigned int dst)
{
	const struct turn_view v = sessions_view(w, c);

	return messages_client_ended(w, dst, &v);
}

static bool tell_owed(struct worker *w, const struct owed_end *e)
{
	const struct turn_view v = {.src = e->client,
		.src_port = e->port,
		.listener = e->listener,
		.leg = TURN_FROM_CLIENT,
		.via = TURN_NO_WORKER,
		.stream = e->conn};

	return messages_client_ended(w, e->worker, &v);
}

static void tell_all_owed(struct worker *w)
{
	struct sessions *s = w->sessions;
	unsigned int left = 0;

	for (unsigned int i = 0; i < s->nb_owed; i++)
		if (!tell_owed(w, &s->owed[i]))
			s->owed[left++] = s->owed[i];
	ASSERT(left <= s->nb_owed && s->nb_owed <= OWED_ENDS);
	s->nb_owed = left;
}

void sessions_tell_end(struct worker *w, unsigned int dst, const struct turn_view *v)
{
	struct sessions *s = w->sessions;

	for (unsigned int i = 0; i < s->nb_owed; i++)
		if (s->owed[i].conn == v->stream && s->owed[i].worker == dst)
			return;
	if (!messages_client_ended(w, dst, v) && s->nb_owed < OWED_ENDS)
		s->owed[s->nb_owed++] = (struct owed_end){.client = v->src,
			.conn = v->stream,
			.port = v->src_port,
			.listener = v->listener,
			.worker = (uint8_t)dst};
}

// Tells all other owners about the end of a session. Its slot is free when all of them know.
static void continue_close(struct worker *w, struct session *c)
{
	ASSERT(c->state == SESSION_CLOSED && (c->away >> w->id & 1) == 0);
	for (uint64_t left = c->away; left != 0; left &= left - 1) {
		const unsigned int dst = (unsigned int)__builtin_ctzll(left);

		if (tell_worker(w, c, dst))
			c->away &= ~(UINT64_C(1) << dst);
	}
	if (c->dtls != NULL && note_session(w, c, c->dtls))
		c->dtls = NULL;
	if (c->away == 0 && c->dtls == NULL)
		slot_give(w->sessions, c);
}

void sessions_end(struct worker *w, struct session *c, uint64_t *reason)
{
	const struct turn_view v = sessions_view(w, c);

	(*reason)++;
	ASSERT(c->state == SESSION_OPEN && c->dtls != NULL && w->live.dtls.open > 0);
	w->live.dtls.open--;
	table_drop(w->sessions, c);
	streams_end(w, &v);
	c->state = SESSION_CLOSED;
	continue_close(w, c);
}

void sessions_opened(struct worker *w, struct session *c, struct dtls_session *s)
{
	struct session *old = sessions_find(w, &c->client, c->port, c->listener, SESSION_OPEN);

	if (old != NULL)
		sessions_end(w, old, &w->live.dtls.replaced);
	ASSERT(c->state == SESSION_HANDSHAKE && c->dtls == NULL);
	c->dtls = s;
	c->state = SESSION_OPEN;
	c->heard_ms = w->now_ms;
	half_open_drop(w, c);
	w->live.dtls.open++;
	w->live.dtls.opened++;
}

void sessions_refused(struct worker *w, uint64_t conn, struct dtls_session *s)
{
	struct session *c = sessions_of(w, conn);

	// its slot may belong to another session now, or its end was reported before
	if (c == NULL || c->state == SESSION_CLOSED)
		return;
	if (c->state == SESSION_HANDSHAKE) {
		half_open_drop(w, c);
		table_drop(w->sessions, c);
	}
	c->dtls = s;
	c->away = 0;
	c->state = SESSION_CLOSED;
	continue_close(w, c);
}

// The thread answers with the outcome. It reports it once; if it could not, it answers again.
static void give_up_note(struct worker *w, struct session *c)
{
	c->told = note_session(w, c, NULL);
	c->heard_ms = w->now_ms;
}

void sessions_give_up(struct worker *w, struct session *c)
{
	ASSERT(c->state == SESSION_HANDSHAKE && c->dtls == NULL && c->away == 0);
	half_open_drop(w, c);
	table_drop(w->sessions, c);
	c->state = SESSION_GIVEN_UP;
	give_up_note(w, c);
}

// True if the session's client has an allocation, here or on another worker.
static bool has_allocation(const struct worker *w, const struct session *c)
{
	const struct turn_view v = sessions_view(w, c);
	uint32_t left_ms;

	return w->now_ms < c->lease_ms || turn_shard_client(w->shard, &v, &left_ms) != TURN_NONE;
}

static void check_session(struct worker *w, struct session *c)
{
	const struct hot *h = w->hot;

	switch ((enum session_state)c->state) {
	case SESSION_FREE:
		break;
	case SESSION_HANDSHAKE:
		if (w->now_ms > c->heard_ms + h->dtls_handshake_s * UINT64_C(1000) + GIVE_UP_MS)
			sessions_give_up(w, c);
		break;
	case SESSION_GIVEN_UP:
		if (!c->told || w->now_ms > c->heard_ms + GIVE_UP_MS)
			give_up_note(w, c);
		break;
	case SESSION_OPEN:
		if (w->now_ms > c->heard_ms + h->dtls_idle_s * UINT64_C(1000) &&
			!has_allocation(w, c)) {
			dtls_clients_bye(w, c);
			sessions_end(w, c, &w->live.dtls.idle);
		}
		break;
	case SESSION_CLOSED:
		continue_close(w, c);
		break;
	}
}

static void rotate_key(struct worker *w)
{
	uint8_t key[DTLS_COOKIE_KEY_LEN];

	csprng_bytes(&w->rng, key, sizeof(key));
	dtls_cookies_rotate(&w->sessions->cookies, key);
	w->sessions->rotated_ms = w->now_ms;
	explicit_bzero(key, sizeof(key));
}

uint64_t sessions_next_ms(const struct worker *w)
{
	return w->sessions != NULL && w->sessions->used > 0 ? w->sessions->ticked_ms + SCAN_MS
							    : UINT64_MAX;
}

void sessions_tick(struct worker *w)
{
	struct sessions *s = w->sessions;
	const uint64_t passed = w->now_ms - s->ticked_ms;
	uint32_t n = (s->used / SCAN_PARTS + 1) * (uint32_t)RTE_MIN(passed, (uint64_t)SCAN_MS);

	s->ticked_ms = w->now_ms;
	tell_all_owed(w);
	if (n > s->used)
		n = s->used;
	for (; n > 0; n--) {
		if (s->scan >= s->used)
			s->scan = 0;
		check_session(w, &s->session[s->scan++]);
	}
	if (w->now_ms >= s->rotated_ms + ROTATE_MS)
		rotate_key(w);
}

// --- start and end -------------------------------------------------------------------------------

static bool wants_dtls(const struct conf *c)
{
	for (uint32_t i = 0; i < c->turn.nb_listeners; i++)
		if (c->turn.listeners[i].transport == TURN_OVER_DTLS)
			return true;
	return false;
}

// A hash distributes clients over the workers, so some have more than the average.
static uint32_t max_sessions(const struct conf *c)
{
	const uint32_t most = c->dtls.sessions + c->dtls.half_open;

	return c->workers > 1 ? RTE_MIN(most, 2 * (most / c->workers) + 1024) : most;
}

static size_t one_size(const struct conf *c)
{
	return sizeof(struct sessions) + max_sessions(c) * sizeof(struct session) +
		table_size(max_sessions(c)) + limiter_size(SOURCES, 0) + SPENT * sizeof(uint64_t) +
		3 * RTE_CACHE_LINE_SIZE;
}

size_t sessions_size(const struct conf *c)
{
	return wants_dtls(c) ? c->workers * one_size(c) : 0;
}

struct stream_dtls sessions_config(const struct conf *c)
{
	uint32_t least = HANDSHAKE_MTU, most = 0;

	if (!wants_dtls(c))
		return (struct stream_dtls){.sessions = 0};
	for (uint32_t i = 0; i < c->nb_ports; i++) {
		least = RTE_MIN(least, (uint32_t)c->ports[i].mtu);
		most = RTE_MAX(most, (uint32_t)c->ports[i].mtu);
	}
	return (struct stream_dtls){.sessions = c->dtls.sessions,
		.per_source = c->dtls.per_source,
		.per_network = c->dtls.per_network,
		.handshake_s = c->dtls.handshake_s,
		.mtu = (uint16_t)(least - NET_IP6_LEN - NET_UDP_LEN),
		// a longer message fits no port as a record
		.message = (uint16_t)(most - NET_IP4_LEN - NET_UDP_LEN - DTLS_RECORD_LEN)};
}

// One worker's share of a limit. At least 1, if the limit is not 0.
static uint32_t share_of(uint32_t whole, uint32_t workers)
{
	return whole > 0 ? RTE_MAX(whole / workers, 1u) : 0;
}

static int init_sessions(struct worker *w)
{
	const struct conf *c = w->dp->conf;
	const uint32_t max = max_sessions(c);
	uint8_t key[DTLS_COOKIE_KEY_LEN], *mem;
	struct sessions *s;

	mem = rte_zmalloc_socket("sessions", one_size(c), RTE_CACHE_LINE_SIZE,
		(int)rte_lcore_to_socket_id(w->lcore));
	if (mem == NULL)
		return -ENOMEM;
	s = (struct sessions *)mem;
	w->sessions = s;
	s->free = SESSION_NONE;
	s->max = max;
	half_open_init(&s->half_open, share_of(c->dtls.half_open, c->workers));
	s->rotated_ms = w->now_ms;
	mem += RTE_ALIGN_CEIL(sizeof(*s), RTE_CACHE_LINE_SIZE);
	table_init(&s->table, mem, max);
	mem += RTE_ALIGN_CEIL(table_size(max), RTE_CACHE_LINE_SIZE);
	csprng_bytes(&w->rng, &s->begun.key, sizeof(s->begun.key));
	limiter_init(&s->begun, mem, SOURCES, 0);
	s->begun.times = STREAM_RATE_NETWORK;
	mem += limiter_size(SOURCES, 0);
	s->spent = (uint64_t *)mem;
	mem += SPENT * sizeof(*s->spent);
	s->session = (struct session *)mem;
	csprng_bytes(&w->rng, &s->key, sizeof(s->key));
	csprng_bytes(&w->rng, key, sizeof(key));
	dtls_cookies_init(&s->cookies, key);
	explicit_bzero(key, sizeof(key));
	return 0;
}

int sessions_create(struct dp *d)
{
	if (!wants_dtls(d->conf))
		return 0;
	for (unsigned int i = 0; i < d->nb_workers; i++)
		if (init_sessions(d->worker[i]) != 0)
			return -ENOMEM;
	return 0;
}

void sessions_free(struct worker *w)
{
	struct sessions *s = w->sessions;

	if (s == NULL)
		return;
	for (uint32_t i = 0; i < s->used; i++)
		dtls_session_free(s->session[i].dtls);
	explicit_bzero(&s->cookies, sizeof(s->cookies));
	rte_free(s);
	w->sessions = NULL;
}
