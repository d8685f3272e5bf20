// SPDX-License-Identifier: BSD-3-Clause
// From a destination to a MAC: our source address decides the port, what is on-link there goes
// direct, all else to that port's gateway. Each worker has its own replica of the neighbours.
#include "link/nexthop.h"
#include "addr.h"
#include "datapath.h"
#include "dp_burst.h"
#include "drop_of.h"
#include "link/host.h"
#include "link/local_addrs.h"
#include "link/tx.h"
#include "net.h"
#include "worker.h"
#include "workers/mbuf_meta.h"

#define GATEWAY_REFRESH_MS 1000

static bool on_link(const struct conf_port *c, const struct addr *a)
{
	for (uint32_t i = 0; i < c->nb_addresses; i++) {
		const struct prefix net = {
			.addr = c->addresses[i].addr, .len = c->addresses[i].prefix_len};

		if (addr_prefix_contains(&net, a))
			return true;
	}
	return false;
}

bool nexthop_find(const struct dp *d, const struct addr *src, const struct addr *dst, uint8_t *port,
	struct addr *via)
{
	const struct local_addr *l = local_addrs_find(d->local, src);
	const bool is_v4 = addr_is_v4(dst);

	if (l == NULL || l->kind != LOCAL_OWN)
		return false;
	*port = l->port;
	if (on_link(d->port[l->port].conf, dst))
		*via = *dst;
	else if (d->port[l->port].has_gateway[is_v4])
		*via = d->port[l->port].gateway[is_v4];
	else
		return false;
	return true;
}

unsigned int nexthop_resolve(
	struct worker *w, const struct nexthop_way *to, uint8_t *port, uint16_t *neigh)
{
	struct addr via;

	if (!nexthop_find(w->dp, to->src, to->dst, port, &via))
		return DP_DROP_NO_ROUTE;
	*neigh = neigh_use_for(w->neigh, &via, *port, to->client, w->now_ms);
	if (*neigh == NEIGH_REFUSED)
		return DP_DROP_NEIGH_RATE;
	return *neigh != NEIGH_NONE ? DP_SENT : DP_DROP_NEIGH_FULL;
}

static void hold(struct worker *w, struct rte_mbuf *m, uint8_t port, uint16_t neigh)
{
	mbuf_meta_of(m)->port = port;
	if (neigh_hold(w->neigh, neigh, m))
		return;
	worker_drop(w, m,
		neigh_state(w->neigh, neigh) == NEIGH_FAILED ? DP_DROP_NEIGH_FAILED
							     : DP_DROP_NEIGH_HELD);
}

void nexthop_send(struct worker *w, struct rte_mbuf *m, uint8_t port, uint16_t neigh)
{
	const uint8_t *mac = neigh_mac(w->neigh, neigh, w->now_ms);

	if (unlikely(mac == NULL)) {
		hold(w, m, port, neigh);
		return;
	}
	memcpy(rte_pktmbuf_mtod(m, uint8_t *), mac, 6);
	tx_put(w, port, m);
}

// Sends what an entry holds, or drops it if the entry has failed.
static void release(struct worker *w, uint16_t neigh)
{
	const uint8_t *mac = neigh_mac(w->neigh, neigh, w->now_ms);
	void *held[DP_BURST];
	unsigned int n;

	while ((n = neigh_held(w->neigh, neigh, held, DP_BURST)) > 0) {
		for (unsigned int i = 0; i < n; i++) {
			struct rte_mbuf *m = held[i];

			if (mac == NULL) {
				worker_drop(w, m, DP_DROP_NEIGH_FAILED);
				continue;
			}
			memcpy(rte_pktmbuf_mtod(m, uint8_t *), mac, 6);
			tx_put(w, mbuf_meta_of(m)->port, m);
		}
	}
}

bool nexthop_learn(struct worker *w, uint8_t port, const struct net_neigh_msg *msg, bool from_ask)
{
	const uint16_t neigh = neigh_learn(w->neigh, msg, port, from_ask, w->now_ms);

	if (neigh == NEIGH_NONE)
		return false;
	release(w, neigh);
	return true;
}

// If a gateway were forgotten, the first packets of the next burst would have to wait in the hold.
// So it keeps its entry, and uses of the entry keep it under probe.
static void refresh_gateways(struct worker *w)
{
	if (w->now_ms < w->gateways_ms)
		return;
	w->gateways_ms = w->now_ms + GATEWAY_REFRESH_MS;
	for (unsigned int p = 0; p < w->dp->nb_ports; p++) {
		const struct dp_port *port = &w->dp->port[p];

		for (unsigned int family = 0; family < 2; family++) {
			uint16_t neigh;

			if (!port->has_gateway[family])
				continue;
			neigh = neigh_use(w->neigh, &port->gateway[family], (uint8_t)p, w->now_ms);
			if (neigh == NEIGH_NONE)
				continue;
			neigh_keep(w->neigh, neigh);
			neigh_mac(w->neigh, neigh, w->now_ms);
		}
	}
}

void nexthop_tick(struct worker *w)
{
	struct neigh_due due;

	refresh_gateways(w);
	neigh_tick(w->neigh, w->now_ms, &due);
	for (unsigned int i = 0; i < due.nb_failed; i++)
		release(w, due.failed[i]);
	for (unsigned int i = 0; i < due.nb_asks; i++)
		host_ask(w, &due.ask[i]);
}

void nexthop_drain(struct worker *w)
{
	struct neigh_due due;
	void *held[DP_BURST];
	unsigned int n;

	// Time passes without answers until every entry that holds something has failed: three
	// tries a second apart, NEIGH_DUE_MAX entries a step.
	for (unsigned int step = 0; neigh_held_total(w->neigh) > 0 && step < 1u << 16; step++) {
		w->now_ms += 1000;
		neigh_tick(w->neigh, w->now_ms, &due);
		for (unsigned int i = 0; i < due.nb_failed; i++)
			while ((n = neigh_held(w->neigh, due.failed[i], held, DP_BURST)) > 0)
				for (unsigned int k = 0; k < n; k++)
					worker_drop(w, held[k], DP_DROP_STOPPING);
	}
}
