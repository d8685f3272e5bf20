// SPDX-License-Identifier: BSD-3-Clause
// The port that is one end of a TAP.

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include <rte_ether.h>
#include <rte_malloc.h>

#include "host/kernel_host.h"
#include "port_log.h"
#include "open_request.h"
#include "vtap.h"
#include "vtap/vtap_port.h"

static struct vtap *to_vtap(struct port *p)
{
	return p->priv;
}

static uint16_t vtap_rx(struct port *p, uint16_t queue, struct rte_mbuf **m, uint16_t n)
{
	return vtap_rx_burst(&to_vtap(p)->rx[queue], m, n);
}

static uint16_t vtap_tx(struct port *p, uint16_t queue, struct rte_mbuf **m, uint16_t n)
{
	return vtap_tx_burst(&to_vtap(p)->tx[queue], m, n);
}

static void vtap_tick(struct port *p, uint16_t queue)
{
	if (queue < p->nb_txq)
		super_kept_tick(&to_vtap(p)->tx[queue].kept);
}

static bool vtap_is_due(struct port *p, uint16_t queue)
{
	return queue < p->nb_txq && to_vtap(p)->tx[queue].kept.nb > 0;
}

static int vtap_start(struct port *p)
{
	return vtap_iface_up(&to_vtap(p)->iface, true);
}

static void vtap_stop(struct port *p)
{
	const int rc = vtap_iface_up(&to_vtap(p)->iface, false);

	if (rc != 0 && rc != -ENODEV) // -ENODEV: it may have been removed
		PORT_LOG(WARNING, "port %s: stop: %s", p->name, strerror(-rc));
}

static void drop_program(struct vtap *v)
{
	if (v->chooses >= 0)
		close(v->chooses);
	v->chooses = -1;
}

static void vtap_close(struct port *p)
{
	struct vtap *v = to_vtap(p);

	for (unsigned int i = 0; i < VTAP_QUEUES_MAX; i++) {
		vtap_rx_free(&v->rx[i]);
		super_kept_drop(&v->tx[i].kept);
	}
	port_kernel_host_close(p);
	vtap_iface_close(&v->iface);
	port_steer_close(&v->steer);
	drop_program(v);
	free((char *)(uintptr_t)p->name);
	rte_free(v);
}

static bool vtap_link(struct port *p)
{
	return vtap_iface_running(&to_vtap(p)->iface);
}

static uint64_t read_counter(const uint64_t *c)
{
	return __atomic_load_n(c, __ATOMIC_RELAXED);
}

static void vtap_counters(struct port *p, struct port_counters *out)
{
	const struct vtap *v = to_vtap(p);

	*out = (struct port_counters){0};
	vtap_iface_missed(&v->iface, &out->rx_missed);
	for (unsigned int i = 0; i < p->nb_rxq; i++) {
		out->rx_errors += read_counter(&v->rx[i].errors);
		out->rx_nombuf += read_counter(&v->rx[i].nombuf);
		out->tx_errors += read_counter(&v->tx[i].errors);
		out->tx_cut += read_counter(&v->tx[i].kept.cut);
	}
}

static int vtap_flow_create(
	struct port *p, const struct port_rule *r, void **flow, char *reason, size_t len)
{
	return port_steer_rule(&to_vtap(p)->steer, r, flow, reason, len);
}

static void vtap_flow_destroy(struct port *p, void *flow)
{
	port_steer_unrule(&to_vtap(p)->steer, flow);
}

// A TAP is readable while a frame waits in it.
static int vtap_wake_fd(struct port *p, uint16_t queue)
{
	return queue < p->nb_rxq ? to_vtap(p)->rx[queue].fd : -1;
}

static const struct port_ops vtap_ops = {
	.kind = "vtap",
	.rx = vtap_rx,
	.tx = vtap_tx,
	.start = vtap_start,
	.stop = vtap_stop,
	.close = vtap_close,
	.link = vtap_link,
	.counters = vtap_counters,
	.watch = vtap_watch,
	.trouble = vtap_trouble,
	.flow_create = vtap_flow_create,
	.flow_destroy = vtap_flow_destroy,
	.tick = vtap_tick,
	.is_due = vtap_is_due,
	.wake_fd = vtap_wake_fd,
	.host = port_kernel_host_start,
	.reroute = port_kernel_host_reroute,
};

// Checks that a plain frame fits in one buffer.
static int check_mtu(const struct port_request *r)
{
	const uint32_t frame = r->c->mtu + RTE_ETHER_HDR_LEN + RTE_VLAN_HLEN;
	const uint32_t room = rte_pktmbuf_data_room_size(r->c->pool) - RTE_PKTMBUF_HEADROOM;

	if (frame <= room)
		return 0;
	port_request_fail(r, "mtu %u: frames of %u bytes do not fit the packet buffers (%u)",
		r->c->mtu, frame, room);
	return -1;
}

// Sets the capabilities of the port from the offloads that the kernel granted.
static void learn_offloads(struct vtap *v)
{
	const enum vtap_offload granted = v->iface.granted;
	struct port *p = &v->port;

	p->l4_checksum_good = granted >= VTAP_OFFLOAD_CSUM;
	p->rx_super = granted >= VTAP_OFFLOAD_TSO;
	if (granted >= VTAP_OFFLOAD_TSO)
		p->tso = (struct port_super){VTAP_TSO_SEGMENTS, VTAP_SUPER_BUFS, VTAP_SUPER_BYTES};
	if (granted >= VTAP_OFFLOAD_USO)
		p->uso = (struct port_super){VTAP_USO_SEGMENTS, VTAP_SUPER_BUFS, VTAP_SUPER_BYTES};
	if (granted < v->spec.offload)
		PORT_LOG(NOTICE, "port %s: this kernel grants offload %s, not %s", p->name,
			vtap_spec_offload_name(granted), vtap_spec_offload_name(v->spec.offload));
}

// Sets the port's MAC. Both ends of an exception port have the same MAC; otherwise the kernel's end
// is another host with another MAC.
static void learn_mac(struct vtap *v)
{
	if (v->spec.role == VTAP_EXCEPTION)
		memcpy(v->port.mac, v->iface.mac, sizeof(v->port.mac));
	else if (v->spec.has_mac)
		memcpy(v->port.mac, v->spec.mac, sizeof(v->port.mac));
	else
		rte_eth_random_addr(v->port.mac);
}

static void steer_queues(struct vtap *v, const struct port_request *r)
{
	int rc;

	if (v->port.nb_rxq == 1)
		return;
	v->chooses = port_steer_open(&v->steer, &v->port, r->c->rss_key, STEER_AT_ETHERNET);
	rc = v->chooses < 0 ? v->chooses : vtap_iface_steer(&v->iface, v->chooses);
	if (rc == 0) {
		port_steer_tell(&v->steer, &v->port);
	} else {
		port_steer_close(&v->steer);
		drop_program(v);
		PORT_LOG(WARNING,
			"port %s: datagrams may arrive out of order when the kernel moves a flow "
			"to another queue: %s (root, CAP_BPF with CAP_PERFMON, or queues=1 "
			"prevents that)",
			r->c->name, strerror(-rc));
	}
}

static int setup_port(struct vtap *v, const struct port_request *r)
{
	port_request_rings(r, &v->port);
	v->port.tx_ring = 0; // the kernel accepts a frame at once or refuses it
	if (check_mtu(r) != 0 || vtap_iface_open(&v->iface, r, &v->spec, &v->port) != 0)
		return -1;
	learn_mac(v);
	learn_offloads(v);
	steer_queues(v, r);
	for (unsigned int i = 0; i < v->port.nb_rxq; i++) {
		const int fd = v->iface.queue[i];

		if (vtap_rx_init(&v->rx[i], fd, r->c->pool, v->port.rx_super) != 0) {
			port_request_fail(r, "out of memory");
			return -1;
		}
		vtap_tx_init(&v->tx[i], fd, r->c->pool, &v->port);
	}
	return 0;
}

struct port *port_vtap_open(const struct port_request *r)
{
	char reason[160];
	struct vtap_spec spec;
	struct vtap *v;

	if (!vtap_spec_parse(r->c->device, &spec, reason, sizeof(reason))) {
		port_request_fail(r, "%s", reason);
		return NULL;
	}
	v = rte_zmalloc_socket("vtap", sizeof(*v), RTE_CACHE_LINE_SIZE, r->c->socket);
	if (v == NULL) {
		port_request_fail(r, "out of memory");
		return NULL;
	}
	v->spec = spec;
	v->iface.control = v->iface.counters = v->chooses = -1;
	// a queue that no worker polls would lose its share of the flows
	v->port = (struct port){
		.ops = &vtap_ops,
		.priv = v,
		.name = strdup(r->c->name),
		.driver = "vtap",
		.mtu = r->c->mtu,
		.vlan = r->c->vlan,
		.dpdk_id = RTE_MAX_ETHPORTS,
	};
	v->port.nb_rxq = v->port.nb_txq =
		RTE_MIN(r->c->queues, spec.queues != 0 ? spec.queues : (uint16_t)VTAP_QUEUES_MAX);
	if (v->port.name == NULL || setup_port(v, r) != 0) {
		vtap_close(&v->port);
		return NULL;
	}
	return &v->port;
}
