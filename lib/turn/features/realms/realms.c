// SPDX-License-Identifier: BSD-3-Clause
// Makes the further realms, and finds the realm of a request. Each look-up before a client has
// authenticated takes one hash of bounded length, and leaves no trace.
#include "features/realms/realms.h"

#include <errno.h>
#include <stdlib.h>

#include "auth/policy.h"
#include "features/realms/origin.h"
#include "requests/request.h"
#include "secret.h"
#include "shard.h"

#define ORIGINS_LOOKED_AT 4 // per message: coturn's client sends three

// --- looking up ----------------------------------------------------------------------------------

static bool is_served(const struct realms_listener *l, uint8_t number)
{
	return (l->serves[number / 64] >> number % 64 & 1) != 0;
}

bool realms_serves(const struct turn_policy *p, uint8_t listener, uint8_t number)
{
	const struct realms *r = p->realms;

	if (r == NULL || listener >= r->nb_listeners)
		return number == 0;
	return is_served(&r->listeners[listener], number);
}

static const struct turn_policy *find_realm(
	const struct turn_policy *p, const void *name, size_t len)
{
	const struct realms *r = p->realms;
	struct table_iter it = {0};
	uint64_t hash;
	uint32_t number;

	if (len > r->name_max)
		return NULL;
	hash = hash_bytes(&p->key, name, len);
	while (table_next(&r->by_name, hash, &it, &number)) {
		const struct turn_policy *policy = r->by_number[number];

		if (strlen(policy->realm) == len && memcmp(policy->realm, name, len) == 0)
			return policy;
	}
	return NULL;
}

// The realm of this name among those that a listener serves; NULL if there is no such realm. Takes
// one hash of at most as many bytes as the longest name has.
static const struct turn_policy *find_served(
	const struct turn_policy *p, uint8_t listener, const void *name, size_t len)
{
	const struct turn_policy *policy = find_realm(p, name, len);

	return policy != NULL && realms_serves(p, listener, policy->number) ? policy : NULL;
}

static const struct realms_origin *origin_find(const struct turn_policy *p, const char *text)
{
	const struct realms *r = p->realms;
	const size_t len = strlen(text);
	const uint64_t hash = hash_bytes(&p->key, text, len);
	struct table_iter it = {0};
	uint32_t i;

	while (table_next(&r->by_origin, hash, &it, &i))
		if (strcmp(r->origins[i].text, text) == 0)
			return &r->origins[i];
	return NULL;
}

// The first ORIGIN of a message that belongs to a realm, among the first ORIGINS_LOOKED_AT; or
// NULL.
static const struct realms_origin *origin_of(const struct turn_policy *p, const struct stun_msg *m)
{
	const struct realms_origin *o = NULL;
	uint16_t pos = 0, off, alen;
	char text[STUN_ORIGIN_MAX + 1];

	for (unsigned int i = 0; i < ORIGINS_LOOKED_AT && o == NULL; i++) {
		if (!stun_next(m, STUN_ORIGIN, &pos, &off, &alen))
			break;
		if (stun_origin_canonical(m->data + off, alen, text))
			o = origin_find(p, text);
	}
	return o;
}

// The realm for the challenge of a request without credentials: that of its ORIGIN among those that
// the listener serves, else the listener's first realm. Takes at most four hashes of
// STUN_ORIGIN_MAX bytes each, and no hash if no realm has origins.
static const struct turn_policy *asked_for(
	const struct turn_policy *p, uint8_t listener, const struct stun_msg *m)
{
	const struct realms *r = p->realms;
	const uint8_t first = listener < r->nb_listeners ? r->listeners[listener].first : 0;
	const struct realms_origin *o = NULL;

	if (r->nb_origins > 0 && stun_has(m, STUN_ORIGIN))
		o = origin_of(p, m);
	return r->by_number[o != NULL && realms_serves(p, listener, o->number) ? o->number : first];
}

const struct turn_policy *realms_choose(const struct turn_request *r)
{
	const struct turn_shard *s = r->s;
	const struct stun_msg *m = &r->m;
	const struct turn_policy *p = NULL;
	const uint8_t listener = r->v->listener;

	if (stun_has(m, STUN_REALM))
		p = find_served(
			s->policy, listener, m->data + m->off[STUN_REALM], m->alen[STUN_REALM]);
	if (p == NULL && r->slot != TURN_NONE)
		p = alloc_policy(s, r->slot);
	return p != NULL ? p : asked_for(s->policy, listener, m);
}

// --- making: one realm ---------------------------------------------------------------------------

static int make_one(struct realms *r, const struct turn_policy *first,
	const struct turn_config *all, const struct turn_realm *realm, struct stun_crypto *crypto)
{
	struct turn_policy *p;
	int err;

	if (realm->number == 0 || r->by_number[realm->number] != first)
		return EINVAL;
	p = secret_alloc(sizeof(*p));
	if (p == NULL)
		return ENOMEM;
	*p = *first;
	p->realms = NULL;
	p->realm = NULL;
	p->users = NULL;
	p->secrets = NULL;
	p->table_mem = NULL;
	p->own_rules = NULL;
#define X(type, field, make, free) memset(&p->field, 0, sizeof(p->field));
	TURN_POLICY_REALM(X)
#undef X
	p->nb_users = p->nb_secrets = 0;
	p->limits.per_user = all->limits.per_user;
	p->relay_pools.rule = NULL;
	r->list[r->nb++] = p;
	r->by_number[realm->number] = p;
	err = policy_make_realm(p, realm, crypto);
	if (err == 0 && !relay_pools_rules(&p->relay_pools, all, realm))
		err = ENOMEM;
	return err;
}

// --- making: all ---------------------------------------------------------------------------------

static int add_origins(struct realms *r, const struct turn_realm *realm)
{
	char text[STUN_ORIGIN_MAX + 1];

	for (uint32_t i = 0; i < realm->nb_origins; i++) {
		if (!stun_origin_canonical(realm->origins[i], strlen(realm->origins[i]), text))
			return EINVAL;
		r->origins[r->nb_origins].text = strdup(text);
		if (r->origins[r->nb_origins].text == NULL)
			return ENOMEM;
		r->origins[r->nb_origins++].number = realm->number;
	}
	return 0;
}

static int make_origins(struct realms *r, const struct turn_config *c)
{
	size_t nb = 0;
	int err = 0;

	for (uint32_t i = 0; i < turn_config_nb_realms(c); i++)
		nb += turn_config_realm(c, i)->nb_origins;
	r->origins = calloc(nb + 1, sizeof(*r->origins));
	if (r->origins == NULL)
		return ENOMEM;
	for (uint32_t i = 0; i < turn_config_nb_realms(c) && err == 0; i++)
		err = add_origins(r, turn_config_realm(c, i));
	return err;
}

static int index_names(struct realms *r, const struct turn_policy *first)
{
	for (uint32_t i = 0; i <= r->nb; i++) {
		const struct turn_policy *p = i < r->nb ? r->list[i] : first;
		const size_t len = strlen(p->realm);

		r->name_max = len > r->name_max ? len : r->name_max;
		if (find_realm(first, p->realm, len) != NULL)
			return EEXIST;
		if (!table_insert(&r->by_name, hash_bytes(&first->key, p->realm, len), p->number))
			return ENOMEM;
	}
	return 0;
}

static int make_index(struct realms *r, const struct turn_policy *first)
{
	const size_t names = table_size(r->nb + 1), origins = table_size(r->nb_origins);

	r->table_mem = aligned_alloc(64, names + origins);
	if (r->table_mem == NULL)
		return ENOMEM;
	memset(r->table_mem, 0, names + origins);
	table_init(&r->by_name, r->table_mem, r->nb + 1);
	table_init(&r->by_origin, (char *)r->table_mem + names, r->nb_origins);
	for (uint32_t i = 0; i < r->nb_origins; i++) {
		const char *text = r->origins[i].text;

		if (origin_find(first, text) != NULL)
			return EEXIST;
		if (!table_insert(&r->by_origin, hash_bytes(&first->key, text, strlen(text)), i))
			return ENOMEM;
	}
	return index_names(r, first);
}

static void serve_realm(struct realms_listener *l, uint8_t number)
{
	l->serves[number / 64] |= UINT64_C(1) << number % 64;
}

static int make_listeners(
	struct realms *r, const struct turn_policy *first, const struct turn_config *c)
{
	r->listeners = calloc((size_t)c->nb_listeners + 1, sizeof(*r->listeners));
	if (r->listeners == NULL)
		return ENOMEM;
	for (uint32_t i = 0; i < c->nb_listeners; i++) {
		const struct turn_listener *listener = &c->listeners[i];
		struct realms_listener *l = &r->listeners[r->nb_listeners++];

		for (uint32_t k = 0; k < r->nb && listener->nb_realms == 0; k++)
			serve_realm(l, r->list[k]->number);
		if (listener->nb_realms == 0)
			serve_realm(l, 0);
		for (uint32_t k = 0; k < listener->nb_realms; k++) {
			const struct turn_policy *p =
				find_realm(first, listener->realms[k], strlen(listener->realms[k]));

			if (p == NULL)
				return EINVAL;
			serve_realm(l, p->number);
			if (k == 0)
				l->first = p->number;
		}
	}
	return 0;
}

int realms_make(struct turn_policy *first, const struct turn_config *c, struct stun_crypto *crypto)
{
	struct realms *r = c->nb_realms > 0 ? calloc(1, sizeof(*r)) : NULL;
	int err = 0;

	first->realms = r;
	if (r == NULL)
		return c->nb_realms > 0 ? ENOMEM : 0;
	for (unsigned int i = 0; i < TURN_REALM_NUMBERS; i++)
		r->by_number[i] = first;
	r->list = calloc((size_t)c->nb_realms + 1, sizeof(struct turn_policy *));
	if (r->list == NULL)
		return ENOMEM;
	for (uint32_t i = 0; i < c->nb_realms && err == 0; i++)
		err = make_one(r, first, c, &c->realms[i], crypto);
	if (err == 0)
		err = make_origins(r, c);
	if (err == 0)
		err = make_index(r, first);
	return err == 0 ? make_listeners(r, first, c) : err;
}

// --- moving and freeing --------------------------------------------------------------------------

// A realm's rules of pools contain no address of the box, and do not change.
static int move_one(struct realms *r, const struct turn_policy *first, const struct turn_policy *p)
{
	struct turn_policy *n = policy_copy(p, first);

	if (n == NULL)
		return ENOMEM;
	n->relay_pools.rule = p->relay_pools.rule;
	n->relay_pools.nb_rules = p->relay_pools.nb_rules;
	r->list[r->nb++] = n;
	r->by_number[n->number] = n;
	return 0;
}

int realms_move(struct turn_policy *first, const struct turn_policy *p)
{
	const struct realms *before = p->realms;
	struct realms *r = before != NULL ? calloc(1, sizeof(*r)) : NULL;
	int err = 0;

	first->realms = r;
	if (r == NULL)
		return before != NULL ? ENOMEM : 0;
	*r = *before;
	r->nb = 0;
	r->list = calloc((size_t)before->nb + 1, sizeof(struct turn_policy *));
	if (r->list == NULL)
		return ENOMEM;
	for (unsigned int i = 0; i < TURN_REALM_NUMBERS; i++)
		r->by_number[i] = first;
	for (uint32_t i = 0; i < before->nb && err == 0; i++)
		err = move_one(r, first, before->list[i]);
	return err;
}

static void free_one(struct turn_policy *p)
{
	free(p->relay_pools.rule);
	policy_free_realm(p);
}

// Realms that were moved own their policies only.
void realms_free(struct turn_policy *first, bool moved)
{
	struct realms *r = first->realms;

	if (r == NULL)
		return;
	for (uint32_t i = 0; i < r->nb; i++)
		moved ? secret_free(r->list[i]) : free_one(r->list[i]);
	for (uint32_t i = 0; i < r->nb_origins && !moved; i++)
		free(r->origins[i].text);
	if (!moved) {
		free(r->origins);
		free(r->listeners);
		free(r->table_mem);
	}
	free(r->list);
	free(r);
}
