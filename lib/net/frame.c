// SPDX-License-Identifier: BSD-3-Clause
// Parses received frames, checks everything that can be checked without knowing our addresses, and
// writes the headers of datagrams. Also makes the rules with which udp.h recognizes plain frames.
#include "net_int.h"

// Limits of a chain of IPv6 extension headers: a relay needs no more, but an attacker may.
#define EXT_HEADERS_MAX 4
#define EXT_BYTES_MAX 256

static const struct {
	const char *name, *text;
} drops[NET_DROP_END] = {
#define X(id, name, text) [id] = {name, text},
	NET_DROPS(X)
#undef X
};

const char *net_drop_name(enum net_drop reason)
{
	return (unsigned int)reason < NET_DROP_END ? drops[reason].name : NULL;
}

const char *net_drop_text(enum net_drop reason)
{
	return (unsigned int)reason < NET_DROP_END ? drops[reason].text : NULL;
}

static inline bool mac_eq(const uint8_t *a, const uint8_t *b)
{
	uint32_t a4, b4;
	uint16_t a2, b2;

	memcpy(&a4, a, 4);
	memcpy(&b4, b, 4);
	memcpy(&a2, a + 4, 2);
	memcpy(&b2, b + 4, 2);
	return ((a4 ^ b4) | (uint32_t)(a2 ^ b2)) == 0;
}

// Ethertype and offset of the data after the link headers.
struct link {
	uint16_t type, l3_off;
};

// Parses Ethernet and VLAN headers.
static inline enum net_drop parse_link(
	const uint8_t *data, size_t len, const struct net_rx *rx, struct link *link)
{
	uint16_t vlan = 0;

	if (len < NET_ETH_LEN)
		return NET_DROP_SHORT;
	*link = (struct link){load_be16(data + 12), NET_ETH_LEN};
	if (link->type == NET_ETHERTYPE_VLAN) {
		if (len < NET_ETH_LEN + NET_VLAN_LEN)
			return NET_DROP_SHORT;
		vlan = load_be16(data + 14) & 0x0fff;
		*link = (struct link){load_be16(data + 16), NET_ETH_LEN + NET_VLAN_LEN};
	}
	// a priority tag (id 0) is not a VLAN; a second tag is not supported
	if (vlan != rx->vlan || link->type == NET_ETHERTYPE_VLAN ||
		link->type == NET_ETHERTYPE_QINQ)
		return NET_DROP_VLAN;
	if ((data[0] & 1) == 0 && !mac_eq(data, rx->mac))
		return NET_DROP_NOT_FOR_US;
	if ((data[6] & 1) != 0 || (mac_eq(data + 6, rx->mac) && !rx->loopback))
		return NET_DROP_MARTIAN_SOURCE;
	return NET_OK;
}

static inline enum net_drop parse_udp(
	const uint8_t *data, const struct net_rx *rx, struct net_frame *f, uint16_t len)
{
	const uint8_t *udp = data + f->l4_off;
	uint32_t sum;

	// Refuses bytes between the end of UDP and the end of IP: they could hide data.
	if (len < NET_UDP_LEN || load_be16(udp + 4) != len)
		return NET_DROP_UDP_LENGTH;
	f->kind = NET_UDP;
	f->sport = load_be16(udp);
	f->dport = load_be16(udp + 2);
	f->l4_checksum = load_be16(udp + 6);
	f->payload_off = (uint16_t)(f->l4_off + NET_UDP_LEN);
	f->payload_len = (uint16_t)(len - NET_UDP_LEN);
	if (f->sport == 0 || f->dport == 0)
		return NET_DROP_PORT_ZERO;
	// RFC 768: 0 means "not computed"; RFC 8200 section 8.1: not allowed over IPv6
	if (f->l4_checksum == 0)
		return f->is_v4 ? NET_OK : NET_DROP_UDP_CHECKSUM;
	if (rx->l4_checksum_good)
		return NET_OK;
	sum = addrs_sum(&f->src, &f->dst) + NET_PROTO_UDP + len;
	return csum_fold(csum_add(sum, udp, len)) == 0xffff ? NET_OK : NET_DROP_UDP_CHECKSUM;
}

static enum net_drop parse_icmp(const uint8_t *data, struct net_frame *f, uint16_t len)
{
	uint32_t sum = 0;

	if (len < ICMP_HEADER_LEN)
		return NET_DROP_SHORT;
	f->kind = f->is_v4 ? NET_ICMP : NET_ICMP6;
	f->sport = f->dport = 0;
	f->l4_checksum = 0;
	f->payload_off = f->l4_off;
	f->payload_len = len;
	if (!f->is_v4) // RFC 4443 section 2.3
		sum = addrs_sum(&f->src, &f->dst) + NET_PROTO_ICMP6 + len;
	sum = csum_add(sum, data + f->l4_off, len);
	return csum_fold(sum) == 0xffff ? NET_OK : NET_DROP_UDP_CHECKSUM;
}

// Reads the ports of a TCP segment, which select its receiver. The receiver checks the rest,
// including the checksum.
static enum net_drop parse_tcp(const uint8_t *data, struct net_frame *f, uint16_t len)
{
	const uint8_t *tcp = data + f->l4_off;

	if (len < NET_TCP_LEN || (tcp[12] >> 4) * 4 < NET_TCP_LEN || (tcp[12] >> 4) * 4 > len)
		return NET_DROP_SHORT;
	f->kind = NET_TCP;
	f->sport = load_be16(tcp);
	f->dport = load_be16(tcp + 2);
	f->l4_checksum = load_be16(tcp + 16);
	f->payload_off = f->l4_off;
	f->payload_len = len;
	return f->sport == 0 || f->dport == 0 ? NET_DROP_PORT_ZERO : NET_OK;
}

static inline enum net_drop parse_ip4(const uint8_t *data, size_t room, const struct net_rx *rx,
	struct net_frame *f, uint16_t l3_off)
{
	const uint8_t *ip = data + l3_off;
	uint16_t total, fragment;

	if (room < NET_IP4_LEN)
		return NET_DROP_SHORT;
	if (ip[0] != 0x45) {
		if (ip[0] >> 4 != 4)
			return NET_DROP_IP_VERSION;
		return (ip[0] & 15) < 5 ? NET_DROP_IP_HEADER : NET_DROP_IP_OPTIONS;
	}
	total = load_be16(ip + 2);
	if (total < NET_IP4_LEN || total > room) // shorter than the frame: Ethernet padding
		return NET_DROP_IP_LENGTH;
	if (!rx->ip_checksum_good && ip4_header_sum(ip) != 0xffff)
		return NET_DROP_IP_CHECKSUM;
	fragment = load_be16(ip + 6);
	f->src = addr_from_v4(ip + 12);
	f->dst = addr_from_v4(ip + 16);
	f->l4_off = (uint16_t)(l3_off + NET_IP4_LEN);
	f->tos = ip[1];
	f->ttl = ip[8];
	f->df = (fragment & 0x4000) != 0;
	f->is_v4 = true;
	if (udp_martian4(ip[12]) || (f->src.w[3] == f->dst.w[3] && !rx->loopback)) // equal: LAND
		return NET_DROP_MARTIAN_SOURCE;
	if (udp_martian4(ip[16]) || f->l2_multicast) // RFC 1122 section 3.3.6
		return NET_DROP_MARTIAN_DESTINATION;
	if ((fragment & NET_IP4_FRAGMENTED) != 0) {
		f->payload_len = (uint16_t)(total - NET_IP4_LEN);
		return NET_DROP_FRAGMENT;
	}
	if (ip[9] == NET_PROTO_UDP)
		return parse_udp(data, rx, f, (uint16_t)(total - NET_IP4_LEN));
	if (ip[9] == NET_PROTO_ICMP)
		return parse_icmp(data, f, (uint16_t)(total - NET_IP4_LEN));
	if (ip[9] == NET_PROTO_TCP && rx->tcp)
		return parse_tcp(data, f, (uint16_t)(total - NET_IP4_LEN));
	return NET_DROP_PROTOCOL;
}

// Checks the options of a hop-by-hop or destination header. We support none, so each must allow
// skipping: action bits 00 (RFC 8200 section 4.2).
static bool options_skippable(const uint8_t *p, size_t len)
{
	size_t pos = 0;

	while (pos < len) {
		if (p[pos] == 0) { // Pad1
			pos++;
			continue;
		}
		if (p[pos] >> 6 != 0 || pos + 2 > len || pos + 2 + p[pos + 1] > len)
			return false;
		pos += 2u + p[pos + 1];
	}
	return true;
}

// True if the packet of a Fragment header is not fragmented: offset 0, and no more fragments (RFC
// 6946). The header is then skipped, but only before UDP: ND must not have one (RFC 6980).
static bool is_atomic(const uint8_t *header)
{
	return (load_be16(header + 2) & 0xfff9) == 0 && header[0] == NET_PROTO_UDP;
}

// Walks the extension headers of the len bytes at p. Stores the protocol after them in *proto and
// their length in *skipped; for a fragment, the length before its Fragment header.
static enum net_drop skip_extensions(
	const uint8_t *p, size_t len, uint8_t *proto, uint16_t *skipped)
{
	size_t pos = 0;

	for (unsigned int n = 0;; n++) {
		size_t ext_len;

		*skipped = (uint16_t)pos;
		if (*proto != NET_PROTO_HOP_BY_HOP && *proto != NET_PROTO_ROUTING &&
			*proto != NET_PROTO_DESTINATION && *proto != NET_PROTO_FRAGMENT)
			return NET_OK;
		if (len - pos < 8)
			return NET_DROP_IP_HEADER;
		if (*proto == NET_PROTO_FRAGMENT) {
			if (n == EXT_HEADERS_MAX)
				return NET_DROP_IP_HEADER;
			if (!is_atomic(p + pos))
				return NET_DROP_FRAGMENT;
			*proto = p[pos];
			pos += 8;
			continue;
		}
		ext_len = (p[pos + 1] + 1u) * 8;
		if (n == EXT_HEADERS_MAX || pos + ext_len > EXT_BYTES_MAX || ext_len > len - pos)
			return NET_DROP_IP_HEADER;
		// RFC 8200 section 4.1: hop-by-hop is only allowed as the first header
		if (*proto == NET_PROTO_HOP_BY_HOP && n != 0)
			return NET_DROP_IP_HEADER;
		// RFC 5095: type 0 is forbidden; RFC 8200 section 4.4: we are not a listed router
		if (*proto == NET_PROTO_ROUTING) {
			if (p[pos + 2] == 0 || p[pos + 3] != 0)
				return NET_DROP_IP_HEADER;
		} else if (!options_skippable(p + pos + 2, ext_len - 2)) {
			return NET_DROP_IP_HEADER;
		}
		*proto = p[pos];
		pos += ext_len;
	}
}

// True for an address that no IPv6 packet may have (RFC 4291 section 2.5.3; an IPv4-mapped address
// would be treated as an IPv4 address from here on).
static inline bool is_martian6(const struct addr *a)
{
	return a->d[0] == 0 && (load_be64(a->b + 8) == 1 || addr_is_v4(a));
}

static inline enum net_drop check_addrs6(
	const struct net_rx *rx, const struct net_frame *f, uint8_t proto)
{
	const bool from_none = (f->src.d[0] | f->src.d[1]) == 0;
	const bool from_link = f->src.b[0] == 0xfe && f->src.b[1] >> 6 == 2;
	const bool to_group = f->dst.b[0] == 0xff;

	if (is_martian6(&f->src) || f->src.b[0] == 0xff ||
		(addr_eq(&f->src, &f->dst) && !rx->loopback))
		return NET_DROP_MARTIAN_SOURCE;
	// only neighbour discovery may use these sources
	if ((from_none || from_link) && proto != NET_PROTO_ICMP6)
		return NET_DROP_MARTIAN_SOURCE;
	if (is_martian6(&f->dst) || (f->dst.d[0] | f->dst.d[1]) == 0)
		return NET_DROP_MARTIAN_DESTINATION;
	if (to_group ? proto != NET_PROTO_ICMP6 : f->l2_multicast)
		return NET_DROP_MARTIAN_DESTINATION;
	return NET_OK;
}

static inline enum net_drop parse_ip6(const uint8_t *data, size_t room, const struct net_rx *rx,
	struct net_frame *f, uint16_t l3_off)
{
	const uint8_t *ip = data + l3_off;
	enum net_drop drop = NET_OK, bad;
	uint16_t l4_len, skipped = 0;
	uint8_t proto;

	if (room < NET_IP6_LEN)
		return NET_DROP_SHORT;
	if (ip[0] >> 4 != 6)
		return NET_DROP_IP_VERSION;
	l4_len = load_be16(ip + 4);
	if (l4_len > room - NET_IP6_LEN)
		return NET_DROP_IP_LENGTH;
	proto = ip[6];
	if (proto != NET_PROTO_UDP) {
		drop = skip_extensions(ip + NET_IP6_LEN, l4_len, &proto, &skipped);
		if (drop != NET_OK && drop != NET_DROP_FRAGMENT)
			return drop;
		l4_len = (uint16_t)(l4_len - skipped);
	}
	f->src = addr_from_v6(ip + 8);
	f->dst = addr_from_v6(ip + 24);
	f->l4_off = (uint16_t)(l3_off + NET_IP6_LEN + skipped);
	f->tos = (uint8_t)(load_be16(ip) >> 4);
	f->ttl = ip[7];
	f->df = false;
	f->is_v4 = false;
	bad = check_addrs6(rx, f, proto);
	if (bad != NET_OK)
		return bad;
	if (drop != NET_OK) {
		f->payload_len = l4_len;
		return drop;
	}
	if (proto == NET_PROTO_UDP)
		return parse_udp(data, rx, f, l4_len);
	if (proto == NET_PROTO_TCP && rx->tcp)
		return parse_tcp(data, f, l4_len);
	return proto == NET_PROTO_ICMP6 ? parse_icmp(data, f, l4_len) : NET_DROP_PROTOCOL;
}

enum net_drop net_frame_parse(
	const uint8_t *data, size_t len, const struct net_rx *rx, struct net_frame *f)
{
	struct link link;
	const enum net_drop drop = parse_link(data, len, rx, &link);

	if (drop != NET_OK)
		return drop;
	f->l3_off = link.l3_off;
	f->l2_multicast = data[0] & 1;
	if (link.type == NET_ETHERTYPE_IP4)
		return parse_ip4(data, len - link.l3_off, rx, f, link.l3_off);
	if (link.type == NET_ETHERTYPE_IP6)
		return parse_ip6(data, len - link.l3_off, rx, f, link.l3_off);
	if (link.type != NET_ETHERTYPE_ARP)
		return NET_DROP_ETHERTYPE;
	*f = (struct net_frame){
		.kind = NET_ARP, .l3_off = link.l3_off, .l2_multicast = data[0] & 1};
	return NET_OK;
}

static uint8_t *ip4_write(uint8_t *p, const struct net_ip *ip, uint16_t total,
	const struct addr *src, const struct addr *dst)
{
	p[0] = 0x45;
	p[1] = ip->tos;
	store_be16(p + 2, total);
	store_be16(p + 4, ip->id);
	store_be16(p + 6, ip->df ? 0x4000 : 0);
	p[8] = ip->ttl;
	p[9] = NET_PROTO_UDP;
	memcpy(p + 12, src->b + 12, 4);
	memcpy(p + 16, dst->b + 12, 4);
	ip4_write_checksum(p);
	return p + NET_IP4_LEN;
}

uint8_t *net_write_udp(uint8_t *payload, uint16_t payload_len, const struct net_l2 *l2,
	const struct endpoint *src, const struct endpoint *dst, const struct net_ip *ip,
	uint16_t udp_checksum)
{
	const bool is_v4 = addr_is_v4(&src->addr);
	const uint16_t udp_len = (uint16_t)(payload_len + NET_UDP_LEN);
	uint8_t *frame = payload - net_headers_len(is_v4, l2->vlan);
	uint8_t *p = eth_write(frame, l2, is_v4 ? NET_ETHERTYPE_IP4 : NET_ETHERTYPE_IP6);

	if (is_v4) {
		p = ip4_write(p, ip, (uint16_t)(udp_len + NET_IP4_LEN), &src->addr, &dst->addr);
	} else {
		const struct ip6_fields fields = {udp_len, ip->tos, NET_PROTO_UDP, ip->ttl};

		p = ip6_write(p, fields, &src->addr, &dst->addr);
	}
	store_be16(p, src->port);
	store_be16(p + 2, dst->port);
	store_be16(p + 4, udp_len);
	store_be16(p + 6, udp_checksum);
	return frame;
}

void net_frame_describe(
	const uint8_t *data, uint16_t payload_off, uint16_t payload_len, struct net_frame *f)
{
	const bool tagged = load_be16(data + 12) == NET_ETHERTYPE_VLAN;
	const uint16_t l3_off = NET_ETH_LEN + (tagged ? NET_VLAN_LEN : 0);
	const uint8_t *ip = data + l3_off, *udp = data + payload_off - NET_UDP_LEN;

	*f = (struct net_frame){.kind = NET_UDP,
		.l3_off = l3_off,
		.l4_off = (uint16_t)(payload_off - NET_UDP_LEN),
		.payload_off = payload_off,
		.payload_len = payload_len,
		.sport = load_be16(udp),
		.dport = load_be16(udp + 2),
		.l4_checksum = load_be16(udp + 6),
		.is_v4 = ip[0] >> 4 == 4};
	if (f->is_v4) {
		f->src = addr_from_v4(ip + 12);
		f->dst = addr_from_v4(ip + 16);
		f->tos = ip[1];
		f->ttl = ip[8];
		f->df = (ip[6] & 0x40) != 0;
	} else {
		f->src = addr_from_v6(ip + 8);
		f->dst = addr_from_v6(ip + 24);
		f->tos = (uint8_t)(load_be16(ip) >> 4);
		f->ttl = ip[7];
	}
}

// --- the inline parser's rules -------------------------------------------------------------------

static void expect_byte(uint8_t *value, uint8_t *mask, uint8_t v, uint8_t m)
{
	*value = v;
	*mask = m;
}

void net_udp_rules_init(struct net_udp_rules *r, const struct net_rx *rx)
{
	*r = (struct net_udp_rules){0};
	for (unsigned int i = 0; i < sizeof(rx->mac); i++) {
		expect_byte(&r->v4.value[i], &r->v4.mask[i], rx->mac[i], 0xff);
		expect_byte(&r->v6.value[i], &r->v6.mask[i], rx->mac[i], 0xff);
	}
	expect_byte(&r->v4.value[12], &r->v4.mask[12], NET_ETHERTYPE_IP4 >> 8, 0xff);
	expect_byte(&r->v4.value[13], &r->v4.mask[13], NET_ETHERTYPE_IP4 & 0xff, 0xff);
	expect_byte(&r->v4.value[14], &r->v4.mask[14], 0x45, 0xff); // no options
	expect_byte(&r->v4.value[20], &r->v4.mask[20], 0, 0xbf); // no fragment, reserved bit zero
	expect_byte(&r->v4.value[21], &r->v4.mask[21], 0, 0xff);
	expect_byte(&r->v4.value[23], &r->v4.mask[23], NET_PROTO_UDP, 0xff);
	expect_byte(&r->v6.value[12], &r->v6.mask[12], NET_ETHERTYPE_IP6 >> 8, 0xff);
	expect_byte(&r->v6.value[13], &r->v6.mask[13], NET_ETHERTYPE_IP6 & 0xff, 0xff);
	expect_byte(&r->v6.value[14], &r->v6.mask[14], 0x60, 0xf0);
	expect_byte(&r->v6.value[20], &r->v6.mask[20], NET_PROTO_UDP, 0xff);
	if (rx->vlan != 0) // matches no ethertype
		r->v4.value[12] = r->v6.value[12] = 0xff;
}
