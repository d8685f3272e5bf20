// SPDX-License-Identifier: BSD-3-Clause
// Checks listeners[].proxy: which transports take a header, and which hosts may send it.
#include "checks/checks.h"

#include "conf.h"
#include "reading/ctx.h"
#include "reading/fail.h"
#include "reading/node.h"
#include "problems.h"

#define PROXIES_MAX 64 // the limit of lib/stream
#define V4_BITS 96 // leading bits of the 128-bit form that precede the IPv4 address

int conf_proxies_check_listener(struct conf_ctx *x, uint32_t i)
{
	const struct turn_config *t = &x->conf->turn;
	const struct turn_listener *l = &t->listeners[i];
	const struct conf_node *entry = conf_node_by_field(x->root, &t->listeners, i);
	const struct conf_node *proxy = conf_node_child(entry, "proxy");

	if (proxy == NULL || entry->first != i)
		return 0;
	if (!turn_listener_is_stream(l))
		return conf_fail(x, proxy,
			"needs transport: tcp, tls or auto: remove it, and let the balancer keep "
			"the addresses of UDP clients");
	if (l->proxy.nb_from == 0)
		return conf_fail(x, proxy, "is empty: write the addresses of the balancers");
	if (l->proxy.nb_from > PROXIES_MAX)
		return conf_fail(x, proxy,
			"takes %u prefixes, at most %u are possible: write larger ones",
			l->proxy.nb_from, PROXIES_MAX);
	return 0;
}

int conf_proxies_check_trusted(struct conf_ctx *x)
{
	const struct conf_node *streams = conf_node_child(x->root, "streams");

	if (x->conf->streams.nb_trusted <= PROXIES_MAX)
		return 0;
	return conf_fail(x, conf_node_child(streams, "trusted"),
		"takes %u prefixes, at most %u are possible: write larger ones",
		x->conf->streams.nb_trusted, PROXIES_MAX);
}

void conf_proxies_warn(const struct conf *c, struct conf_report *r)
{
	const struct turn_config *t = &c->turn;

	for (uint32_t i = 0; i < t->nb_listeners; i++) {
		const struct turn_listener *l = &t->listeners[i];

		for (uint32_t k = 0; k < l->proxy.nb_from && !conf_warned(r); k++) {
			const struct prefix *p = &l->proxy.sources[k];

			if (p->len == 0 || (p->len == V4_BITS && addr_is_v4(&p->addr)))
				conf_tell(r, CONF_WARNING,
					(struct conf_at){c, &l->proxy.sources, k, "listeners"},
					"lets every host claim any client address, so limits by "
					"source do not work: write the addresses of the balancers");
		}
	}
}
