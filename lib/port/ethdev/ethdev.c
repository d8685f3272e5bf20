// SPDX-License-Identifier: BSD-3-Clause
// A port on a DPDK ethdev, with any driver.

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rte_errno.h>
#include <rte_ether.h>

#include "ethdev/bond.h"
#include "ethdev/ethdev.h"
#include "ethdev/flow.h"
#include "ethdev/iface.h"
#include "ethdev/rss.h"
#include "ethdev/uso.h"
#include "ethdev/wake.h"
#include "host/kernel_host.h"
#include "port_log.h"
#include "open_request.h"

// Checksums that the NIC verifies if it can; the flags of each mbuf have the result.
#define RX_CHECKSUMS (RTE_ETH_RX_OFFLOAD_IPV4_CKSUM | RTE_ETH_RX_OFFLOAD_UDP_CKSUM)

static struct ethdev *to_ethdev(struct port *p)
{
	return p->priv;
}

static uint16_t ethdev_rx(struct port *p, uint16_t queue, struct rte_mbuf **m, uint16_t n)
{
	return rte_eth_rx_burst(p->dpdk_id, queue, m, n);
}

static uint16_t ethdev_tx(struct port *p, uint16_t queue, struct rte_mbuf **m, uint16_t n)
{
	if (to_ethdev(p)->cuts)
		return port_uso_tx(p, queue, m, n);
	return rte_eth_tx_burst(p->dpdk_id, queue, m, n);
}

static int ethdev_start(struct port *p)
{
	struct ethdev *e = to_ethdev(p);
	int rc = rte_eth_dev_start(p->dpdk_id);

	if (rc != 0)
		return rc;
	e->started = true;
	rc = rte_eth_promiscuous_disable(p->dpdk_id);
	if (rc != 0 && rc != -ENOTSUP)
		PORT_LOG(WARNING, "port %s: promiscuous mode stays on: %s", p->name,
			rte_strerror(-rc));
	// Neighbour solicitations go to multicast groups (RFC 4861 7.2.1).
	rc = rte_eth_allmulticast_enable(p->dpdk_id);
	if (rc != 0 && rc != -ENOTSUP)
		PORT_LOG(WARNING,
			"port %s: multicast cannot be enabled (%s): IPv6 neighbours will not "
			"find it",
			p->name, rte_strerror(-rc));
	port_rss_apply(e);
	return 0;
}

static void ethdev_stop(struct port *p)
{
	struct ethdev *e = to_ethdev(p);
	int rc;

	if (!e->started)
		return;
	e->started = false;
	rc = rte_eth_dev_stop(p->dpdk_id);
	if (rc != 0)
		PORT_LOG(WARNING, "port %s: stop: %s", p->name, rte_strerror(-rc));
}

static void ethdev_close(struct port *p)
{
	struct ethdev *e = to_ethdev(p);
	int rc;

	ethdev_stop(p);
	port_wake_close(e);
	port_kernel_host_close(p);
	rc = rte_eth_dev_close(p->dpdk_id);
	if (rc != 0)
		PORT_LOG(WARNING, "port %s: close: %s", p->name, rte_strerror(-rc));
	if (e->bond != NULL)
		port_bond_detach(e->bond);
	else
		port_device_detach(&e->device);
	if (e->control >= 0)
		close(e->control);
	free((char *)(uintptr_t)p->name);
	free(e);
}

// The state of the link. af_packet of DPDK 22.11 says "up" whatever the state of the interface.
static bool ethdev_link(struct port *p)
{
	const struct ethdev *e = to_ethdev(p);
	struct rte_eth_link link;

	if (e->control >= 0) {
		const bool up = port_iface_running(e);

		if (up) // clears errors of a socket whose interface was down
			port_wake_settle(e);
		return up;
	}
	return rte_eth_link_get_nowait(p->dpdk_id, &link) == 0 &&
		link.link_status == RTE_ETH_LINK_UP;
}

// Returns the frames that af_packet dropped because its ring was full, which its driver does not
// count: the frames that the interface has received and nobody has read, except a few that are
// still in the ring. The driver opens its sockets shortly before or after we read the interface's
// counter. So if more frames were read than counted, received_before is adjusted.
static uint64_t missed_by_ring(struct ethdev *e, uint64_t read)
{
	uint64_t frames;

	if (!e->started || !port_iface_received(e, &frames))
		return 0;
	if (frames < e->received_before + read)
		e->received_before = frames - read;
	return frames - e->received_before - read;
}

static void ethdev_counters(struct port *p, struct port_counters *out)
{
	struct ethdev *e = to_ethdev(p);
	struct rte_eth_stats s;

	*out = (struct port_counters){0};
	if (rte_eth_stats_get(p->dpdk_id, &s) != 0)
		return;
	out->rx_missed = s.imissed;
	out->rx_errors = s.ierrors;
	out->rx_nombuf = s.rx_nombuf;
	out->tx_errors = s.oerrors + __atomic_load_n(&e->cut_lost, __ATOMIC_RELAXED);
	if (e->control >= 0)
		out->rx_missed = missed_by_ring(e, s.ipackets);
}

static bool bond_link(struct port *p)
{
	return port_bond_link(to_ethdev(p)->bond);
}

static void bond_tick(struct port *p, uint16_t queue)
{
	port_bond_tick(to_ethdev(p)->bond, p, queue);
}

static unsigned int bond_members(struct port *p, struct port_member out[PORT_MEMBERS_MAX])
{
	return port_bond_members(to_ethdev(p)->bond, out);
}

static const struct port_ops ethdev_ops = {
	.kind = "ethdev",
	.rx = ethdev_rx,
	.tx = ethdev_tx,
	.start = ethdev_start,
	.stop = ethdev_stop,
	.close = ethdev_close,
	.link = ethdev_link,
	.counters = ethdev_counters,
	.flow_create = port_flow_create,
	.flow_destroy = port_flow_destroy,
	.wake_fd = port_wake_fd,
	.wake_arm = port_wake_arm,
	.watch = port_kernel_host_watch,
	.trouble = port_kernel_host_trouble,
	.host = port_kernel_host_start,
	.reroute = port_kernel_host_reroute,
};

static const struct port_ops bond_ops = {
	.kind = "bond",
	.rx = ethdev_rx,
	.tx = ethdev_tx,
	.start = ethdev_start,
	.stop = ethdev_stop,
	.close = ethdev_close,
	.link = bond_link,
	.counters = ethdev_counters,
	.flow_create = port_flow_create,
	.flow_destroy = port_flow_destroy,
	.tick = bond_tick,
	.wake_fd = port_wake_bond_fd,
	.members = bond_members,
};

// Returns the largest MTU of the driver. Some drivers report it, others only their longest frame.
static uint16_t mtu_max(const struct rte_eth_dev_info *info)
{
	if (info->max_mtu != UINT16_MAX || info->max_rx_pktlen == 0)
		return info->max_mtu;
	return (uint16_t)RTE_MIN(
		info->max_rx_pktlen - RTE_ETHER_HDR_LEN - RTE_ETHER_CRC_LEN, (uint32_t)UINT16_MAX);
}

// Checks that a frame of the MTU fits in one buffer: the data path drops frames in two buffers.
static int check_mtu(const struct port_request *r, const struct rte_eth_dev_info *info)
{
	const uint32_t frame = r->c->mtu + RTE_ETHER_HDR_LEN + RTE_VLAN_HLEN + RTE_ETHER_CRC_LEN;
	const uint32_t room = rte_pktmbuf_data_room_size(r->c->pool) - RTE_PKTMBUF_HEADROOM;

	if (r->c->mtu > mtu_max(info) || r->c->mtu < info->min_mtu) {
		port_request_fail(r,
			"mtu %u: driver %s supports %u to %u: set ports[].mtu within that, on all "
			"hosts of the network",
			r->c->mtu, info->driver_name, info->min_mtu, mtu_max(info));
		return -1;
	}
	if (frame > room) {
		port_request_fail(r,
			"mtu %u: frames of %u bytes do not fit the packet buffers (%u)", r->c->mtu,
			frame, room);
		return -1;
	}
	return 0;
}

static int check_mtus(const struct port_request *r, const struct ethdev *e)
{
	struct rte_eth_dev_info info;

	for (unsigned int i = 0; e->bond != NULL && i < port_bond_size(e->bond); i++)
		if (rte_eth_dev_info_get(port_bond_member_id(e->bond, i), &info) == 0 &&
			check_mtu(r, &info) != 0)
			return -1;
	return check_mtu(r, &e->info);
}

static void plan_queues(struct ethdev *e, uint16_t wanted)
{
	const uint16_t max = RTE_MIN(wanted, (uint16_t)PORT_QUEUES_MAX);

	e->port.nb_rxq = RTE_MIN(max, e->info.max_rx_queues);
	e->port.nb_txq = RTE_MIN(max, e->info.max_tx_queues);
}

static int device_configure(struct ethdev *e, uint16_t mtu, uint64_t tx_offloads)
{
	struct port *p = &e->port;
	struct rte_eth_conf conf = {
		.rxmode = {.mtu = mtu, .offloads = e->info.rx_offload_capa & RX_CHECKSUMS},
		.txmode = {.offloads = tx_offloads},
		.intr_conf = {.rxq = e->interrupts},
	};
	int rc;

	if (e->rss_hf != 0) {
		conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
		// The NIC delivers its hash with the packet, so software need not compute it again.
		conf.rxmode.offloads |= e->info.rx_offload_capa & RTE_ETH_RX_OFFLOAD_RSS_HASH;
		conf.rx_adv_conf.rss_conf = (struct rte_eth_rss_conf){
			.rss_key = p->rss_key,
			.rss_key_len = p->rss_key_len,
			.rss_hf = e->rss_hf,
		};
	}
	rc = rte_eth_dev_configure(p->dpdk_id, p->nb_rxq, p->nb_txq, &conf);
	if (rc != 0)
		return rc;
	p->ip_checksum_good = (conf.rxmode.offloads & RTE_ETH_RX_OFFLOAD_IPV4_CKSUM) != 0;
	p->l4_checksum_good = (conf.rxmode.offloads & RTE_ETH_RX_OFFLOAD_UDP_CKSUM) != 0;
	return 0;
}

static int configure_port(const struct port_request *r, struct ethdev *e)
{
	const uint64_t tx_offloads = port_uso_plan(e, r);
	struct port_profile by_driver = {0};
	int rc;

	if (r->c->by_driver != NULL && e->bond == NULL)
		r->c->by_driver(r->c->ctx, e->port.driver, &by_driver);
	e->interrupts = by_driver.interrupts;

	plan_queues(e, r->c->queues);
	if (e->port.nb_rxq == 0 || e->port.nb_txq == 0) {
		port_request_fail(r, "driver %s offers no queues", e->info.driver_name);
		return -1;
	}
	port_rss_plan(e, r->c->rss_key);
	e->cuts = tx_offloads != 0;
	rc = device_configure(e, r->c->mtu, tx_offloads);
	if (rc != 0 && e->rss_hf != 0) {
		// RSS only saves hand-overs, so the port works without it, too.
		PORT_LOG(WARNING, "port %s: RSS refused: %s", r->c->name, rte_strerror(-rc));
		e->rss_hf = 0;
		rc = device_configure(e, r->c->mtu, tx_offloads);
	}
	if (rc != 0 && e->interrupts) { // the port works without them, too
		PORT_LOG(WARNING, "port %s: receive interrupts refused: %s", r->c->name,
			rte_strerror(-rc));
		e->interrupts = false;
		rc = device_configure(e, r->c->mtu, tx_offloads);
	}
	if (rc != 0) {
		port_request_fail(r, "%u receive and %u transmit queues, mtu %u: %s",
			e->port.nb_rxq, e->port.nb_txq, r->c->mtu, rte_strerror(-rc));
		return -1;
	}
	return 0;
}

static int setup_queues(const struct port_request *r, struct ethdev *e)
{
	const unsigned int socket = (unsigned int)r->c->socket;
	struct port *p = &e->port;
	const uint16_t id = p->dpdk_id;
	int rc;

	port_request_rings(r, p);
	rc = rte_eth_dev_adjust_nb_rx_tx_desc(id, &p->rx_ring, &p->tx_ring);

	// USO is the only transmit offload to request, if any. Software computes checksums.
	// FAST_FREE would promise that every queue has one mempool and never a chain or a shared
	// buffer while the port is open. A worker sends frames that other workers received, so it
	// cannot promise that.
	for (uint16_t q = 0; rc == 0 && q < p->nb_rxq; q++)
		rc = rte_eth_rx_queue_setup(id, q, p->rx_ring, socket, NULL, r->c->pool);
	for (uint16_t q = 0; rc == 0 && q < p->nb_txq; q++)
		rc = rte_eth_tx_queue_setup(id, q, p->tx_ring, socket, NULL);
	if (rc != 0)
		port_request_fail(r, "rings of %u and %u descriptors: %s", p->rx_ring, p->tx_ring,
			rte_strerror(-rc));
	return rc != 0 ? -1 : 0;
}

// Sets the MTU. A driver without the call has used the MTU of its configuration. A bond sets the
// MTU of its members when it starts.
static int set_mtu(const struct port_request *r, const struct ethdev *e)
{
	uint16_t mtu;
	int rc = e->bond != NULL ? 0 : rte_eth_dev_set_mtu(e->port.dpdk_id, r->c->mtu);

	if (rc == -ENOTSUP && rte_eth_dev_get_mtu(e->port.dpdk_id, &mtu) == 0 && mtu >= r->c->mtu)
		rc = 0;
	if (rc != 0)
		port_request_fail(r, "mtu %u: %s", r->c->mtu, rte_strerror(-rc));
	return rc != 0 ? -1 : 0;
}

static int setup_port(const struct port_request *r, struct ethdev *e)
{
	struct port *p = &e->port;
	struct rte_ether_addr mac;
	int rc;

	*p = (struct port){
		.ops = e->bond != NULL ? &bond_ops : &ethdev_ops,
		.priv = e,
		.mtu = r->c->mtu,
		.vlan = r->c->vlan,
		.dpdk_id = e->device.id,
	};
	rc = rte_eth_dev_info_get(p->dpdk_id, &e->info);
	if (rc == 0)
		rc = rte_eth_macaddr_get(p->dpdk_id, &mac);
	p->name = strdup(r->c->name);
	if (rc != 0 || p->name == NULL) {
		port_request_fail(r, "%s", rc != 0 ? rte_strerror(-rc) : "out of memory");
		return -1;
	}
	p->driver = e->bond != NULL ? port_bond_driver(e->bond) : e->info.driver_name;
	memcpy(p->mac, mac.addr_bytes, sizeof(p->mac));
	if (e->bond == NULL && strcmp(p->driver, "net_af_packet") == 0)
		e->control = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (e->control >= 0)
		port_iface_received(e, &e->received_before);
	if (check_mtus(r, e) != 0 || configure_port(r, e) != 0 || setup_queues(r, e) != 0)
		return -1;
	return set_mtu(r, e);
}

struct port *port_ethdev_open(const struct port_request *r)
{
	struct ethdev *e = calloc(1, sizeof(*e));

	if (e == NULL) {
		port_request_fail(r, "out of memory");
		return NULL;
	}
	e->control = -1;
	if (r->c->bond != NULL)
		e->bond = port_bond_attach(r, &e->device);
	if (r->c->bond != NULL ? e->bond == NULL : port_device_attach(r, &e->device) != 0) {
		free(e);
		return NULL;
	}
	if (setup_port(r, e) != 0) {
		ethdev_close(&e->port);
		return NULL;
	}
	return &e->port;
}
