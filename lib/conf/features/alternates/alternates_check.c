// SPDX-License-Identifier: BSD-3-Clause
// Checks the servers that clients are sent to.
#include "checks/checks.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "conf.h"
#include "conf_features.h"
#include "values/addrs.h"
#include "reading/ctx.h"
#include "reading/fail.h"
#include "reading/node.h"

static bool is_own(const struct turn_config *t, const struct addr *a)
{
	for (uint32_t i = 0; i < t->nb_local; i++)
		if (addr_eq(&t->local[i].addr, a) || addr_eq(&t->local[i].external, a))
			return true;
	for (uint32_t i = 0; i < t->nb_listeners; i++)
		if (addr_eq(&t->listeners[i].endpoint.addr, a))
			return true;
	return false;
}

// The servers that one section of the file names.
struct servers {
	const struct turn_alternate *list;
	uint32_t nb;
};

static int check_address(struct conf_ctx *x, const struct servers *s, uint32_t i)
{
	const struct addr *a = &s->list[i].addr;
	const struct conf_node *n = conf_node_by_field(x->root, a, 0);
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
		if (addr_eq(&s->list[k].addr, a))
			return conf_fail(x, n, "%s is given twice: remove one", text);
	return 0;
}

// True for a DNS name of RFC 1123, as RFC 8489 14.16 demands.
static bool is_dns_name(const char *name)
{
	const size_t all = strlen(name);

	for (size_t pos = 0; pos <= all;) {
		const size_t len = strcspn(name + pos, ".");

		if (len == 0 || len > 63 || name[pos] == '-' || name[pos + len - 1] == '-')
			return false;
		for (size_t i = 0; i < len; i++)
			if (!isalnum((unsigned char)name[pos + i]) && name[pos + i] != '-')
				return false;
		pos += len + 1;
	}
	return true;
}

static int check_name(struct conf_ctx *x, char *const *name)
{
	if (*name == NULL || is_dns_name(*name))
		return 0;
	return conf_fail(x, conf_node_by_field(x->root, name, 0),
		"must be the DNS name in the server's certificate, such as turn2.example.org");
}

static int check_servers(struct conf_ctx *x, const struct servers *s)
{
	int rc = 0;

	for (uint32_t i = 0; i < s->nb && !conf_fail_enough(x); i++)
		if (check_address(x, s, i) != 0 || check_name(x, &s->list[i].name) != 0)
			rc = -EINVAL;
	return rc;
}

static int check_when(struct conf_ctx *x)
{
	const struct turn_alternate_config *a = &x->conf->turn.alternate;
	const void *key = a->allocations > 0 ? &a->allocations : &a->datagrams;

	if (a->nb_servers > 0 || (a->allocations == 0 && a->datagrams == 0))
		return 0;
	return conf_fail(x, conf_node_by_field(x->root, key, 0),
		"there are no servers for these clients: name some in alternate.servers, or "
		"remove this key");
}

int conf_alternates_check(struct conf_ctx *x)
{
	const struct turn_alternate_config *a = &x->conf->turn.alternate;
	const struct servers lists[] = {{a->servers, a->nb_servers}, {a->drain, a->nb_drain}};
	int rc = check_when(x);

	for (unsigned int i = 0; i < 2; i++)
		if (check_servers(x, &lists[i]) != 0)
			rc = -EINVAL;
	return rc;
}

// --- warnings ------------------------------------------------------------------------------------

static bool has_family(const struct servers *s, bool is_v4)
{
	for (uint32_t i = 0; i < s->nb; i++)
		if (addr_is_v4(&s->list[i].addr) == is_v4)
			return true;
	return false;
}

// Warns if listeners have an address family that no server has. fate says what happens to clients
// of that family.
static void warn_families(
	struct conf_report *r, struct conf_at location, const struct servers *s, const char *fate)
{
	const struct turn_config *t = &location.conf->turn;
	bool lacks[2] = {false, false};

	for (uint32_t i = 0; i < t->nb_listeners && s->nb > 0; i++) {
		const bool is_v4 = addr_is_v4(&t->listeners[i].endpoint.addr);

		lacks[is_v4] = !has_family(s, is_v4);
	}
	for (int is_v4 = 1; is_v4 >= 0; is_v4--)
		if (lacks[is_v4])
			conf_tell(r, CONF_WARNING, location,
				"no server has an IPv%c address: clients of the IPv%c listeners %s",
				is_v4 ? '4' : '6', is_v4 ? '4' : '6', fate);
}

void conf_alternates_warn(const struct conf *c, struct conf_report *r)
{
	const struct turn_alternate_config *a = &c->turn.alternate;
	const struct conf_at servers = {c, &a->servers, 0, "alternate.servers"};
	const struct conf_at alternates = {c, &a->drain, 0, "drain.alternates"};
	const struct conf_at allocations = {c, &a->allocations, 0, "alternate.allocations"};
	const uint32_t most = c->turn.limits.allocations;

	warn_families(r, servers, &(struct servers){a->servers, a->nb_servers},
		a->nb_drain > 0 ? "are served here, whatever the load"
				: "are served here, whatever the load, and get 508 while this "
				  "server drains");
	warn_families(r, alternates, &(struct servers){a->drain, a->nb_drain},
		"get 508 while this server drains");
	if (most > 0 && a->allocations > most)
		conf_tell(r, CONF_WARNING, allocations,
			"%u is above limits.allocations (%u): clients get 486 before this server "
			"sends any away",
			a->allocations, most);
}
