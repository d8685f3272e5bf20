// SPDX-License-Identifier: BSD-3-Clause
// Reads and writes ARP packets and ND messages.
#include "net_int.h"

#define ARP_LEN 28
#define ARP_REQUEST 1
#define ARP_REPLY 2

#define ND_LEN 24 // NS and NA without options
#define ND_OPTION_LEN 8
#define ND_SOURCE_LINK_ADDR 1
#define ND_TARGET_LINK_ADDR 2
#define NA_SOLICITED 0x40
#define NA_OVERRIDE 0x20

static const uint8_t no_mac[6];
static const uint8_t broadcast[6] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
static const struct addr all_nodes = {.b = {0xff, 0x02, [15] = 0x01}};

void net_mac_of_multicast(const struct addr *group, uint8_t mac[6])
{
	mac[0] = mac[1] = 0x33; // RFC 2464 section 7
	memcpy(mac + 2, group->b + 12, 4);
}

struct addr net_solicited_node(const struct addr *a)
{
	struct addr group = {.b = {0xff, 0x02, [11] = 0x01, [12] = 0xff}};

	memcpy(group.b + 13, a->b + 13, 3);
	return group;
}

struct addr net_link_local(const uint8_t mac[6])
{
	struct addr a = {.b = {0xfe, 0x80, [11] = 0xff, [12] = 0xfe}};

	a.b[8] = mac[0] ^ 0x02; // RFC 4291 appendix A: the universal bit is inverted
	memcpy(a.b + 9, mac + 1, 2);
	memcpy(a.b + 13, mac + 3, 3);
	return a;
}

// RFC 1812 section 3.3.2: answers with a group address as MAC are ignored.
static bool mac_of_host(const uint8_t *mac)
{
	return (mac[0] & 1) == 0 && memcmp(mac, no_mac, 6) != 0;
}

static bool is_unspecified(const struct addr *a)
{
	return (a->d[0] | a->d[1]) == 0;
}

static void parse_arp(
	const uint8_t *arp, size_t len, const struct net_frame *f, struct net_neigh_msg *msg)
{
	static const uint8_t ethernet_ip4[6] = {0, 1, 0x08, 0x00, 6, 4};
	struct addr sender, target;
	enum addr_class sender_class;
	uint16_t operation;

	if (len < ARP_LEN || memcmp(arp, ethernet_ip4, 6) != 0 || !mac_of_host(arp + 8))
		return;
	operation = load_be16(arp + 6);
	if (operation != ARP_REQUEST && operation != ARP_REPLY)
		return;
	sender = addr_from_v4(arp + 14);
	target = addr_from_v4(arp + 24);
	sender_class = addr_class(&sender);
	if (sender_class != ADDR_UNICAST && sender_class != ADDR_LINK_LOCAL &&
		load_be32(arp + 14) != 0) // sender 0.0.0.0: a probe (RFC 5227 section 1.1)
		return;
	memcpy(msg->mac, arp + 8, 6);
	if (operation == ARP_REQUEST && !addr_eq(&sender, &target)) {
		msg->type = NET_NEIGH_ASK;
		msg->target = target;
		msg->sender = sender;
	} else if (load_be32(arp + 14) != 0) {
		// a reply, or an announcement: a host's request for its own address (RFC 5227
		// section 3)
		msg->type = NET_NEIGH_ANSWER;
		msg->target = sender;
		msg->solicited = operation == ARP_REPLY && !f->l2_multicast;
	}
}

// Finds the link-layer address option of a type. False if the options are malformed (RFC 4861
// sections 7.1.1 and 7.1.2: a length of zero) or the MAC is not a host's.
static bool parse_options(const uint8_t *p, size_t len, uint8_t type, const uint8_t **mac)
{
	*mac = NULL;
	while (len > 0) {
		size_t option_len;

		if (len < ND_OPTION_LEN || p[1] == 0)
			return false;
		option_len = p[1] * (size_t)ND_OPTION_LEN;
		if (option_len > len)
			return false;
		if (p[0] == type) {
			if (option_len != ND_OPTION_LEN || !mac_of_host(p + 2))
				return false;
			*mac = p + 2;
		}
		p += option_len;
		len -= option_len;
	}
	return true;
}

// Parses a Neighbour Solicitation (RFC 4861 section 7.1.1).
static void parse_solicitation(const struct net_frame *f, const struct addr *target,
	const uint8_t *mac, struct net_neigh_msg *msg)
{
	if (is_unspecified(&f->src)) {
		const struct addr group = net_solicited_node(target);

		if (!addr_eq(&f->dst, &group) || mac != NULL)
			return;
	}
	msg->type = NET_NEIGH_ASK;
	msg->target = *target;
	msg->sender = f->src;
	if (mac != NULL)
		memcpy(msg->mac, mac, 6);
}

// Parses a Neighbour Advertisement (RFC 4861 section 7.1.2).
static void parse_advertisement(const struct net_frame *f, const uint8_t *icmp,
	const struct addr *target, const uint8_t *mac, struct net_neigh_msg *msg)
{
	const bool solicited = (icmp[4] & NA_SOLICITED) != 0;

	if (solicited && addr_class(&f->dst) == ADDR_MULTICAST)
		return;
	msg->type = NET_NEIGH_ANSWER;
	msg->target = *target;
	msg->solicited = solicited;
	if (mac != NULL)
		memcpy(msg->mac, mac, 6);
}

static void parse_nd(const uint8_t *icmp, const struct net_frame *f, struct net_neigh_msg *msg)
{
	const bool ask = icmp[0] == ICMP6_NEIGHBOR_SOLICITATION;
	const uint8_t *mac;
	struct addr target;

	if (!ask && icmp[0] != ICMP6_NEIGHBOR_ADVERTISEMENT)
		return;
	// hop limit 255: it has not passed a router. The checksum was verified with the frame
	if (f->ttl != TTL_ND || icmp[1] != 0 || f->payload_len < ND_LEN)
		return;
	target = addr_from_v6(icmp + 8);
	if (addr_class(&target) == ADDR_MULTICAST || addr_is_v4(&target))
		return;
	if (!parse_options(icmp + ND_LEN, f->payload_len - (size_t)ND_LEN,
		    ask ? ND_SOURCE_LINK_ADDR : ND_TARGET_LINK_ADDR, &mac))
		return;
	if (ask)
		parse_solicitation(f, &target, mac, msg);
	else
		parse_advertisement(f, icmp, &target, mac, msg);
}

void net_neigh_parse(
	const uint8_t *data, size_t len, const struct net_frame *f, struct net_neigh_msg *msg)
{
	*msg = (struct net_neigh_msg){.type = NET_NEIGH_NONE};
	if (f->kind == NET_ARP && f->l3_off <= len)
		parse_arp(data + f->l3_off, len - f->l3_off, f, msg);
	else if (f->kind == NET_ICMP6 && (size_t)f->payload_off + f->payload_len <= len)
		parse_nd(data + f->payload_off, f, msg);
}

static uint8_t *arp_write(
	uint8_t *p, uint16_t operation, const uint8_t *sender_mac, const struct addr *sender)
{
	store_be16(p, 1);
	store_be16(p + 2, NET_ETHERTYPE_IP4);
	p[4] = 6;
	p[5] = 4;
	store_be16(p + 6, operation);
	memcpy(p + 8, sender_mac, 6);
	memcpy(p + 14, sender->b + 12, 4);
	return p + 18;
}

static uint8_t *arp_write_target(uint8_t *p, const uint8_t *mac, const struct addr *target)
{
	memcpy(p, mac, 6);
	memcpy(p + 6, target->b + 12, 4);
	return p + 10;
}

// The fields of an NS or NA; mac NULL: without a link-layer address option.
struct nd_fields {
	uint8_t type, flags, option;
	const uint8_t *mac;
	const struct addr *target, *src, *dst;
};

// Writes the IPv6 header and the message. Returns the position after it.
static uint8_t *nd_write(uint8_t *p, const struct nd_fields *nd)
{
	const uint16_t len = nd->mac != NULL ? ND_LEN + ND_OPTION_LEN : ND_LEN;
	const struct ip6_fields fields = {
		.payload_len = len, .proto = NET_PROTO_ICMP6, .ttl = TTL_ND};
	uint8_t *icmp = ip6_write(p, fields, nd->src, nd->dst);

	memset(icmp, 0, ND_LEN);
	icmp[0] = nd->type;
	icmp[4] = nd->flags;
	memcpy(icmp + 8, nd->target->b, 16);
	if (nd->mac != NULL) {
		icmp[ND_LEN] = nd->option;
		icmp[ND_LEN + 1] = 1;
		memcpy(icmp + ND_LEN + 2, nd->mac, 6);
	}
	icmp6_write_checksum(icmp, len, nd->src, nd->dst);
	return icmp + len;
}

size_t net_write_ask(uint8_t *buf, const struct net_l2 *l2, const struct addr *sender,
	const struct addr *target, const uint8_t *to_mac)
{
	const struct addr group = net_solicited_node(target);
	struct net_l2 link = *l2;
	// RFC 4861 section 7.2.2; a DAD probe must not carry the option (RFC 4862 section 5.4.2)
	const struct nd_fields nd = {
		.type = ICMP6_NEIGHBOR_SOLICITATION,
		.option = ND_SOURCE_LINK_ADDR,
		.mac = is_unspecified(sender) ? NULL : l2->src,
		.target = target,
		.src = sender,
		.dst = to_mac != NULL ? target : &group,
	};
	uint8_t *p;

	if (addr_is_v4(target)) {
		memcpy(link.dst, to_mac != NULL ? to_mac : broadcast, 6);
		p = eth_write(buf, &link, NET_ETHERTYPE_ARP);
		p = arp_write(p, ARP_REQUEST, l2->src, sender);
		p = arp_write_target(p, no_mac, target);
	} else {
		if (to_mac != NULL)
			memcpy(link.dst, to_mac, 6);
		else
			net_mac_of_multicast(&group, link.dst);
		p = nd_write(eth_write(buf, &link, NET_ETHERTYPE_IP6), &nd);
	}
	return (size_t)(p - buf);
}

static size_t write_arp_answer(
	uint8_t *buf, const struct net_l2 *l2, const struct addr *target, const struct addr *asker)
{
	struct net_l2 link = *l2;
	uint8_t *p;

	if (asker == NULL) {
		// an announcement has the form of a request (RFC 5227 section 3), because many
		// hosts filter unsolicited replies
		memcpy(link.dst, broadcast, 6);
		p = eth_write(buf, &link, NET_ETHERTYPE_ARP);
		p = arp_write(p, ARP_REQUEST, l2->src, target);
		p = arp_write_target(p, no_mac, target);
	} else {
		p = eth_write(buf, &link, NET_ETHERTYPE_ARP);
		p = arp_write(p, ARP_REPLY, l2->src, target);
		p = arp_write_target(p, l2->dst, asker);
	}
	return (size_t)(p - buf);
}

size_t net_write_answer(
	uint8_t *buf, const struct net_l2 *l2, const struct addr *target, const struct addr *asker)
{
	struct net_l2 link = *l2;
	// RFC 4861 section 7.2.4: the answer to an asker without an address goes to all-nodes,
	// without the solicited flag
	const bool to_all = asker == NULL || is_unspecified(asker);
	const struct nd_fields nd = {
		.type = ICMP6_NEIGHBOR_ADVERTISEMENT,
		.flags = to_all ? NA_OVERRIDE : NA_OVERRIDE | NA_SOLICITED,
		.option = ND_TARGET_LINK_ADDR,
		.mac = l2->src,
		.target = target,
		.src = target,
		.dst = to_all ? &all_nodes : asker,
	};

	if (addr_is_v4(target))
		return write_arp_answer(buf, l2, target, asker);
	if (to_all)
		net_mac_of_multicast(&all_nodes, link.dst);
	return (size_t)(nd_write(eth_write(buf, &link, NET_ETHERTYPE_IP6), &nd) - buf);
}
