// SPDX-License-Identifier: BSD-3-Clause
// Recognizes the frames by which an interface gets its addresses (RFC 2131, RFC 8415, RFC 4861).
// Many of them have addresses that net_frame_parse rejects: from 0.0.0.0, to broadcast, from and to
// link-local addresses.
#include "exception/learn_rules.h"
#include "bytes.h"
#include "net.h"

#define DHCP_SERVER 67
#define DHCP_CLIENT 68
#define DHCP6_CLIENT 546
#define DHCP6_SERVER 547
#define HOP_BY_HOP_ALERT 8 // bytes of the hop-by-hop header of MLD (RFC 3810, 5)

static enum learn_kind judge_ip4(const uint8_t *ip, size_t len, bool in)
{
	size_t header;
	const uint8_t *udp;

	if (len < NET_IP4_LEN || ip[0] >> 4 != 4 || ip[9] != NET_PROTO_UDP ||
		(load_be16(ip + 6) & 0x3fff) != 0) // a fragment
		return LEARN_NONE;
	header = (ip[0] & 15u) * 4u;
	if (header < NET_IP4_LEN || load_be16(ip + 2) < header + NET_UDP_LEN ||
		load_be16(ip + 2) > len)
		return LEARN_NONE;
	udp = ip + header;
	return load_be16(udp) == (in ? DHCP_SERVER : DHCP_CLIENT) &&
			load_be16(udp + 2) == (in ? DHCP_CLIENT : DHCP_SERVER)
		? LEARN_DHCP
		: LEARN_NONE;
}

static enum learn_kind judge_icmp6(uint8_t type, bool in)
{
	switch (type) {
	case 130: // multicast listener query
		return in ? LEARN_LINK : LEARN_NONE;
	case 131: // reports and done
	case 132:
	case 143:
		return in ? LEARN_NONE : LEARN_LINK;
	case 133: // router solicitation
		return in ? LEARN_NONE : LEARN_ROUTER;
	case 134: // router advertisement
		return in ? LEARN_ROUTER : LEARN_NONE;
	case 135: // neighbour solicitation and advertisement
	case 136:
		return LEARN_LINK;
	default:
		return LEARN_NONE;
	}
}

static enum learn_kind judge_ip6(const uint8_t *ip, size_t len, bool in)
{
	size_t header = NET_IP6_LEN;
	const uint8_t *l4;
	uint8_t proto;

	if (len < NET_IP6_LEN + HOP_BY_HOP_ALERT || ip[0] >> 4 != 6 ||
		load_be16(ip + 4) > len - NET_IP6_LEN)
		return LEARN_NONE;
	len = NET_IP6_LEN + load_be16(ip + 4);
	proto = ip[6];
	if (proto == NET_PROTO_HOP_BY_HOP && ip[NET_IP6_LEN + 1] == 0) {
		proto = ip[NET_IP6_LEN];
		header += HOP_BY_HOP_ALERT;
	}
	if (len < header + NET_UDP_LEN)
		return LEARN_NONE;
	l4 = ip + header;
	if (proto == NET_PROTO_ICMP6)
		return judge_icmp6(l4[0], in);
	// servers may answer from any port (RFC 8415, 7.2)
	return proto == NET_PROTO_UDP && load_be16(l4 + 2) == (in ? DHCP6_CLIENT : DHCP6_SERVER) &&
			(in || load_be16(l4) == DHCP6_CLIENT)
		? LEARN_DHCP
		: LEARN_NONE;
}

// Finds the ethertype after the port's own tag, if it has one. Other tags are rejected.
static bool find_l3(const uint8_t *data, size_t len, uint16_t vlan, uint16_t *type, size_t *l3_off)
{
	if (len < NET_ETH_LEN)
		return false;
	*type = load_be16(data + NET_ETH_TYPE_AT);
	*l3_off = NET_ETH_LEN;
	if (*type == NET_ETHERTYPE_VLAN) {
		if (len < NET_ETH_LEN + NET_VLAN_LEN ||
			(load_be16(data + NET_ETH_LEN) & 0xfff) != vlan)
			return false;
		*type = load_be16(data + NET_ETH_LEN + 2);
		*l3_off += NET_VLAN_LEN;
		return true;
	}
	return vlan == 0;
}

static enum learn_kind judge_frame(
	const struct learn_rules *r, const uint8_t *data, size_t len, bool in)
{
	size_t l3_off;
	uint16_t type;

	// the kernel's frames get their tag later
	if (!find_l3(data, len, in ? r->vlan : 0, &type, &l3_off))
		return LEARN_NONE;
	if (type == NET_ETHERTYPE_ARP)
		return r->dhcp ? LEARN_LINK : LEARN_NONE;
	if (type == NET_ETHERTYPE_IP4 && r->dhcp)
		return judge_ip4(data + l3_off, len - l3_off, in);
	return type == NET_ETHERTYPE_IP6 && r->slaac ? judge_ip6(data + l3_off, len - l3_off, in)
						     : LEARN_NONE;
}

enum learn_kind learn_rules_in(const struct learn_rules *r, const uint8_t *data, size_t len)
{
	return r->dhcp || r->slaac ? judge_frame(r, data, len, true) : LEARN_NONE;
}

enum learn_kind learn_rules_out(const struct learn_rules *r, const uint8_t *data, size_t len)
{
	return r->dhcp || r->slaac ? judge_frame(r, data, len, false) : LEARN_NONE;
}
