// SPDX-License-Identifier: BSD-3-Clause
// Checks that NAT behaviour discovery has what RFC 5780 section 6 demands: two addresses of a
// family, with two ports that are equal on both.
#include <errno.h>

#include "conf.h"
#include "conf_features.h"
#include "reading/ctx.h"
#include "reading/fail.h"
#include "reading/node.h"

static bool has_listener(const struct turn_config *t, const struct addr *a, uint16_t port)
{
	for (uint32_t i = 0; i < t->nb_listeners; i++)
		if (t->listeners[i].transport == TURN_OVER_UDP &&
			t->listeners[i].endpoint.port == port &&
			addr_eq(&t->listeners[i].endpoint.addr, a))
			return true;
	return false;
}

static int check_address(struct conf_ctx *x, uint32_t i)
{
	const struct turn_config *t = &x->conf->turn;
	const struct addr *a = &t->discovery.addresses[i];
	const struct conf_node *n = conf_node_by_field(x->root, &t->discovery.addresses, i);
	uint32_t family = 0;
	char text[ADDR_TEXT_LEN];

	addr_format(a, text, sizeof(text));
	for (uint32_t k = 0; k < t->discovery.nb; k++) {
		family += addr_is_v4(&t->discovery.addresses[k]) == addr_is_v4(a);
		if (k < i && addr_eq(&t->discovery.addresses[k], a))
			return conf_fail(x, n, "%s is given twice: name two addresses", text);
	}
	if (family != 2)
		return conf_fail(x, n, "%u of IPv%c: name two addresses of a family, or none",
			family, addr_is_v4(a) ? '4' : '6');
	for (unsigned int k = 0; k < 2; k++)
		if (!has_listener(t, a, t->discovery.ports[k]))
			return conf_fail(x, n,
				"%s has no UDP listener on port %u: add it to listeners", text,
				t->discovery.ports[k]);
	return 0;
}

int conf_discovery_check(struct conf_ctx *x)
{
	const struct turn_config *t = &x->conf->turn;
	int rc = 0;

	if (t->discovery.nb > 0 && t->discovery.ports[0] == t->discovery.ports[1])
		rc = conf_fail(x, conf_node_by_field(x->root, &t->discovery.ports[1], 0),
			"%u is nat-discovery.port, too: choose another port",
			t->discovery.ports[1]);
	for (uint32_t i = 0; i < t->discovery.nb && rc == 0; i++)
		rc = check_address(x, i);
	return rc == 0 ? 0 : -EINVAL;
}
