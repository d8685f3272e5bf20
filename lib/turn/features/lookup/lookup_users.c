// SPDX-License-Identifier: BSD-3-Clause
// Records of looked-up users (lookup_users.h).
#include "features/lookup/lookup_users.h"

#include <string.h>

#include "features/lookup/lookup_secrets.h"
#include "invariant.h"
#include "shard.h"
#include "turn_shard.h"

#define SOURCES 4096u // buckets of sources, and of networks
#define NETWORK_TIMES 20 // multiple of a source's limit for its network
#define LOOKS 64 // records to consider for another user
#define NO_PLACE UINT16_MAX
#define HOLD_S 2 // an answer holds at least this long: waiting requests must find it
#define LONGEST_S (7 * 86400u)

static bool is_on(const struct turn_shard_params *p)
{
	return p->config->lookup.enabled;
}

static size_t round_up(size_t size)
{
	return (size + 63) & ~(size_t)63;
}

static size_t users_size(const struct turn_lookup *l)
{
	return round_up(l->users * sizeof(struct lookup_user));
}

static size_t questions_size(const struct turn_lookup *l)
{
	return round_up(l->questions * sizeof(struct lookup_question));
}

size_t lookup_size(const struct turn_shard_params *p, uint32_t permissions)
{
	const struct turn_lookup *l = &p->config->lookup;

	if (!is_on(p))
		return 0;
	return users_size(l) + questions_size(l) + table_size(l->users) +
		limiter_size(SOURCES, SOURCES) + lookup_secrets_size();
}

void lookup_init(struct turn_shard *s, void *mem, const struct turn_shard_params *p)
{
	const struct turn_lookup *config = &p->config->lookup;
	struct lookup *l = &s->lookup;
	uint8_t *pos = mem;

	if (!is_on(p))
		return;
	l->nb_users = config->users;
	l->nb_questions = config->questions;
	l->deadline_ms = config->deadline_ms;
	l->limit = config->each;
	l->key = s->key;
	l->user = (struct lookup_user *)pos;
	pos += users_size(config);
	l->question = (struct lookup_question *)pos;
	pos += questions_size(config);
	table_init(&l->by_ident, pos, l->nb_users);
	pos += table_size(l->nb_users);
	l->each = (struct limiter){.key = s->key};
	limiter_init(&l->each, pos, SOURCES, SOURCES);
	l->each.times = NETWORK_TIMES;
	l->each.parts = p->config->workers; // the shard does not know it yet
	pos += limiter_size(SOURCES, SOURCES);
	l->secrets = (struct lookup_secrets *)pos;
	l->first = l->last = NO_PLACE;
	for (uint32_t i = 0; i < config->questions; i++)
		l->question[i].next = i + 1 < config->questions ? (uint16_t)(i + 1) : NO_PLACE;
}

uint32_t lookup_now(const struct turn_shard *s)
{
	return (uint32_t)(s->now_ms / 1000);
}

// --- users ---------------------------------------------------------------------------------------

static uint64_t hash_of(const struct lookup *l, const uint8_t ident[TURN_IDENT_LEN])
{
	return hash_bytes(&l->key, ident, TURN_IDENT_LEN);
}

uint32_t lookup_realm(const struct turn_shard *s, const char *realm)
{
	return (uint32_t)hash_bytes(&s->lookup.key, realm, strlen(realm)) | 1;
}

struct lookup_user *lookup_find(struct turn_shard *s, const uint8_t ident[TURN_IDENT_LEN])
{
	struct lookup *l = &s->lookup;
	struct table_iter it = {0};
	uint32_t i;

	while (table_next(&l->by_ident, hash_of(l, ident), &it, &i))
		if (memcmp(l->user[i].ident, ident, TURN_IDENT_LEN) == 0) {
			l->user[i].seen = true;
			return &l->user[i];
		}
	return NULL;
}

// The next record that another user may have: it is free, or nobody has seen its user since the
// hand last passed. Without such a record among those considered: any that no question needs.
static struct lookup_user *choose_record(struct lookup *l)
{
	struct lookup_user *spare = NULL;

	for (unsigned int i = 0; i < LOOKS; i++) {
		struct lookup_user *u = &l->user[l->hand];

		l->hand = l->hand + 1 < l->nb_users ? l->hand + 1 : 0;
		if (u->state == LOOKUP_FREE || (u->question == LOOKUP_NO_QUESTION && !u->seen))
			return u;
		if (u->question == LOOKUP_NO_QUESTION)
			spare = u;
		u->seen = false;
	}
	return spare;
}

struct lookup_user *lookup_make(struct turn_shard *s, const uint8_t ident[TURN_IDENT_LEN])
{
	struct lookup *l = &s->lookup;
	struct lookup_user *u = lookup_find(s, ident);

	if (u != NULL)
		return u;
	u = choose_record(l);
	if (u == NULL)
		return NULL;
	if (u->state != LOOKUP_FREE)
		table_remove(&l->by_ident, hash_of(l, u->ident), (uint32_t)(u - l->user));
	explicit_bzero(u, sizeof(*u));
	if (!table_insert(&l->by_ident, hash_of(l, ident), (uint32_t)(u - l->user)))
		return NULL;
	memcpy(u->ident, ident, TURN_IDENT_LEN);
	u->state = LOOKUP_ASKED;
	u->seen = true;
	u->question = LOOKUP_NO_QUESTION;
	return u;
}

// --- questions -----------------------------------------------------------------------------------

static void append_question(struct lookup *l, uint16_t place)
{
	struct lookup_question *q = &l->question[place];

	q->next = NO_PLACE;
	q->prev = l->last;
	if (l->last == NO_PLACE)
		l->first = place;
	else
		l->question[l->last].next = place;
	l->last = place;
}

static void remove_question(struct lookup *l, uint16_t place)
{
	struct lookup_question *q = &l->question[place];

	ASSERT(q->id != 0 && l->user[q->user].question == place);
	if (q->prev == NO_PLACE)
		l->first = q->next;
	else
		l->question[q->prev].next = q->next;
	if (q->next == NO_PLACE)
		l->last = q->prev;
	else
		l->question[q->next].prev = q->prev;
	l->user[q->user].question = LOOKUP_NO_QUESTION;
	q->id = 0;
	q->next = l->free;
	l->free = place;
}

bool lookup_ask(struct turn_shard *s, struct lookup_user *u, struct turn_lookup_question *q)
{
	struct lookup *l = &s->lookup;
	const uint16_t place = l->free;

	ASSERT(u->question == LOOKUP_NO_QUESTION);
	if (place == NO_PLACE)
		return false;
	// the serial number makes an answer of an earlier question at this place too late
	memcpy(q->ident, u->ident, sizeof(q->ident));
	q->id = (uint64_t)s->worker << 58 | (l->serial + 1) << 15 | place;
	if (s->ask == NULL || !s->ask(s->ctx, q))
		return false;
	l->serial++;
	l->free = l->question[place].next;
	l->question[place] = (struct lookup_question){
		.id = q->id, .asked_ms = s->now_ms, .user = (uint32_t)(u - l->user)};
	append_question(l, place);
	u->question = place;
	s->stats.lookups++;
	return true;
}

static uint32_t seconds_later(uint32_t now, uint32_t seconds)
{
	return now + (seconds < LONGEST_S ? seconds : LONGEST_S);
}

static void take_answer(
	const struct turn_shard *s, struct lookup_user *u, const struct turn_lookup_answer *a)
{
	const uint32_t hold = a->lifetime_s > HOLD_S ? a->lifetime_s : HOLD_S;

	u->state = a->result == TURN_LOOKUP_KEYS ? LOOKUP_USER : LOOKUP_NOBODY;
	u->has_md5 = a->result == TURN_LOOKUP_KEYS && a->has_md5;
	u->has_sha256 = a->result == TURN_LOOKUP_KEYS && a->has_sha256;
	memcpy(u->md5, a->md5, sizeof(u->md5));
	memcpy(u->sha256, a->sha256, sizeof(u->sha256));
	u->answered = lookup_now(s);
	u->until = seconds_later(lookup_now(s), hold);
	u->stale_until = seconds_later(u->until, u->state == LOOKUP_USER ? a->stale_s : 0);
}

// Another worker has asked about a user, and tells the keys. An answer to a question of our own is
// taken when it comes.
static void take_told(struct turn_shard *s, const struct turn_lookup_answer *a)
{
	struct lookup_user *u = lookup_make(s, a->ident);

	if (u != NULL)
		take_answer(s, u, a);
}

bool turn_lookup_answered(struct turn_shard *s, const struct turn_lookup_answer *a)
{
	struct lookup *l = &s->lookup;
	const uint32_t place = turn_lookup_place(a->id);
	struct lookup_user *u;

	if (a->id == 0 && l->nb_users > 0) {
		take_told(s, a);
		return false;
	}
	if (l->nb_users == 0 || place >= l->nb_questions || l->question[place].id != a->id) {
		s->stats.lookups_late++;
		return false;
	}
	u = &l->user[l->question[place].user];
	s->stats.lookup_ms += s->now_ms - l->question[place].asked_ms;
	remove_question(l, (uint16_t)place);
	switch ((enum turn_lookup_result)a->result) {
	case TURN_LOOKUP_KEYS:
		s->stats.lookups_known++;
		take_answer(s, u, a);
		break;
	case TURN_LOOKUP_UNKNOWN:
		s->stats.lookups_unknown++;
		take_answer(s, u, a);
		break;
	case TURN_LOOKUP_NO_ANSWER:
		s->stats.lookups_unanswered++;
		break;
	}
	return true;
}

uint32_t turn_lookup_overdue(struct turn_shard *s)
{
	struct lookup *l = &s->lookup;
	const uint16_t place = l->nb_users > 0 ? l->first : NO_PLACE;

	if (place == NO_PLACE || s->now_ms - l->question[place].asked_ms < l->deadline_ms)
		return TURN_NONE;
	remove_question(l, place);
	s->stats.lookups_unanswered++;
	return place;
}
