// SPDX-License-Identifier: BSD-3-Clause
// Runs the scans. Each scan has one question at a time; workers answer it over several rounds.
#include <stdlib.h>

#include "clock.h"
#include "socket/commands.h"
#include "answers/scans.h"

#define LOOK_US 50 // interval of checks for an answer
#define SOON_MS 5 // the answer usually comes within that; later checks are rarer
#define LATER_US 1000
#define ANSWER_MS 30000 // a worker that takes longer does not run

struct scan *scans_new(struct command *c, const struct scan_kind *kind, int worker)
{
	struct scan *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return NULL;
	s->kind = kind;
	s->control = c->control;
	s->client = c->client;
	s->out = c->out;
	s->first = s->worker = worker >= 0 ? (unsigned int)worker : 0;
	s->last = worker >= 0 ? (unsigned int)worker : dp_workers(c->control->dp) - 1;
	return s;
}

void scans_begin(struct scan *s)
{
	struct scan **slot = &s->control->scans.first;

	while (*slot != NULL) // append: scans run in the order of their arrival
		slot = &(*slot)->next;
	*slot = s;
}

// Removes the scan from the list, answers and frees it.
static void finish_scan(struct scan *s)
{
	struct control *k = s->control;
	struct scan **slot = &k->scans.first;

	while (*slot != s)
		slot = &(*slot)->next;
	*slot = s->next;
	k->scans.heavy -= s->begun && s->kind->heavy;
	if (s->kind->done != NULL)
		s->kind->done(s);
	if (s->client != NULL)
		commands_answer(k, s->client, s->out, s->error[0] != '\0' ? s->error : NULL);
	else
		json_decref(s->out);
	ranking_free(&s->ranking);
	tally_free(&s->tally);
	free(s->sample);
	free(s->order);
	free(s);
}

// Continues after an answer with the same worker, the next worker, or the end of the phase. True if
// the scan is complete.
static bool go_on(struct scan *s, const struct turn_walk *walk)
{
	s->question.walk = *walk;
	if (!walk->end && !s->enough)
		return false;
	s->question.walk = (struct turn_walk){.skip = walk->skip};
	if (s->worker++ < s->last && !s->enough)
		return false;
	s->enough = false;
	if (s->kind->end(s))
		return true;
	s->worker = s->first;
	return false;
}

static bool is_late(const struct scan *s)
{
	return clock_monotonic_ms() - s->since_ms >= ANSWER_MS;
}

static bool give_up(struct scan *s)
{
	snprintf(s->error, sizeof(s->error), "worker %u does not answer", s->worker);
	return true;
}

// Asks the worker, unless it still has an unanswered question of an abandoned scan. True if the
// scan is complete.
static bool ask_worker(struct scan *s)
{
	if (s->since_ms == 0)
		s->since_ms = clock_monotonic_ms();
	s->asked = dp_ask(s->control->dp, s->worker, &s->question) == 0;
	return !s->asked && is_late(s) && give_up(s);
}

// Checks for the answer. True if the scan is complete.
static bool check_answer(struct scan *s)
{
	const struct dp_answer *a = dp_answered(s->control->dp, s->worker, s->question.kind);
	const unsigned int worker = s->worker, kind = s->question.kind;
	struct turn_walk walk;
	bool ok;

	if (a == NULL && !is_late(s))
		return false;
	s->asked = false;
	s->since_ms = 0;
	if (a == NULL) {
		dp_answer_done(s->control->dp, worker, kind);
		return give_up(s);
	}
	walk = a->walk;
	ok = s->kind->take(s, a);
	dp_answer_done(s->control->dp, worker, kind);
	return !ok || go_on(s, &walk);
}

// One step of a scan. True if the next step need not wait.
static bool step_scan(struct scan *s, bool *complete)
{
	struct scans *all = &s->control->scans;

	*complete = false;
	if (s->client == NULL && !s->kind->orders && !s->asked) {
		*complete = true;
		return true;
	}
	if (!s->begun && s->kind->heavy && all->heavy >= SCANS_HEAVY)
		return false;
	if (!s->begun)
		all->heavy += s->kind->heavy;
	s->begun = true;
	if (s->asked) {
		*complete = check_answer(s);
		return !s->asked;
	}
	*complete = ask_worker(s);
	return false;
}

// How long to wait before the next step of a scan.
static int64_t pause_us(const struct scan *s, uint64_t now_ms)
{
	return s->since_ms + SOON_MS > now_ms ? LOOK_US : LATER_US;
}

int64_t scans_step(struct control *k)
{
	const uint64_t now_ms = clock_monotonic_ms();
	int64_t wait_us = -1;
	struct scan *next;

	for (struct scan *s = k->scans.first; s != NULL; s = next) {
		bool complete = false, again;
		int64_t us;

		next = s->next;
		if (s->rest_until_ms > now_ms && (s->client != NULL || s->kind->orders)) {
			us = (int64_t)(s->rest_until_ms - now_ms) * 1000;
		} else {
			again = step_scan(s, &complete);
			us = again ? 0 : pause_us(s, now_ms);
		}
		if (complete)
			finish_scan(s);
		if (wait_us < 0 || us < wait_us)
			wait_us = us;
	}
	return k->scans.first != NULL ? wait_us : -1;
}

void scans_gone(struct control *k, const struct client *c)
{
	for (struct scan *s = k->scans.first; s != NULL; s = s->next)
		if (s->client == c)
			s->client = NULL;
}

void scans_close(struct control *k)
{
	while (k->scans.first != NULL) {
		struct scan *s = k->scans.first;

		if (s->asked)
			dp_answer_done(k->dp, s->worker, s->question.kind);
		s->client = NULL;
		finish_scan(s);
	}
}
