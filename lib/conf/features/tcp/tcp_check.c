// SPDX-License-Identifier: BSD-3-Clause
// Checks and derived values of relay.tcp (RFC 6062).
#include <errno.h>

#include "checks/checks.h"
#include "conf.h"
#include "conf_features.h"
#include "reading/ctx.h"
#include "reading/fail.h"
#include "reading/node.h"

#define CONNECTIONS_LEAST 1024

// Fails if a stream listener on a relay address has a port of relay.tcp.ports.
static int check_apart(struct conf_ctx *x, const struct turn_listener *l)
{
	const struct turn_config *t = &x->conf->turn;

	if (!turn_listener_is_stream(l) || l->endpoint.port < t->tcp.ports_lo ||
		l->endpoint.port > t->tcp.ports_hi)
		return 0;
	for (uint32_t i = 0; i < t->nb_relay; i++)
		if (addr_eq(&t->relay[i], &l->endpoint.addr))
			return conf_fail(x, conf_node_by_field(x->root, &t->tcp.ports_lo, 0),
				"the range holds port %u, at which a relay address has a "
				"listener: choose other ports",
				l->endpoint.port);
	return 0;
}

// TCP connections with peers are kernel sockets, as those of clients are.
int conf_tcp_check(struct conf_ctx *x)
{
	const struct turn_config *t = &x->conf->turn;
	const struct conf_node *n = conf_node_by_field(x->root, &t->tcp.enabled, 0);
	uint32_t nb = 0;

	if (!t->tcp.enabled)
		return 0;
	for (uint32_t i = 0; i < t->nb_listeners; i++) {
		nb += turn_listener_is_stream(&t->listeners[i]);
		if (check_apart(x, &t->listeners[i]) != 0)
			return -EINVAL;
	}
	if (nb == 0)
		return conf_fail(x, n,
			"clients need TCP or TLS to ask for it: add a listener with transport: "
			"tcp, tls or auto");
	for (uint32_t i = 0; i < t->nb_relay; i++)
		if (conf_exceptions_stream(x, &t->relay[i], n) != 0)
			return -EINVAL;
	return 0;
}

int conf_tcp_fill(struct conf_ctx *x)
{
	struct turn_tcp *t = &x->conf->turn.tcp;
	const uint32_t ports = t->ports_hi - t->ports_lo + 1u;

	if (t->connections == 0)
		t->connections = ports > CONNECTIONS_LEAST ? ports : CONNECTIONS_LEAST;
	return 0;
}
