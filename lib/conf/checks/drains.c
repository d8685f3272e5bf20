// SPDX-License-Identifier: BSD-3-Clause
// Checks where clients are sent while the box drains, and who is told of it.
#include "checks/drains.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "conf.h"
#include "reading/addrs.h"
#include "reading/ctx.h"
#include "reading/fail.h"
#include "reading/node.h"

static bool is_own(const struct turn_config *t, const struct addr *a)
{
	for (uint32_t i = 0; i < t->nb_local; i++)
		if (addr_eq(&t->local[i].addr, a) || addr_eq(&t->local[i].external, a))
			return true;
	for (uint32_t i = 0; i < t->nb_listeners; i++)
		if (addr_eq(&t->listeners[i].at.addr, a))
			return true;
	return false;
}

static int check_address(struct conf_ctx *x, uint32_t i)
{
	const struct conf_drain *d = &x->conf->drain;
	const struct addr *a = &d->alternates[i].addr;
	const struct conf_node *n = conf_node_of(x->root, a, 0);
	const char *class = conf_addrs_class(a);
	char text[ADDR_TEXT_LEN];

	addr_format(a, text, sizeof(text));
	if (class != NULL)
		return conf_fail(
			x, n, "%s is %s: name an address that clients can reach", text, class);
	if (is_own(&x->conf->turn, a))
		return conf_fail(
			x, n, "%s is an address of this server: name another server's", text);
	for (uint32_t k = 0; k < i; k++)
		if (addr_eq(&d->alternates[k].addr, a))
			return conf_fail(x, n, "%s is there already: remove one", text);
	return 0;
}

// RFC 8489 14.16: a DNS name as RFC 1123 has it.
static bool is_dns_name(const char *name)
{
	const size_t all = strlen(name);

	for (size_t at = 0; at <= all;) {
		const size_t len = strcspn(name + at, ".");

		if (len == 0 || len > 63 || name[at] == '-' || name[at + len - 1] == '-')
			return false;
		for (size_t i = 0; i < len; i++)
			if (!isalnum((unsigned char)name[at + i]) && name[at + i] != '-')
				return false;
		at += len + 1;
	}
	return true;
}

static int check_name(struct conf_ctx *x, uint32_t i)
{
	char *const *name = &x->conf->drain.alternates[i].name;

	if (*name == NULL || is_dns_name(*name))
		return 0;
	return conf_fail(x, conf_node_of(x->root, name, 0),
		"must be the DNS name in its certificate, such as turn2.example.org");
}

static int check_command(struct conf_ctx *x)
{
	const struct conf_drain *d = &x->conf->drain;

	if (d->nb_on_change == 0 || d->on_change[0][0] == '/')
		return 0;
	return conf_fail(x, conf_node_of(x->root, &d->on_change, 0),
		"must begin with the whole path of a program, such as /etc/slipring/on-change");
}

int conf_drains_check(struct conf_ctx *x)
{
	int rc = check_command(x);

	for (uint32_t i = 0; i < x->conf->drain.nb_alternates && !conf_fail_enough(x); i++)
		if (check_address(x, i) != 0 || check_name(x, i) != 0)
			rc = -EINVAL;
	return rc;
}

static bool has_family(const struct conf_drain *d, bool is_v4)
{
	for (uint32_t i = 0; i < d->nb_alternates; i++)
		if (addr_is_v4(&d->alternates[i].addr) == is_v4)
			return true;
	return false;
}

void conf_drains_warn(const struct conf *c, struct conf_report *r)
{
	const struct conf_at at = {c, &c->drain.alternates, 0, "drain.alternates"};
	bool lacks[2] = {false, false};

	for (uint32_t i = 0; i < c->turn.nb_listeners && c->drain.nb_alternates > 0; i++) {
		const bool is_v4 = addr_is_v4(&c->turn.listeners[i].at.addr);

		lacks[is_v4] = !has_family(&c->drain, is_v4);
	}
	for (int is_v4 = 1; is_v4 >= 0; is_v4--)
		if (lacks[is_v4])
			conf_tell(r, CONF_WARNING, at,
				"none is of IPv%c: clients of the IPv%c listeners get 508 while "
				"this server drains",
				is_v4 ? '4' : '6', is_v4 ? '4' : '6');
}
