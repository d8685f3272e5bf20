// SPDX-License-Identifier: BSD-3-Clause
// Each part of the store is a table of sets of 16 entries. A key belongs to one set, and replaces
// the entry of that set that was not used for the longest time. A keyed hash selects the set: a
// hash of the key itself for users, of the client's network for the other parts. So a network that
// invents keys evicts only entries of its own set.
#include "explain/attempts.h"

#include <stdlib.h>
#include <string.h>

#include "stream.h"
#include "stun.h"
#include "turn_refusal.h"
#include "turn_rest.h"

#define WAYS 16
#define USERS 4096
#define NAMES 1024
#define SOURCES 4096
#define OTHERS 1024

enum part { PART_USERS, PART_NAMES, PART_SOURCES, PART_OTHERS, PART_END };

// Refusals and lives (allocations made and ended) have separate rings, so that a client that
// reconnects again and again does not push its refusals out.
struct entry {
	uint64_t key; // keyed hash; 0 means free
	uint64_t used; // clock of the store at the last use
	// Counts of attempts. The newest is at (nb - 1) modulo ATTEMPTS_EACH or ATTEMPTS_LIVES.
	uint32_t nb_refused, nb_lives;
	struct attempt refused[ATTEMPTS_EACH], lives[ATTEMPTS_LIVES];
};

struct attempts {
	struct hash_key key;
	uint64_t clock; // incremented by each note
	struct {
		struct entry *entry;
		uint32_t sets;
	} part[PART_END];
};

static const uint32_t sizes[PART_END] = {[PART_USERS] = USERS,
	[PART_NAMES] = NAMES,
	[PART_SOURCES] = SOURCES,
	[PART_OTHERS] = OTHERS};

struct attempts *attempts_create(const struct hash_key *key)
{
	struct attempts *a = calloc(1, sizeof(*a));

	if (a == NULL)
		return NULL;
	a->key = *key;
	for (unsigned int i = 0; i < PART_END; i++) {
		a->part[i].sets = sizes[i] / WAYS;
		a->part[i].entry = calloc(sizes[i], sizeof(struct entry));
		if (a->part[i].entry == NULL) {
			attempts_free(a);
			return NULL;
		}
	}
	return a;
}

void attempts_free(struct attempts *a)
{
	if (a == NULL)
		return;
	for (unsigned int i = 0; i < PART_END; i++)
		free(a->part[i].entry);
	free(a);
}

struct turn_event attempts_event(const struct attempt *a)
{
	struct turn_event e = {.wall_s = a->wall_ms / 1000,
		.id = a->id,
		.client = a->client,
		.peer = a->peer,
		.kind = a->kind,
		.worker = a->worker,
		.realm = a->realm,
		.listener = a->listener,
		.proved = a->proved,
		.method = a->method,
		.reason = a->reason,
		.more = a->more,
		.others = a->others,
		.name_len = a->name_len};

	if (a->kind == TURN_EVENT_ROAMED) {
		e.old_client = a->peer;
		e.peer = (struct endpoint){0};
	}
	memcpy(e.name, a->name, a->name_len);
	return e;
}

// --- keys ----------------------------------------------------------------------------------------

const char *attempts_user(const char *name, size_t *len)
{
	struct turn_rest_name rest;

	if (!turn_rest_read(name, *len, &rest) || rest.id_len == 0)
		return name;
	*len = rest.id_len;
	return rest.id;
}

static uint64_t name_key(const struct attempts *a, const struct attempts_who *identity)
{
	const struct addr both = {.d = {hash_bytes(&a->key, identity->name, identity->len), 0}};
	const uint64_t h = hash_addr(&a->key, &both, 3u + identity->realm);

	return h != 0 ? h : 1;
}

static uint64_t source_key(const struct attempts *a, const struct addr *source)
{
	const struct addr host = addr_source(source);
	const uint64_t h = hash_addr(&a->key, &host, 1);

	return h != 0 ? h : 1;
}

static uint64_t network_key(const struct attempts *a, const struct addr *source)
{
	struct addr net = addr_network(source);

	if (addr_is_v4(source)) // the /24
		net.b[15] = 0;
	return hash_addr(&a->key, &net, 2);
}

static struct entry *set_of(const struct attempts *a, enum part part, uint64_t hash)
{
	return &a->part[part].entry[hash % a->part[part].sets * WAYS];
}

// --- notes ---------------------------------------------------------------------------------------

static struct entry *find_entry(struct entry *set, uint64_t key)
{
	for (unsigned int i = 0; i < WAYS; i++)
		if (set[i].key == key)
			return &set[i];
	return NULL;
}

// Writes an attempt over the oldest one of a ring.
static void push_attempt(
	struct attempt *ring, uint32_t places, uint32_t *nb, const struct attempt *attempt)
{
	ring[(*nb)++ % places] = *attempt;
	if (*nb == 2 * places) // the index does not change, and the counter never overflows
		*nb = places;
}

static void put_attempt(
	struct attempts *a, struct entry *set, uint64_t key, const struct attempt *attempt)
{
	struct entry *e = find_entry(set, key);

	if (e == NULL) {
		e = set;
		for (unsigned int i = 1; i < WAYS; i++)
			if (set[i].used < e->used)
				e = &set[i];
		e->key = key;
		e->nb_refused = e->nb_lives = 0;
	}
	e->used = ++a->clock;
	if (turn_event_refuses(attempt->kind))
		push_attempt(e->refused, ATTEMPTS_EACH, &e->nb_refused, attempt);
	else
		push_attempt(e->lives, ATTEMPTS_LIVES, &e->nb_lives, attempt);
}

// True if the name of an event belongs to a real user, so that nobody can have invented it.
static bool is_user(const struct turn_event *e)
{
	if (e->kind != TURN_EVENT_REFUSED)
		return true;
	switch ((enum turn_refusal)e->reason) {
	case TURN_REFUSED_CHALLENGE:
	case TURN_REFUSED_NONCE_STALE:
	case TURN_REFUSED_NONCE_FOREIGN:
	case TURN_REFUSED_INCOMPLETE:
	case TURN_REFUSED_ALGORITHMS:
	case TURN_REFUSED_NAME_LONG:
	case TURN_REFUSED_REALM:
	case TURN_REFUSED_USER_UNKNOWN:
	case TURN_REFUSED_REST_NAME:
	case TURN_REFUSED_REST_EXPIRED:
	case TURN_REFUSED_REST_PASSWORD:
	case TURN_REFUSED_GUESSES:
	case TURN_REFUSED_UNANSWERED:
	case TURN_REFUSED_BINDING_RATE:
	case TURN_REFUSED_INTERNAL:
		return false;
	default:
		return true;
	}
}

// The rates that held back datagrams of an allocation, as bits.
static uint8_t held_of(const struct turn_event *e)
{
	uint8_t held = 0;

	if (e->kind != TURN_EVENT_ENDED && e->kind != TURN_EVENT_INTERIM)
		return 0;
	for (unsigned int i = TURN_LOSS_KEPT; i < TURN_LOSS_END; i++)
		held |= (uint8_t)((e->usage.lost[i] > 0) << (i - TURN_LOSS_KEPT));
	return held;
}

// Adds the rates that held back datagrams to the attempt that made the allocation, if it is still
// kept.
static void hold_entry(struct entry *e, const struct attempt *attempt)
{
	for (unsigned int i = 0; e != NULL && i < ATTEMPTS_LIVES; i++)
		if (e->lives[i].kind == TURN_EVENT_MADE && e->lives[i].id == attempt->id)
			e->lives[i].held |= attempt->held;
}

static void hold_attempt(struct attempts *a, const struct attempt *attempt)
{
	const uint64_t source = source_key(a, &attempt->client.addr);
	const uint64_t network = network_key(a, &attempt->client.addr);
	struct attempts_who identity = {attempt->name, attempt->name_len, attempt->realm};
	uint64_t user;

	if (attempt->held == 0)
		return;
	identity.name = attempts_user(attempt->name, &identity.len);
	user = name_key(a, &identity);
	hold_entry(find_entry(set_of(a, PART_SOURCES, network), source), attempt);
	hold_entry(find_entry(set_of(a, PART_USERS, user), user), attempt);
}

// True if an allocation's event has only the part of the name that the allocation keeps.
static bool is_cut(const struct turn_event *e)
{
	return e->kind == TURN_EVENT_ENDED || e->kind == TURN_EVENT_ROAMED;
}

void attempts_note(struct attempts *a, const struct turn_event *e, uint64_t wall_ms)
{
	struct attempt attempt = {.wall_ms = wall_ms,
		.id = e->id,
		.order = (uint32_t)a->clock,
		.client = e->client,
		.peer = e->kind == TURN_EVENT_ROAMED ? e->old_client : e->peer,
		.kind = e->kind,
		.listener = e->listener,
		.worker = e->worker,
		.realm = e->realm,
		.proved = e->proved || !turn_event_refuses(e->kind),
		.relayed = e->kind == TURN_EVENT_ENDED && e->usage.leg[0].datagrams > 0 &&
			e->usage.leg[1].datagrams > 0,
		.method = e->method,
		.reason = e->reason,
		.more = e->more,
		.others = e->others,
		.name_len = e->name_len < TURN_EVENT_NAME_LEN ? e->name_len : TURN_EVENT_NAME_LEN};
	const uint64_t network = network_key(a, &e->client.addr);
	const enum part source = attempt.proved ? PART_SOURCES : PART_OTHERS;
	struct attempts_who identity = {attempt.name, attempt.name_len, e->realm};
	uint64_t key;

	if (e->kind == TURN_EVENT_MOVED || e->kind == TURN_EVENT_PEER)
		return;
	memcpy(attempt.name, e->name, attempt.name_len);
	attempt.held = held_of(e);
	if (e->kind == TURN_EVENT_INTERIM) {
		hold_attempt(a, &attempt);
		return;
	}
	put_attempt(a, set_of(a, source, network), source_key(a, &e->client.addr), &attempt);
	// A Binding is never authenticated, whatever name it gives. The name of an ended allocation
	// may be longer than the event can hold.
	if (identity.len == 0 || e->kind == TURN_EVENT_CONNECTION ||
		(e->kind == TURN_EVENT_REFUSED && e->method == STUN_BINDING) || !attempt.proved ||
		(is_cut(e) && identity.len >= TURN_NAME_LEN))
		return;
	identity.name = attempts_user(attempt.name, &identity.len);
	key = name_key(a, &identity);
	if (is_user(e))
		put_attempt(a, set_of(a, PART_USERS, key), key, &attempt);
	else
		put_attempt(a, set_of(a, PART_NAMES, network), key, &attempt);
}

// --- look-ups ------------------------------------------------------------------------------------

// The newest attempts found yet, in order.
struct found {
	struct attempt *out;
	unsigned int n, max;
};

static bool is_older(const struct attempt *a, const struct attempt *b)
{
	return a->wall_ms != b->wall_ms ? a->wall_ms < b->wall_ms
					: (int32_t)(a->order - b->order) < 0;
}

static void insert_attempt(struct found *f, const struct attempt *attempt)
{
	unsigned int i;

	if (f->n == f->max && (f->max == 0 || !is_older(&f->out[f->max - 1], attempt)))
		return;
	i = f->n < f->max ? f->n++ : f->max - 1;
	for (; i > 0 && is_older(&f->out[i - 1], attempt); i--)
		f->out[i] = f->out[i - 1];
	f->out[i] = *attempt;
}

static void gather_attempts(struct found *f, const struct entry *e)
{
	for (uint32_t i = 0; i < ATTEMPTS_EACH && i < e->nb_refused; i++)
		insert_attempt(f, &e->refused[i]);
	for (uint32_t i = 0; i < ATTEMPTS_LIVES && i < e->nb_lives; i++)
		insert_attempt(f, &e->lives[i]);
}

unsigned int attempts_of_user(const struct attempts *a, const struct attempts_who *identity,
	struct attempt *out, unsigned int max)
{
	struct found f = {.out = out, .max = max};
	struct attempts_who user = *identity;
	const struct entry *e;
	uint64_t key;

	if (user.len > TURN_EVENT_NAME_LEN) // events keep no more of a name
		user.len = TURN_EVENT_NAME_LEN;
	user.name = attempts_user(user.name, &user.len);
	key = name_key(a, &user);
	e = find_entry(set_of(a, PART_USERS, key), key);
	if (e != NULL)
		gather_attempts(&f, e);
	// clients in many networks may have tried this name
	for (uint32_t i = 0; i < NAMES; i++)
		if (a->part[PART_NAMES].entry[i].key == key)
			gather_attempts(&f, &a->part[PART_NAMES].entry[i]);
	return f.n;
}

unsigned int attempts_of_source(
	const struct attempts *a, const struct addr *source, struct attempt *out, unsigned int max)
{
	const uint64_t key = source_key(a, source), network = network_key(a, source);
	struct found f = {.out = out, .max = max};

	for (unsigned int part = PART_SOURCES; part <= PART_OTHERS; part++) {
		const struct entry *e = find_entry(set_of(a, part, network), key);

		if (e != NULL)
			gather_attempts(&f, e);
	}
	return f.n;
}
