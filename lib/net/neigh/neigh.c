// SPDX-License-Identifier: BSD-3-Clause
// The neighbour table (net.h): entries of ARP and ND with their states and timer queues. Packets
// held for an answer are in neigh_packets.c, rate limits of requests in neigh_shares.c.
#include "ilist.h"
#include "invariant.h"
#include "neigh/neigh_packets.h"
#include "neigh/neigh_shares.h"
#include "net_int.h"
#include "tables/table.h"

#define RETRY_MS 1000 // between requests for one target, and the lifetime of a failure
#define OWNER_MS 100 // between requests for a contested address
#define WORK 64 // most entries that one call handles in one queue
#define REUSE_SEARCH 16 // entries of a queue that are searched for one to reuse

// Each entry is on exactly one queue. All entries of a timed queue have the same timeout and join
// at its tail, so the head is always the next one due and no scan is needed.
enum queue {
	Q_FREE,
	Q_PROBE, // PROBE, request due; before Q_ASK, so that a scan cannot delay a gateway
	Q_ASK, // INCOMPLETE, first request due
	Q_WAIT, // INCOMPLETE and PROBE, request sent; due after RETRY_MS
	Q_OWNER, // PROBE, contested: request sent; due after OWNER_MS
	Q_REACHABLE, // due after reachable_ms
	Q_CLAIMED, // REACHABLE, claimed again too soon; due after RETRY_MS
	Q_STALE, // the head has been unused for longest
	Q_FAILED, // after RETRY_MS it may be requested again
	NB_QUEUES
};

struct entry {
	struct addr target;
	uint64_t hash, due_ms;
	uint64_t contest_ms; // an earlier claim causes no probe until then
	struct ilist_link link; // in the queue
	struct neigh_chain held;
	uint8_t mac[6];
	uint8_t state; // enum neigh_state
	uint8_t queue; // enum queue
	uint8_t port;
	uint8_t tries; // requests since INCOMPLETE or PROBE began; RETRY_MS in Q_CLAIMED
	uint8_t share; // share that pays for requests while INCOMPLETE
	uint16_t serial; // 1..65534, changes with each new target
	bool kept; // never reused for another target
	bool contested; // another host has claimed the address since its owner answered
};

struct neigh_table {
	struct neigh_config config;
	struct neigh_shares shares;
	struct hash_key key;
	struct table index; // (target, port) -> entry
	struct entry *entry;
	struct neigh_hop *hop; // one per entry
	struct neigh_packets held;
	struct ilist queue[NB_QUEUES];
};

// --- memory --------------------------------------------------------------------------------------

#define ALIGN 64
static size_t align_up(size_t len)
{
	return (len + ALIGN - 1) & ~(size_t)(ALIGN - 1);
}

// Replaces zeros by defaults. Indexes must stay below NEIGH_REFUSED.
static struct neigh_config complete_config(const struct neigh_config *c)
{
	struct neigh_config full = {
		.entries = c->entries != 0 ? c->entries : 4096,
		.held_total = c->held_total != 0 ? c->held_total : 1024,
		.held_each = c->held_each != 0 ? c->held_each : 16,
		.reachable_ms = c->reachable_ms != 0 ? c->reachable_ms : 30000,
		.asks = c->asks,
	};

	full.entries -= full.entries == NEIGH_NONE; // not NEIGH_REFUSED, either
	full.held_total -= full.held_total == NEIGH_NONE;
	return full;
}

size_t neigh_size(const struct neigh_config *c)
{
	const struct neigh_config full = complete_config(c);

	return ALIGN + align_up(sizeof(struct neigh_table)) + table_size(full.entries) +
		align_up(full.entries * sizeof(struct neigh_hop)) +
		align_up(full.entries * sizeof(struct entry)) +
		align_up(full.held_total * sizeof(struct neigh_packet));
}

static void queue_add(struct neigh_table *t, uint16_t i, enum queue queue)
{
	t->entry[i].queue = (uint8_t)queue;
	ASSERT((queue == Q_FREE) == (t->entry[i].state == NEIGH_FREE));
	ASSERT((queue == Q_STALE) == (t->entry[i].state == NEIGH_STALE));
	ilist_append(&t->queue[queue], ILIST_LINKS(t->entry, link), i);
}

static void queue_remove(struct neigh_table *t, uint16_t i)
{
	ilist_remove(&t->queue[t->entry[i].queue], ILIST_LINKS(t->entry, link), i);
}

// The entry that has been in a queue for longest. NEIGH_NONE: the queue is empty.
static uint16_t queue_first(const struct neigh_table *t, enum queue queue)
{
	_Static_assert((uint16_t)ILIST_NONE == NEIGH_NONE, "an index is cut to 16 bits");
	return (uint16_t)t->queue[queue].first;
}

struct neigh_table *neigh_create(
	void *mem, const struct neigh_config *c, const struct hash_key *key)
{
	struct neigh_table *t = mem;
	uint8_t *p = (uint8_t *)mem + align_up(sizeof(*t));

	memset(mem, 0, neigh_size(c));
	t->config = complete_config(c);
	t->shares.asks = t->config.asks;
	t->key = *key;
	p += -(uintptr_t)p & (ALIGN - 1); // mem may be aligned for pointers only
	table_init(&t->index, p, t->config.entries);
	p += table_size(t->config.entries);
	t->hop = (struct neigh_hop *)p;
	p += align_up(t->config.entries * sizeof(struct neigh_hop));
	t->entry = (struct entry *)p;
	p += align_up(t->config.entries * sizeof(struct entry));
	neigh_packets_init(&t->held, p, t->config.held_total, t->config.held_each);
	for (unsigned int q = 0; q < NB_QUEUES; q++)
		t->queue[q] = ILIST_EMPTY;
	for (uint16_t i = 0; i < t->config.entries; i++) {
		t->entry[i].held = NEIGH_CHAIN_EMPTY;
		t->hop[i].serial = NEIGH_NO_SERIAL;
		queue_add(t, i, Q_FREE);
	}
	return t;
}

// --- states --------------------------------------------------------------------------------------

static uint16_t next_serial(const struct entry *e)
{
	return e->serial < UINT16_MAX - 1 ? e->serial + 1 : 1;
}

static void hop_update(struct neigh_table *t, uint16_t i)
{
	const struct entry *e = &t->entry[i];
	const bool free_to_use = e->state == NEIGH_REACHABLE || e->state == NEIGH_PROBE;

	t->hop[i] = (struct neigh_hop){
		.port = e->port, .serial = free_to_use ? e->serial : NEIGH_NO_SERIAL};
	memcpy(t->hop[i].mac, e->mac, sizeof(e->mac));
}

// The only function that changes a state: state, queue, time and hop change together.
static void enter_state(struct neigh_table *t, uint16_t i, enum neigh_state state, uint64_t now_ms)
{
	static const uint8_t queue_of[] = {
		[NEIGH_FREE] = Q_FREE,
		[NEIGH_INCOMPLETE] = Q_ASK,
		[NEIGH_REACHABLE] = Q_REACHABLE,
		[NEIGH_STALE] = Q_STALE,
		[NEIGH_PROBE] = Q_PROBE,
		[NEIGH_FAILED] = Q_FAILED,
	};
	struct entry *e = &t->entry[i];

	queue_remove(t, i);
	e->state = (uint8_t)state;
	e->tries = 0;
	e->contested &= state == NEIGH_STALE || state == NEIGH_PROBE;
	e->due_ms = now_ms + (state == NEIGH_REACHABLE ? t->config.reachable_ms : RETRY_MS);
	ASSERT(state != NEIGH_FREE || e->held.nb == 0);
	queue_add(t, i, queue_of[state]);
	hop_update(t, i);
}

static bool is_usable(const struct entry *e)
{
	return e->state == NEIGH_REACHABLE || e->state == NEIGH_STALE || e->state == NEIGH_PROBE;
}

// True if we have sent a request for this entry, so that an answer may belong to it.
static bool is_asked(const struct entry *e)
{
	return e->queue == Q_WAIT || e->queue == Q_OWNER;
}

// Moves an entry to a queue with a due time, without changing its state.
static void wait_on(struct neigh_table *t, uint16_t i, enum queue queue, uint64_t due_ms)
{
	queue_remove(t, i);
	t->entry[i].due_ms = due_ms;
	queue_add(t, i, queue);
}

// The share that pays for requests about an entry. Routers pay nothing.
static uint8_t payer_of(const struct entry *e, uint8_t share)
{
	return e->kept ? NEIGH_SHARE_NONE : share;
}

// Returns the unsent requests of an entry that becomes known to its share.
static void give_back(struct neigh_table *t, const struct entry *e)
{
	if (e->state == NEIGH_INCOMPLETE)
		neigh_shares_back(&t->shares, e->share, NEIGH_TRIES - e->tries);
	else if (e->state == NEIGH_PROBE && e->contested && !e->kept)
		neigh_shares_back(&t->shares, NEIGH_SHARE_CLAIMS, NEIGH_TRIES - e->tries);
}

// Requests a failed target again once the failure has expired, if the share allows it.
static void retry_failed(struct neigh_table *t, uint16_t i, uint8_t share, uint64_t now_ms)
{
	struct entry *e = &t->entry[i];

	if (e->state != NEIGH_FAILED || now_ms < e->due_ms ||
		!neigh_shares_pay(&t->shares, payer_of(e, share), now_ms))
		return;
	e->share = payer_of(e, share);
	enter_state(t, i, NEIGH_INCOMPLETE, now_ms);
}

// --- look-up -------------------------------------------------------------------------------------

static uint16_t find_entry(
	const struct neigh_table *t, uint64_t hash, const struct addr *target, uint8_t port)
{
	struct table_iter it = {0};
	uint32_t i;

	while (table_next(&t->index, hash, &it, &i))
		if (t->entry[i].port == port && addr_eq(&t->entry[i].target, target))
			return (uint16_t)i;
	return NEIGH_NONE;
}

// Finds an entry near the queue's head that can be reused. The caller takes back its held packets.
// Unanswered entries are reused after their second request, so that a scan does not make them
// short-lived.
static uint16_t find_reusable(const struct neigh_table *t, enum queue queue)
{
	uint16_t i = queue_first(t, queue);

	for (unsigned int n = 0; n < REUSE_SEARCH && i != NEIGH_NONE;
		n++, i = (uint16_t)t->entry[i].link.next) {
		const struct entry *e = &t->entry[i];

		if (e->held.nb == 0 && !e->kept &&
			(queue != Q_WAIT || (e->state == NEIGH_INCOMPLETE && e->tries >= 2)))
			return i;
	}
	return NEIGH_NONE;
}

// Returns an entry for a new target: a free one, or the least useful of those not known to be
// alive. REACHABLE and PROBE entries are never reused, so no scan can evict a neighbour in use.
static uint16_t take_entry(struct neigh_table *t)
{
	static const enum queue order[] = {Q_FREE, Q_FAILED, Q_STALE, Q_WAIT};
	uint16_t i = NEIGH_NONE;

	for (unsigned int n = 0; n < sizeof(order) / sizeof(order[0]) && i == NEIGH_NONE; n++)
		i = find_reusable(t, order[n]);
	if (i != NEIGH_NONE && t->entry[i].state != NEIGH_FREE)
		table_remove(&t->index, t->entry[i].hash, i);
	return i;
}

static uint16_t add_entry(
	struct neigh_table *t, uint64_t h, const struct addr *target, uint8_t port)
{
	const uint16_t i = take_entry(t);
	struct entry *e;

	if (i == NEIGH_NONE)
		return NEIGH_NONE;
	e = &t->entry[i];
	if (!table_insert(&t->index, h, i)) {
		// both buckets of this key are full: free the entry, which was taken already
		enter_state(t, i, NEIGH_FREE, 0);
		return NEIGH_NONE;
	}
	ASSERT(e->held.nb == 0 && !e->kept);
	e->target = *target;
	e->hash = h;
	e->port = port;
	e->serial = next_serial(e);
	e->kept = e->contested = false;
	e->contest_ms = 0;
	e->state = NEIGH_FREE; // until the caller sets another state
	memset(e->mac, 0, sizeof(e->mac));
	return i;
}

uint16_t neigh_use_for(struct neigh_table *t, const struct addr *target, uint8_t port,
	const struct neigh_asker *asker, uint64_t now_ms)
{
	const uint64_t hash = hash_addr(&t->key, target, port);
	const uint8_t share = neigh_shares_of(&t->key, asker, target);
	uint16_t i = find_entry(t, hash, target, port);

	if (i != NEIGH_NONE) {
		retry_failed(t, i, share, now_ms);
		return i;
	}
	if (!neigh_shares_pay(&t->shares, share, now_ms))
		return NEIGH_REFUSED;
	i = add_entry(t, hash, target, port);
	if (i != NEIGH_NONE) {
		t->entry[i].share = share;
		enter_state(t, i, NEIGH_INCOMPLETE, now_ms);
	}
	return i;
}

uint16_t neigh_use(struct neigh_table *t, const struct addr *target, uint8_t port, uint64_t now_ms)
{
	return neigh_use_for(t, target, port, NULL, now_ms);
}

void neigh_keep(struct neigh_table *t, uint16_t index)
{
	t->entry[index].kept = true;
}

const uint8_t *neigh_mac(struct neigh_table *t, uint16_t index, uint64_t now_ms)
{
	struct entry *e = &t->entry[index];

	if (e->state == NEIGH_STALE)
		enter_state(t, index, NEIGH_PROBE, now_ms);
	else
		retry_failed(t, index, e->share, now_ms);
	return is_usable(e) ? e->mac : NULL;
}

// --- held packets --------------------------------------------------------------------------------

unsigned int neigh_room(const struct neigh_table *t, uint16_t index)
{
	const struct entry *e = &t->entry[index];

	return e->state == NEIGH_INCOMPLETE ? neigh_packets_room(&t->held, &e->held, e->share) : 0;
}

bool neigh_hold(struct neigh_table *t, uint16_t index, void *packet)
{
	struct entry *e = &t->entry[index];

	if (neigh_room(t, index) == 0)
		return false;
	neigh_packets_add(&t->held, &e->held, packet, e->share);
	return true;
}

unsigned int neigh_held(struct neigh_table *t, uint16_t index, void **packets, unsigned int max)
{
	struct entry *e = &t->entry[index];
	unsigned int n = 0;

	if (!is_usable(e) && e->state != NEIGH_FAILED)
		return 0;
	while (n < max && e->held.nb > 0)
		packets[n++] = neigh_packets_take(&t->held, &e->held);
	return n;
}

unsigned int neigh_held_total(const struct neigh_table *t)
{
	return t->held.nb;
}

// --- learning ------------------------------------------------------------------------------------

// Sets the MAC and the state of an entry. True if something changed for its users.
static bool assign_mac(struct neigh_table *t, uint16_t i, const uint8_t *mac,
	enum neigh_state state, uint64_t now_ms)
{
	struct entry *e = &t->entry[i];
	const bool was_usable = is_usable(e);
	const bool moved = memcmp(e->mac, mac, sizeof(e->mac)) != 0;

	ASSERT(e->tries <= NEIGH_TRIES || e->queue == Q_CLAIMED);
	give_back(t, e);
	if (moved) // mac may point to the entry's own MAC
		memcpy(e->mac, mac, sizeof(e->mac));
	enter_state(t, i, state, now_ms);
	return !was_usable || moved;
}

// Handles a claim of another host to a known address: its owner gets unicast requests and, if it
// answers none, everybody gets one. At most once per RETRY_MS and entry, which bounds requests.
static void contest_entry(struct neigh_table *t, uint16_t i, uint64_t now_ms)
{
	struct entry *e = &t->entry[i];
	const bool now = now_ms >= e->contest_ms &&
		neigh_shares_pay(&t->shares, payer_of(e, NEIGH_SHARE_CLAIMS), now_ms);

	if (now) {
		e->contested = true;
		e->contest_ms = now_ms + RETRY_MS;
		if (e->state == NEIGH_REACHABLE)
			enter_state(t, i, NEIGH_STALE, now_ms);
		else if (e->queue == Q_WAIT) // the owner was asked already
			wait_on(t, i, Q_OWNER, now_ms + OWNER_MS);
	} else if (e->queue == Q_REACHABLE) {
		wait_on(t, i, Q_CLAIMED, now_ms + RETRY_MS);
	}
}

// Handles an unsolicited message of any host. It can make an address known (RFC 4861 section
// 7.2.3), but never changes one: a different claim only makes us ask the known owner.
static bool learn_claim(struct neigh_table *t, uint16_t i, const uint8_t *mac, uint64_t now_ms)
{
	const struct entry *e = &t->entry[i];

	if (!is_usable(e))
		return assign_mac(t, i, mac, NEIGH_STALE, now_ms);
	if (!e->contested && memcmp(e->mac, mac, sizeof(e->mac)) != 0)
		contest_entry(t, i, now_ms);
	return false;
}

// True if an answer may belong to our request. In PROBE only the known owner was asked. An answer
// without a MAC (RFC 4861 section 7.2.5) has mac NULL.
static bool answers_us(const struct entry *e, const uint8_t *mac)
{
	if (!is_asked(e))
		return false;
	if (e->state == NEIGH_INCOMPLETE)
		return mac != NULL;
	return mac == NULL || memcmp(e->mac, mac, sizeof(e->mac)) == 0;
}

uint16_t neigh_learn(struct neigh_table *t, const struct net_neigh_msg *msg, uint8_t port,
	bool from_ask, uint64_t now_ms)
{
	static const uint8_t none[6];
	const struct addr *target = from_ask ? &msg->sender : &msg->target;
	const uint16_t i = find_entry(t, hash_addr(&t->key, target, port), target, port);
	const uint8_t *mac = memcmp(msg->mac, none, sizeof(none)) != 0 ? msg->mac : NULL;
	const struct entry *e;
	bool changed = false;

	if (i == NEIGH_NONE)
		return NEIGH_NONE;
	e = &t->entry[i];
	if (!from_ask && msg->solicited && answers_us(e, mac))
		changed = assign_mac(t, i, mac != NULL ? mac : e->mac, NEIGH_REACHABLE, now_ms);
	// unsolicited answers need not create an address: the solicited one is on its way
	else if (mac != NULL && (from_ask || msg->solicited || is_usable(e)))
		changed = learn_claim(t, i, mac, now_ms);
	return changed ? i : NEIGH_NONE;
}

// --- time ----------------------------------------------------------------------------------------

static void age_reachable(struct neigh_table *t, uint64_t now_ms)
{
	for (unsigned int n = 0; n < WORK; n++) {
		const uint16_t i = queue_first(t, Q_REACHABLE);

		if (i == NEIGH_NONE || t->entry[i].due_ms > now_ms)
			break;
		ASSERT(t->entry[i].state == NEIGH_REACHABLE);
		enter_state(t, i, NEIGH_STALE, now_ms);
	}
}

// Handles claims that had to wait. If there are still too many, they do not change how the entry
// ages.
static void age_claimed(struct neigh_table *t, uint64_t now_ms)
{
	for (unsigned int n = 0; n < WORK; n++) {
		const uint16_t i = queue_first(t, Q_CLAIMED);
		struct entry *e = t->entry + (i != NEIGH_NONE ? i : 0);

		if (i == NEIGH_NONE || e->due_ms > now_ms)
			break;
		contest_entry(t, i, now_ms);
		if (e->contested)
			continue;
		if (++e->tries == UINT8_MAX || e->tries * RETRY_MS >= t->config.reachable_ms)
			enter_state(t, i, NEIGH_STALE, now_ms);
		else
			wait_on(t, i, Q_CLAIMED, now_ms + RETRY_MS);
	}
}

static void ask_target(struct neigh_table *t, uint16_t i, uint64_t now_ms, struct neigh_ask *out)
{
	struct entry *e = &t->entry[i];

	*out = (struct neigh_ask){
		.target = e->target, .unicast = e->state == NEIGH_PROBE, .port = e->port};
	memcpy(out->mac, e->mac, sizeof(out->mac));
	ASSERT(e->state == NEIGH_INCOMPLETE || e->state == NEIGH_PROBE);
	ASSERT(e->tries < NEIGH_TRIES);
	e->tries++;
	if (e->contested)
		wait_on(t, i, Q_OWNER, now_ms + OWNER_MS);
	else
		wait_on(t, i, Q_WAIT, now_ms + RETRY_MS);
}

// Handles an entry without an answer to its requests. A known target is requested again by
// multicast or broadcast (RFC 4861 section 7.3.3). False if *due has no room.
static bool fail_entry(struct neigh_table *t, uint16_t i, uint64_t now_ms, struct neigh_due *due)
{
	struct entry *e = &t->entry[i];
	const uint8_t share = payer_of(e, e->share);

	ASSERT(is_asked(e) && e->tries >= NEIGH_TRIES);
	if (due->nb_failed == NEIGH_DUE_MAX)
		return false;
	memset(e->mac, 0, sizeof(e->mac));
	if (e->state == NEIGH_PROBE && neigh_shares_pay(&t->shares, share, now_ms)) {
		e->share = share;
		enter_state(t, i, NEIGH_INCOMPLETE, now_ms);
		return true;
	}
	enter_state(t, i, NEIGH_FAILED, now_ms);
	due->failed[due->nb_failed++] = i;
	return true;
}

// Issues the first requests of a queue, as many as *due has room for.
static void ask_first(
	struct neigh_table *t, enum queue queue, uint64_t now_ms, struct neigh_due *due)
{
	while (due->nb_asks < NEIGH_DUE_MAX && queue_first(t, queue) != NEIGH_NONE)
		ask_target(t, queue_first(t, queue), now_ms, &due->ask[due->nb_asks++]);
}

// Handles due entries of a queue of unanswered requests.
static void ask_again(
	struct neigh_table *t, enum queue queue, uint64_t now_ms, struct neigh_due *due)
{
	for (unsigned int work = 0; work < WORK; work++) {
		const uint16_t i = queue_first(t, queue);

		if (i == NEIGH_NONE || t->entry[i].due_ms > now_ms)
			break;
		if (t->entry[i].tries >= NEIGH_TRIES) {
			if (!fail_entry(t, i, now_ms, due))
				break;
		} else {
			if (due->nb_asks == NEIGH_DUE_MAX)
				break;
			ask_target(t, i, now_ms, &due->ask[due->nb_asks++]);
		}
	}
}

void neigh_tick(struct neigh_table *t, uint64_t now_ms, struct neigh_due *due)
{
	due->nb_asks = due->nb_failed = 0;
	age_reachable(t, now_ms);
	age_claimed(t, now_ms);
	ask_first(t, Q_PROBE, now_ms, due);
	ask_again(t, Q_OWNER, now_ms, due);
	ask_again(t, Q_WAIT, now_ms, due);
	ask_first(t, Q_ASK, now_ms, due);
}

uint64_t neigh_next_ms(const struct neigh_table *t)
{
	static const enum queue timed[] = {Q_WAIT, Q_OWNER, Q_REACHABLE, Q_CLAIMED};
	uint64_t next = UINT64_MAX;

	if (queue_first(t, Q_PROBE) != NEIGH_NONE || queue_first(t, Q_ASK) != NEIGH_NONE)
		return 0;
	for (size_t i = 0; i < sizeof(timed) / sizeof(timed[0]); i++) {
		const uint16_t first = queue_first(t, timed[i]);

		if (first != NEIGH_NONE && t->entry[first].due_ms < next)
			next = t->entry[first].due_ms;
	}
	return next;
}

const struct neigh_hop *neigh_hops(const struct neigh_table *t)
{
	return t->hop;
}

uint32_t neigh_note(const struct neigh_table *t, uint16_t index)
{
	return index | (uint32_t)t->entry[index].serial << 16;
}

uint16_t neigh_noted(const struct neigh_table *t, uint32_t note)
{
	const uint16_t index = (uint16_t)note;

	if (note == 0 || index >= t->config.entries || t->entry[index].serial != note >> 16)
		return NEIGH_NONE;
	return index;
}

bool neigh_renounce(struct neigh_table *t, uint16_t *index, unsigned int n)
{
	for (; n > 0 && *index < t->config.entries; n--, ++*index) {
		struct entry *e = &t->entry[*index];

		if (e->state == NEIGH_FREE)
			continue;
		e->serial = next_serial(e);
		e->kept = false;
		hop_update(t, *index);
	}
	return *index < t->config.entries;
}

enum neigh_state neigh_state(const struct neigh_table *t, uint16_t index)
{
	return t->entry[index].state;
}

unsigned int neigh_list(
	const struct neigh_table *t, uint16_t *index, struct neigh_info *out, unsigned int max)
{
	unsigned int n = 0;

	for (; max > 0 && *index < t->config.entries; max--, ++*index) {
		const struct entry *e = &t->entry[*index];

		if (e->state == NEIGH_FREE)
			continue;
		out[n] = (struct neigh_info){.target = e->target,
			.state = e->state,
			.port = e->port,
			.held = e->held.nb,
			.kept = e->kept};
		memcpy(out[n++].mac, e->mac, sizeof(e->mac));
	}
	if (*index >= t->config.entries)
		*index = NEIGH_NONE;
	return n;
}

const char *neigh_state_name(enum neigh_state state)
{
	static const char *const names[] = {[NEIGH_FREE] = "free",
		[NEIGH_INCOMPLETE] = "incomplete",
		[NEIGH_REACHABLE] = "reachable",
		[NEIGH_STALE] = "stale",
		[NEIGH_PROBE] = "probe",
		[NEIGH_FAILED] = "failed"};

	return names[state];
}
