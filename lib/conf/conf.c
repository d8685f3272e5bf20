// SPDX-License-Identifier: BSD-3-Clause
// Loads and frees the configuration. A file is read in three steps: text to tree (reading/yaml.c),
// tree to struct conf by the schema (reading/read.c, reading/value.c), then the checks that take
// more than one key (checks/validate.c). Before these, each port gets its device (checks/bonds.c),
// and VLANs become ports (expanding/vlan_ports.c).
#include "conf.h"
#include "conf_drivers.h"

#include <stdlib.h>
#include <string.h>

#include "changes/said.h"
#include "checks/checks.h"
#include "conf_features.h"
#include "expanding/beside.h"
#include "expanding/derive.h"
#include "expanding/state_place.h"
#include "expanding/vlan_ports.h"
#include "reading/ctx.h"
#include "reading/fail.h"
#include "reading/read.h"
#include "reading/yaml.h"
#include "schema/schema.h"

// Returns NULL, with the reason in x->error, on failure.
static struct conf *load_file(struct conf_ctx *x)
{
	struct conf *c = calloc(1, sizeof(*c));
	int rc;

	x->error[0] = '\0';
	x->conf = c;
	if (c != NULL)
		c->path = strdup(x->path);
	rc = c != NULL && c->path != NULL ? conf_read_file(x, c) : conf_fail_memory(x);
	if (rc == 0)
		rc = conf_bonds_decide(x);
	if (rc == 0)
		rc = conf_vlans_expand(x);
	if (rc == 0)
		conf_derive(c);
	if (rc == 0)
		rc = conf_beside_expand(x);
	if (rc == 0)
		rc = conf_state_place(x);
	if (rc == 0)
		rc = conf_validate(x);
	if (rc == 0 && x->hash != NULL) {
		c->said = said_take(x->keys, x->root, x->hash, c);
		rc = c->said != NULL ? 0 : conf_fail_memory(x);
	}
	if (rc == 0) {
		conf_yaml_strip(x->root);
		c->root = x->root;
		return c;
	}
	conf_yaml_free(x->root);
	conf_free(c);
	return NULL;
}

struct conf *conf_load(const char *path, char error[CONF_ERROR_LEN])
{
	struct conf_ctx x = {.path = path, .error = error, .keys = &conf_file_keys};

	return load_file(&x);
}

struct conf *conf_load_and_report(
	const char *path, struct conf_report *r, const struct hash_key *hash)
{
	char error[CONF_ERROR_LEN];
	struct conf_ctx x = {
		.path = path, .error = error, .keys = &conf_file_keys, .report = r, .hash = hash};

	return load_file(&x);
}

const struct conf_address *conf_port_address(const struct conf_port *p, const struct addr *a)
{
	for (uint32_t i = 0; i < p->nb_addresses; i++)
		if (addr_eq(&p->addresses[i].addr, a))
			return &p->addresses[i];
	return NULL;
}

const struct conf_port *conf_port_find(const struct conf *c, const struct addr *a)
{
	for (uint32_t i = 0; i < c->nb_ports; i++)
		if (conf_port_address(&c->ports[i], a) != NULL)
			return &c->ports[i];
	return NULL;
}

bool conf_wants_tls(const struct conf *c)
{
	for (uint32_t i = 0; i < c->turn.nb_listeners; i++)
		if (c->turn.listeners[i].transport != TURN_OVER_UDP &&
			c->turn.listeners[i].transport != TURN_OVER_TCP)
			return true;
	return false;
}

static void wipe_text(char *text)
{
	if (text != NULL)
		explicit_bzero(text, strlen(text));
}

static void forget_users(struct turn_user *users, uint32_t nb)
{
	for (uint32_t i = 0; i < nb; i++) {
		wipe_text(users[i].password);
		explicit_bzero(&users[i].md5, sizeof(users[i].md5));
		explicit_bzero(&users[i].sha256, sizeof(users[i].sha256));
	}
}

void conf_forget(struct conf *c)
{
	for (uint32_t i = 0; i < turn_config_nb_realms(&c->turn); i++) {
		struct turn_realm *r = turn_config_realm(&c->turn, i);

		forget_users(r->users, r->nb_users);
		for (uint32_t k = 0; k < r->nb_secrets; k++)
			wipe_text(r->secrets[k]);
	}
	wipe_text(c->turn.nonce_secret);
#define X(forget) forget(c);
	CONF_FORGET(X)
#undef X
}

void conf_forget_places(struct conf *c)
{
	conf_yaml_free(c->root);
	c->root = NULL;
}

void conf_free(struct conf *c)
{
	if (c == NULL)
		return;
	conf_read_free(&conf_file_keys, NULL, c);
	conf_drivers_free(c->drivers);
	conf_yaml_free(c->root);
	said_free(c->said);
	for (uint32_t i = 0; i < c->nb_included; i++)
		free(c->included[i]);
	free(c->included);
	for (uint32_t i = 0; i < c->nb_secret_files; i++)
		free(c->secret_files[i]);
	free(c->secret_files);
	for (uint32_t i = 0; i < c->nb_prefix_files; i++)
		free(c->prefix_files[i]);
	free(c->prefix_files);
	free(c->turn.local);
	free(c->turn.gateways);
	free(c->turn.routes);
	free(c->path);
	free(c);
}
