// SPDX-License-Identifier: BSD-3-Clause
// Judges live allocations by a policy that is newer than they are.
#include "turn_judge.h"

#include <stdlib.h>

#include "auth/policy.h"
#include "limits/quota.h"
#include "shard.h"
#include "turn_listing.h"

#define END_COST 8 // what an end, or a look at a peer, counts for in a budget

struct turn_judge {
	uint64_t *gone; // configured users of before, as quota counts them; sorted
	uint32_t nb_gone;
	bool rest_gone; // REST credentials were taken, and are no longer
	bool lower;
};

static int by_value(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

struct turn_judge *turn_judge_create(const struct turn_policy *before,
	const struct turn_policy *after, const struct turn_quota *quota, bool lower)
{
	struct turn_judge *j = calloc(1, sizeof(*j));

	if (j != NULL)
		j->gone = calloc(before->nb_users + 1, sizeof(*j->gone));
	if (j == NULL || j->gone == NULL) {
		free(j);
		return NULL;
	}
	for (uint32_t i = 0; i < before->nb_users; i++)
		if (policy_user_by_hash(after, before->users[i].userhash) == NULL)
			j->gone[j->nb_gone++] = quota_user(quota, before->users[i].userhash);
	qsort(j->gone, j->nb_gone, sizeof(*j->gone), by_value);
	j->rest_gone = before->nb_secrets > 0 && after->nb_secrets == 0;
	j->lower = lower;
	return j;
}

void turn_judge_free(struct turn_judge *j)
{
	if (j == NULL)
		return;
	free(j->gone);
	free(j);
}

static bool is_gone(const struct turn_judge *j, const struct turn_cold *c)
{
	if (c->rest)
		return j->rest_gone;
	return bsearch(&c->quota_user, j->gone, j->nb_gone, sizeof(*j->gone), by_value) != NULL;
}

// Whether a peer in the tree of permissions at i is denied.
static bool is_denied(const struct turn_shard *s, uint32_t i)
{
	const struct turn_permission *p = i != TURN_NONE ? &s->permission[i] : NULL;
	enum turn_peer_class class;

	if (p == NULL)
		return false;
	class = turn_policy_peer(s->policy, &p->peer, 1);
	return class == TURN_PEER_NEVER || class == TURN_PEER_DENY ||
		is_denied(s, p->links.child[0]) || is_denied(s, p->links.child[1]);
}

// Why an allocation has to end; TURN_END_END when it may stay.
static enum turn_end verdict(const struct turn_shard *s, const struct turn_judge *j, uint32_t slot)
{
	const struct turn_cold *c = cold_at(s, slot);
	const struct quota_ref ref = {
		c->quota_user, quota_source(s->quota, &alloc_at(s, slot)->end[TURN_FROM_CLIENT])};

	if (is_gone(j, c))
		return TURN_END_USER;
	if (is_denied(s, c->permissions))
		return TURN_END_PEER;
	if (j->lower && quota_over(s->quota, &s->policy->limits, &ref) != TURN_GRANTED)
		return TURN_END_QUOTA;
	return TURN_END_END;
}

unsigned int turn_judge_walk(
	struct turn_shard *s, const struct turn_judge *j, struct turn_walk *w, unsigned int max)
{
	unsigned int budget = TURN_WALK_BUDGET, n = 0;

	while (budget > 0 && n < max && !w->end) {
		const uint32_t slot = bitset_next(&s->live, w->slot, s->nb_slots);
		unsigned int cost;
		enum turn_end why;

		w->end = slot == s->nb_slots;
		if (w->end)
			break;
		w->slot = slot + 1;
		cost = 1 + END_COST * cold_at(s, slot)->nb_permissions;
		why = verdict(s, j, slot);
		if (why != TURN_END_END) {
			cost += END_COST * (1u + cold_at(s, slot)->nb_channels);
			alloc_end(s, slot, why);
			n++;
		}
		budget -= budget < cost ? budget : cost;
	}
	return n;
}
