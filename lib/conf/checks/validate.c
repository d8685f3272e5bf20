// SPDX-License-Identifier: BSD-3-Clause
// Checks that involve more than one key. Each error names the place that the operator should
// change.
#include "checks/checks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "conf.h"
#include "conf_lcores.h"
#include "conf_features.h"
#include "reading/ctx.h"
#include "reading/fail.h"
#include "reading/node.h"
#include "turn_relay_map.h"

// coturn's ports

static int check_lcores(struct conf_ctx *x)
{
	const struct conf *c = x->conf;
	const struct conf_node *n = conf_node_by_field(x->root, &c->eal_lcores, 0);
	const uint32_t workers = c->workers > 0 ? c->workers : 1;
	int count;

	if (c->eal_lcores == NULL)
		return 0;
	count = conf_lcores_count(c->eal_lcores);
	if (count < 0)
		return conf_fail(x, n,
			"must be a list of lcores as for EAL's --lcores, like 0@(0-1),1@0,2@1");
	if ((uint32_t)count < workers + 1)
		return conf_fail(x, n,
			"names %d lcores, %u are needed: name one for management and one for each "
			"of %u workers",
			count, workers + 1, workers);
	return 0;
}

// Fails if EAL gets an argument twice, because EAL refuses that.
static int check_eal_args(struct conf_ctx *x)
{
	static const struct {
		const char *arg, *key;
		bool attached; // the value may follow without a space
	} ours[] = {
		{"-l", "eal.lcores", true},
		{"-c", "eal.lcores", true},
		{"--lcores", "eal.lcores", false},
		{"--file-prefix", "eal.file-prefix", false},
	};
	const struct conf *c = x->conf;

	for (uint32_t i = 0; i < c->nb_eal_args; i++) {
		for (size_t j = 0; j < sizeof(ours) / sizeof(ours[0]); j++) {
			const size_t len = strlen(ours[j].arg);
			const char end = strncmp(c->eal_args[i], ours[j].arg, len) == 0
				? c->eal_args[i][len]
				: 'x';

			if (end == '\0' || end == '=' || (ours[j].attached && end != 'x'))
				return conf_fail(x, conf_node_by_field(x->root, &c->eal_args, i),
					"key %s sets it: use that instead of %s", ours[j].key,
					ours[j].arg);
		}
	}
	return 0;
}

static int check_family(struct conf_ctx *x)
{
	const struct turn_config *t = &x->conf->turn;

	if (t->default_family != TURN_FAMILY_IPV6)
		return 0;
	for (uint32_t i = 0; i < t->nb_relay; i++)
		if (!addr_is_v4(&t->relay[i]))
			return 0;
	return conf_fail(x, conf_node_by_field(x->root, &t->default_family, 0),
		"no relay address is IPv6: add one to relay.addresses, or most clients get none");
}

// A relative path would say nothing to the reader of the file.
static int check_records(struct conf_ctx *x)
{
	const char *file = x->conf->records.file;

	if (file != NULL && file[0] != '/')
		return conf_fail(x, conf_node_by_field(x->root, &x->conf->records.file, 0),
			"must be an absolute path, such as /var/log/slipring/records.json");
	return 0;
}

static int check_control(struct conf_ctx *x)
{
	const struct conf_control *c = &x->conf->control;
	const char *path = c->socket;

	if (c->group != NULL && c->readers != NULL && strcmp(c->group, c->readers) == 0)
		return conf_fail(x, conf_node_by_field(x->root, &c->readers, 0),
			"is control.group, too, whose members give orders: name another group, or "
			"remove this key");
	if (path == NULL || path[0] == '\0' || path[0] == '/')
		return 0;
	return conf_fail(x, conf_node_by_field(x->root, &x->conf->control.socket, 0),
		"must be an absolute path, such as /run/slipring/control.sock, or empty");
}

static int check_state(struct conf_ctx *x)
{
	const char *file = x->conf->state.file;
	const char *name = file != NULL ? strrchr(file, '/') : NULL;

	if (file == NULL)
		return 0;
	if (file[0] != '/' || strlen(name) < 2 || strcmp(name, "/.") == 0 ||
		strcmp(name, "/..") == 0)
		return conf_fail(x, conf_node_by_field(x->root, &x->conf->state.file, 0),
			"must be the absolute path of a file, such as /run/slipring/state");
	return 0;
}

static int check_crash(struct conf_ctx *x)
{
	const char *path = x->conf->crash.directory;

	if (path == NULL || path[0] == '\0' || path[0] == '/')
		return 0;
	return conf_fail(x, conf_node_by_field(x->root, &x->conf->crash.directory, 0),
		"must be an absolute path, such as /var/log/slipring, or empty");
}

// Sets what the file leaves out about relay ports and limits.
static int fill_relay(struct conf_ctx *x)
{
	int rc = 0;

#define X(fill)           \
	if (fill(x) != 0) \
		rc = -EINVAL;
	CONF_FILLS(X)
#undef X
	conf_allocations_fill(x);
	return rc;
}

static int check_command(struct conf_ctx *x)
{
	const struct conf_drain *d = &x->conf->drain;

	if (d->nb_on_change == 0 || d->on_change[0][0] == '/')
		return 0;
	return conf_fail(x, conf_node_by_field(x->root, &d->on_change, 0),
		"must begin with the absolute path of a program, such as /etc/slipring/on-change");
}

int conf_validate(struct conf_ctx *x)
{
	static int (*const checks[])(struct conf_ctx *) = {check_lcores, check_eal_args,
		conf_ports_gather, fill_relay, check_family, conf_ports_check, conf_packets_check,
		conf_identities_check, conf_pools_check, conf_exceptions_check, conf_logins_check,
		check_records, check_control, check_state, check_crash, check_command,
#define X(check) check,
		CONF_CHECKS(X)
#undef X
	};
	int rc = 0;

	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]) && !conf_fail_enough(x); i++)
		if (checks[i](x) != 0)
			rc = -EINVAL;
	return rc;
}
