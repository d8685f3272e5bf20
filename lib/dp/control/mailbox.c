// SPDX-License-Identifier: BSD-3-Clause
// Questions to a worker about what only it may look at, answered by it between rounds.
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "control/mailbox.h"
#include "datapath.h"
#include "dp.h"
#include "turn_shard.h"
#include "worker.h"

#define ANSWER_MS 100
#define LOOK_NS (200 * 1000)
#define PAGE_ROWS ((int)RTE_DIM(((struct mailbox *)NULL)->rows))

int mailbox_init(struct mailbox *b)
{
	return -pthread_mutex_init(&b->lock, NULL);
}

void mailbox_fini(struct mailbox *b)
{
	pthread_mutex_destroy(&b->lock);
}

void mailbox_serve(struct worker *w)
{
	struct mailbox *b = &w->mailbox;
	const uint64_t asked = __atomic_load_n(&b->asked, __ATOMIC_ACQUIRE);

	if (likely(asked == b->answered))
		return;
	b->nb = (int)turn_shard_list(
		w->shard, (uint32_t)asked * PAGE_ROWS, b->rows, (unsigned int)PAGE_ROWS);
	__atomic_store_n(&b->answered, asked, __ATOMIC_RELEASE);
}

// Asks and waits; the lock is held.
static int ask(struct mailbox *b, unsigned int page, struct turn_info *out)
{
	const uint64_t number = (b->asked >> 32) + 1;
	const uint64_t asked = number << 32 | page;
	const struct timespec pause = {.tv_nsec = LOOK_NS};

	__atomic_store_n(&b->asked, asked, __ATOMIC_RELEASE);
	for (unsigned int i = 0; i < ANSWER_MS * 1000u * 1000u / LOOK_NS; i++) {
		// by its number a late answer to a question given up is told from this one's
		if (__atomic_load_n(&b->answered, __ATOMIC_ACQUIRE) == asked) {
			memcpy(out, b->rows, (size_t)b->nb * sizeof(*out));
			return b->nb;
		}
		nanosleep(&pause, NULL);
	}
	return -EBUSY;
}

int dp_list(struct dp *d, unsigned int worker, unsigned int page, struct turn_info out[32])
{
	struct mailbox *b;
	struct timespec until;
	int n;

	if (worker >= d->nb_workers || page > UINT32_MAX / PAGE_ROWS)
		return -ERANGE;
	b = &d->worker[worker]->mailbox;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += ANSWER_MS * 1000 * 1000;
	if (until.tv_nsec >= 1000 * 1000 * 1000) {
		until.tv_nsec -= 1000 * 1000 * 1000;
		until.tv_sec++;
	}
	if (pthread_mutex_clocklock(&b->lock, CLOCK_MONOTONIC, &until) != 0)
		return -EBUSY;
	n = ask(b, page, out);
	pthread_mutex_unlock(&b->lock);
	return n;
}
