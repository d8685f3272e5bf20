// SPDX-License-Identifier: BSD-3-Clause
// REST secrets of realms (lookup_secrets.h). The secrets of a list come one by one. Requests are
// verified with the list before it until all have come.
#include "features/lookup/lookup_secrets.h"

#include <string.h>

#include "features/lookup/lookup_users.h"
#include "shard.h"

struct secret_list {
	uint64_t number;
	uint8_t nb, has; // secrets of the list, and those that have come: 0 to has - 1
	char secret[TURN_LOOKUP_SECRETS][TURN_LOOKUP_SECRET_MAX + 1];
	const char *text[TURN_LOOKUP_SECRETS];
};

struct lookup_secrets {
	char realm[764]; // "" = no list has come
	uint8_t current; // index of the list in use
	struct secret_list list[2];
};

size_t lookup_secrets_size(void)
{
	return TURN_REALM_NUMBERS * sizeof(struct lookup_secrets);
}

const char *const *lookup_secrets_of(
	const struct turn_shard *s, const struct turn_policy *p, uint32_t *nb)
{
	const struct lookup_secrets *y = &s->lookup.secrets[p->number];

	*nb = y->list[y->current].nb;
	return y->list[y->current].text;
}

// The policy of a realm with this name whose users are looked up, or NULL.
static const struct turn_policy *realm_of(const struct turn_shard *s, const char *name)
{
	for (uint32_t i = 0; i < policy_nb_realms(s->policy); i++) {
		const struct turn_policy *p = policy_nth_realm(s->policy, i);

		if (policy_looks_up(p) && strcmp(p->realm, name) == 0)
			return p;
	}
	return NULL;
}

void lookup_secrets_policy(struct turn_shard *s)
{
	if (s->lookup.nb_users == 0)
		return;
	for (unsigned int i = 0; i < TURN_REALM_NUMBERS; i++) {
		struct lookup_secrets *y = &s->lookup.secrets[i];
		const struct turn_policy *p = y->realm[0] != '\0' ? realm_of(s, y->realm) : NULL;

		if (y->realm[0] != '\0' && (p == NULL || p->number != i))
			explicit_bzero(y, sizeof(*y));
	}
}

void turn_lookup_secret(struct turn_shard *s, const struct turn_lookup_secret *secret)
{
	const struct turn_policy *p = s->lookup.nb_users > 0 ? realm_of(s, secret->realm) : NULL;
	struct lookup_secrets *y = p != NULL ? &s->lookup.secrets[p->number] : NULL;
	struct secret_list *next;

	if (y == NULL || secret->nb > TURN_LOOKUP_SECRETS)
		return;
	memcpy(y->realm, secret->realm, sizeof(y->realm));
	next = &y->list[y->current ^ 1];
	if (secret->index == 0) { // a list that did not come to its end is forgotten
		explicit_bzero(next, sizeof(*next));
		next->number = secret->list;
		next->nb = secret->nb;
	}
	if (next->number != secret->list || next->nb != secret->nb || next->has != secret->index)
		return;
	if (secret->nb > 0) {
		memcpy(next->secret[next->has], secret->secret, sizeof(secret->secret));
		next->text[next->has] = next->secret[next->has];
		next->has++;
	}
	if (next->has < next->nb)
		return;
	y->current ^= 1;
	explicit_bzero(&y->list[y->current ^ 1], sizeof(y->list[0]));
}
