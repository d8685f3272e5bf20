// SPDX-License-Identifier: BSD-3-Clause
// The set of blocked addresses and users.
#include "auth/blocks.h"

#include <stdlib.h>
#include <string.h>

#include "limits/quota.h"
#include "requests/request.h"
#include "shard.h"
#include "tables/prefixes.h"
#include "turn_listing.h"

// A name of users whose credentials are access tokens: the name of their key, in a realm.
struct key_name {
	uint8_t ident[TURN_IDENT_LEN];
	uint8_t realm;
};

struct turn_blocks {
	struct prefixes *addrs;
	uint64_t
		*users; // 2 * nb_users values of quota_user, sorted: configured names, and REST IDs
	struct key_name *keys; // nb_users
	uint32_t nb_users;
};

static int by_value(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static struct prefixes *make_addrs(const struct prefix *addrs, uint32_t nb)
{
	struct prefixes_entry *list = calloc((size_t)nb + 1, sizeof(*list));
	struct prefixes *out;

	if (list == NULL)
		return NULL;
	for (uint32_t i = 0; i < nb; i++)
		list[i].prefix = addrs[i];
	out = prefixes_make(list, nb);
	free(list);
	return out;
}

struct turn_blocks *turn_blocks_make(const struct prefix *addrs, uint32_t nb_addrs,
	const struct turn_filter *users, uint32_t nb_users)
{
	struct turn_blocks *b = calloc(1, sizeof(*b));

	if (b == NULL)
		return NULL;
	b->addrs = make_addrs(addrs, nb_addrs);
	b->users = calloc(2 * (size_t)nb_users + 1, sizeof(*b->users));
	b->keys = calloc((size_t)nb_users + 1, sizeof(*b->keys));
	if (b->addrs == NULL || b->users == NULL || b->keys == NULL) {
		turn_blocks_free(b);
		return NULL;
	}
	b->nb_users = nb_users;
	for (uint32_t i = 0; i < nb_users; i++) {
		memcpy(&b->users[2 * (size_t)i], users[i].user, sizeof(users[i].user));
		memcpy(b->keys[i].ident, users[i].ident, sizeof(b->keys[i].ident));
		b->keys[i].realm = users[i].realm;
	}
	qsort(b->users, 2 * (size_t)nb_users, sizeof(*b->users), by_value);
	return b;
}

void turn_blocks_free(struct turn_blocks *b)
{
	if (b == NULL)
		return;
	prefixes_free(b->addrs);
	free(b->users);
	free(b->keys);
	free(b);
}

bool turn_blocks_addr(const struct turn_blocks *b, const struct addr *client)
{
	struct prefixes_hit hit;

	return b != NULL && prefixes_find(b->addrs, client, &hit);
}

void turn_shard_set_blocks(struct turn_shard *s, const struct turn_blocks *b)
{
	s->blocks = b;
}

static bool has_user(const struct turn_blocks *b, uint64_t user)
{
	return bsearch(&user, b->users, 2 * (size_t)b->nb_users, sizeof(user), by_value) != NULL;
}

bool blocks_signer(const struct turn_request *r)
{
	const struct turn_blocks *b = r->s->blocks;
	uint8_t ident[TURN_IDENT_LEN];

	if (b == NULL || b->nb_users == 0)
		return false;
	for (uint32_t i = 0; cred_is_token(&r->cred) && i < b->nb_users; i++)
		if (b->keys[i].realm == r->policy->number &&
			memcmp(b->keys[i].ident, r->cred.ident, sizeof(b->keys[i].ident)) == 0)
			return true;
	return !cred_is_token(&r->cred) &&
		cred_quota_ident(r->policy, r->s->crypto, &r->m, &r->cred, ident) &&
		has_user(b, quota_user(r->s->quota, r->policy->number, ident));
}

static bool has_key(const struct turn_blocks *b, const struct turn_shard *s, uint32_t slot)
{
	const uint32_t ident_hash = alloc_client_who(s, slot);

	for (uint32_t i = 0; i < b->nb_users; i++)
		if (b->keys[i].realm == alloc_realm(s, slot) &&
			alloc_who(s, b->keys[i].ident) == ident_hash)
			return true;
	return false;
}

bool blocks_slot(const struct turn_blocks *b, const struct turn_shard *s, uint32_t slot)
{
	if (turn_blocks_addr(b, &alloc_at(s, slot)->end[TURN_FROM_CLIENT]))
		return true;
	return alloc_by_token(s, slot) ? has_key(b, s, slot)
				       : has_user(b, cold_at(s, slot)->quota_user);
}

uint32_t blocks_keys(const struct turn_blocks *b)
{
	return b->nb_users;
}
