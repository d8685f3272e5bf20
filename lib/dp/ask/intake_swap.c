// SPDX-License-Identifier: BSD-3-Clause
// Tells all workers which new allocations to refuse, as ask/policy_swap.c replaces the policy: each
// worker gets a question in its mailbox and takes the new struct between two rounds. Objects of the
// old one are freed when no worker can read them.
#include "ask/intake_swap.h"

#include <string.h>

#include "datapath.h"
#include "dp.h"
#include "dp_intake.h"
#include "invariant.h"
#include "path/worker.h"

enum state { TO_ASK, ASKED, ANSWERED };

static void free_parts(const struct turn_intake *i)
{
#define X(type, field, free) free(i->field);
	TURN_CONFIG_INTAKE(X)
#undef X
}

void dp_intake_set(struct dp *d, const struct turn_intake *next)
{
	struct intake *s = &d->intake;

	ASSERT(!s->under_way);
	s->next = *next;
	s->under_way = true;
	memset(s->state, TO_ASK, sizeof(s->state));
}

// Continues with one worker. True when it has answered.
static bool step_worker(struct dp *d, unsigned int worker)
{
	const struct dp_question q = {.kind = DP_ASK_INTAKE, .max = 1, .intake = &d->intake.next};
	uint8_t *state = &d->intake.state[worker];

	if (*state == TO_ASK && dp_ask(d, worker, &q) == 0)
		*state = ASKED;
	if (*state == ASKED && dp_answered(d, worker, DP_ASK_INTAKE) != NULL) {
		*state = ANSWERED;
		dp_answer_done(d, worker, DP_ASK_INTAKE);
	}
	return *state == ANSWERED;
}

bool dp_intake_step(struct dp *d)
{
	struct intake *s = &d->intake;
	unsigned int answered = 0;

	if (!s->under_way)
		return true;
	for (unsigned int i = 0; i < d->nb_workers; i++)
		answered += step_worker(d, i);
	if (answered < d->nb_workers)
		return false;
	free_parts(&s->now);
	s->now = s->next;
	s->next = (struct turn_intake){0};
	s->under_way = false;
	return true;
}

void intake_free(struct dp *d)
{
	static const struct turn_intake all = {0};
	struct intake *s = &d->intake;

	for (unsigned int i = 0; i < d->nb_made; i++) {
		if (s->under_way && s->state[i] == ASKED)
			dp_answer_done(d, i, DP_ASK_INTAKE);
		if (d->worker[i]->shard != NULL)
			turn_shard_set_intake(d->worker[i]->shard, &all);
	}
	free_parts(&s->now);
	free_parts(&s->next);
	*s = (struct intake){0};
}
