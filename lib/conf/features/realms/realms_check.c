// SPDX-License-Identifier: BSD-3-Clause
// Checks what several realms need: names, origins, the realms of listeners, and relay pools.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "checks/checks.h"
#include "conf.h"
#include "conf_features.h"
#include "features/realms/origin.h"
#include "problems.h"
#include "reading/ctx.h"
#include "reading/fail.h"
#include "reading/node.h"

// --- names of realms -----------------------------------------------------------------------------

static int check_realm_names(struct conf_ctx *x)
{
	const struct turn_config *t = &x->conf->turn;
	struct conf_named *names = calloc((size_t)t->nb_realms + 1, sizeof(*names));
	const struct conf_named *twin;
	int rc = 0;

	if (names == NULL)
		return conf_fail_memory(x);
	for (uint32_t i = 0; i < t->nb_realms; i++) {
		names[i] = (struct conf_named){t->realms[i].name, i};
		if (strcmp(t->realms[i].name, t->first.name) == 0)
			rc = conf_fail(x, conf_node_by_field(x->root, &t->realms[i].name, 0),
				"is auth.realm: move its keys to auth, limits and peers");
	}
	twin = conf_twin_of(names, t->nb_realms);
	if (twin != NULL)
		rc = conf_fail(x, conf_node_by_field(x->root, &t->realms[twin->index].name, 0),
			"realms[%u] has this name already: remove one, or join the two",
			twin[-1].index);
	free(names);
	return rc;
}

static bool is_realm(const struct turn_config *t, const char *name)
{
	for (uint32_t i = 0; i < turn_config_nb_realms(t); i++)
		if (strcmp(turn_config_realm(t, i)->name, name) == 0)
			return true;
	return false;
}

// Returns the index of the first entry that repeats an earlier one, or nb if all differ. Lists are
// short.
static uint32_t find_repeat(char *const *list, uint32_t nb)
{
	for (uint32_t i = 1; i < nb; i++)
		for (uint32_t k = 0; k < i; k++)
			if (strcmp(list[i], list[k]) == 0)
				return i;
	return nb;
}

static int check_listener(struct conf_ctx *x, uint32_t listener)
{
	const struct turn_config *t = &x->conf->turn;
	const struct turn_listener *l = &t->listeners[listener];
	const uint32_t twice = find_repeat(l->realms, l->nb_realms);

	for (uint32_t i = 0; i < l->nb_realms; i++)
		if (!is_realm(t, l->realms[i]))
			return conf_fail(x, conf_node_by_field(x->root, &l->realms, i),
				"there is no such realm: write the name of auth.realm, or a name "
				"of realms");
	if (twice < l->nb_realms)
		return conf_fail(x, conf_node_by_field(x->root, &l->realms, twice),
			"is in the list already: remove one");
	return 0;
}

// Listeners that were expanded from one entry share its list: an error is reported once.
static int check_listeners(struct conf_ctx *x)
{
	const struct turn_config *t = &x->conf->turn;
	int rc = 0;

	for (uint32_t i = 0; i < t->nb_listeners && !conf_fail_enough(x); i++)
		if ((i == 0 || t->listeners[i].entry != t->listeners[i - 1].entry) &&
			check_listener(x, i) != 0)
			rc = -EINVAL;
	return rc;
}

// --- origins -------------------------------------------------------------------------------------

// Place of an origin. Its node is looked up only for an error, as that walks the whole tree.
struct origin_place {
	const void *field;
	uint32_t index;
};

// All origins of the file, in the form that is compared.
struct origins {
	struct conf_named *list;
	char (*text)[STUN_ORIGIN_MAX + 1];
	struct origin_place *place; // by index
	uint32_t nb;
};

static const struct conf_node *place_node(const struct conf_ctx *x, const struct origin_place *p)
{
	return conf_node_by_field(x->root, p->field, p->index);
}

static int add_origins(struct conf_ctx *x, struct origins *o, const struct turn_realm *r)
{
	int rc = 0;

	for (uint32_t i = 0; i < r->nb_origins; i++) {
		const char *text = r->origins[i];

		if (!stun_origin_canonical(text, strlen(text), o->text[o->nb])) {
			rc = conf_fail(x, conf_node_by_field(x->root, &r->origins, i),
				"must be an origin like https://app.example.org or "
				"https://app.example.org:8443, of up to %u bytes",
				STUN_ORIGIN_MAX);
			continue;
		}
		o->place[o->nb] = (struct origin_place){&r->origins, i};
		o->list[o->nb] = (struct conf_named){o->text[o->nb], o->nb};
		o->nb++;
	}
	return rc;
}

static int fill_origins(struct conf_ctx *x, struct origins *o)
{
	const struct turn_config *t = &x->conf->turn;
	const struct conf_named *twin;
	int rc = 0;

	for (uint32_t i = 0; i < turn_config_nb_realms(t); i++)
		if (add_origins(x, o, turn_config_realm(t, i)) != 0)
			rc = -EINVAL;
	twin = conf_twin_of(o->list, o->nb);
	if (twin != NULL)
		return conf_fail(x, place_node(x, &o->place[twin->index]),
			"is given twice, first at line %u: an origin has one realm, remove one",
			place_node(x, &o->place[twin[-1].index])->line);
	return rc;
}

static int check_origins(struct conf_ctx *x)
{
	const struct turn_config *t = &x->conf->turn;
	struct origins o = {0};
	size_t nb = 1;
	int rc;

	for (uint32_t i = 0; i < turn_config_nb_realms(t); i++)
		nb += turn_config_realm(t, i)->nb_origins;
	o.list = calloc(nb, sizeof(*o.list));
	o.text = calloc(nb, sizeof(*o.text));
	o.place = calloc(nb, sizeof(*o.place));
	rc = o.list != NULL && o.text != NULL && o.place != NULL ? fill_origins(x, &o)
								 : conf_fail_memory(x);
	free(o.list);
	free(o.text);
	free(o.place);
	return rc;
}

// --- relay pools ---------------------------------------------------------------------------------

static int check_pool_names(struct conf_ctx *x, const struct turn_realm *r)
{
	const struct turn_config *t = &x->conf->turn;
	const uint32_t twice = find_repeat(r->relay_pool_names, r->nb_relay_pool_names);

	for (uint32_t i = 0; i < r->nb_relay_pool_names; i++) {
		uint32_t k = 0;

		while (k < t->nb_relay_pools &&
			strcmp(t->relay_pools[k].name, r->relay_pool_names[i]) != 0)
			k++;
		if (k == t->nb_relay_pools)
			return conf_fail(x, conf_node_by_field(x->root, &r->relay_pool_names, i),
				"there is no such pool: write a name of relay.pools");
	}
	if (twice < r->nb_relay_pool_names)
		return conf_fail(x, conf_node_by_field(x->root, &r->relay_pool_names, twice),
			"is in the list already: remove one");
	return 0;
}

static int check_pools(struct conf_ctx *x)
{
	const struct turn_config *t = &x->conf->turn;
	int rc = 0;

	for (uint32_t i = 0; i < turn_config_nb_realms(t) && !conf_fail_enough(x); i++)
		if (check_pool_names(x, turn_config_realm(t, i)) != 0)
			rc = -EINVAL;
	return rc;
}

// --- all checks ----------------------------------------------------------------------------------

int conf_realms_check(struct conf_ctx *x)
{
	static int (*const checks[])(struct conf_ctx *) = {
		check_realm_names, check_listeners, check_origins, check_pools};
	struct turn_config *t = &x->conf->turn;
	int rc = 0;

	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]) && !conf_fail_enough(x); i++)
		if (checks[i](x) != 0)
			rc = -EINVAL;
	// in the order of the file, until a process assigns lasting numbers
	for (uint32_t i = 0; i < t->nb_realms; i++)
		t->realms[i].number = (uint8_t)(i + 1);
	return rc;
}

// --- warnings ------------------------------------------------------------------------------------

static bool serves_realm(const struct conf *c, const char *realm)
{
	for (uint32_t i = 0; i < c->turn.nb_listeners; i++) {
		const struct turn_listener *l = &c->turn.listeners[i];

		for (uint32_t k = 0; k < l->nb_realms; k++)
			if (strcmp(l->realms[k], realm) == 0)
				return true;
		if (l->nb_realms == 0)
			return true;
	}
	return false;
}

void conf_realms_warn(const struct conf *c, struct conf_report *r)
{
	for (uint32_t i = 0; i < c->turn.nb_realms && !conf_warned(r); i++) {
		const struct turn_realm *m = &c->turn.realms[i];

		if (!serves_realm(c, m->name))
			conf_tell(r, CONF_WARNING, (struct conf_at){c, &m->name, 0, "realms"},
				"no listener serves this realm: name it in listeners[].realms");
	}
}
