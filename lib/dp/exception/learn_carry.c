// SPDX-License-Identifier: BSD-3-Clause
// Carries frames between a device and the kernel interfaces of its ports while there are no
// workers: only few, and only those that learn_rules.c knows.
#include <rte_common.h>
#include <rte_ether.h>

#include "exception/learn_carry.h"
#include "port.h"

#define BURST 16

static const struct limit carried = {1000, 200}; // frames per second, per direction and kind

// Sends a frame of a kind on, or frees it. Frames beyond the rate are lost, because their protocols
// repeat them. Each kind has a limit of its own: anybody can flood a link with ARP.
static bool forward_frame(
	struct bucket *meter, struct port *dst, struct rte_mbuf *m, uint64_t now_ns)
{
	m->ol_flags &= RTE_MBUF_F_EXTERNAL | RTE_MBUF_F_INDIRECT;
	if (bucket_see(meter, &carried, now_ns) == 0 || port_tx(dst, 0, &m, 1) == 0) {
		rte_pktmbuf_free(m);
		return false;
	}
	bucket_spend(meter, &carried, 1, now_ns);
	return true;
}

// Passes a frame from the network to the kernel of the port that has its tag, if any, without the
// tag.
static void to_kernel(struct learn_device *d, struct rte_mbuf *m, uint64_t now_ns)
{
	const bool tagged = (m->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED) != 0;

	if (m->nb_segs == 1 && (!tagged || rte_vlan_insert(&m) == 0)) {
		for (unsigned int i = 0; i < d->nb_carried; i++) {
			struct learn_carry *l = d->carry[i];
			const enum learn_kind kind = learn_rules_in(
				&l->rules, rte_pktmbuf_mtod(m, const uint8_t *), m->data_len);

			if (kind == LEARN_NONE)
				continue;
			rte_vlan_strip(m);
			l->carried[0] += forward_frame(&l->in[kind], l->kernel, m, now_ns);
			return;
		}
	}
	rte_pktmbuf_free(m);
}

static void to_network(struct learn_carry *l, struct rte_mbuf *m, uint64_t now_ns)
{
	const uint8_t *data = rte_pktmbuf_mtod(m, const uint8_t *);
	const enum learn_kind kind =
		m->nb_segs == 1 ? learn_rules_out(&l->rules, data, m->data_len) : LEARN_NONE;

	m->vlan_tci = l->rules.vlan;
	if (kind == LEARN_NONE || (l->rules.vlan != 0 && rte_vlan_insert(&m) != 0))
		rte_pktmbuf_free(m);
	else
		l->carried[1] += forward_frame(&l->out[kind], l->wire, m, now_ns);
}

// A bond speaks LACP, and carries no traffic before its partner has agreed.
static void tick_device(struct learn_device *d, uint64_t now_ms)
{
	struct port *p = d->port;
	const uint16_t queues = RTE_MAX(p->nb_rxq, p->nb_txq);

	if (p->ops->tick == NULL || now_ms == d->ticked_ms)
		return;
	d->ticked_ms = now_ms;
	for (uint16_t q = 0; q < queues; q++)
		p->ops->tick(p, q);
}

unsigned int learn_carry(struct learn_device *d, uint64_t now_ns)
{
	struct rte_mbuf *m[BURST];
	unsigned int n, all = 0;

	tick_device(d, now_ns / BUCKET_MS);
	for (uint16_t q = 0; q < d->port->nb_rxq; q++) {
		n = port_rx(d->port, q, m, BURST);
		for (unsigned int i = 0; i < n; i++)
			to_kernel(d, m[i], now_ns);
		all += n;
	}
	for (unsigned int w = 0; w < d->nb_carried; w++) {
		n = port_rx(d->carry[w]->kernel, 0, m, BURST);
		for (unsigned int i = 0; i < n; i++)
			to_network(d->carry[w], m[i], now_ns);
		all += n;
	}
	return all;
}
