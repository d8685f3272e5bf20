// SPDX-License-Identifier: BSD-3-Clause
// Multicast listener discovery, the part of a host.
#include "mld_msg.h"
#include "net_int.h"

#define QUERY 130
#define REPORT_V1 131
#define REPORT_V2 143
#define QUERY_V1_LEN 24 // RFC 3810 section 8.1: the length distinguishes the versions
#define QUERY_V2_LEN 28
#define RECORD_LEN 20
#define IS_EXCLUDE 2 // record type: we listen to all sources
#define TO_EXCLUDE 4
#define HOP_BY_HOP_LEN 8
#define ROUTER_ALERT 5

static const struct addr all_routers = {.b = {0xff, 0x02, [15] = 0x16}};

// True if the hop-by-hop header, which was checked before, has a router alert for MLD (RFC 2711).
static bool has_alert(const uint8_t *ip)
{
	const uint8_t *p = ip + NET_IP6_LEN + 2, *end = ip + NET_IP6_LEN + (ip[41] + 1) * 8;

	if (ip[NET_IP6_NEXT_AT] != NET_PROTO_HOP_BY_HOP)
		return false;
	while (p < end) {
		if (p[0] == ROUTER_ALERT)
			return p[1] == 2 && p[2] == 0 && p[3] == 0;
		p += p[0] == 0 ? 1 : 2 + p[1];
	}
	return false;
}

// Decodes a response delay (RFC 3810 section 5.1.3).
static uint32_t delay_of(uint16_t code)
{
	return code < 0x8000 ? code : ((code & 0xfffu) | 0x1000) << ((code >> 12 & 7) + 3);
}

bool net_mld_msg_query(const uint8_t *data, const struct net_frame *f, struct net_mld_query *out)
{
	const uint8_t *icmp = data + f->payload_off;

	if (f->kind != NET_ICMP6 || icmp[0] != QUERY || icmp[1] != 0 || f->ttl != 1 ||
		f->src.b[0] != 0xfe || f->src.b[1] >> 6 != 2 || !has_alert(data + f->l3_off) ||
		(f->payload_len != QUERY_V1_LEN && f->payload_len < QUERY_V2_LEN))
		return false;
	out->v1 = f->payload_len == QUERY_V1_LEN;
	out->delay_ms = out->v1 ? load_be16(icmp + 4) : delay_of(load_be16(icmp + 4));
	out->group = addr_from_v6(icmp + 8);
	return true;
}

// Writes the message, and returns its length.
static uint16_t message_write(uint8_t *icmp, const struct net_mld_report *r)
{
	uint8_t *p = icmp + 8;

	memset(icmp, 0, 8);
	if (r->v1) {
		icmp[0] = REPORT_V1;
		memcpy(p, r->groups[0].b, 16);
		return QUERY_V1_LEN;
	}
	icmp[0] = REPORT_V2;
	store_be16(icmp + 6, (uint16_t)r->nb);
	for (unsigned int i = 0; i < r->nb; i++, p += RECORD_LEN) {
		store_be32(p, (uint32_t)(r->change ? TO_EXCLUDE : IS_EXCLUDE) << 24);
		memcpy(p + 4, r->groups[i].b, 16);
	}
	return (uint16_t)(p - icmp);
}

size_t net_mld_msg_report(uint8_t *buf, const struct net_l2 *l2, const struct net_mld_report *r)
{
	static const uint8_t alert[HOP_BY_HOP_LEN] = {
		NET_PROTO_ICMP6, 0, ROUTER_ALERT, 2, 0, 0, 1, 0}; // and PadN
	const struct addr *dst = r->v1 ? &r->groups[0] : &all_routers;
	struct net_l2 link = *l2;
	struct ip6_fields fields = {0, 0, NET_PROTO_HOP_BY_HOP, 1};
	uint8_t *ip, *icmp;
	uint16_t len;

	net_mac_of_multicast(dst, link.dst);
	ip = eth_write(buf, &link, NET_ETHERTYPE_IP6);
	icmp = ip + NET_IP6_LEN + HOP_BY_HOP_LEN;
	len = message_write(icmp, r);
	fields.payload_len = (uint16_t)(HOP_BY_HOP_LEN + len);
	memcpy(ip6_write(ip, fields, r->src, dst), alert, HOP_BY_HOP_LEN);
	icmp6_write_checksum(icmp, len, r->src, dst);
	return (size_t)(icmp - buf) + len;
}
