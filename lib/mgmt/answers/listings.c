// SPDX-License-Identifier: BSD-3-Clause
// The commands that ask workers. A sorted listing asks for the keys of all allocations, keeps the
// largest ones up to the end of its page, and then asks for their rows. To sort by a rate, it asks
// for the keys twice, a second apart. A user's value is the sum of the user's keys.
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "dp_realms.h"
#include "log/log.h"
#include "socket/fields.h"
#include "answers/listings.h"
#include "answers/shown.h"

#define SORTED_MAX 65536 // rows that a sorted listing can reach
#define ROOM_MS 5 // pause of an order that finds no room for events
#define ROOM_MAX_MS 10000 // the order fails after this time without room
#define RATE_MS 1000 // interval of the two samples of a rate

enum listing_sort {
	SORT_NONE,
	SORT_RATE,
	SORT_BITRATE,
	SORT_AGE,
	SORT_DATAGRAMS,
	SORT_BYTES,
	SORT_ALLOCATIONS,
};
static const char *const sorts[] = {"", "rate", "bitrate", "age", "datagrams", "bytes", NULL};
static const char *const user_sorts[] = {
	"", "rate", "bitrate", "", "datagrams", "bytes", "allocations", NULL};
enum phase { PHASE_ROWS, PHASE_KEYS, PHASE_SAMPLES, PHASE_RATES, PHASE_FETCH };

static enum command_end begin_listing(struct command *c, struct scan *s)
{
	if (s == NULL)
		return commands_refuse(c, "no memory");
	s->list = json_array();
	s->begun_ms = clock_monotonic_ms();
	json_object_set_new(c->out, "rows", s->list);
	scans_begin(s);
	return COMMAND_LATER;
}

static bool fail_scan(struct scan *s, const char *reason)
{
	snprintf(s->error, sizeof(s->error), "%s", reason);
	return false;
}

static void add_next(struct scan *s)
{
	json_object_set_new(s->out, "next", shown_number(s->page + 1));
}

// --- rows in the order of slots ------------------------------------------------------------------

// Adds the number of realms to a listing: with several, the display needs a column for them.
static void add_realms(struct scan *s)
{
	json_object_set_new(s->out, "realms", shown_number(fields_realms(s->control) + 1));
}

static bool rows_take(struct scan *s, const struct dp_answer *a)
{
	for (unsigned int i = 0; i < a->nb; i++) {
		if (s->got == s->rows) {
			add_next(s);
			s->enough = true;
			return true;
		}
		json_array_append_new(s->list, shown_allocation(s->control->dp, &a->rows[i]));
		s->got++;
	}
	s->question.max = s->rows + 1 - s->got;
	return true;
}

// --- sorted --------------------------------------------------------------------------------------

static bool sample_put(struct scan *s, const struct turn_key *key, uint64_t at_ms)
{
	if (s->nb_samples == s->room_samples) {
		const size_t room = s->room_samples != 0 ? 2 * s->room_samples : 4096;
		struct scan_sample *more = realloc(s->sample, room * sizeof(*more));

		if (more == NULL)
			return false;
		s->sample = more;
		s->room_samples = room;
	}
	s->sample[s->nb_samples++] = (struct scan_sample){key->id, key->value, (uint32_t)at_ms};
	return true;
}

static bool by_rate(unsigned int sort)
{
	return sort == SORT_RATE || sort == SORT_BITRATE;
}

// Makes a key whose value is the growth per second, in datagrams or bits. Both samples are in the
// order of worker and slot, like ids, so one pass forward finds the earlier values.
static struct turn_key rate_of(struct scan *s, const struct turn_key *key, uint64_t at_ms)
{
	const uint64_t unit = s->sort == SORT_BITRATE ? 8 : 1;
	struct turn_key rate = *key;
	const struct scan_sample *b;
	uint32_t ms;

	while (s->at_sample < s->nb_samples && s->sample[s->at_sample].id < key->id)
		s->at_sample++;
	b = &s->sample[s->at_sample];
	if (s->at_sample == s->nb_samples || b->id != key->id) {
		rate.value = unit * key->value * 1000 / RATE_MS; // younger than the interval
	} else {
		ms = (uint32_t)at_ms - b->at_ms;
		// a count falls when packets that waited for a neighbour are lost
		rate.value = ms > 0 && key->value > b->value
			? unit * (key->value - b->value) * 1000 / ms
			: 0;
	}
	return rate;
}

static bool keys_take(struct scan *s, const struct dp_answer *a)
{
	for (unsigned int i = 0; i < a->nb; i++) {
		struct turn_key key = a->keys[i];

		if (s->phase == PHASE_SAMPLES) {
			if (!sample_put(s, &key, a->at_ms))
				return fail_scan(s, "no memory for the rates of all allocations");
			continue;
		}
		if (s->phase == PHASE_RATES)
			key = rate_of(s, &key, a->at_ms);
		if (!s->by_user)
			ranking_put(&s->ranking, &key);
		else if (!tally_put(&s->tally, &key))
			return fail_scan(s, "no memory for all users");
	}
	return true;
}

// The key of the row to fetch next.
static struct turn_key *fetched_key(const struct scan *s)
{
	return &s->ranking.key[s->page * s->rows + s->got];
}

// Asks for the next row of the page. True if the page is complete.
static bool fetch_next(struct scan *s)
{
	const unsigned int rank = s->page * s->rows + s->got;

	if (s->got == s->rows && rank < s->ranking.n)
		add_next(s);
	if (s->got == s->rows || rank >= s->ranking.n)
		return true;
	s->question = (struct dp_question){.kind = DP_ASK_ROWS,
		.max = 1,
		.filter = {.wants = TURN_FILTER_ID, .id = fetched_key(s)->id}};
	s->first = s->last = turn_listing_worker(fetched_key(s)->id);
	return false;
}

static bool sorted_take(struct scan *s, const struct dp_answer *a)
{
	json_t *row;

	if (s->phase == PHASE_ROWS)
		return rows_take(s, a);
	if (s->phase != PHASE_FETCH)
		return keys_take(s, a);
	if (a->nb > 0) { // otherwise it has ended since
		row = shown_allocation(s->control->dp, &a->rows[0]);
		if (by_rate(s->sort))
			json_object_set_new(
				row, sorts[s->sort], shown_number(fetched_key(s)->value));
		json_array_append_new(s->list, row);
	}
	return true;
}

static bool samples_end(struct scan *s)
{
	s->phase = PHASE_RATES;
	s->rest_until_ms = clock_monotonic_ms() + RATE_MS;
	return false;
}

static bool sorted_end(struct scan *s)
{
	switch ((enum phase)s->phase) {
	case PHASE_ROWS:
		return true;
	case PHASE_SAMPLES:
		return samples_end(s);
	case PHASE_KEYS:
	case PHASE_RATES:
		ranking_sort(&s->ranking);
		s->phase = PHASE_FETCH;
		return fetch_next(s);
	case PHASE_FETCH:
		s->got++;
		return fetch_next(s);
	}
	return true;
}

static const struct scan_kind rows_kind = {.take = sorted_take, .end = sorted_end};
static const struct scan_kind sorted_kind = {.heavy = true, .take = sorted_take, .end = sorted_end};

static enum turn_sort sort_of(unsigned int sort)
{
	if (sort == SORT_AGE)
		return TURN_SORT_AGE;
	return sort == SORT_BYTES || sort == SORT_BITRATE ? TURN_SORT_BYTES : TURN_SORT_DATAGRAMS;
}

static bool page_fits(struct command *c, unsigned int page, unsigned int rows)
{
	if ((uint64_t)(page + 1) * rows <= SORTED_MAX)
		return true;
	commands_refuse(c, "page: a sorted listing has %d rows at most; use filters, or no sort",
		SORTED_MAX);
	return false;
}

enum command_end listings_allocations(struct command *c)
{
	struct dp_question q = {0};
	unsigned int page, rows, sort = SORT_NONE;
	struct scan *s;
	int worker;

	if (!fields_filter(c, &q.filter) || !fields_page(c, &page, &rows) ||
		!fields_worker(c, &worker) || !fields_word(c, "sort", sorts, &sort) ||
		(sort != SORT_NONE && !page_fits(c, page, rows)))
		return COMMAND_REFUSED;
	s = scans_new(c, sort == SORT_NONE ? &rows_kind : &sorted_kind, worker);
	if (s != NULL && sort != SORT_NONE && !ranking_init(&s->ranking, (page + 1) * rows + 1)) {
		free(s);
		s = NULL;
	}
	if (s == NULL)
		return begin_listing(c, s);
	q.kind = sort == SORT_NONE ? DP_ASK_ROWS : DP_ASK_KEYS;
	q.sort = (uint8_t)sort_of(sort);
	q.max = sort == SORT_NONE ? rows + 1 : DP_ANSWER_KEYS;
	q.walk.skip = sort == SORT_NONE ? page * rows : 0;
	s->question = q;
	s->page = page;
	s->rows = rows;
	s->sort = sort;
	s->phase = sort == SORT_NONE ? PHASE_ROWS : by_rate(sort) ? PHASE_SAMPLES : PHASE_KEYS;
	add_realms(s);
	return begin_listing(c, s);
}

// --- users ---------------------------------------------------------------------------------------

static bool user_take(struct scan *s, const struct dp_answer *a)
{
	const struct tally_row *t = tally_find(&s->tally, fetched_key(s)->user);
	json_t *row;

	if (t == NULL)
		return true;
	if (a->nb == 0) { // the allocation has ended; another one of the user may still
		// exist
		s->again = t->last != fetched_key(s)->id;
		fetched_key(s)->id = t->last;
		return true;
	}
	row = json_object();
	json_object_set_new(row, "user", shown_user(&a->rows[0]));
	json_object_set_new(
		row, "realm", shown_text(dp_realm_name(s->control->dp, a->rows[0].realm)));
	json_object_set_new(row, "allocations", shown_number(t->count));
	json_object_set_new(row,
		s->sort == SORT_ALLOCATIONS ? user_sorts[SORT_DATAGRAMS] : user_sorts[s->sort],
		shown_number(t->sum));
	json_array_append_new(s->list, row);
	return true;
}

static bool users_take(struct scan *s, const struct dp_answer *a)
{
	return s->phase == PHASE_FETCH ? user_take(s, a) : keys_take(s, a);
}

static bool users_end(struct scan *s)
{
	if (s->phase == PHASE_SAMPLES)
		return samples_end(s);
	if (s->phase == PHASE_FETCH) {
		s->got += s->again ? 0 : 1;
		s->again = false;
		return fetch_next(s);
	}
	for (uint32_t i = 0; i < s->tally.size; i++) {
		const struct tally_row *t = &s->tally.row[i];
		const uint64_t value = s->sort == SORT_ALLOCATIONS ? t->count : t->sum;

		if (t->count > 0)
			ranking_put(&s->ranking, &(struct turn_key){t->id, value, t->user});
	}
	json_object_set_new(s->out, "users", shown_number(s->tally.used));
	ranking_sort(&s->ranking);
	s->phase = PHASE_FETCH;
	return fetch_next(s);
}

static const struct scan_kind users_kind = {.heavy = true, .take = users_take, .end = users_end};

enum command_end listings_users(struct command *c)
{
	unsigned int page, rows, sort = SORT_ALLOCATIONS;
	struct dp_question q = {.kind = DP_ASK_KEYS, .max = DP_ANSWER_KEYS};
	struct scan *s;

	if (!fields_filter(c, &q.filter) || !fields_page(c, &page, &rows) ||
		!fields_word(c, "sort", user_sorts, &sort) || !page_fits(c, page, rows))
		return COMMAND_REFUSED;
	s = scans_new(c, &users_kind, -1);
	if (s != NULL && !ranking_init(&s->ranking, (page + 1) * rows + 1)) {
		free(s);
		s = NULL;
	}
	if (s == NULL)
		return begin_listing(c, s);
	q.sort = (uint8_t)sort_of(sort);
	s->question = q;
	s->page = page;
	s->rows = rows;
	s->sort = sort != SORT_NONE ? sort : SORT_ALLOCATIONS;
	s->by_user = true;
	s->phase = by_rate(sort) ? PHASE_SAMPLES : PHASE_KEYS;
	add_realms(s);
	return begin_listing(c, s);
}

// --- one allocation ------------------------------------------------------------------------------

static bool show_take(struct scan *s, const struct dp_answer *a)
{
	json_t *o;

	if (!a->detail.found)
		return fail_scan(
			s, "id: there is no such allocation: it has ended, or never existed");
	o = shown_detail(s->control->dp, &a->detail, s->page);
	json_object_del(s->out, "rows");
	json_object_update(s->out, o);
	json_decref(o);
	return true;
}

static bool at_end(struct scan *s)
{
	return true;
}

static const struct scan_kind show_kind = {.take = show_take, .end = at_end};

enum command_end listings_show(struct command *c)
{
	struct dp_question q = {.kind = DP_ASK_DETAIL};
	uint64_t page = 0;
	struct scan *s;

	if (!fields_filter(c, &q.filter) ||
		!fields_number(c, "page", &(struct fields_range){0, 4096}, &page))
		return COMMAND_REFUSED;
	if ((q.filter.wants & TURN_FILTER_ID) == 0)
		return commands_refuse(c, "id: say which allocation; allocations shows their ids");
	if (turn_listing_worker(q.filter.id) >= dp_workers(c->control->dp))
		return commands_refuse(
			c, "id: there is no such allocation: no worker has such numbers");
	s = scans_new(c, &show_kind, (int)turn_listing_worker(q.filter.id));
	if (s == NULL)
		return begin_listing(c, s);
	q.walk.skip = (uint32_t)page * TURN_DETAIL_ROWS;
	s->question = q;
	s->page = (unsigned int)page;
	return begin_listing(c, s);
}

// --- ending allocations --------------------------------------------------------------------------

// Each end writes a record, which needs room in the event ring: management soon makes room.
static bool kill_take(struct scan *s, const struct dp_answer *a)
{
	const uint64_t now_ms = clock_monotonic_ms();

	s->got += a->nb;
	if (a->walk.end)
		return true;
	if (a->walk.slot != s->question.walk.slot)
		s->begun_ms = now_ms;
	s->rest_until_ms = now_ms + ROOM_MS;
	if (now_ms - s->begun_ms < ROOM_MAX_MS)
		return true;
	return fail_scan(s, "not all allocations were ended: there is no room for events");
}

static bool kill_end(struct scan *s)
{
	LOG(CONTROL, NOTICE, "%u allocation%s ended by order %s", s->got, s->got == 1 ? "" : "s",
		s->order);
	json_object_del(s->out, "rows");
	json_object_set_new(s->out, "killed", shown_number(s->got));
	return true;
}

static void kill_done(struct scan *s)
{
	if (s->error[0] != '\0')
		LOG(CONTROL, ERR, "%u allocations ended, but not all (%s): order %s", s->got,
			s->error, s->order);
}

static const struct scan_kind kill_kind = {
	.orders = true, .take = kill_take, .end = kill_end, .done = kill_done};

enum command_end listings_kill(struct command *c)
{
	struct dp_question q = {.kind = DP_ASK_KILL};
	int worker = -1;
	struct scan *s;

	if (!fields_filter(c, &q.filter))
		return COMMAND_REFUSED;
	if (q.filter.wants == 0)
		return commands_refuse(
			c, "say which allocations: by id, user, realm, source or peer");
	if ((q.filter.wants & TURN_FILTER_ID) != 0)
		worker = (int)turn_listing_worker(q.filter.id);
	if (worker >= (int)dp_workers(c->control->dp))
		return commands_refuse(
			c, "id: there is no such allocation: no worker has such numbers");
	s = scans_new(c, &kill_kind, worker);
	if (s == NULL)
		return begin_listing(c, s);
	s->question = q;
	s->order = commands_order(c);
	if (s->order == NULL) {
		free(s);
		s = NULL;
	}
	return begin_listing(c, s);
}

// --- neighbours ----------------------------------------------------------------------------------

static bool neighbours_take(struct scan *s, const struct dp_answer *a)
{
	for (unsigned int i = 0; i < a->nb; i++, s->got++) {
		if (s->got < s->page * s->rows)
			continue;
		if (s->got == (s->page + 1) * s->rows) {
			add_next(s);
			s->enough = true;
			return true;
		}
		json_array_append_new(s->list, shown_neighbour(s->control->dp, &a->neighbours[i]));
	}
	return true;
}

static const struct scan_kind neighbours_kind = {.take = neighbours_take, .end = at_end};

enum command_end listings_neighbours(struct command *c)
{
	unsigned int page, rows;
	struct scan *s;
	int worker;

	if (!fields_page(c, &page, &rows) || !fields_worker(c, &worker))
		return COMMAND_REFUSED;
	s = scans_new(c, &neighbours_kind, worker >= 0 ? worker : 0);
	if (s == NULL)
		return begin_listing(c, s);
	s->question = (struct dp_question){.kind = DP_ASK_NEIGHBOURS, .max = DP_ANSWER_ROWS};
	s->page = page;
	s->rows = rows;
	json_object_set_new(c->out, "worker", shown_number(s->first));
	return begin_listing(c, s);
}
