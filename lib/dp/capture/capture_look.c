// SPDX-License-Identifier: BSD-3-Clause
// Parses frames for a capture. Dropped frames may have any content, so this checks less than
// net_frame_parse: bytes that do not fit the format count as payload.
#include "capture/capture_look.h"
#include "bytes.h"
#include "protocols.h"
#include "stun.h"

#define TAGS 2
#define EXTENSIONS 8 // limit of IPv6 extension headers that are read
#define ARP_LEN 28
#define ICMP_LEN 8
#define DTLS_HEADER_LEN 13
#define QUOTED_LEN 8 // bytes after the IP header that an ICMP error quotes (RFC 792)

static uint32_t min_u32(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

// --- frames --------------------------------------------------------------------------------------

// Fields of an IP header.
struct packet {
	struct addr src, dst;
	uint32_t l4, id;
	bool piece, first;
	uint8_t proto;
};

static bool read_ip4(const uint8_t *data, uint32_t offset, uint32_t len, struct packet *p)
{
	const uint8_t *ip = data + offset;
	uint32_t header;

	if (len < offset + NET_IP4_LEN || ip[0] >> 4 != 4)
		return false;
	header = (ip[0] & 15) * 4u;
	if (header < NET_IP4_LEN || len < offset + header)
		return false;
	*p = (struct packet){.src = addr_from_v4(ip + NET_IP4_ADDRS_AT),
		.dst = addr_from_v4(ip + NET_IP4_ADDRS_AT + 4),
		.l4 = offset + header,
		.id = load_be16(ip + NET_IP4_ID_AT),
		.piece = (load_be16(ip + NET_IP4_FRAGMENT_AT) & NET_IP4_FRAGMENTED) != 0,
		.first = (load_be16(ip + NET_IP4_FRAGMENT_AT) & 0x1fff) == 0,
		.proto = ip[NET_IP4_PROTO_AT]};
	return true;
}

static bool is_extension(uint8_t next)
{
	return next == NET_PROTO_HOP_BY_HOP || next == NET_PROTO_ROUTING ||
		next == NET_PROTO_DESTINATION || next == NET_PROTO_FRAGMENT;
}

static bool read_ip6(const uint8_t *data, uint32_t offset, uint32_t len, struct packet *p)
{
	const uint8_t *ip = data + offset;

	if (len < offset + NET_IP6_LEN || ip[0] >> 4 != 6)
		return false;
	*p = (struct packet){.src = addr_from_v6(ip + NET_IP6_ADDRS_AT),
		.dst = addr_from_v6(ip + NET_IP6_ADDRS_AT + 16),
		.l4 = offset + NET_IP6_LEN,
		.first = true,
		.proto = ip[NET_IP6_NEXT_AT]};
	for (unsigned int i = 0; i < EXTENSIONS && is_extension(p->proto); i++) {
		const uint8_t *next = data + p->l4;
		const bool fragment = p->proto == NET_PROTO_FRAGMENT;

		if (len < p->l4 + 8)
			return true;
		if (fragment) {
			p->piece = (load_be16(next + 2) & 0xfff9) != 0;
			p->first = (load_be16(next + 2) & 0xfff8) == 0;
			p->id = load_be32(next + 4);
		}
		p->proto = next[0];
		p->l4 = min_u32(len, p->l4 + (fragment ? 8u : (next[1] + 1u) * 8u));
		if (!p->first)
			break;
	}
	return true;
}

static bool read_ports(
	const uint8_t *data, uint32_t len, const struct packet *p, struct capture_look *l)
{
	if ((p->proto != NET_PROTO_UDP && p->proto != NET_PROTO_TCP) || len < p->l4 + NET_PORTS_LEN)
		return false;
	l->flow = true;
	l->proto = p->proto;
	l->end[0] = (struct endpoint){p->src, load_be16(data + p->l4)};
	l->end[1] = (struct endpoint){p->dst, load_be16(data + p->l4 + 2)};
	return true;
}

// True if an ICMP message quotes a packet (RFC 792; RFC 4443 2.1).
static bool quotes_packet(uint8_t proto, uint8_t type)
{
	return proto == NET_PROTO_ICMP ? type == 3 || type == 4 || type == 11 || type == 12
				       : type < 128;
}

static void read_icmp(
	const uint8_t *data, uint32_t len, const struct packet *p, struct capture_look *l)
{
	const uint32_t quote_off = p->l4 + ICMP_LEN;
	struct packet quoted;

	l->headers = min_u32(len, quote_off);
	if (len < quote_off || !quotes_packet(p->proto, data[p->l4]))
		return;
	if (p->proto == NET_PROTO_ICMP ? !read_ip4(data, quote_off, len, &quoted)
				       : !read_ip6(data, quote_off, len, &quoted))
		return;
	l->headers = quoted.l4;
	if (quoted.first && read_ports(data, len, &quoted, l))
		l->headers = min_u32(len, quoted.l4 + QUOTED_LEN);
}

static void read_l4(
	const uint8_t *data, uint32_t len, const struct packet *p, struct capture_look *l)
{
	l->headers = p->l4;
	if (!p->first)
		return;
	if (p->proto == NET_PROTO_ICMP || p->proto == NET_PROTO_ICMP6) {
		read_icmp(data, len, p, l);
	} else if (read_ports(data, len, p, l)) {
		l->udp = p->proto == NET_PROTO_UDP && len >= p->l4 + NET_UDP_LEN;
		if (p->proto == NET_PROTO_UDP)
			l->headers = min_u32(len, p->l4 + NET_UDP_LEN);
		else if (len >= p->l4 + NET_TCP_LEN)
			l->headers =
				min_u32(len, p->l4 + (data[p->l4 + NET_TCP_OFFSET_AT] >> 4) * 4u);
	}
}

void capture_look(const uint8_t *data, uint32_t len, struct capture_look *l)
{
	uint32_t offset = NET_ETH_LEN;
	struct packet p;
	uint16_t type;

	*l = (struct capture_look){.headers = min_u32(len, NET_ETH_LEN)};
	if (len < NET_ETH_LEN)
		return;
	type = load_be16(data + NET_ETH_TYPE_AT);
	for (unsigned int i = 0; i < TAGS && len >= offset + NET_VLAN_LEN &&
		(type == NET_ETHERTYPE_VLAN || type == NET_ETHERTYPE_QINQ);
		i++, offset += NET_VLAN_LEN)
		type = load_be16(data + offset + 2);
	l->headers = offset;
	if (type == NET_ETHERTYPE_ARP)
		l->headers = min_u32(len, offset + ARP_LEN);
	else if (type == NET_ETHERTYPE_IP4)
		l->ip = read_ip4(data, offset, len, &p);
	else if (type == NET_ETHERTYPE_IP6)
		l->ip = read_ip6(data, offset, len, &p);
	if (!l->ip) {
		if (type == NET_ETHERTYPE_IP4 || type == NET_ETHERTYPE_IP6)
			l->headers = min_u32(len, offset + NET_IP4_LEN);
		return;
	}
	l->src = p.src;
	l->dst = p.dst;
	l->piece = p.piece;
	l->id = p.id;
	read_l4(data, len, &p, l);
}

// --- messages ------------------------------------------------------------------------------------

#define ATTR_HEADER_LEN 4
#define ATTR_DATA 0x0013

static bool is_stun(const uint8_t *m, uint32_t len)
{
	return len >= STUN_HEADER_LEN && m[0] < 0x40 && load_be32(m + 4) == STUN_COOKIE;
}

static bool is_dtls(const uint8_t *m, uint32_t len)
{
	return len >= DTLS_HEADER_LEN && m[0] >= 20 && m[0] < 64 && m[1] == 0xfe;
}

// Number of bytes of an attribute's value that may be shown: only numbers and addresses.
static uint32_t shown_bytes(uint16_t type)
{
	switch (type) {
	case 0x0001: // MAPPED-ADDRESS
	case 0x0012: // XOR-PEER-ADDRESS
	case 0x0016: // XOR-RELAYED-ADDRESS
	case 0x0020: // XOR-MAPPED-ADDRESS
	case 0x8023: // ALTERNATE-SERVER
		return 20;
	case 0x000a: // UNKNOWN-ATTRIBUTES
	case 0x001d: // PASSWORD-ALGORITHM
	case 0x8002: // PASSWORD-ALGORITHMS
		return 16;
	case 0x8004: // ICMP
		return 8;
	case 0x0009: // ERROR-CODE, without its phrase
	case 0x000c: // CHANNEL-NUMBER
	case 0x000d: // LIFETIME
	case 0x0017: // REQUESTED-ADDRESS-FAMILY
	case 0x0018: // EVEN-PORT
	case 0x0019: // REQUESTED-TRANSPORT
	case 0x8000: // ADDITIONAL-ADDRESS-FAMILY
	case 0x8001: // ADDRESS-ERROR-CODE
	case 0x8028: // FINGERPRINT
		return 4;
	default:
		return 0;
	}
}

// Offset of the attribute after the one at `offset`, in a message that ends at `end`; 0 if it is
// truncated.
static uint32_t next_of(const uint8_t *m, uint32_t offset, uint32_t end)
{
	const uint32_t next = offset + ATTR_HEADER_LEN + ((load_be16(m + offset + 2) + 3u) & ~3u);

	return next <= end ? next : 0;
}

uint32_t capture_message_keep(const uint8_t *m, uint32_t len)
{
	uint32_t offset = STUN_HEADER_LEN, end;

	if (is_dtls(m, len))
		return DTLS_HEADER_LEN;
	if (!is_stun(m, len))
		return len > 0 && (m[0] & 0xc0) == 0x40 ? min_u32(len, CHANNEL_HEADER_LEN) : 0;
	end = min_u32(len, STUN_HEADER_LEN + load_be16(m + 2));
	while (offset + ATTR_HEADER_LEN <= end) {
		const uint32_t next = next_of(m, offset, end);

		if (next == 0 || load_be16(m + offset) == ATTR_DATA)
			return offset + ATTR_HEADER_LEN;
		offset = next;
	}
	return offset;
}

void capture_message_mask(uint8_t *m, uint32_t len)
{
	uint32_t offset = STUN_HEADER_LEN;

	if (!is_stun(m, len))
		return;
	while (offset + ATTR_HEADER_LEN <= len) {
		const uint32_t next = next_of(m, offset, len), value = offset + ATTR_HEADER_LEN;
		const uint32_t end = next != 0 ? next : len;
		const uint32_t most =
			min_u32(shown_bytes(load_be16(m + offset)), load_be16(m + offset + 2));

		if (value + most < end)
			memset(m + value + most, 0, end - value - most);
		if (next == 0)
			return;
		offset = next;
	}
}

bool capture_message_is(const uint8_t *data, uint32_t len)
{
	return is_stun(data, len) || is_dtls(data, len) ||
		(len >= CHANNEL_HEADER_LEN && (data[0] & 0xc0) == 0x40 &&
			len - CHANNEL_HEADER_LEN >= load_be16(data + 2) &&
			len - CHANNEL_HEADER_LEN - load_be16(data + 2) < 4);
}
