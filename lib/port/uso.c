// SPDX-License-Identifier: BSD-3-Clause
// Super-frames of UDP on an ethdev, where it is asked for: the NIC cuts them. It costs most drivers
// their vectorised transmit function, because a chain of buffers has to be expected of every frame.

#include <rte_ip.h>

#include "bytes.h"
#include "port_int.h"
#include "segment.h"

#define OFFLOADS                                                      \
	(RTE_ETH_TX_OFFLOAD_UDP_TSO | RTE_ETH_TX_OFFLOAD_MULTI_SEGS | \
		RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_UDP_CKSUM)
#define SEGMENTS 64 // in one: what Linux asks of a NIC
#define BYTES (RTE_ETHER_HDR_LEN + RTE_VLAN_HLEN + 65535)
#define TRIES 100000 // for room in a ring; a NIC takes microseconds

// Drivers that offer it and do not do it (DPDK 22.11: no case for it where they build descriptors).
static bool driver_lies(const char *driver)
{
	return strncmp(driver, "net_txgbe", 9) == 0 || strncmp(driver, "net_ngbe", 8) == 0;
}

uint64_t port_uso_plan(struct ethdev *e, const struct port_request *r)
{
	const struct rte_eth_desc_lim *lim = &e->info.tx_desc_lim;

	if (r->c->uso != PORT_USO_ON)
		return 0;
	// a datagram on the wire spans two buffers: the headers', and its own
	if ((e->info.tx_offload_capa & OFFLOADS) != OFFLOADS || driver_lies(e->info.driver_name) ||
		lim->nb_seg_max < 2 || lim->nb_mtu_seg_max < 2) {
		PORT_LOG(WARNING,
			"port %s: uso: driver %s cannot cut super-frames of UDP: datagrams leave "
			"one by one",
			r->c->name, e->info.driver_name);
		return 0;
	}
	e->port.uso = (struct port_super){.segments = SEGMENTS,
		.bufs = RTE_MIN(lim->nb_seg_max, (uint16_t)SEGMENTS),
		.bytes = BYTES};
	return OFFLOADS;
}

// What Intel's NICs want, and so DPDK: the length is left out of the pseudo-header's sum, since it
// is another in every datagram, and the IPv4 checksum is 0. rte_eth_tx_prepare of 22.11 leaves
// super-frames of UDP alone. Done from the headers, so that doing it again changes nothing.
void port_uso_prepare(struct rte_mbuf *m)
{
	uint8_t *ip = rte_pktmbuf_mtod_offset(m, uint8_t *, m->l2_len);
	const bool is_v4 = (m->ol_flags & RTE_MBUF_F_TX_IPV4) != 0;
	const uint32_t sum = is_v4 ? csum_add(0, ip + 12, 8) : csum_add(0, ip + 8, 32);

	store_be16(ip + m->l3_len + 6, csum_fold(sum + IPPROTO_UDP));
	if (is_v4)
		store_be16(ip + 10, 0);
}

// Sends a super-frame that the driver refuses as plain frames. False: not now. Once it has begun
// all have to go; a ring that stays full all the same counts as an error of the port.
static bool send_cut(struct port *p, uint16_t queue, struct rte_mbuf *m)
{
	struct ethdev *e = p->priv;
	struct rte_mbuf *cut[SEGMENTS];
	const unsigned int n = port_segment(m, m->pool, cut, SEGMENTS);
	unsigned int sent = 0;

	if (n == 0)
		return false;
	if (__atomic_exchange_n(&p->uso.segments, 0, __ATOMIC_RELAXED) != 0)
		PORT_LOG(WARNING,
			"port %s: uso: driver %s refuses super-frames of UDP (%s): from now on "
			"datagrams leave one by one",
			p->name, p->driver, rte_strerror(rte_errno));
	for (unsigned int i = 0; i < TRIES && sent < n; i++)
		sent += rte_eth_tx_burst(p->dpdk_id, queue, cut + sent, (uint16_t)(n - sent));
	__atomic_fetch_add(&e->cut_lost, n - sent, __ATOMIC_RELAXED);
	rte_pktmbuf_free_bulk(cut + sent, n - sent);
	rte_pktmbuf_free(m);
	return true;
}

uint16_t port_uso_tx(struct port *p, uint16_t queue, struct rte_mbuf **m, uint16_t n)
{
	uint16_t done = 0;

	for (uint16_t i = 0; i < n; i++)
		if ((m[i]->ol_flags & RTE_MBUF_F_TX_UDP_SEG) != 0)
			port_uso_prepare(m[i]);
	while (done < n) {
		const uint16_t left = (uint16_t)(n - done);
		const uint16_t ready = rte_eth_tx_prepare(p->dpdk_id, queue, m + done, left);
		const uint16_t sent = rte_eth_tx_burst(p->dpdk_id, queue, m + done, ready);

		done += sent;
		if (sent < ready || done == n)
			break;
		if ((m[done]->ol_flags & RTE_MBUF_F_TX_UDP_SEG) == 0 ||
			!send_cut(p, queue, m[done]))
			break;
		done++;
	}
	return done;
}
