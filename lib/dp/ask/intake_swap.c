// SPDX-License-Identifier: BSD-3-Clause
// Replaces the alternates of all workers, as ask/policy_swap.c replaces the policy: each worker
// gets a question in its mailbox and takes the new ones between two rounds. The old ones are freed
// when no worker can read them.
#include "ask/intake_swap.h"

#include <errno.h>
#include <string.h>

#include "datapath.h"
#include "dp.h"
#include "dp_intake.h"
#include "turn_alternates.h"
#include "path/worker.h"

enum state { TO_ASK, ASKED, ANSWERED };

int dp_alternates_set(struct dp *d, struct turn_alternates *alternates)
{
	struct alternates *s = &d->alternates;

	if (s->under_way)
		return -EBUSY;
	s->next = alternates;
	s->under_way = true;
	memset(s->state, TO_ASK, sizeof(s->state));
	return 0;
}

// Continues with one worker. True when it has answered.
static bool step_worker(struct dp *d, unsigned int worker)
{
	const struct dp_question q = {
		.kind = DP_ASK_ALTERNATES, .max = 1, .alternates = d->alternates.next};
	uint8_t *state = &d->alternates.state[worker];

	if (*state == TO_ASK && dp_ask(d, worker, &q) == 0)
		*state = ASKED;
	if (*state == ASKED && dp_answered(d, worker, DP_ASK_ALTERNATES) != NULL) {
		*state = ANSWERED;
		dp_answer_done(d, worker, DP_ASK_ALTERNATES);
	}
	return *state == ANSWERED;
}

bool dp_alternates_step(struct dp *d)
{
	struct alternates *s = &d->alternates;
	unsigned int answered = 0;

	if (!s->under_way)
		return true;
	for (unsigned int i = 0; i < d->nb_workers; i++)
		answered += step_worker(d, i);
	if (answered < d->nb_workers)
		return false;
	turn_alternates_free(s->now);
	s->now = s->next;
	s->next = NULL;
	s->under_way = false;
	return true;
}

void alternates_free(struct dp *d)
{
	struct alternates *s = &d->alternates;

	for (unsigned int i = 0; i < d->nb_made; i++) {
		if (s->under_way && s->state[i] == ASKED)
			dp_answer_done(d, i, DP_ASK_ALTERNATES);
		if (d->worker[i]->shard != NULL)
			turn_shard_set_alternates(d->worker[i]->shard, NULL);
	}
	turn_alternates_free(s->now);
	turn_alternates_free(s->next);
	*s = (struct alternates){0};
}
