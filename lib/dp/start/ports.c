// SPDX-License-Identifier: BSD-3-Clause
// Opens, watches and closes the ports of a data path: plain ports, bonds and VLANs on another
// port's device; and fills in struct dp_port for the workers.
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>
#include <rte_mbuf.h>

#include "start/ports.h"
#include "conf.h"
#include "conf_drivers.h"
#include "exception/exception.h"
#include "exception/exception_host.h"
#include "link/own_ports.h"
#include "link/vlans.h"
#include "net.h"
#include "port.h"
#include "steering/flow_ladder.h"
#include "steering/rss_secret.h"
#include "steering/steer.h"
#include "tagged.h"
#include "udp.h"
#include "path/worker.h"

// Sets all rules and headers that contain the port's MAC.
static void port_learn_mac(struct dp_port *p, const struct port *port)
{
	struct net_rx rx = p->rx[0];
	struct net_udp_rules udp;
	const struct addr link_local = net_link_local(port->mac);

	memcpy(rx.mac, port->mac, sizeof(rx.mac));
	net_udp_rules_init(&udp, &rx);
	// workers may read at the same time: a frame may then be checked or sent with parts of both
	// MACs
	for (unsigned int i = 0; i < sizeof(rx.mac); i++) {
		for (unsigned int good = 0; good < RTE_DIM(p->rx); good++)
			__atomic_store_n(&p->rx[good].mac[i], rx.mac[i], __ATOMIC_RELAXED);
		__atomic_store_n(&p->udp.v4.value[i], udp.v4.value[i], __ATOMIC_RELAXED);
		__atomic_store_n(&p->udp.v6.value[i], udp.v6.value[i], __ATOMIC_RELAXED);
		__atomic_store_n(&p->l2.src[i], rx.mac[i], __ATOMIC_RELAXED);
	}
	for (unsigned int i = 0; i < RTE_DIM(link_local.d); i++)
		__atomic_store_n(&p->link_local.d[i], link_local.d[i], __ATOMIC_RELAXED);
}

static void port_learn(struct dp *d, unsigned int i, struct port *port)
{
	struct dp_port *p = &d->port[i];
	const struct conf_port *c = &d->conf->ports[i];

	port->index = (uint8_t)i;
	p->port = port;
	p->conf = c;
	p->profile = conf_driver_find(d->conf->drivers, port->driver);
	for (unsigned int good = 0; good < RTE_DIM(p->rx); good++) {
		p->rx[good] = (struct net_rx){.vlan = c->tagged_only ? NET_VLAN_NONE : port->vlan,
			.ip_checksum_good = (good & 1) != 0,
			.l4_checksum_good = (good & 2) != 0,
			.tcp = c->exception.name != NULL,
			.loopback = port->loopback};
		memcpy(p->rx[good].mac, port->mac, 6);
	}
	net_udp_rules_init(&p->udp, &p->rx[0]);
	p->mtu = port->mtu;
	p->verified = (port->ip_checksum_good ? RTE_MBUF_F_RX_IP_CKSUM_MASK : 0) |
		(port->l4_checksum_good ? RTE_MBUF_F_RX_L4_CKSUM_MASK : 0);
	p->l2 = (struct net_l2){.vlan = port->vlan};
	memcpy(p->l2.src, port->mac, 6);
	p->link_local = net_link_local(port->mac);
}

static uint64_t count_devices(const struct conf *c)
{
	uint64_t nb = 0;

	for (uint32_t i = 0; i < c->nb_ports; i++)
		nb += conf_port_devices(&c->ports[i]);
	return nb;
}

// Applies the profile of a port's driver to a port without settings of its own. Rings that would
// take the whole pool are not used, so that no profile prevents a start.
static void decide_by_driver(void *ctx, const char *driver, struct port_profile *out)
{
	const struct dp *d = ctx;
	const struct conf *c = d->conf;
	const struct conf_driver *p = conf_driver_find(c->drivers, driver);
	const uint64_t queues = count_devices(c) * d->nb_workers;
	const uint32_t rx = p != NULL ? p->rx_ring : 0, tx = p != NULL ? p->tx_ring : 0;

	out->interrupts = p != NULL && p->interrupts;
	out->rx_ring = (uint16_t)c->rx_ring;
	out->tx_ring = (uint16_t)c->tx_ring;
	if (rx != 0 && queues * (rx + out->tx_ring) <= c->mbufs)
		out->rx_ring = (uint16_t)rx;
	if (tx != 0 && queues * (out->rx_ring + tx) <= c->mbufs)
		out->tx_ring = (uint16_t)tx;
}

static const char *devargs_of(const struct dp *d, const char *device)
{
	const struct conf_driver *vdev = conf_driver_of_device(d->conf->drivers, device);

	return vdev != NULL ? vdev->devargs : NULL;
}

// Fills in *out for a bond, and returns it. NULL for any other port.
static const struct port_bond *bond_wanted(const struct dp *d, uint32_t i, struct port_bond *out)
{
	static const enum port_bond_mode mode[] = {[CONF_BOND_LACP] = PORT_BOND_LACP,
		[CONF_BOND_ACTIVE_BACKUP] = PORT_BOND_ACTIVE_BACKUP,
		[CONF_BOND_BALANCE] = PORT_BOND_BALANCE};
	const struct conf_bond *b = &d->conf->ports[i].bond;

	if (b->nb_members == 0)
		return NULL;
	*out = (struct port_bond){.mode = mode[b->mode],
		.nb_members = b->nb_members,
		.primary = conf_bond_primary(b)};
	for (uint32_t k = 0; k < b->nb_members; k++) {
		out->member[k].device = b->members[k];
		out->member[k].devargs = devargs_of(d, b->members[k]);
	}
	return out;
}

static const enum port_uso uso_of[] = {[CONF_USO_AUTO] = PORT_USO_AUTO,
	[CONF_USO_ON] = PORT_USO_ON,
	[CONF_USO_OFF] = PORT_USO_OFF};

// TCP super-frames to request from a port: those that its exception port wants. A device gets the
// maximum over its VLANs.
static enum port_uso tso_wanted(const struct conf *c, uint32_t port)
{
	static const enum port_uso most[][3] = {
		[PORT_USO_AUTO] = {PORT_USO_AUTO, PORT_USO_ON, PORT_USO_AUTO},
		[PORT_USO_ON] = {PORT_USO_ON, PORT_USO_ON, PORT_USO_ON},
		[PORT_USO_OFF] = {PORT_USO_AUTO, PORT_USO_ON, PORT_USO_OFF}};
	enum port_uso wanted = PORT_USO_OFF;

	for (uint32_t i = 0; i < c->nb_ports; i++) {
		const struct conf_port *p = &c->ports[i];

		if ((i == port || (p->shares && p->on == port)) && p->exception.name != NULL)
			wanted = most[wanted][uso_of[p->exception.tso]];
	}
	return wanted;
}

// Storage that a port_config points to.
struct wanted {
	struct port_bond bond;
	uint8_t rss_key[PORT_RSS_KEY_MAX];
	struct port_own *owned; // to be freed; NULL: out of memory
	uint32_t nb_own;
};

static struct port_config port_wanted(struct dp *d, uint32_t i, struct wanted *w)
{
	const struct conf_port *p = &d->conf->ports[i];
	const int socket = port_device_socket(conf_port_device(p, 0));
	w->owned = own_ports_list(d->conf, i, &w->nb_own);
	// without a state area there is no need for stable homes
	const bool keep_key = d->carry != NULL && rss_secret_key(d->boot_key, p->name, w->rss_key);

	return (struct port_config){.name = p->name,
		.device = p->device,
		.bond = bond_wanted(d, i, &w->bond),
		.queues = (uint16_t)d->nb_workers,
		.mtu = p->mtu,
		.vlan = p->vlan,
		.uso = uso_of[p->uso],
		.tso = tso_wanted(d->conf, i),
		.rss_key = keep_key ? w->rss_key : NULL,
		.owned = w->owned,
		.nb_own = w->nb_own,
		.loopback = p->loopback,
		.devargs = devargs_of(d, p->device),
		.by_driver = decide_by_driver,
		.ctx = d,
		.pool = d->pool,
		.socket = socket >= 0 ? socket : d->socket};
}

// Opens a device, or a VLAN on an open device.
static struct port *port_make(
	struct dp *d, uint32_t i, dp_port_opener *open, char *error, size_t len)
{
	struct wanted w;
	const struct port_config pc = port_wanted(d, i, &w);
	const struct conf_port *c = &d->conf->ports[i];
	struct port *port = NULL;

	if (w.owned == NULL)
		snprintf(error, len, "port %s: out of memory", c->name);
	else if (!c->shares)
		port = open(&pc, error, len);
	else
		port = port_tagged_open(d->port[c->on].port, &pc, error, len);
	free(w.owned);
	if (port == NULL || !c->shares)
		return port;
	d->port[i].conf = c;
	if (vlans_learn(d, i) == 0)
		return port;
	snprintf(error, len, "port %s: out of memory", c->name);
	port->ops->close(port);
	return NULL;
}

int ports_open(struct dp *d, dp_port_opener *open, char *error, size_t len)
{
	const struct conf *c = d->conf;

	d->loopback = -1;
	for (uint32_t i = 0; i < c->nb_ports; i++) {
		struct port *port = port_make(d, i, open, error, len);
		int rc;

		if (port == NULL)
			return -1;
		port_learn(d, i, port);
		d->nb_ports = i + 1;
		if (port->loopback)
			d->loopback = (int)i;
		rc = port->ops->start(port);
		if (rc != 0) {
			snprintf(error, len, "port %s: cannot be started: %s", port->name,
				strerror(-rc));
			return -1;
		}
		// only a started port knows the real distribution of its NIC
		steer_port_init(&d->port[i], d->nb_workers);
		d->nb_started = i + 1;
		if (exception_open(d, i, open, error, len) != 0)
			return -1;
	}
	return 0;
}

void ports_close(struct dp *d)
{
	for (unsigned int i = d->nb_started; i-- > 0;) {
		flow_ladder_remove(d, i);
		d->port[i].port->ops->stop(d->port[i].port);
	}
	for (unsigned int i = d->nb_ports; i-- > 0;)
		d->port[i].port->ops->close(d->port[i].port);
	d->nb_started = d->nb_ports = 0;
}

// Updates a port whose MAC or MTU has changed.
static void port_follow(struct dp *d, struct dp_port *p)
{
	if (memcmp(p->l2.src, p->port->mac, sizeof(p->l2.src)) == 0 && p->mtu == p->port->mtu)
		return;
	port_learn_mac(p, p->port);
	p->mtu = p->port->mtu;
	__atomic_store_n(&d->wires, d->wires + 1, __ATOMIC_RELEASE);
	for (unsigned int w = 0; w < d->nb_made; w++)
		waiter_kick(&d->worker[w]->waiter);
}

// Bit mask of the members that carry packets, for a bond or for the bond that a VLAN is on; 0 for
// other ports.
static uint32_t members_used(struct port *p)
{
	struct port *device = p->on != NULL ? p->on : p;
	struct port_member m[PORT_MEMBERS_MAX];
	const unsigned int n = device->ops->members != NULL ? device->ops->members(device, m) : 0;
	uint32_t used = 0;

	for (unsigned int i = 0; i < n; i++)
		used |= (uint32_t)m[i].used << i;
	return used;
}

static bool watch_port(struct port *p)
{
	return p->ops->watch != NULL && p->ops->watch(p);
}

void ports_watch(struct dp *d)
{
	char error[256]; // not used: the port logs the error

	for (unsigned int i = 0; i < d->nb_ports; i++) {
		struct dp_port *p = &d->port[i];

		watch_port(p->port);
		if (d->exception[i] != NULL && watch_port(d->exception[i]->kernel))
			exception_host_start(d->exception[i], error, sizeof(error));
		port_follow(d, p);

		const bool up = p->port->ops->link(p->port);
		const uint32_t used = members_used(p->port);

		// a switch learns our new location from an announcement
		if (up && (!p->link_up || (used & ~p->used) != 0)) {
			__atomic_store_n(&p->announce, p->announce + 1, __ATOMIC_RELEASE);
			if (d->nb_made > 0)
				waiter_kick(&d->worker[0]->waiter);
		}
		p->link_up = up;
		p->used = used;
	}
}
