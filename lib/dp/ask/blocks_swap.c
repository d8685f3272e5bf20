// SPDX-License-Identifier: BSD-3-Clause
// Gives all workers another set of blocks, as ask/intake_swap.c does with the rules for new
// allocations. Each worker then ends what the set blocks. The old set is freed when no thread can
// read it.
#include "ask/blocks_swap.h"

#include <string.h>

#include "datapath.h"
#include "dp.h"
#include "dp_blocks.h"
#include "invariant.h"
#include "path/worker.h"
#include "stream_change.h"
#include "turn_blocks.h"
#include "turn_judge.h"

enum state { TO_ASK, ASKED, ANSWERED };

// Stream threads use the next set before the first worker has it.
static void show_blocks(struct dp *d, const struct turn_blocks *blocks)
{
	pthread_mutex_lock(&d->policy_lock);
	d->blocks.shown = blocks;
	pthread_mutex_unlock(&d->policy_lock);
}

bool dp_blocks_set(struct dp *d, struct turn_blocks *next, bool more)
{
	struct blocks_swap *s = &d->blocks;

	ASSERT(!s->under_way);
	s->judge = turn_judge_blocks(next);
	if (s->judge == NULL)
		return false;
	s->next = next;
	s->under_way = true;
	s->more = more && next != NULL;
	s->ended = 0;
	memset(s->state, TO_ASK, sizeof(s->state));
	for (unsigned int i = 0; i < TURN_WORKERS_MAX; i++)
		s->walk[i] = (struct turn_walk){.end = !s->more};
	show_blocks(d, next);
	return true;
}

// Continues with one worker. True when it has the set and has ended everything.
static bool step_worker(struct dp *d, unsigned int worker)
{
	struct blocks_swap *s = &d->blocks;
	const struct dp_question q = {.kind = DP_ASK_BLOCKS,
		.max = 1,
		.walk = s->walk[worker],
		.blocks = s->next,
		.judge = s->judge};
	const struct dp_answer *a;

	if (s->state[worker] == TO_ASK && dp_ask(d, worker, &q) == 0)
		s->state[worker] = ASKED;
	a = s->state[worker] == ASKED ? dp_answered(d, worker, DP_ASK_BLOCKS) : NULL;
	if (a != NULL) {
		s->ended += a->nb;
		s->walk[worker] = a->walk;
		s->state[worker] = a->walk.end ? ANSWERED : TO_ASK;
		dp_answer_done(d, worker, DP_ASK_BLOCKS);
	}
	return s->state[worker] == ANSWERED;
}

bool dp_blocks_step(struct dp *d, unsigned int *ended)
{
	struct blocks_swap *s = &d->blocks;
	unsigned int answered = 0;

	if (!s->under_way)
		return true;
	for (unsigned int i = 0; i < d->nb_workers; i++)
		answered += step_worker(d, i);
	if (answered < d->nb_workers)
		return false;
	if (d->streams != NULL && s->more)
		stream_review_clients(d->streams);
	turn_judge_free(s->judge);
	turn_blocks_free(s->now);
	s->judge = NULL;
	s->now = s->next;
	s->next = NULL;
	s->under_way = false;
	*ended += s->ended;
	return true;
}

void blocks_swap_free(struct dp *d)
{
	struct blocks_swap *s = &d->blocks;

	for (unsigned int i = 0; i < d->nb_made; i++) {
		if (s->under_way && s->state[i] == ASKED)
			dp_answer_done(d, i, DP_ASK_BLOCKS);
		if (d->worker[i]->shard != NULL)
			turn_shard_set_blocks(d->worker[i]->shard, NULL);
	}
	turn_judge_free(s->judge);
	turn_blocks_free(s->now);
	turn_blocks_free(s->next);
	*s = (struct blocks_swap){0};
}
