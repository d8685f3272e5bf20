// SPDX-License-Identifier: BSD-3-Clause
// Counters: names, snapshots, sums. A worker counts in its own memory and copies the counters out
// at round boundaries, so that every snapshot is consistent.
#include <rte_pause.h>

#include "see/stats.h"
#include "datapath.h"
#include "dp.h"
#include "ip/fragments.h"
#include "net.h"
#include "turn_drop.h"
#include "turn_shard.h"
#include "path/worker.h"

static const struct {
	const char *name, *text;
} drops[] = {
#define X(id, n, t) [id] = {n, t},
	DP_DROPS(X)
#undef X
};

const char *dp_drop_name(unsigned int reason)
{
	if (reason < DP_DROP_TURN)
		return net_drop_name((enum net_drop)(reason - DP_DROP_NET + 1));
	if (reason <= DP_DROP_FIRST_)
		return turn_drop_name((enum turn_drop)(reason - DP_DROP_TURN + 1));
	return reason < DP_DROP_END ? drops[reason].name : NULL;
}

const char *dp_drop_text(unsigned int reason)
{
	if (reason < DP_DROP_TURN)
		return net_drop_text((enum net_drop)(reason - DP_DROP_NET + 1));
	if (reason <= DP_DROP_FIRST_)
		return turn_drop_text((enum turn_drop)(reason - DP_DROP_TURN + 1));
	return reason < DP_DROP_END ? drops[reason].text : NULL;
}

// Counters are copied and summed as an array of words.
#define STATS_WORDS (sizeof(struct dp_stats) / sizeof(uint64_t))
_Static_assert(
	sizeof(struct dp_stats) % sizeof(uint64_t) == 0, "struct dp_stats has only uint64_t");

void stats_publish(struct worker *w)
{
	struct stats_page *p = &w->page;
	const uint64_t *src = (const uint64_t *)&w->live;
	uint64_t *dst = (uint64_t *)&p->stats;

	w->since_publish = 0;
	w->live.held = neigh_held_total(w->neigh) + w->backlog.n + fragments_held(w);
#define X(fill, drain, waiting) w->live.held += waiting(w);
	DP_FILLS(X)
#undef X
	turn_shard_stats(w->shard, &w->live.turn);
	__atomic_store_n(&p->sequence, p->sequence + 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
#pragma GCC unroll 8
	for (size_t i = 0; i < STATS_WORDS; i++)
		__atomic_store_n(&dst[i], src[i], __ATOMIC_RELAXED);
	__atomic_store_n(&p->sequence, p->sequence + 1, __ATOMIC_RELEASE);
}

static void page_read(const struct stats_page *p, struct dp_stats *out)
{
	const uint64_t *src = (const uint64_t *)&p->stats;
	uint64_t *dst = (uint64_t *)out;
	uint32_t before;

	do {
		before = __atomic_load_n(&p->sequence, __ATOMIC_ACQUIRE);
		for (size_t i = 0; i < STATS_WORDS; i++)
			dst[i] = __atomic_load_n(&src[i], __ATOMIC_RELAXED);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		rte_pause(); // a writer needs less than a microsecond
	} while ((before & 1) != 0 || __atomic_load_n(&p->sequence, __ATOMIC_RELAXED) != before);
}

bool dp_worker_stats(const struct dp *d, unsigned int worker, struct dp_stats *out)
{
	if (worker >= d->nb_workers)
		return false;
	page_read(&d->worker[worker]->page, out);
	return true;
}

uint32_t dp_buffers_free(const struct dp *d)
{
	return rte_mempool_avail_count(d->pool);
}

void dp_total_stats(const struct dp *d, struct dp_stats *out)
{
	uint64_t *sum = (uint64_t *)out;

	memset(out, 0, sizeof(*out));
	for (unsigned int w = 0; w < d->nb_workers; w++) {
		struct dp_stats one;
		const uint64_t *src = (const uint64_t *)&one;

		page_read(&d->worker[w]->page, &one);
		for (size_t i = 0; i < STATS_WORDS; i++)
			sum[i] += src[i];
	}
}

void dp_stats_since(const struct dp_stats *now, const struct dp_stats *before, struct dp_stats *out)
{
	const uint64_t *n = (const uint64_t *)now, *b = (const uint64_t *)before;
	uint64_t *o = (uint64_t *)out;

	for (size_t i = 0; i < STATS_WORDS; i++)
		o[i] = n[i] - b[i];
}

uint64_t dp_stats_drops(const struct dp_stats *s)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < DP_DROP_END; i++)
		sum += s->drop[i];
	return sum;
}
