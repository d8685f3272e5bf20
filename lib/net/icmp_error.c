// SPDX-License-Identifier: BSD-3-Clause
// Reads and writes ICMP errors about UDP datagrams.
#include "icmp_error.h"
#include "net_int.h"

#define FRAGMENT_LEN 8

// The quoted bytes after the IP header.
struct quoted {
	const uint8_t *udp;
	uint32_t room; // quoted bytes
	uint32_t len; // bytes of UDP in the packet or fragment, by the IP header
	bool more; // more fragments follow
};

bool net_icmp_error_is(const struct net_frame *f, const uint8_t *icmp)
{
	if (f->kind == NET_ICMP)
		return icmp[0] == ICMP_UNREACHABLE || icmp[0] == ICMP_TIME_EXCEEDED;
	return f->kind == NET_ICMP6 && icmp[0] >= ICMP6_UNREACHABLE &&
		icmp[0] <= ICMP6_TIME_EXCEEDED;
}

// Parses the quoted IPv4 header. We send no options, and a fragment other than the first has no
// ports.
static bool parse_quoted4(
	const uint8_t *ip, uint32_t room, struct net_icmp_error *out, struct quoted *q)
{
	uint16_t fragment;

	if (room < NET_IP4_LEN + NET_UDP_LEN || ip[0] != 0x45 || ip[9] != NET_PROTO_UDP)
		return false;
	fragment = load_be16(ip + 6);
	out->len = load_be16(ip + 2);
	if ((fragment & 0x1fff) != 0 || out->len < NET_IP4_LEN + NET_UDP_LEN)
		return false;
	out->src.addr = addr_from_v4(ip + 12);
	out->dst.addr = addr_from_v4(ip + 16);
	*q = (struct quoted){.udp = ip + NET_IP4_LEN,
		.room = room - NET_IP4_LEN,
		.len = out->len - NET_IP4_LEN,
		.more = (fragment & 0x2000) != 0};
	return true;
}

static bool parse_quoted6(
	const uint8_t *ip, uint32_t room, struct net_icmp_error *out, struct quoted *q)
{
	uint8_t proto;

	if (room < NET_IP6_LEN + NET_UDP_LEN || ip[0] >> 4 != 6)
		return false;
	proto = ip[6];
	*q = (struct quoted){
		.udp = ip + NET_IP6_LEN, .room = room - NET_IP6_LEN, .len = load_be16(ip + 4)};
	out->len = q->len + NET_IP6_LEN;
	out->src.addr = addr_from_v6(ip + 8);
	out->dst.addr = addr_from_v6(ip + 24);
	if (addr_is_v4(&out->src.addr) || addr_is_v4(&out->dst.addr)) // IPv4-mapped
		return false;
	if (proto == NET_PROTO_FRAGMENT) {
		const uint16_t fragment = load_be16(q->udp + 2);

		if (q->len < FRAGMENT_LEN || (fragment & 0xfff8) != 0)
			return false;
		proto = q->udp[0];
		q->more = (fragment & 1) != 0;
		q->udp += FRAGMENT_LEN;
		q->room -= FRAGMENT_LEN;
		q->len -= FRAGMENT_LEN;
	}
	return proto == NET_PROTO_UDP;
}

bool net_icmp_error_parse(
	const struct net_frame *f, const uint8_t *icmp, struct net_icmp_error *out)
{
	const uint32_t room = f->payload_len - (uint32_t)ICMP_HEADER_LEN;
	struct quoted q = {0};
	uint16_t udp_len;

	*out = (struct net_icmp_error){.type = icmp[0], .code = icmp[1]};
	if (f->is_v4 ? !parse_quoted4(icmp + ICMP_HEADER_LEN, room, out, &q)
		     : !parse_quoted6(icmp + ICMP_HEADER_LEN, room, out, &q))
		return false;
	if (q.room < NET_UDP_LEN || q.len < NET_UDP_LEN)
		return false;
	out->src.port = load_be16(q.udp);
	out->dst.port = load_be16(q.udp + 2);
	udp_len = load_be16(q.udp + 4);
	if (out->src.port == 0 || out->dst.port == 0 ||
		(q.more ? udp_len <= q.len : udp_len != q.len))
		return false;
	if (!f->is_v4 && load_be16(q.udp + 6) == 0)
		return false;
	if (f->is_v4) {
		out->too_big = icmp[0] == ICMP_UNREACHABLE && icmp[1] == ICMP_FRAGMENTATION_NEEDED;
		out->mtu = out->too_big ? load_be16(icmp + 6) : 0; // RFC 1191 section 4
	} else {
		out->too_big = icmp[0] == ICMP6_TOO_BIG;
		out->mtu = out->too_big ? load_be32(icmp + 4) : 0;
	}
	return true;
}

// --- writing -------------------------------------------------------------------------------------

#define QUOTE_MAX4 (576 - NET_IP4_LEN - ICMP_HEADER_LEN)
#define QUOTE_MAX6 (1280 - NET_IP6_LEN - ICMP_HEADER_LEN)
#define INTERNETWORK_CONTROL 0xc0 // RFC 1812 section 4.3.2.5

static size_t write_report4(
	uint8_t *p, const uint8_t *packet, size_t len, const struct net_icmp_report *r)
{
	static const uint8_t types[][2] = {[NET_ICMP_PORT] = {ICMP_UNREACHABLE, 3},
		[NET_ICMP_TTL] = {ICMP_TIME_EXCEEDED, 0},
		[NET_ICMP_TOO_BIG] = {ICMP_UNREACHABLE, ICMP_FRAGMENTATION_NEEDED}};
	const size_t quoted = len < QUOTE_MAX4 ? len : QUOTE_MAX4;
	const size_t total = NET_IP4_LEN + ICMP_HEADER_LEN + quoted;
	uint8_t *icmp = p + NET_IP4_LEN;

	store_be32(p, 0x45000000u | INTERNETWORK_CONTROL << 16 | (uint32_t)total);
	store_be32(p + 4, (uint32_t)r->id << 16);
	p[8] = TTL_DEFAULT;
	p[9] = NET_PROTO_ICMP;
	memcpy(p + 12, packet + 16, 4);
	memcpy(p + 16, packet + 12, 4);
	ip4_write_checksum(p);
	icmp[0] = types[r->kind][0];
	icmp[1] = types[r->kind][1];
	store_be16(icmp + 2, 0);
	store_be32(icmp + 4, r->kind == NET_ICMP_TOO_BIG ? r->mtu & 0xffff : 0);
	memcpy(icmp + ICMP_HEADER_LEN, packet, quoted);
	store_be16(icmp + 2, (uint16_t)~csum_fold(csum_add(0, icmp, ICMP_HEADER_LEN + quoted)));
	return total;
}

static size_t write_report6(
	uint8_t *p, const uint8_t *packet, size_t len, const struct net_icmp_report *r)
{
	static const uint8_t types[][2] = {[NET_ICMP_PORT] = {ICMP6_UNREACHABLE, 4},
		[NET_ICMP_TTL] = {ICMP6_TIME_EXCEEDED, 0},
		[NET_ICMP_TOO_BIG] = {ICMP6_TOO_BIG, 0}};
	const size_t quoted = len < QUOTE_MAX6 ? len : QUOTE_MAX6;
	const uint16_t icmp_len = (uint16_t)(ICMP_HEADER_LEN + quoted);
	const struct ip6_fields fields = {icmp_len, 0, NET_PROTO_ICMP6, TTL_DEFAULT};
	const struct addr src = addr_from_v6(packet + 24), dst = addr_from_v6(packet + 8);
	uint8_t *icmp = ip6_write(p, fields, &src, &dst);

	icmp[0] = types[r->kind][0];
	icmp[1] = types[r->kind][1];
	store_be32(icmp + 4, r->kind == NET_ICMP_TOO_BIG ? r->mtu : 0);
	memcpy(icmp + ICMP_HEADER_LEN, packet, quoted);
	icmp6_write_checksum(icmp, icmp_len, &src, &dst);
	return NET_IP6_LEN + (size_t)icmp_len;
}

size_t net_icmp_error_write(uint8_t *buf, const struct net_l2 *l2, const uint8_t *packet,
	size_t len, const struct net_icmp_report *r)
{
	const bool is_v4 = packet[0] >> 4 == 4;
	uint8_t *ip = eth_write(buf, l2, is_v4 ? NET_ETHERTYPE_IP4 : NET_ETHERTYPE_IP6);

	return (size_t)(ip - buf) + (is_v4 ? write_report4 : write_report6)(ip, packet, len, r);
}
