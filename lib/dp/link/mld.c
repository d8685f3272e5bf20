// SPDX-License-Identifier: BSD-3-Clause
// Multicast listener discovery (MLD). Switches that snoop (RFC 4541) forward a group's traffic only
// to hosts that reported it. Our groups are the solicited-node groups of our IPv6 addresses:
// without a report no neighbour solicitation would reach us. Each port with IPv6 reports its groups
// twice after its link has come up, and answers queries (RFC 3810; RFC 2710 if there is a router of
// version 1). The worker on which a query comes in answers it. There are no IPv4 groups, so there
// is nothing to report with IGMP.
#include "link/mld.h"
#include "addr.h"
#include "conf.h"
#include "csprng.h"
#include "datapath.h"
#include "link/tx.h"
#include "mld_msg.h"
#include "net.h"
#include "path/worker.h"

#define ROBUSTNESS 2 // RFC 3810 section 9.1
#define AGAIN_MS 1000 // between rounds of reports or answers, however many queries come
#define V1_MS (260 * UINT64_C(1000)) // RFC 3810 section 9.12, with the defaults of section 9
#define V1_BUDGET 32 // reports of version 1 per millisecond

// Group number i of a port: that of its link-local address, then those of its other addresses.
// Returns 0 for an IPv4 address, which has no group, and a negative number at the end of the list.
static int group_at(const struct dp_port *p, uint32_t i, struct addr *group)
{
	const struct addr *a = i == 0 ? &p->link_local : NULL;

	if (i > p->conf->nb_addresses)
		return -1;
	if (a == NULL)
		a = &p->conf->addresses[i - 1].addr;
	if (addr_is_v4(a))
		return 0;
	*group = net_solicited_node(a);
	return 1;
}

static bool is_member(const struct dp_port *p, const struct addr *wanted)
{
	struct addr group;
	int found;

	for (uint32_t i = 0; (found = group_at(p, i, &group)) >= 0; i++)
		if (found == 1 && addr_eq(&group, wanted))
			return true;
	return false;
}

// True if we report groups of a port, and it has any.
static bool is_reporting(const struct dp_port *p)
{
	if (p->port->kernel_is_host)
		return false;
	for (uint32_t i = 0; i < p->conf->nb_addresses; i++)
		if (!addr_is_v4(&p->conf->addresses[i].addr))
			return true;
	return false;
}

bool mld_input(struct worker *w, uint8_t port, struct rte_mbuf *m, const struct net_frame *f)
{
	const struct dp_port *p = &w->dp->port[port];
	struct mld *r = &w->mld[port];
	struct net_mld_query q;
	uint64_t at_ms;
	uint32_t chance;
	bool all;

	if (!net_mld_msg_query(rte_pktmbuf_mtod(m, const uint8_t *), f, &q))
		return false;
	w->live.consumed++;
	rte_pktmbuf_free(m);
	all = (q.group.d[0] | q.group.d[1]) == 0;
	if (!is_reporting(p) || (!all && !is_member(p, &q.group)))
		return true;
	if (q.v1)
		r->v1_ms = w->now_ms + V1_MS;
	csprng_bytes(&w->rng, &chance, sizeof(chance));
	at_ms = RTE_MAX(w->now_ms + chance % (q.delay_ms + 1), r->least_ms);
	if (r->left > 0) { // the waiting report answers this query, too, perhaps earlier
		r->at_ms = RTE_MIN(r->at_ms, at_ms);
		return true;
	}
	r->left = 1;
	r->change = false;
	r->next = 0;
	r->at_ms = at_ms;
	return true;
}

static void send_report(struct worker *w, uint8_t port, const struct net_mld_report *r)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(w->dp->pool);

	w->live.made++;
	if (m == NULL) {
		w->live.drop[DP_DROP_NO_MBUF]++;
		return;
	}
	m->data_len = (uint16_t)net_mld_msg_report(
		rte_pktmbuf_mtod(m, uint8_t *), &w->dp->port[port].l2, r);
	m->pkt_len = m->data_len;
	tx_put(w, port, m);
}

// Sends one report of version 2, or some of version 1. True if these were the last.
static bool report_groups(struct worker *w, uint8_t port, struct mld *r)
{
	const struct dp_port *p = &w->dp->port[port];
	const bool v1 = w->now_ms < r->v1_ms;
	const unsigned int most = v1 ? V1_BUDGET : NET_MLD_GROUPS;
	struct addr group[NET_MLD_GROUPS];
	struct net_mld_report out = {
		.src = &p->link_local, .groups = group, .change = r->change, .v1 = v1};
	int found = 0;

	while (out.nb < most && (found = group_at(p, r->next, &group[out.nb])) >= 0) {
		out.nb += (unsigned int)found;
		r->next++;
	}
	if (v1) {
		const unsigned int nb = out.nb;

		out.nb = 1;
		for (unsigned int i = 0; i < nb; i++, out.groups++)
			send_report(w, port, &out);
	} else if (out.nb > 0) {
		send_report(w, port, &out);
	}
	return found < 0;
}

static void port_tick(struct worker *w, uint8_t port)
{
	const struct dp_port *p = &w->dp->port[port];
	struct mld *r = &w->mld[port];

	if (w->id == 0) {
		const uint32_t wanted = __atomic_load_n(&p->announce, __ATOMIC_ACQUIRE);

		if (wanted != r->seen)
			*r = (struct mld){.seen = wanted,
				.left = is_reporting(p) ? ROBUSTNESS : 0,
				.change = true,
				.at_ms = w->now_ms,
				.v1_ms = r->v1_ms};
	}
	if (r->left == 0 || w->now_ms < r->at_ms || !report_groups(w, port, r))
		return;
	r->left--;
	r->next = 0;
	r->at_ms = r->least_ms = w->now_ms + AGAIN_MS;
}

void mld_tick(struct worker *w)
{
	for (unsigned int i = 0; i < w->dp->nb_ports; i++)
		port_tick(w, (uint8_t)i);
}

uint64_t mld_next_ms(const struct worker *w)
{
	uint64_t next = UINT64_MAX;

	for (unsigned int i = 0; i < w->dp->nb_ports; i++) {
		const struct mld *r = &w->mld[i];

		if (w->id == 0 &&
			__atomic_load_n(&w->dp->port[i].announce, __ATOMIC_ACQUIRE) != r->seen)
			return w->now_ms;
		if (r->left > 0)
			next = RTE_MIN(next, r->at_ms);
	}
	return next;
}
