// SPDX-License-Identifier: BSD-3-Clause
// Gives all workers another drain, as control/reload.c gives them another policy: each is asked by
// its mailbox and takes it between two rounds, and the old one is freed once nobody can read it.
#include "control/drain.h"

#include <errno.h>
#include <string.h>

#include "datapath.h"
#include "dp.h"
#include "dp_drain.h"
#include "turn_drain.h"
#include "worker.h"

enum state { TO_ASK, ASKED, ANSWERED };

int dp_drain_set(struct dp *d, struct turn_drain *drain)
{
	struct drain *s = &d->drain;

	if (s->under_way)
		return -EBUSY;
	s->next = drain;
	s->under_way = true;
	memset(s->state, TO_ASK, sizeof(s->state));
	return 0;
}

// Goes on with one worker. True when it has answered.
static bool step_worker(struct dp *d, unsigned int worker)
{
	const struct dp_question q = {.kind = DP_ASK_DRAIN, .max = 1, .drain = d->drain.next};
	uint8_t *state = &d->drain.state[worker];

	if (*state == TO_ASK && dp_ask(d, worker, &q) == 0)
		*state = ASKED;
	if (*state == ASKED && dp_answered(d, worker, DP_ASK_DRAIN) != NULL) {
		*state = ANSWERED;
		dp_answer_done(d, worker, DP_ASK_DRAIN);
	}
	return *state == ANSWERED;
}

bool dp_drain_step(struct dp *d)
{
	struct drain *s = &d->drain;
	unsigned int answered = 0;

	if (!s->under_way)
		return true;
	for (unsigned int i = 0; i < d->nb_workers; i++)
		answered += step_worker(d, i);
	if (answered < d->nb_workers)
		return false;
	turn_drain_free(s->now);
	s->now = s->next;
	s->next = NULL;
	s->under_way = false;
	return true;
}

void drain_free(struct dp *d)
{
	struct drain *s = &d->drain;

	for (unsigned int i = 0; i < d->nb_made; i++) {
		if (s->under_way && s->state[i] == ASKED)
			dp_answer_done(d, i, DP_ASK_DRAIN);
		if (d->worker[i]->shard != NULL)
			turn_shard_set_drain(d->worker[i]->shard, NULL);
	}
	turn_drain_free(s->now);
	turn_drain_free(s->next);
	*s = (struct drain){0};
}
