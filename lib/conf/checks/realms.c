// SPDX-License-Identifier: BSD-3-Clause
// Checks the users and secrets of each realm. Tenants have long lists of names, so lists are sorted
// to find duplicates.
#include "checks/checks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf.h"
#include "reading/ctx.h"
#include "reading/fail.h"
#include "reading/node.h"

// --- names that must be unique -------------------------------------------------------------------

static int named_cmp(const void *a, const void *b)
{
	const struct conf_named *l = a, *r = b;
	const int diff = strcmp(l->name, r->name);

	return diff != 0 ? diff : (l->index > r->index) - (l->index < r->index);
}

const struct conf_named *conf_twin_of(struct conf_named *list, size_t nb)
{
	const struct conf_named *twin = NULL;

	qsort(list, nb, sizeof(*list), named_cmp);
	for (size_t i = 1; i < nb; i++)
		if (strcmp(list[i].name, list[i - 1].name) == 0 &&
			(twin == NULL || list[i].index < twin->index))
			twin = &list[i];
	return twin;
}

// --- credentials ---------------------------------------------------------------------------------

static int check_names(struct conf_ctx *x, const struct turn_realm *r, const char *section)
{
	struct conf_named *names = calloc((size_t)r->nb_users + 1, sizeof(*names));
	const struct conf_named *twin;
	int rc = 0;

	if (names == NULL)
		return conf_fail_memory(x);
	for (uint32_t i = 0; i < r->nb_users; i++)
		names[i] = (struct conf_named){r->users[i].name, i};
	twin = conf_twin_of(names, r->nb_users);
	if (twin != NULL)
		rc = conf_fail(x, conf_node_by_field(x->root, &r->users[twin->index].name, 0),
			"%s.users[%u] has this name already: remove one", section, twin[-1].index);
	free(names);
	return rc;
}

// section: that of the realm's keys, such as "auth". The first realm may lack credentials if there
// are others.
static int check_login(struct conf_ctx *x, const struct turn_realm *r, const char *section)
{
	const bool may_lack =
		r == &x->conf->turn.first && turn_config_nb_realms(&x->conf->turn) > 1;
	int rc = 0;

	for (uint32_t i = 0; i < r->nb_users && !conf_fail_enough(x); i++) {
		const struct turn_user *u = &r->users[i];
		const bool keys = u->md5.len > 0 || u->sha256.len > 0;

		if (u->password == NULL && !keys)
			rc = conf_fail(x, conf_node_by_field(x->root, &r->users, i),
				"this user has neither password nor key: give it one");
		if (u->password != NULL && keys)
			rc = conf_fail(x, conf_node_by_field(x->root, &r->users, i),
				"this user has both a password and a key: keep one of them");
	}
	if (turn_realm_credentials(r) == 0 && !may_lack)
		rc = conf_fail(x, conf_node_by_field(x->root, &r->name, 0)->parent,
			"no client can log in: give %s.users or %s.secrets at least one entry",
			section, section);
	if (check_names(x, r, section) != 0)
		rc = -EINVAL;
	return rc;
}

int conf_logins_check(struct conf_ctx *x)
{
	const struct turn_config *t = &x->conf->turn;
	int rc = 0;

	for (uint32_t i = 0; i < turn_config_nb_realms(t) && !conf_fail_enough(x); i++) {
		char section[32] = "auth";

		if (i > 0)
			snprintf(section, sizeof(section), "realms[%u]", i - 1);
		if (check_login(x, turn_config_realm(t, i), section) != 0)
			rc = -EINVAL;
	}
	return rc;
}

// --- relay pools ---------------------------------------------------------------------------------

static bool has_pool(const struct turn_realm *r, const char *name)
{
	for (uint32_t i = 0; r->relay_pool_names != NULL && i < r->nb_relay_pool_names; i++)
		if (strcmp(r->relay_pool_names[i], name) == 0)
			return true;
	return r->relay_pool_names == NULL;
}

bool conf_realms_share(const struct turn_config *t, const char *pool, const char *other_pool)
{
	bool share = false;

	for (uint32_t i = 0; i < turn_config_nb_realms(t) && !share; i++) {
		const struct turn_realm *r = turn_config_realm(t, i);

		share = has_pool(r, pool) && has_pool(r, other_pool);
	}
	return share;
}
