// SPDX-License-Identifier: BSD-3-Clause
// Translates rules into rte_flow rules. A rule must be created to know that it works: some drivers
// validate rules that they then refuse to create.

#include <errno.h>
#include <stdio.h>

#include <rte_errno.h>
#include <rte_flow.h>

#include "ethdev/flow.h"
#include "port_log.h"

#define ITEMS_MAX 5 // Ethernet, VLAN, IP, UDP, end
#define VLAN_ID_MASK 0x0fff

// The pattern of a rule, and the structs that its items point to.
struct match {
	struct rte_flow_item item[ITEMS_MAX];
	unsigned int nb;
	struct rte_flow_item_vlan vlan, vlan_mask;
	struct rte_flow_item_ipv4 ip4, ip4_mask;
	struct rte_flow_item_ipv6 ip6, ip6_mask;
	struct rte_flow_item_udp udp, udp_mask;
};

static void item_add(
	struct match *m, enum rte_flow_item_type type, const void *spec, const void *mask)
{
	m->item[m->nb++] = (struct rte_flow_item){.type = type, .spec = spec, .mask = mask};
}

static void match_ip(struct match *m, const struct addr *dst)
{
	if (addr_is_v4(dst)) {
		memcpy(&m->ip4.hdr.dst_addr, dst->b + 12, 4);
		m->ip4_mask.hdr.dst_addr = UINT32_MAX;
		item_add(m, RTE_FLOW_ITEM_TYPE_IPV4, &m->ip4, &m->ip4_mask);
	} else {
		memcpy(&m->ip6.hdr.dst_addr, dst->b, 16);
		memset(&m->ip6_mask.hdr.dst_addr, 0xff, 16);
		item_add(m, RTE_FLOW_ITEM_TYPE_IPV6, &m->ip6, &m->ip6_mask);
	}
}

static void match_make(struct match *m, const struct port_rule *r)
{
	*m = (struct match){.vlan.tci = rte_cpu_to_be_16(r->vlan),
		.vlan_mask.tci = RTE_BE16(VLAN_ID_MASK),
		.udp.hdr.dst_port = rte_cpu_to_be_16(r->port),
		.udp_mask.hdr.dst_port = rte_cpu_to_be_16(r->mask)};
	item_add(m, RTE_FLOW_ITEM_TYPE_ETH, NULL, NULL);
	if (r->vlan != 0)
		item_add(m, RTE_FLOW_ITEM_TYPE_VLAN, &m->vlan, &m->vlan_mask);
	match_ip(m, &r->dst);
	// name the protocol even if any port matches: some NICs need it to choose the rule table
	if (r->mask != 0)
		item_add(m, RTE_FLOW_ITEM_TYPE_UDP, &m->udp, &m->udp_mask);
	else
		item_add(m, RTE_FLOW_ITEM_TYPE_UDP, NULL, NULL);
	item_add(m, RTE_FLOW_ITEM_TYPE_END, NULL, NULL);
}

int port_flow_create(
	struct port *p, const struct port_rule *r, void **flow, char *reason, size_t len)
{
	const struct rte_flow_attr attr = {.ingress = 1};
	const struct rte_flow_action_queue queue = {.index = r->queue};
	const struct rte_flow_action actions[] = {
		{.type = RTE_FLOW_ACTION_TYPE_QUEUE, .conf = &queue},
		{.type = RTE_FLOW_ACTION_TYPE_END}};
	struct rte_flow_error error = {0};
	struct match m;
	int rc;

	match_make(&m, r);
	rte_errno = 0;
	*flow = rte_flow_create(p->dpdk_id, &attr, m.item, actions, &error);
	if (*flow != NULL)
		return 0;
	rc = rte_errno != 0 ? -rte_errno : -EIO;
	if (rc == -ENOSYS)
		snprintf(reason, len, "%s does not support flow rules", p->driver);
	else
		snprintf(reason, len, "%s says %s", p->driver,
			error.message != NULL ? error.message : rte_strerror(-rc));
	return rc;
}

void port_flow_destroy(struct port *p, void *flow)
{
	struct rte_flow_error error = {0};
	const int rc = rte_flow_destroy(p->dpdk_id, flow, &error);

	// software hands over packets that such a rule misdirects, so nothing is lost
	if (rc != 0)
		PORT_LOG(WARNING, "port %s: a flow rule could not be destroyed: %s", p->name,
			error.message != NULL ? error.message : rte_strerror(-rc));
}
