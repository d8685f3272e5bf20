// SPDX-License-Identifier: BSD-3-Clause
// Carries frames between a port and its kernel interface while there are no workers: few, and of
// the kinds of learn_rules.c alone.
#include <rte_ether.h>

#include "exception/learn_carry.h"
#include "port.h"

#define CARRIED_RATE 1000 // frames a second each way, of all kinds, and at once
#define CARRIED_BURST 200
#define BURST 16

// A frame of the network, as the kernel is to have it: without the port's tag. Takes m if not.
static bool to_kernel(const struct learn_carry *l, struct rte_mbuf *m)
{
	const bool tagged = (m->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED) != 0;

	if (m->nb_segs == 1 && (!tagged || rte_vlan_insert(&m) == 0)) {
		const uint8_t *data = rte_pktmbuf_mtod(m, const uint8_t *);

		if (learn_rules_in(&l->rules, data, m->data_len) != LEARN_NONE &&
			(l->rules.vlan == 0 || rte_vlan_strip(m) == 0)) {
			m->ol_flags &= RTE_MBUF_F_EXTERNAL | RTE_MBUF_F_INDIRECT;
			return true;
		}
	}
	rte_pktmbuf_free(m);
	return false;
}

static bool to_network(const struct learn_carry *l, struct rte_mbuf **m)
{
	const uint8_t *data = rte_pktmbuf_mtod(*m, const uint8_t *);

	if ((*m)->nb_segs == 1 && learn_rules_out(&l->rules, data, (*m)->data_len) != LEARN_NONE) {
		(*m)->ol_flags &= RTE_MBUF_F_EXTERNAL | RTE_MBUF_F_INDIRECT;
		(*m)->vlan_tci = l->rules.vlan;
		if (l->rules.vlan == 0 || rte_vlan_insert(m) == 0)
			return true;
	}
	rte_pktmbuf_free(*m);
	return false;
}

// What is beyond the rate is lost: all of it is asked for again.
static void carry(struct learn_carry *l, struct port *to, bool is_in, struct rte_mbuf *m)
{
	struct bucket *meter = is_in ? &l->in : &l->out;

	if (!(is_in ? to_kernel(l, m) : to_network(l, &m)))
		return;
	if (bucket_see(meter, CARRIED_RATE, CARRIED_BURST, l->now_ns) == 0 ||
		port_tx(to, 0, &m, 1) == 0) {
		rte_pktmbuf_free(m);
		return;
	}
	bucket_spend(meter, 1);
	l->carried[!is_in]++;
}

void learn_carry_init(struct learn_carry *l)
{
	l->in.tokens = l->out.tokens = CARRIED_BURST;
}

unsigned int learn_carry(
	struct learn_carry *l, struct port *wire, struct port *kernel, uint64_t now_ns)
{
	struct rte_mbuf *m[BURST];
	unsigned int n, all = 0;

	l->now_ns = now_ns;
	for (uint16_t q = 0; q < wire->nb_rxq; q++) {
		n = port_rx(wire, q, m, BURST);
		for (unsigned int i = 0; i < n; i++)
			carry(l, kernel, true, m[i]);
		all += n;
	}
	n = port_rx(kernel, 0, m, BURST);
	for (unsigned int i = 0; i < n; i++)
		carry(l, wire, false, m[i]);
	return all + n;
}
