// SPDX-License-Identifier: BSD-3-Clause
// Resolves a destination to a MAC. The routes of all ports give egress port and router. Each worker
// has its own neighbour table.
#include "link/nexthop.h"
#include "addr.h"
#include "ask/hot.h"
#include "see/losses.h"
#include "datapath.h"
#include "dp_burst.h"
#include "drop_of.h"
#include "link/host.h"
#include "link/local_addrs.h"
#include "link/tx.h"
#include "neigh/neigh_asked.h"
#include "net.h"
#include "tables/routes.h"
#include "path/worker.h"
#include "workers/mbuf_meta.h"

#define GATEWAY_REFRESH_MS 1000
#define RENOUNCED 1024 // entries per millisecond

bool nexthop_find(const struct hot *h, const struct addr *src, const struct addr *dst,
	uint8_t *port, struct addr *via)
{
	const struct local_addr *l = local_addrs_find(h->local, src);
	const struct route *r;

	if (l == NULL || l->kind != LOCAL_OWN)
		return false;
	r = routes_find(h->routes, h->nb_routes, l->port, dst);
	if (r == NULL)
		return false;
	*port = r->port;
	*via = r->direct ? *dst : r->via;
	return true;
}

unsigned int nexthop_resolve(
	struct worker *w, const struct nexthop_lookup *lookup, uint8_t *port, uint16_t *neigh)
{
	const struct neigh_asker asker = {lookup->client, lookup->user};
	struct addr via;

	if (!nexthop_find(w->hot, lookup->src, lookup->dst, port, &via))
		return DP_DROP_NO_ROUTE;
	*neigh = neigh_use_for(w->neigh, &via, *port, &asker, w->now_ms);
	if (*neigh == NEIGH_REFUSED)
		return DP_DROP_NEIGH_RATE;
	return *neigh != NEIGH_NONE ? DP_OK : DP_DROP_NEIGH_FULL;
}

// Drop reason if an entry can hold no more packets.
static unsigned int hold_reason(const struct worker *w, uint16_t neigh)
{
	return neigh_state(w->neigh, neigh) == NEIGH_FAILED ? DP_DROP_NEIGH_FAILED
							    : DP_DROP_NEIGH_HELD;
}

unsigned int nexthop_takes(struct worker *w, uint16_t neigh, unsigned int n)
{
	if (neigh_mac(w->neigh, neigh, w->now_ms) != NULL || neigh_room(w->neigh, neigh) >= n)
		return DP_OK;
	return hold_reason(w, neigh);
}

static void hold_packet(struct worker *w, struct rte_mbuf *m, uint8_t port, uint16_t neigh)
{
	mbuf_meta_of(m)->port = port;
	losses_hold(w, m);
	if (!neigh_hold(w->neigh, neigh, m))
		worker_drop(w, m, hold_reason(w, neigh));
}

void nexthop_send(struct worker *w, struct rte_mbuf *m, uint8_t port, uint16_t neigh)
{
	const uint8_t *mac = neigh_mac(w->neigh, neigh, w->now_ms);

	if (unlikely(mac == NULL)) {
		hold_packet(w, m, port, neigh);
		return;
	}
	memcpy(rte_pktmbuf_mtod(m, uint8_t *), mac, 6);
	tx_put(w, port, m);
}

// Sends the packets that an entry holds, or drops them if the entry has failed.
static void release_held(struct worker *w, uint16_t neigh)
{
	const uint8_t *mac = neigh_mac(w->neigh, neigh, w->now_ms);
	void *held[DP_BURST];
	unsigned int n;

	while ((n = neigh_held(w->neigh, neigh, held, DP_BURST)) > 0) {
		for (unsigned int i = 0; i < n; i++) {
			struct rte_mbuf *m = held[i];

			if (mac == NULL) {
				losses_held(w, m, DP_DROP_NEIGH_FAILED);
				worker_drop(w, m, DP_DROP_NEIGH_FAILED);
				continue;
			}
			memcpy(rte_pktmbuf_mtod(m, uint8_t *), mac, 6);
			tx_put(w, mbuf_meta_of(m)->port, m);
		}
	}
}

void nexthop_learn(struct worker *w, uint8_t port, const struct net_neigh_msg *msg, bool from_ask)
{
	const uint16_t neigh = neigh_learn(w->neigh, msg, port, from_ask, w->now_ms);

	if (neigh == NEIGH_NONE)
		return;
	neigh_asked_owner(w->dp->asked, from_ask ? &msg->sender : &msg->target, port,
		neigh_hops(w->neigh)[neigh].mac, w->now_ms);
	release_held(w, neigh);
}

// Keeps the entries of routers in use, and so under probe. Without an entry the first packets of
// the next burst would wait in its hold.
static void refresh_routers(struct worker *w)
{
	const struct hot *h = w->hot;

	if (w->now_ms < w->gateways_ms)
		return;
	w->gateways_ms = w->now_ms + GATEWAY_REFRESH_MS;
	for (uint32_t i = 0; i < h->nb_routes; i++) {
		const struct route *r = &h->routes[i];
		uint16_t neigh;

		if (r->direct)
			continue;
		neigh = neigh_use(w->neigh, &r->via, r->port, w->now_ms);
		if (neigh == NEIGH_NONE)
			continue;
		neigh_keep(w->neigh, neigh);
		neigh_mac(w->neigh, neigh, w->now_ms);
	}
}

// Clears the notes that lines have of their next hops, because new routes may change these.
static void renounce_entries(struct worker *w)
{
	w->renounces = neigh_renounce(w->neigh, &w->renounced, RENOUNCED);
	if (!w->renounces)
		w->gateways_ms = w->now_ms; // routers must be kept in use again
}

void nexthop_change(struct worker *w)
{
	w->renounces = true;
	w->renounced = 0;
}

void nexthop_tick(struct worker *w)
{
	struct neigh_due due;

	if (unlikely(w->renounces))
		renounce_entries(w);
	refresh_routers(w);
	neigh_tick(w->neigh, w->now_ms, &due);
	for (unsigned int i = 0; i < due.nb_failed; i++)
		release_held(w, due.failed[i]);
	for (unsigned int i = 0; i < due.nb_asks; i++)
		host_ask(w, &due.ask[i]);
}

uint64_t nexthop_next_ms(const struct worker *w)
{
	return w->renounces ? w->now_ms : RTE_MIN(w->gateways_ms, neigh_next_ms(w->neigh));
}

void nexthop_drain(struct worker *w)
{
	struct neigh_due due;
	void *held[DP_BURST];
	unsigned int n;

	// Advances the time without answers until every entry that holds packets has failed: three
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
