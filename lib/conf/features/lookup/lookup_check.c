// SPDX-License-Identifier: BSD-3-Clause
// Checks of auth.lookup.
#include <errno.h>
#include <string.h>

#include "conf.h"
#include "conf_features.h"
#include "reading/ctx.h"
#include "reading/fail.h"
#include "reading/node.h"

// The realm of a name, or NULL.
static struct turn_realm *find_realm(struct turn_config *t, const char *name)
{
	for (uint32_t i = 0; i < turn_config_nb_realms(t); i++) {
		struct turn_realm *r = turn_config_realm(t, i);

		if (r->name != NULL && strcmp(r->name, name) == 0)
			return r;
	}
	return NULL;
}

int conf_lookup_check(struct conf_ctx *x)
{
	struct turn_config *t = &x->conf->turn;
	const struct turn_lookup *l = &t->lookup;

	if (!l->enabled)
		return 0;
	if (l->socket[0] != '/')
		return conf_fail(x, conf_node_by_field(x->root, &t->lookup.socket, 0),
			"must be an absolute path, as /run/slipring-accounts/socket");
	for (uint32_t i = 0; i < l->nb_realms; i++) {
		struct turn_realm *r = find_realm(t, l->realms[i]);

		if (r == NULL)
			return conf_fail(x, conf_node_by_field(x->root, &t->lookup.realms, i),
				"no realm has this name: write auth.realm, or the name of one of "
				"realms");
		r->looked_up = 1;
	}
	for (uint32_t i = 0; l->nb_realms == 0 && i < turn_config_nb_realms(t); i++)
		turn_config_realm(t, i)->looked_up = 1;
	return 0;
}
