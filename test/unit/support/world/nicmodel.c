// SPDX-License-Identifier: BSD-3-Clause
// A NIC in software: its rules, its Toeplitz hash, and the queue they choose for a frame.
#include "nicmodel.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <rte_thash.h>

#include "bytes.h"

#define FLOW_RULES_ROOM 4096

struct nicmodel nicmodel;

// Rules of all ports; an unused entry has no port.
static struct {
	const struct port *port;
	struct port_rule rule;
} table[FLOW_RULES_ROOM];

// --- rules --------------------------------------------------------------------------------------

static const char *refusal(const struct port_rule *r)
{
	if (nicmodel.calls >= nicmodel.refuse_first && nicmodel.calls <= nicmodel.refuse_last)
		return "table full";
	if (nicmodel.exact && r->mask != 0 && r->mask != 0xffff)
		return "port mask not supported";
	for (unsigned int i = 0; nicmodel.one_mask && i < FLOW_RULES_ROOM; i++)
		if (table[i].port != NULL && table[i].rule.mask != r->mask)
			return "another mask is in use";
	return NULL;
}

static int flow_create(
	struct port *p, const struct port_rule *r, void **flow, char *reason, size_t len)
{
	const char *no;
	unsigned int i = 0;

	nicmodel.calls++;
	no = refusal(r);
	if (no != NULL) {
		snprintf(reason, len, "soft says %s", no);
		return -ENOTSUP;
	}
	while (table[i].port != NULL)
		i++;
	table[i].port = p;
	table[i].rule = *r;
	*flow = &table[i];
	nicmodel.rules++;
	return 0;
}

static void flow_destroy(struct port *p, void *flow)
{
	const size_t i = (size_t)((char *)flow - (char *)table) / sizeof(table[0]);

	if (table[i].port != p) {
		fprintf(stderr, "nicmodel: a rule is destroyed that there is not\n");
		abort();
	}
	table[i].port = NULL;
	nicmodel.rules--;
}

struct port *nicmodel_open(const struct port_config *c, char *error, size_t len)
{
	static struct port_ops ops;
	struct port *p = softport_open(c, error, len);

	if (p == NULL)
		return NULL;
	ops = *p->ops;
	if (!nicmodel.no_rules) {
		ops.flow_create = flow_create;
		ops.flow_destroy = flow_destroy;
	}
	p->ops = &ops;
	return p;
}

// --- packets ------------------------------------------------------------------------------------

struct packet {
	struct addr src, dst;
	uint16_t sport, dport;
	uint16_t vlan;
	bool is_udp; // a whole UDP datagram, not a fragment
};

static bool look(const uint8_t *f, size_t len, struct packet *k)
{
	uint16_t type = load_be16(f + 12);
	const uint8_t *ip = f + 14, *udp;

	*k = (struct packet){0};
	if (type == 0x8100) {
		k->vlan = load_be16(f + 14) & 0xfff;
		type = load_be16(f + 16);
		ip += 4;
	}
	if (type == 0x0800) {
		k->src = addr_from_v4(ip + 12);
		k->dst = addr_from_v4(ip + 16);
		k->is_udp = ip[9] == 17 && (load_be16(ip + 6) & 0x3fff) == 0;
		udp = ip + (ip[0] & 15) * 4;
	} else if (type == 0x86dd) {
		k->src = addr_from_v6(ip + 8);
		k->dst = addr_from_v6(ip + 24);
		k->is_udp = ip[6] == 17;
		udp = ip + 40;
	} else {
		return false;
	}
	if (k->is_udp) {
		k->sport = load_be16(udp);
		k->dport = load_be16(udp + 2);
	}
	return true;
}

static uint32_t toeplitz(const struct port *p, const struct packet *k)
{
	union rte_thash_tuple t = {0};
	uint32_t key[PORT_RSS_KEY_MAX / 4]; // aligned, as rte_softrss reads it
	const bool is_v4 = addr_is_v4(&k->dst);
	uint32_t len = is_v4 ? RTE_THASH_V4_L3_LEN : RTE_THASH_V6_L3_LEN;

	if (is_v4) {
		t.v4.src_addr = load_be32(k->src.b + 12);
		t.v4.dst_addr = load_be32(k->dst.b + 12);
		t.v4.sport = k->sport;
		t.v4.dport = k->dport;
	} else {
		for (unsigned int i = 0; i < 4; i++) {
			((uint32_t *)&t.v6.src_addr)[i] = load_be32(k->src.b + 4 * i);
			((uint32_t *)&t.v6.dst_addr)[i] = load_be32(k->dst.b + 4 * i);
		}
		t.v6.sport = k->sport;
		t.v6.dport = k->dport;
	}
	len += k->is_udp ? 1 : 0;
	memcpy(key, p->rss_key, sizeof(key));
	return rte_softrss((uint32_t *)&t, len, (const uint8_t *)key);
}

uint16_t nicmodel_queue(const struct port *p, const void *frame, size_t len, uint32_t *hash)
{
	struct packet k;

	*hash = 0;
	if (!look(frame, len, &k))
		return 0;
	*hash = toeplitz(p, &k);
	for (unsigned int i = 0; k.is_udp && i < FLOW_RULES_ROOM; i++) {
		const struct port_rule *r = &table[i].rule;

		if (table[i].port != p || !addr_eq(&r->dst, &k.dst) ||
			(r->vlan != 0 && r->vlan != k.vlan) || (k.dport & r->mask) != r->port)
			continue;
		return (uint16_t)((r->queue + nicmodel.misdeliver) % p->nb_rxq);
	}
	return p->reta[*hash % p->reta_size];
}

void nicmodel_put(struct port *p, const void *frame, size_t len)
{
	struct rte_mbuf *m = softport_mbuf(p, frame, len);
	const uint16_t queue = nicmodel_queue(p, frame, len, &m->hash.rss);

	m->ol_flags |= RTE_MBUF_F_RX_RSS_HASH;
	softport_put_mbuf(p, queue, m);
}
