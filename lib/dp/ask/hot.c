// SPDX-License-Identifier: BSD-3-Clause
// Copies the reloadable settings out of a configuration, and puts them where the worker uses them.
#include "ask/hot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>
#include <rte_cycles.h>

#include "addr.h"
#include "clients/sessions.h"
#include "datapath.h"
#include "path/fastpath.h"
#include "path/idle.h"
#include "path/meter.h"
#include "ip/dscp.h"
#include "link/local_addrs.h"
#include "link/nexthop.h"
#include "tables/routes.h"
#include "path/worker.h"

// A worker's share of a limit. At least 1, if the limit is not 0.
static uint32_t worker_share(const struct conf *c, uint32_t whole)
{
	return whole != 0 ? RTE_MAX(whole / c->workers, 1u) : 0;
}

static void copy_numbers(struct hot *h, const struct conf *c)
{
	h->echoes = worker_share(c, c->icmp_rate);
	h->errors_in = worker_share(c, c->icmp_errors_in);
	h->errors_out = worker_share(c, c->icmp_errors_out);
	h->errors_each = worker_share(c, c->icmp_errors_each);
	h->unreachable = c->icmp_unreachable;
	h->requests = c->requests;
	h->handshakes.rate = worker_share(c, c->handshakes.rate);
	h->handshakes.burst = worker_share(c, c->handshakes.burst);
	h->dtls_handshake_s = c->dtls.handshake_s;
	h->dtls_idle_s = c->dtls.idle_s;
	h->idle = c->idle;
	h->idle_sleep_us = c->idle_sleep_us;
	h->marks = dscp_wanted(&c->turn);
}

static int copy_routes(struct hot *h, const struct turn_config *t)
{
	h->routes = calloc((size_t)t->nb_routes + 1, sizeof(*h->routes));
	if (h->routes == NULL)
		return -ENOMEM;
	if (t->nb_routes > 0)
		memcpy(h->routes, t->routes, t->nb_routes * sizeof(*h->routes));
	h->nb_routes = t->nb_routes;
	h->apart = t->apart;
	return 0;
}

struct hot *hot_create(const struct conf *c, const struct turn_relay_map *map)
{
	struct hot *h = calloc(1, sizeof(*h));

	if (h == NULL)
		return NULL;
	copy_numbers(h, c);
	h->local = local_addrs_create(c, map);
	if (h->local != NULL && copy_routes(h, &c->turn) == 0 &&
		fastpath_sources_make(&c->turn, h->source) == 0)
		return h;
	hot_free(h);
	return NULL;
}

void hot_free(struct hot *h)
{
	if (h == NULL)
		return;
	local_addrs_free(h->local);
	free(h->routes);
	free(h->source[0]);
	free(h->source[1]);
	free(h);
}

static void take_idle(struct worker *w, const struct hot *before)
{
	const struct hot *h = w->hot;

	if (before == NULL || before->idle != h->idle || before->idle_sleep_us != h->idle_sleep_us)
		w->idle = idle_init(rte_rdtsc(), w->dp->tsc_per_ms / 1000, h->idle_sleep_us);
	w->idle.never = h->idle == CONF_IDLE_BUSY;
	w->idle.saving = h->idle == CONF_IDLE_SAVING;
	w->idle.wakes = w->waiter.can;
}

static bool same_routes(const struct hot *a, const struct hot *b)
{
	bool same = a->nb_routes == b->nb_routes;

	for (uint32_t i = 0; i < a->nb_routes && same; i++)
		same = a->routes[i].port == b->routes[i].port &&
			a->routes[i].direct == b->routes[i].direct &&
			a->routes[i].not_for == b->routes[i].not_for &&
			a->routes[i].dst.len == b->routes[i].dst.len &&
			addr_eq(&a->routes[i].dst.addr, &b->routes[i].dst.addr) &&
			addr_eq(&a->routes[i].via, &b->routes[i].via);
	return same;
}

void hot_take(struct worker *w, const struct hot *h)
{
	const struct hot *before = w->hot;

	w->hot = h;
	w->local = h->local;
	w->source[0] = h->source[0];
	w->source[1] = h->source[1];
	w->marks = h->marks;
	w->special = w->marks || meter_is_on(w);
	w->backlog.budget = h->requests;
	if (h->errors_each > 0) // one /48 may use half of it
		w->errors_each.times = RTE_MAX(h->errors_out / 2 / h->errors_each, 1u);
	take_idle(w, before);
	if (before != NULL && !same_routes(before, h))
		nexthop_change(w);
}
