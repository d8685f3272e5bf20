// SPDX-License-Identifier: BSD-3-Clause
// Checks live allocations against a new policy, and ends those that it would not have granted.
#include "turn_judge.h"

#include <stdlib.h>
#include <string.h>

#include "auth/blocks.h"
#include "limits/quota.h"
#include "shard.h"
#include "turn_listing.h"

// Costs that turn_judge_walk subtracts from its budget. Looking at an allocation costs 1.
#define END_COST 8 // of ending an allocation, and the same again for each of its channels
#define PERMISSION_COST 1 // of ending a permission
#define PEER_COST 2 // of judging a peer
#define QUOTA_COST 2

// An ident of TURN_IDENTS that the new policy does not have.
struct gone_key {
	uint8_t ident[TURN_IDENT_LEN];
	uint8_t realm;
};

// Changes for the users of one realm.
struct realm_change {
	bool all_gone; // the realm was removed
	bool rest_gone; // REST credentials were accepted, and no longer are
	bool peers; // the rules for peers have changed
};

struct turn_judge {
	const struct turn_blocks *blocks; // check these only; NULL: the policy
	// Users in the old configuration that the new one lacks: sorted values of quota_user.
	uint64_t *gone;
	struct gone_key *gone_keys;
	uint32_t nb_gone, nb_gone_keys;
	struct realm_change realm[TURN_REALM_NUMBERS]; // by number
	bool any; // a flag in realm[] is set
	bool listeners; // a listener serves fewer realms
	bool clients; // the rules for clients' addresses have changed
	bool by_quotas, lower; // by_quotas: check quotas only; lower: some quota is lower
};

// --- changes -------------------------------------------------------------------------------------

static bool same_addrs(const struct addr *a, uint32_t nb_a, const struct addr *b, uint32_t nb_b)
{
	return nb_a == nb_b && (nb_a == 0 || memcmp(a, b, nb_a * sizeof(*a)) == 0);
}

static bool same_prefix(const struct prefix *a, const struct prefix *b)
{
	return a->len == b->len && addr_eq(&a->addr, &b->addr);
}

// NULL: no rules.
static bool same_or_none(const struct prefixes *a, const struct prefixes *b)
{
	return a == b || (a != NULL && b != NULL && prefixes_same(a, b));
}

static bool same_rules(const struct turn_policy *a, const struct turn_policy *b)
{
	bool same = a->nb_nat64 == b->nb_nat64 && prefixes_same(a->rules, b->rules) &&
		same_or_none(a->own_rules, b->own_rules);

	for (uint32_t i = 0; same && i < a->nb_nat64; i++)
		same = same_prefix(&a->nat64[i], &b->nat64[i]);
	return same;
}

static bool same_external(const struct external *a, const struct external *b)
{
	bool same = a->nb_public == b->nb_public;

	for (uint32_t i = 0; same && i < a->nb_public; i++)
		same = addr_eq(&a->by_public[i].local, &b->by_public[i].local) &&
			addr_eq(&a->by_public[i].public, &b->by_public[i].public);
	return same;
}

// True if turn_policy_peer gives the same results with both.
static bool same_peers(const struct turn_policy *a, const struct turn_policy *b)
{
	return a->hairpin == b->hairpin && same_rules(a, b) &&
		same_external(&a->external, &b->external) &&
		same_addrs(a->relay, a->nb_relay, b->relay, b->nb_relay) &&
		same_addrs(a->local, a->nb_local, b->local, b->nb_local) &&
		same_addrs(a->beside, a->nb_beside, b->beside, b->nb_beside) &&
		same_addrs(a->broadcasts, a->nb_broadcasts, b->broadcasts, b->nb_broadcasts);
}

// 0 means no limit.
static bool is_lower(uint32_t after, uint32_t before)
{
	return after != 0 && (before == 0 || after < before);
}

static bool any_lower(const struct turn_limits *after, const struct turn_limits *before)
{
	return is_lower(after->per_user, before->per_user) ||
		is_lower(after->per_source, before->per_source) ||
		is_lower(after->of_realm, before->of_realm) ||
		is_lower(after->allocations, before->allocations);
}

// --- realms --------------------------------------------------------------------------------------

// The realm with this number in the new policy, or NULL if it was removed.
static const struct turn_policy *same_realm(
	const struct turn_policy *after, const struct turn_policy *realm)
{
	const struct turn_policy *p = policy_realm(after, realm->number);

	return p->number == realm->number ? p : NULL;
}

static bool any_lower_realm(const struct turn_policy *before, const struct turn_policy *after)
{
	for (uint32_t i = 0; i < policy_nb_realms(before); i++) {
		const struct turn_policy *was = policy_nth_realm(before, i),
					 *current = same_realm(after, was);

		if (current != NULL && any_lower(&current->limits, &was->limits))
			return true;
	}
	return false;
}

static bool serves_fewer(const struct turn_policy *before, const struct turn_policy *after)
{
	const uint32_t nb = before->nb_listener[0] + before->nb_listener[1];

	for (uint32_t i = 0; i < nb; i++)
		for (unsigned int k = 0; k < TURN_REALM_NUMBERS; k++)
			if (policy_serves(before, (uint8_t)i, (uint8_t)k) &&
				!policy_serves(after, (uint8_t)i, (uint8_t)k))
				return true;
	return false;
}

// --- a judge -------------------------------------------------------------------------------------

static int by_value(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void judge_keys(
	struct turn_judge *j, const struct turn_policy *was, const struct turn_policy *current)
{
#define X(nb, ident_of)                                                        \
	for (uint32_t i = 0; i < nb(was); i++)                                 \
		if (!policy_has_key(current, ident_of(was, i))) {              \
			struct gone_key *k = &j->gone_keys[j->nb_gone_keys++]; \
			memcpy(k->ident, ident_of(was, i), sizeof(k->ident));  \
			k->realm = was->number;                                \
		}
	TURN_IDENTS(X)
#undef X
}

// Compares a realm with its new policy, which is NULL if it was removed.
static void judge_realm(struct turn_judge *j, const struct turn_policy *was,
	const struct turn_policy *current, const struct turn_quota *quota)
{
	struct realm_change *c = &j->realm[was->number];

	c->all_gone = current == NULL;
	for (uint32_t i = 0; current != NULL && i < was->nb_users; i++)
		if (policy_user_by_hash(current, was->users[i].userhash) == NULL)
			j->gone[j->nb_gone++] =
				quota_user(quota, was->number, was->users[i].userhash);
	if (current != NULL)
		judge_keys(j, was, current);
	c->rest_gone = current != NULL && was->nb_secrets > 0 && current->nb_secrets == 0 &&
		!policy_looks_up(current);
	c->peers = current != NULL && !same_peers(was, current);
	j->any |= c->all_gone || c->rest_gone || c->peers;
}

static void judge_realms(struct turn_judge *j, const struct turn_policy *before,
	const struct turn_policy *after, const struct turn_quota *quota)
{
	for (uint32_t i = 0; i < policy_nb_realms(before); i++) {
		const struct turn_policy *was = policy_nth_realm(before, i);

		judge_realm(j, was, same_realm(after, was), quota);
	}
	qsort(j->gone, j->nb_gone, sizeof(*j->gone), by_value);
	j->listeners = serves_fewer(before, after);
	j->clients = after->clients != NULL && !same_or_none(before->clients, after->clients);
}

static size_t nb_users(const struct turn_policy *p)
{
	size_t nb = 0;

	for (uint32_t i = 0; i < policy_nb_realms(p); i++)
		nb += policy_nth_realm(p, i)->nb_users;
	return nb;
}

static size_t nb_keys(const struct turn_policy *p)
{
	size_t nb = 0;

	for (uint32_t i = 0; i < policy_nb_realms(p); i++) {
#define X(nb_of, ident) nb += nb_of(policy_nth_realm(p, i));
		TURN_IDENTS(X)
#undef X
	}
	return nb;
}

struct turn_judge *turn_judge_create(const struct turn_policy *before,
	const struct turn_policy *after, const struct turn_quota *quota, bool lower)
{
	struct turn_judge *j = calloc(1, sizeof(*j));

	if (j != NULL) {
		j->gone = calloc(nb_users(before) + 1, sizeof(*j->gone));
		j->gone_keys = calloc(nb_keys(before) + 1, sizeof(*j->gone_keys));
	}
	if (j == NULL || j->gone == NULL || j->gone_keys == NULL) {
		turn_judge_free(j);
		return NULL;
	}
	j->by_quotas = lower;
	if (lower) {
		j->lower = any_lower_realm(before, after);
		return j;
	}
	judge_realms(j, before, after, quota);
	return j;
}

struct turn_judge *turn_judge_blocks(const struct turn_blocks *blocks)
{
	struct turn_judge *j = calloc(1, sizeof(*j));

	if (j != NULL)
		j->blocks = blocks;
	return j;
}

bool turn_judge_needed(const struct turn_judge *j)
{
	return j->nb_gone > 0 || j->nb_gone_keys > 0 || j->any || j->listeners || j->clients ||
		j->lower || j->blocks != NULL;
}

void turn_judge_free(struct turn_judge *j)
{
	if (j == NULL)
		return;
	free(j->gone);
	free(j->gone_keys);
	free(j);
}

static const struct realm_change *change_of(const struct turn_judge *j, const struct turn_cold *c)
{
	return &j->realm[quota_realm(c->quota_user)];
}

// True if the key of an allocation's token was removed.
static bool is_key_gone(const struct turn_shard *s, const struct turn_judge *j, uint32_t slot)
{
	const uint32_t ident_hash = alloc_client_who(s, slot);

	for (uint32_t i = 0; i < j->nb_gone_keys; i++)
		if (j->gone_keys[i].realm == alloc_realm(s, slot) &&
			alloc_who(s, j->gone_keys[i].ident) == ident_hash)
			return true;
	return false;
}

// True if the user of an allocation was removed, or the client's listener no longer serves the
// user's realm.
static bool is_gone(const struct turn_shard *s, const struct turn_judge *j, uint32_t slot)
{
	const struct turn_cold *c = cold_at(s, slot);

	if (change_of(j, c)->all_gone ||
		(j->listeners &&
			!policy_serves(
				s->policy, line_listener(alloc_at(s, slot)), alloc_realm(s, slot))))
		return true;
	if (alloc_by_token(s, slot))
		return is_key_gone(s, j, slot);
	if (c->rest)
		return change_of(j, c)->rest_gone;
	return bsearch(&c->quota_user, j->gone, j->nb_gone, sizeof(*j->gone), by_value) != NULL;
}

// True if the policy denies a peer in the permission tree with root i.
static bool is_denied(const struct turn_shard *s, const struct turn_policy *policy, uint32_t i)
{
	const struct turn_permission *p = i != TURN_NONE ? &s->permission[i] : NULL;
	enum turn_peer_class class;

	if (p == NULL)
		return false;
	class = turn_policy_peer(policy, &p->peer, TURN_PORT_ANY);
	return class == TURN_PEER_NEVER || class == TURN_PEER_DENY ||
		is_denied(s, policy, p->links.child[0]) || is_denied(s, policy, p->links.child[1]);
}

// The reason to end an allocation, or TURN_END_END if it may live on.
static enum turn_end judge_slot(
	const struct turn_shard *s, const struct turn_judge *j, uint32_t slot)
{
	const struct turn_cold *c = cold_at(s, slot);
	const struct quota_ref ref = alloc_quota(s, slot);

	if (j->blocks != NULL)
		return blocks_slot(j->blocks, s, slot) ? TURN_END_BLOCKED : TURN_END_END;
	if (j->by_quotas)
		return quota_over(s->quota, &alloc_policy(s, slot)->limits, &ref) != TURN_GRANTED
			? TURN_END_QUOTA
			: TURN_END_END;
	if (j->clients && !turn_policy_serves(s->policy, &alloc_at(s, slot)->end[TURN_FROM_CLIENT]))
		return TURN_END_DENIED;
	if (is_gone(s, j, slot))
		return TURN_END_USER;
	return change_of(j, c)->peers && is_denied(s, alloc_policy(s, slot), c->permissions)
		? TURN_END_PEER
		: TURN_END_END;
}

// Cost of judging an allocation, and of ending it if there is a reason.
static unsigned int cost_of(
	const struct turn_judge *j, const struct turn_cold *c, enum turn_end reason)
{
	unsigned int cost = 1;

	if (j->by_quotas)
		cost += QUOTA_COST;
	if (j->clients || j->blocks != NULL)
		cost += PEER_COST;
	if (cred_alg_is_token(c->alg))
		cost += j->nb_gone_keys + (j->blocks != NULL ? blocks_keys(j->blocks) : 0);
	if (change_of(j, c)->peers)
		cost += PEER_COST * c->nb_permissions;
	if (reason != TURN_END_END)
		cost += END_COST * (1u + c->nb_channels) + PERMISSION_COST * c->nb_permissions;
	return cost;
}

unsigned int turn_judge_walk(
	struct turn_shard *s, const struct turn_judge *j, struct turn_walk *w, unsigned int max)
{
	unsigned int budget = TURN_JUDGE_BUDGET, n = 0;

	w->end = w->end || !(j->by_quotas || turn_judge_needed(j));
	while (budget > 0 && n < max && !w->end && shard_has_notes(s)) {
		const uint32_t slot = bitset_next(&s->live, w->slot, s->nb_slots);
		unsigned int cost;
		enum turn_end reason;

		w->end = slot == s->nb_slots;
		if (w->end)
			break;
		w->slot = slot + 1;
		reason = judge_slot(s, j, slot);
		cost = cost_of(j, cold_at(s, slot), reason);
		if (reason != TURN_END_END) {
			const uint32_t sibling = alloc_sibling(s, slot);

			if (sibling != TURN_NONE && n + 2 > max) { // end both now, or neither
				w->slot = slot;
				break;
			}
			if (sibling != TURN_NONE)
				cost += cost_of(j, cold_at(s, sibling), reason);
			n += sibling != TURN_NONE ? 2 : 1;
			alloc_end_client(s, slot, reason);
		}
		budget -= budget < cost ? budget : cost;
	}
	return n;
}
