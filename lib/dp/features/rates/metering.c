// SPDX-License-Identifier: BSD-3-Clause
// The meters of workers: their memory, and the drop of a datagram that exceeds a rate.
#include "features/rates/metering.h"

#include <errno.h>
#include <stdio.h>

#include <rte_common.h>
#include <rte_lcore.h>
#include <rte_malloc.h>

#include "csprng.h"
#include "datapath.h"
#include "drop_of.h"
#include "turn_line.h"
#include "turn_relay_map.h"
#include "turn_shard.h"
#include "turn_usage.h"
#include "path/worker.h"

size_t metering_size(const struct conf *c, const struct turn_relay_map *map)
{
	size_t size = 0;

	if (map == NULL || !turn_rates_any(&c->turn.limits.rates))
		return 0;
	for (unsigned int i = 0; i < c->workers; i++)
		size += turn_meters_size(turn_relay_map_slots(map, i));
	return size;
}

static int accounts_make(struct dp *d)
{
	uint32_t slots = 0;

	for (unsigned int i = 0; i < d->nb_workers; i++)
		slots += turn_relay_map_slots(d->map, i);
	// secret; the hashes of users in the quota table have the same key
	d->metering.accounts = turn_accounts_create(slots, &d->quota_key);
	return d->metering.accounts != NULL ? 0 : -ENOMEM;
}

// Makes the meters that are still missing, if the configuration limits a rate.
static int make_missing(struct dp *d, const struct conf *c)
{
	struct metering *all = &d->metering;

	if (!turn_rates_any(&c->turn.limits.rates))
		return 0;
	if (all->accounts == NULL && accounts_make(d) != 0)
		return -ENOMEM;
	for (unsigned int i = 0; i < d->nb_made; i++) {
		const uint32_t slots = turn_relay_map_slots(d->map, i);
		void *mem;

		if (all->meters[i] != NULL)
			continue;
		mem = rte_zmalloc_socket("meters", turn_meters_size(slots), RTE_CACHE_LINE_SIZE,
			(int)rte_lcore_to_socket_id(d->worker[i]->lcore));
		if (mem == NULL)
			return -ENOMEM;
		all->meters[i] = turn_meters_create(mem, slots, all->accounts);
	}
	return 0;
}

int metering_make(struct worker *w)
{
	return make_missing(w->dp, w->dp->conf);
}

bool metering_begin(
	struct dp *d, const struct conf *c, const struct conf *before, char *error, size_t len)
{
	if (before == NULL || make_missing(d, c) == 0) // at the start there are no workers yet
		return true;
	snprintf(error, len,
		"limits.rates: no memory left for meters (%zu MB in all): a restart allocates as "
		"much as it needs",
		metering_size(c, d->map) >> 20);
	return false;
}

void metering_free(struct dp *d)
{
	for (unsigned int i = 0; i < TURN_WORKERS_MAX; i++)
		rte_free(d->metering.meters[i]);
	turn_accounts_free(d->metering.accounts);
}

void metering_take(struct worker *w)
{
	struct turn_meters *t = w->dp->metering.meters[w->id];

	if (t != NULL)
		turn_shard_set_meters(w->shard, t);
	w->meters = turn_shard_meters(w->shard);
	w->special = w->marks || w->meters != NULL;
}

// wide and leg are constants where this is inlined. It reads a copy of struct turn_meters, so that
// gcc knows that no store changes it.
static __rte_always_inline unsigned int take_leg(
	const struct worker *w, unsigned int leg, unsigned int start, bool wide)
{
	struct turn_meters t = *w->meters;
	const struct turn_burst *b = &w->burst.turn;
	const uint8_t *first = b->by_leg[leg], *last = first + b->nb[leg], *pos;

	t.wide = wide;
	for (pos = first + start; pos < last; pos++) {
		const struct turn_view *v = &b->view[*pos];
		const uint64_t cost = turn_meter_cost(1, turn_view_data(v, leg));

		// there is no allocation, or a redirect, or the slow path must decide
		if (unlikely(v->slot >= t.nb_slots) ||
			unlikely(!turn_meter_take(&t, v->slot, leg, cost)))
			break;
	}
	return (unsigned int)(pos - first);
}

unsigned int metering_take_leg(const struct worker *w, unsigned int leg, unsigned int start)
{
	if (leg == TURN_FROM_CLIENT)
		return w->meters->wide ? take_leg(w, TURN_FROM_CLIENT, start, true)
				       : take_leg(w, TURN_FROM_CLIENT, start, false);
	return w->meters->wide ? take_leg(w, TURN_FROM_PEER, start, true)
			       : take_leg(w, TURN_FROM_PEER, start, false);
}

void metering_give_leg(struct worker *w, unsigned int leg, unsigned int start, unsigned int stop)
{
	const struct turn_burst *b = &w->burst.turn;

	for (unsigned int i = start; i < stop; i++) {
		const struct turn_view *v = &b->view[b->by_leg[leg][i]];

		turn_meter_give(w->shard, v->slot, leg, turn_meter_cost(1, turn_view_data(v, leg)));
	}
}

bool metering_asks(struct worker *w, struct rte_mbuf *m, const struct turn_view *v, uint64_t cost)
{
	const unsigned int reason = turn_meter_ask(w->shard, v->slot, v->leg, cost);

	if (reason == TURN_OK)
		return true;
	turn_usage_refused(w->shard, v->slot, reason);
	worker_drop(w, m, drop_of_turn(reason));
	return false;
}

bool metering_take_more(
	struct worker *w, uint32_t slot, unsigned int leg, uint32_t datagrams, uint32_t bytes)
{
	const uint64_t cost = turn_meter_cost(datagrams, bytes);

	return turn_meter_take(w->meters, slot, leg, cost) ||
		turn_meter_ask(w->shard, slot, leg, cost) == TURN_OK;
}

void metering_give_more(
	struct worker *w, uint32_t slot, unsigned int leg, uint32_t datagrams, uint32_t bytes)
{
	turn_meter_give(w->shard, slot, leg, turn_meter_cost(datagrams, bytes));
}
