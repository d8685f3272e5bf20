// SPDX-License-Identifier: BSD-3-Clause
// Restores reservations from the state area.
#include "features/reservations/reservation.h"
#include "relayed/relayed.h"
#include "shard.h"
#include "state/adopt.h"

// A token names its worker. If another worker owns the port now, no request could find the
// reservation.
static bool restore_one(struct adopt *d, const struct state_alloc *r, const struct adopt_home *home,
	uint32_t left_ms)
{
	struct turn_shard *s = d->a->shards[home->worker];
	const struct turn_policy *p = adopt_policy(d, r);
	const struct reservation made = {
		r->token, {quota_renumber(r->user, p != NULL ? p->number : 0), r->source}, left_ms};
	uint32_t slot;

	if (p == NULL || r->token[0] != s->worker || shard_shares_ports(s) ||
		quota_take_ref(s->quota, &p->limits, &made.quota) != TURN_GRANTED)
		return false;
	if (relayed_take_at(s, home->index, made.quota.user, &slot) != TURN_GRANTED) {
		quota_give(s->quota, &made.quota);
		return false;
	}
	reservation_put(s, slot, &made);
	d->out->reservations++;
	return true;
}

bool reservation_restore(struct adopt *d, const struct state_alloc *r)
{
	const uint32_t left_ms = adopt_left(d, r->word, TURN_RESERVATION_MS);
	struct adopt_home home;

	return left_ms > 0 && adopt_home(d, r, &home) && restore_one(d, r, &home, left_ms);
}
