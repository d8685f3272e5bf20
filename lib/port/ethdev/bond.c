// SPDX-License-Identifier: BSD-3-Clause
// Makes a bond with DPDK's bonding driver. Members are added by calls, not by arguments of a vdev.
// The driver reads those arguments only when it is configured; until then the bond would report no
// queues, offloads or RSS. The names of the arguments also change between releases.
//
// The driver handles link state and LACP on EAL's control thread. But it sends and receives LACP
// packets only inside the burst calls of the data path, at least one every 100 ms. port_bond_tick
// makes sure of that.

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <rte_errno.h>
#include <rte_ethdev.h>

#include "dpdk_compat.h"
#include "ethdev/bond.h"
#include "port_log.h"
#include "open_request.h"

#define BOND_DRIVER "net_bonding"
#define STALE_BURST 32

struct member {
	struct port_device device;
	char name[64];
};

// Written when the bond is made; read by all threads.
struct bond {
	enum port_bond_mode mode;
	unsigned int nb;
	struct member member[PORT_MEMBERS_MAX];
	uint16_t id; // ethdev of the bond; RTE_MAX_ETHPORTS = not made yet
	char name[RTE_ETH_NAME_MAX_LEN];
	const char *driver;
};

// --- making and removing -------------------------------------------------------------------------

// Makes the bonding driver poll the link of a TAP: it polls only members without link interrupts.
// The TAP driver says that it has them, but never raises one (22.11 to 24.11).
static void poll_tap(const struct rte_eth_dev_info *info)
{
	uint32_t *flags = (uint32_t *)(uintptr_t)info->dev_flags;

	if (strcmp(info->driver_name, "net_tap") == 0)
		*flags &= ~(uint32_t)RTE_ETH_DEV_INTR_LSC;
}

static int attach_member(const struct port_request *r, struct bond *b, uint32_t i)
{
	struct port_config c = *r->c;
	const struct port_request one = {.c = &c, .error = r->error, .error_len = r->error_len};
	struct member *m = &b->member[b->nb];
	struct rte_eth_dev_info info;

	c.device = r->c->bond->member[i].device;
	c.devargs = r->c->bond->member[i].devargs;
	snprintf(m->name, sizeof(m->name), "%.*s", (int)strcspn(c.device, ","), c.device);
	if (port_device_attach(&one, &m->device) != 0)
		return -1;
	b->nb++;
	if (rte_eth_dev_info_get(m->device.id, &info) != 0)
		return 0;
	poll_tap(&info);
	b->driver = b->nb == 1 || strcmp(b->driver, info.driver_name) == 0 ? info.driver_name
									   : BOND_DRIVER;
	return 0;
}

static int make_bond(const struct port_request *r, struct bond *b)
{
	static const uint8_t mode[] = {[PORT_BOND_LACP] = BONDING_MODE_8023AD,
		[PORT_BOND_ACTIVE_BACKUP] = BONDING_MODE_ACTIVE_BACKUP,
		[PORT_BOND_BALANCE] = BONDING_MODE_BALANCE};
	int rc;

	snprintf(b->name, sizeof(b->name), BOND_DRIVER "_%s", r->c->name);
	rc = rte_eth_bond_create(b->name, mode[b->mode], (uint8_t)r->c->socket);
	if (rc < 0) {
		port_request_fail(r,
			"the bonding driver cannot make a bond: %s (see its messages above)",
			rte_strerror(-rc));
		return -1;
	}
	b->id = (uint16_t)rc;
	if (b->mode != PORT_BOND_ACTIVE_BACKUP &&
		rte_eth_bond_xmit_policy_set(b->id, BALANCE_XMIT_POLICY_LAYER34) != 0)
		PORT_LOG(WARNING, "port %s: links are chosen by MAC addresses only", r->c->name);
	return 0;
}

static int add_member(const struct port_request *r, const struct bond *b, unsigned int i)
{
	if (rte_eth_bond_slave_add(b->id, b->member[i].device.id) == 0)
		return 0;
	port_request_fail(r,
		"the bonding driver refuses the member %s (see its messages above): are all of "
		"the same kind?",
		b->member[i].name);
	return -1;
}

// Adds the members, the preferred one first: the bond takes the MAC of the first member added. When
// the preferred member comes back, the driver (22.11) does not set its MAC again. So that MAC must
// be the bond's from the start.
static int add_members(const struct port_request *r, const struct bond *b)
{
	const int primary = r->c->bond->primary;

	if (primary >= 0 && add_member(r, b, (unsigned int)primary) != 0)
		return -1;
	for (unsigned int i = 0; i < b->nb; i++)
		if ((int)i != primary && add_member(r, b, i) != 0)
			return -1;
	if (primary >= 0 && rte_eth_bond_primary_set(b->id, b->member[primary].device.id) != 0)
		PORT_LOG(WARNING, "port %s: no member is preferred", r->c->name);
	return 0;
}

struct bond *port_bond_attach(const struct port_request *r, struct port_device *out)
{
	struct bond *b = calloc(1, sizeof(*b));
	int rc = 0;

	if (b == NULL) {
		port_request_fail(r, "out of memory");
		return NULL;
	}
	b->mode = r->c->bond->mode;
	b->id = RTE_MAX_ETHPORTS;
	b->driver = BOND_DRIVER;
	for (uint32_t i = 0; i < r->c->bond->nb_members && rc == 0; i++)
		rc = attach_member(r, b, i);
	if (rc == 0)
		rc = make_bond(r, b);
	if (rc == 0)
		rc = add_members(r, b);
	if (rc == 0) {
		*out = (struct port_device){.id = b->id};
		return b;
	}
	if (b->id != RTE_MAX_ETHPORTS)
		rte_eth_dev_close(b->id);
	port_bond_detach(b);
	return NULL;
}

void port_bond_detach(struct bond *b)
{
	if (b->id != RTE_MAX_ETHPORTS && rte_eth_bond_free(b->name) != 0)
		PORT_LOG(WARNING, "bond %s could not be removed", b->name);
	for (unsigned int i = 0; i < b->nb; i++) {
		rte_eth_dev_close(b->member[i].device.id);
		port_device_detach(&b->member[i].device);
	}
	free(b);
}

// --- state ---------------------------------------------------------------------------------------

unsigned int port_bond_size(const struct bond *b)
{
	return b->nb;
}

uint16_t port_bond_member_id(const struct bond *b, unsigned int member)
{
	return b->member[member].device.id;
}

const char *port_bond_driver(const struct bond *b)
{
	return b->driver;
}

// True if both ends of a link have agreed by LACP that it carries packets.
static bool is_distributing(const struct bond *b, uint16_t id)
{
	struct rte_eth_bond_8023ad_slave_info info;

	return rte_eth_bond_8023ad_slave_info(b->id, id, &info) == 0 &&
		(info.actor_state & STATE_DISTRIBUTING) != 0;
}

static bool is_used(const struct bond *b, uint16_t id, bool active)
{
	if (b->mode == PORT_BOND_LACP)
		return is_distributing(b, id);
	if (b->mode == PORT_BOND_ACTIVE_BACKUP)
		return active && rte_eth_bond_primary_get(b->id) == id;
	return active;
}

unsigned int port_bond_members(const struct bond *b, struct port_member out[PORT_MEMBERS_MAX])
{
	uint16_t active[RTE_MAX_ETHPORTS];
	const int nb_active = rte_eth_bond_active_slaves_get(b->id, active, RTE_DIM(active));

	for (unsigned int i = 0; i < b->nb; i++) {
		const uint16_t id = b->member[i].device.id;
		bool is_active = false;

		for (int k = 0; k < nb_active; k++)
			is_active = is_active || active[k] == id;
		out[i] = (struct port_member){.name = b->member[i].name,
			.link = is_active,
			.used = is_used(b, id, is_active)};
	}
	return b->nb;
}

bool port_bond_link(const struct bond *b)
{
	struct port_member m[PORT_MEMBERS_MAX];
	bool up = false;

	port_bond_members(b, m);
	for (unsigned int i = 0; i < b->nb; i++)
		up = up || m[i].used;
	return up;
}

// --- on the workers ------------------------------------------------------------------------------

// Discards frames that standby members receive, because switches flood some to every link. Nothing
// else reads them: they would wait in the queue, and look new when the member takes over hours
// later. This worker owns the queue on every member, so no other lcore receives from it.
static void drain_reserve(const struct bond *b, uint16_t queue)
{
	const int used = rte_eth_bond_primary_get(b->id);
	struct rte_mbuf *m[STALE_BURST];

	for (unsigned int i = 0; i < b->nb && used >= 0; i++) {
		const uint16_t id = b->member[i].device.id;

		if (id != used)
			rte_pktmbuf_free_bulk(m, rte_eth_rx_burst(id, queue, m, STALE_BURST));
	}
}

void port_bond_tick(const struct bond *b, const struct port *p, uint16_t queue)
{
	if (b->mode == PORT_BOND_ACTIVE_BACKUP && queue < p->nb_rxq)
		drain_reserve(b, queue);
	// sends pending LACP packets; the receive call of every round handles incoming ones
	if (b->mode == PORT_BOND_LACP && queue < p->nb_txq)
		rte_eth_tx_burst(p->dpdk_id, queue, NULL, 0);
}
