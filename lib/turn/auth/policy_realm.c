// SPDX-License-Identifier: BSD-3-Clause
// The part of a policy that belongs to one realm: users, secrets and rules of its own.
#include <errno.h>
#include <stdlib.h>

#include "auth/policy.h"
#include "secret.h"

// --- users --------------------------------------------------------------------------------------

static uint64_t name_hash(const struct turn_policy *p, const void *name, size_t len)
{
	return hash_bytes(&p->key, name, len);
}

static uint64_t userhash_hash(const struct turn_policy *p, const uint8_t ident[TURN_IDENT_LEN])
{
	const struct addr a = addr_from_v6(ident);

	return hash_addr(&p->key, &a, 0);
}

const struct policy_user *policy_user_by_name(
	const struct turn_policy *p, const void *name, size_t len)
{
	const uint64_t hash = name_hash(p, name, len);
	struct table_iter it = {0};
	uint32_t i;

	while (table_next(&p->by_name, hash, &it, &i)) {
		const struct policy_user *u = &p->users[i];

		if (strlen(u->name) == len && memcmp(u->name, name, len) == 0)
			return u;
	}
	return NULL;
}

const struct policy_user *policy_user_by_hash(const struct turn_policy *p, const uint8_t hash[32])
{
	const uint64_t h = userhash_hash(p, hash);
	struct table_iter it = {0};
	uint32_t i;

	while (table_next(&p->by_hash, h, &it, &i)) {
		if (memcmp(p->users[i].userhash, hash, 32) == 0)
			return &p->users[i];
	}
	return NULL;
}

bool policy_has_ident(const struct turn_policy *p, const uint8_t ident[TURN_IDENT_LEN])
{
	const uint64_t h = userhash_hash(p, ident);
	struct table_iter it = {0};
	uint32_t i;

	while (table_next(&p->by_hash, h, &it, &i)) {
		if (memcmp(p->users[i].userhash, ident, TURN_IDENT_LEN) == 0)
			return true;
	}
	return false;
}

bool policy_has_key(const struct turn_policy *p, const uint8_t ident[TURN_IDENT_LEN])
{
#define X(nb, ident_of)                                                 \
	for (uint32_t i = 0; i < nb(p); i++)                            \
		if (memcmp(ident_of(p, i), ident, TURN_IDENT_LEN) == 0) \
			return true;
	TURN_IDENTS(X)
#undef X
	return false;
}

// --- making: users and secrets ------------------------------------------------------------------

static int make_user(struct policy_user *u, const struct turn_user *user,
	struct stun_crypto *crypto, const char *realm)
{
	struct stun_credential cred = {
		.user = user->name, .user_len = strlen(user->name), .realm = realm};

	u->name = strdup(user->name);
	if (u->name == NULL)
		return ENOMEM;
	if (!stun_userhash(crypto, cred.user, cred.user_len, realm, u->userhash))
		return EIO;
	u->md5 = user->md5;
	u->sha256 = user->sha256;
	if (user->password == NULL)
		return u->md5.len == 0 && u->sha256.len == 0 ? EINVAL : 0;
	cred.password = user->password;
	cred.password_len = strlen(user->password);
	// if libcrypto has no MD5 (FIPS), the user has only the SHA-256 key
	if (u->md5.len == 0 && !stun_key_make(crypto, STUN_ALG_MD5, &cred, &u->md5))
		u->md5.len = 0;
	if (u->sha256.len == 0 && !stun_key_make(crypto, STUN_ALG_SHA256, &cred, &u->sha256))
		return EIO;
	return 0;
}

static int copy_users(
	struct turn_policy *p, const struct turn_realm *realm, struct stun_crypto *crypto)
{
	p->users = secret_alloc((realm->nb_users + 1) * sizeof(*p->users));
	if (p->users == NULL)
		return ENOMEM;
	for (uint32_t i = 0; i < realm->nb_users; i++) {
		int err;

		p->nb_users = i + 1;
		err = make_user(&p->users[i], &realm->users[i], crypto, p->realm);
		if (err != 0)
			return err;
	}
	return 0;
}

static int index_users(struct turn_policy *p)
{
	const size_t size = table_size(p->nb_users);

	p->table_mem = aligned_alloc(64, 2 * size);
	if (p->table_mem == NULL)
		return ENOMEM;
	memset(p->table_mem, 0, 2 * size);
	table_init(&p->by_name, p->table_mem, p->nb_users);
	table_init(&p->by_hash, (char *)p->table_mem + size, p->nb_users);
	for (uint32_t i = 0; i < p->nb_users; i++) {
		const struct policy_user *u = &p->users[i];

		if (policy_user_by_name(p, u->name, strlen(u->name)) != NULL)
			return EEXIST;
		if (!table_insert(&p->by_name, name_hash(p, u->name, strlen(u->name)), i) ||
			!table_insert(&p->by_hash, userhash_hash(p, u->userhash), i))
			return ENOMEM;
	}
	return 0;
}

static int copy_secrets(struct turn_policy *p, const struct turn_realm *realm)
{
	p->secrets = calloc(realm->nb_secrets + 1, sizeof(*p->secrets));
	if (p->secrets == NULL)
		return ENOMEM;
	for (uint32_t i = 0; i < realm->nb_secrets; i++) {
		p->secrets[i] = secret_copy(realm->secrets[i]);
		if (p->secrets[i] == NULL)
			return ENOMEM;
		p->nb_secrets = i + 1;
	}
	return 0;
}

static int make_users(
	struct turn_policy *p, const struct turn_realm *realm, struct stun_crypto *crypto)
{
	int err = copy_users(p, realm, crypto);

	if (err == 0)
		err = index_users(p);
	if (err == 0)
		err = copy_secrets(p, realm);
#define X(type, field, make, free) \
	if (err == 0)              \
		err = make(&p->field, realm, crypto);
	TURN_POLICY_REALM(X)
#undef X
	return err;
}

// --- the whole ----------------------------------------------------------------------------------

// Makes the rules that a realm adds to those of all realms.
static int make_rules(struct turn_policy *p, const struct turn_realm *realm)
{
	const uint32_t nb = realm->nb_allow + realm->nb_deny;
	struct prefixes_entry *list = nb > 0 ? calloc(nb, sizeof(*list)) : NULL;

	if (list == NULL)
		return nb > 0 ? ENOMEM : 0;
	for (uint32_t i = 0; i < nb; i++)
		list[i] = i < realm->nb_allow
			? (struct prefixes_entry){realm->allow[i], POLICY_ALLOW}
			: (struct prefixes_entry){realm->deny[i - realm->nb_allow], POLICY_DENY};
	p->own_rules = prefixes_make(list, nb);
	free(list);
	return p->own_rules != NULL ? 0 : ENOMEM;
}

int policy_make_realm(
	struct turn_policy *p, const struct turn_realm *realm, struct stun_crypto *crypto)
{
	int err;

	p->realm = strdup(realm->name != NULL ? realm->name : "");
	if (p->realm == NULL)
		return ENOMEM;
	p->number = p->limits.realm = realm->number;
	p->limits.of_realm = realm->allocations;
	if (realm->per_user != 0)
		p->limits.per_user = realm->per_user;
	err = make_users(p, realm, crypto);
	return err == 0 ? make_rules(p, realm) : err;
}

// Keys and secrets are wiped: a reload must not leave withdrawn ones in memory.
void policy_free_realm(struct turn_policy *p)
{
	for (uint32_t i = 0; i < p->nb_users; i++)
		free(p->users[i].name);
	for (uint32_t i = 0; i < p->nb_secrets; i++)
		secret_free(p->secrets[i]);
#define X(type, field, make, free) free(&p->field);
	TURN_POLICY_REALM(X)
#undef X
	secret_free(p->users);
	free(p->secrets);
	free(p->realm);
	free(p->table_mem);
	prefixes_free(p->own_rules);
	secret_free(p);
}
