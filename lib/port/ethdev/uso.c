// SPDX-License-Identifier: BSD-3-Clause
// Super-frames on an ethdev, if configured: the NIC cuts them. Most drivers then cannot use their
// vectorised transmit function, because any frame may be a chain of buffers.

#include <rte_ip.h>

#include "bytes.h"
#include "ethdev/ethdev.h"
#include "ethdev/uso.h"
#include "port_log.h"
#include "open_request.h"
#include "super/super.h"

#define COMMON (RTE_ETH_TX_OFFLOAD_MULTI_SEGS | RTE_ETH_TX_OFFLOAD_IPV4_CKSUM)
#define UDP_OFFLOADS (COMMON | RTE_ETH_TX_OFFLOAD_UDP_TSO | RTE_ETH_TX_OFFLOAD_UDP_CKSUM)
#define TCP_OFFLOADS (COMMON | RTE_ETH_TX_OFFLOAD_TCP_TSO | RTE_ETH_TX_OFFLOAD_TCP_CKSUM)
#define SUPER (RTE_MBUF_F_TX_UDP_SEG | RTE_MBUF_F_TX_TCP_SEG)
#define UDP_SEGMENTS 64 // in one super-frame: the limit that Linux uses for NICs
#define TCP_SEGMENTS 128
#define BUFS 64
#define BYTES (RTE_ETHER_HDR_LEN + RTE_VLAN_HLEN + 65535)
// Intel's NICs treat smaller segments as an attack (i40e and iavf below 256). The other end of a
// connection chooses the size.
#define TCP_SIZE_MIN 512
#define TRIES 100000 // tries to find room in a ring; a NIC needs microseconds

// Drivers that claim the offload without implementing it (DPDK 22.11: they build no descriptors for
// it).
static bool driver_lies(const char *driver)
{
	return strncmp(driver, "net_txgbe", 9) == 0 || strncmp(driver, "net_ngbe", 8) == 0;
}

static bool offers_offloads(const struct ethdev *e, uint64_t offloads)
{
	const struct rte_eth_desc_lim *lim = &e->info.tx_desc_lim;

	// a datagram on the wire spans two buffers: that of the headers, and its own
	return (e->info.tx_offload_capa & offloads) == offloads && lim->nb_seg_max >= 2 &&
		lim->nb_mtu_seg_max >= 2;
}

static uint16_t bufs_most(const struct ethdev *e)
{
	return RTE_MIN(e->info.tx_desc_lim.nb_seg_max, (uint16_t)BUFS);
}

static uint64_t plan_udp(struct ethdev *e, const struct port_request *r)
{
	if (r->c->uso != PORT_USO_ON)
		return 0;
	if (!offers_offloads(e, UDP_OFFLOADS) || driver_lies(e->info.driver_name)) {
		PORT_LOG(WARNING,
			"port %s: uso: driver %s cannot cut UDP super-frames: datagrams leave "
			"one by one",
			r->c->name, e->info.driver_name);
		return 0;
	}
	e->port.uso =
		(struct port_super){.segments = UDP_SEGMENTS, .bufs = bufs_most(e), .bytes = BYTES};
	return UDP_OFFLOADS;
}

static uint64_t plan_tcp(struct ethdev *e, const struct port_request *r)
{
	if (r->c->tso != PORT_USO_ON)
		return 0;
	if (!offers_offloads(e, TCP_OFFLOADS)) {
		PORT_LOG(WARNING,
			"port %s: uso: driver %s cannot cut TCP super-frames: the kernel cuts",
			r->c->name, e->info.driver_name);
		return 0;
	}
	e->port.tso = (struct port_super){.segments = TCP_SEGMENTS,
		.bufs = bufs_most(e),
		.bytes = BYTES,
		.size_min = TCP_SIZE_MIN};
	return TCP_OFFLOADS;
}

uint64_t port_uso_plan(struct ethdev *e, const struct port_request *r)
{
	return plan_udp(e, r) | plan_tcp(e, r);
}

// Intel's NICs, and so DPDK, need a pseudo-header sum without the length, because that differs
// between datagrams, and an IPv4 checksum of 0. rte_eth_tx_prepare of 22.11 does not change UDP
// super-frames. The sum is computed from the headers, so calling this twice changes nothing.
void port_uso_prepare(struct rte_mbuf *m)
{
	uint8_t *ip = rte_pktmbuf_mtod_offset(m, uint8_t *, m->l2_len);
	const bool is_v4 = (m->ol_flags & RTE_MBUF_F_TX_IPV4) != 0;
	const bool tcp = (m->ol_flags & RTE_MBUF_F_TX_TCP_SEG) != 0;
	const uint32_t sum = is_v4 ? csum_add(0, ip + NET_IP4_ADDRS_AT, NET_IP4_ADDRS_LEN)
				   : csum_add(0, ip + NET_IP6_ADDRS_AT, NET_IP6_ADDRS_LEN);

	store_be16(ip + m->l3_len + (tcp ? NET_TCP_CHECKSUM_AT : NET_UDP_CHECKSUM_AT),
		csum_fold(sum + (tcp ? (uint32_t)NET_PROTO_TCP : NET_PROTO_UDP)));
	if (is_v4)
		store_be16(ip + NET_IP4_CHECKSUM_AT, 0);
}

static void switch_off(struct port *p, bool tcp)
{
	struct port_super *super = tcp ? &p->tso : &p->uso;

	if (__atomic_exchange_n(&super->segments, 0, __ATOMIC_RELAXED) != 0)
		PORT_LOG(WARNING,
			"port %s: driver %s refuses super-frames of %s (%s): from now on they are "
			"cut before they are sent",
			p->name, p->driver, tcp ? "TCP" : "UDP", rte_strerror(rte_errno));
}

// Cuts a super-frame that the driver refuses, and sends the plain frames. False if the ring has no
// room now. Once some are sent all must follow; frames for which the ring stays full count as
// errors of the port.
static bool send_cut(struct port *p, uint16_t queue, struct rte_mbuf *m)
{
	struct ethdev *e = p->priv;
	struct rte_mbuf *cut[TCP_SEGMENTS];
	const unsigned int n = port_super_cut(m, m->pool, cut, TCP_SEGMENTS);
	unsigned int sent = 0;

	if (n == 0)
		return false;
	switch_off(p, (m->ol_flags & RTE_MBUF_F_TX_TCP_SEG) != 0);
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
		if ((m[i]->ol_flags & SUPER) != 0)
			port_uso_prepare(m[i]);
	while (done < n) {
		const uint16_t left = (uint16_t)(n - done);
		const uint16_t ready = rte_eth_tx_prepare(p->dpdk_id, queue, m + done, left);
		const uint16_t sent = rte_eth_tx_burst(p->dpdk_id, queue, m + done, ready);

		done += sent;
		if (sent < ready || done == n)
			break;
		if ((m[done]->ol_flags & SUPER) == 0 || !send_cut(p, queue, m[done]))
			break;
		done++;
	}
	return done;
}
