// SPDX-License-Identifier: BSD-3-Clause
// Another policy at random moments: a peer is denied or allowed again, a user is removed or added.
// The naive server knows which allocations that ends.
#include "naive.h"

#include "turn_judge.h"
#include "turn_listing.h"

static struct prefix deny[MODEL_PEERS];

// An address is denied in all its forms, whatever the port.
static void toggle_peer(struct model_world *w)
{
	const struct model_peer *chosen = &w->peer[test_rand_below(&w->rand, MODEL_PEERS)];
	const struct addr a = chosen->canonical;

	if (chosen->class != PEER_OPEN && !chosen->denied)
		return;
	for (unsigned int i = 0; i < MODEL_PEERS; i++) {
		struct model_peer *p = &w->peer[i];

		if (!addr_eq(&p->canonical, &a))
			continue;
		p->denied = !p->denied;
		p->class = p->denied ? PEER_FORBIDDEN : PEER_OPEN;
	}
	w->config.deny = deny;
	w->config.nb_deny = 0;
	for (unsigned int i = 0; i < MODEL_PEERS; i++) {
		if (w->peer[i].denied)
			deny[w->config.nb_deny++] = (struct prefix){w->peer[i].canonical, 128};
	}
}

// Without REST secrets nonces would have other features, and all earlier nonces would be stale.
static void toggle_user(struct model_world *w)
{
	w->user[1].known = !w->user[1].known;
	w->config.first.nb_users = w->user[1].known ? 2 : 1;
}

static void toggle_realm(struct model_world *w)
{
	w->user[MODEL_OTHER].known = MODEL_REALMS && !w->user[MODEL_OTHER].known;
	model_serve_other(&w->config, w->user[MODEL_OTHER].known);
}

unsigned int model_reload(struct model_world *w, struct fixture *f)
{
	struct turn_policy *fresh;
	struct turn_judge *j;
	struct turn_walk walk = {0};
	unsigned int ended = 0;

	if (test_rand_below(&w->rand, 100) < 60)
		toggle_peer(w);
	else if (test_rand_below(&w->rand, 100) < 60)
		toggle_user(w);
	else if (test_rand_below(&w->rand, 100) < 40)
		model_tokens_toggle(w);
	else
		toggle_realm(w);
	fresh = turn_policy_create(&w->config, f->crypto, f->boot_key);
	assert_non_null(fresh);
	j = turn_judge_create(f->policy, fresh, f->quota, false);
	assert_non_null(j);
	turn_shard_set_policy(f->shard, fresh);
	turn_policy_free(f->policy);
	f->policy = fresh;
	while (!walk.end)
		ended += turn_judge_walk(f->shard, j, &walk, 1 + test_rand_below(&w->rand, 8));
	turn_judge_free(j);
	return ended;
}

// --- the naive server ----------------------------------------------------------------------------

static bool unsure(const struct naive *n, uint64_t until_ms)
{
	return until_ms <= n->now_ms && n->now_ms < until_ms + NAIVE_TICK_MS;
}

bool naive_sure(const struct naive *n)
{
	for (unsigned int i = 0; i < NAIVE_HOLDS; i++) {
		const struct naive_hold *h = &n->hold[i];
		bool any = h->used && unsure(n, h->expires_ms);

		for (unsigned int k = 0; h->used && k < h->nb_permissions; k++)
			any = any || unsure(n, h->permission[k].until_ms);
		for (unsigned int k = 0; h->used && k < h->nb_channels; k++)
			any = any || unsure(n, h->channel[k].until_ms);
		if (any)
			return false;
	}
	return true;
}

static bool is_denied(const struct naive *n, const struct addr *a)
{
	for (unsigned int i = 0; i < MODEL_PEERS; i++)
		if (n->w->peer[i].denied && addr_eq(&n->w->peer[i].canonical, a))
			return true;
	return false;
}

static bool has_to_end(const struct naive *n, const struct naive_hold *h)
{
	bool ends = !n->w->user[h->key].known;

	for (unsigned int k = 0; k < h->nb_permissions; k++)
		ends = ends ||
			(n->now_ms < h->permission[k].until_ms &&
				is_denied(n, &h->permission[k].peer));
	for (unsigned int k = 0; k < h->nb_channels; k++)
		ends = ends ||
			(n->now_ms < h->channel[k].until_ms &&
				is_denied(n, &h->channel[k].peer.addr));
	return ends;
}

unsigned int naive_reload(struct naive *n)
{
	unsigned int ended = 0;

	for (unsigned int i = 0; i < NAIVE_HOLDS; i++) {
		struct naive_hold *h = &n->hold[i];

		if (!naive_live(n, h) || h->reservation || !has_to_end(n, h))
			continue;
		naive_release(n, h);
		ended++;
		h = naive_allocation(n, h->client); // the other half of a dual allocation
		if (h == NULL)
			continue;
		naive_release(n, h);
		ended++;
	}
	return ended;
}
