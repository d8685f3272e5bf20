// SPDX-License-Identifier: BSD-3-Clause
// Turns ICMP and ICMPv6 echo requests into their replies.
#include "net_int.h"

// True for a request that may be answered: from one host to one host. It must not have extension
// headers: the reply reuses the headers and would return them to the asker.
static bool echo_request(const uint8_t *data, const struct net_frame *f)
{
	const uint8_t *icmp = data + f->payload_off;
	const uint16_t ip_len = f->is_v4 ? NET_IP4_LEN : NET_IP6_LEN;

	if (f->kind != NET_ICMP && f->kind != NET_ICMP6)
		return false;
	if (icmp[0] != (f->is_v4 ? ICMP_ECHO_REQUEST : ICMP6_ECHO_REQUEST) || icmp[1] != 0)
		return false;
	// RFC 1122 section 3.2.2.6 and RFC 4443 section 4.2 allow answers to groups, but smurf
	// attacks use them
	if (f->l2_multicast || addr_class(&f->dst) == ADDR_MULTICAST ||
		addr_class(&f->src) == ADDR_UNSPECIFIED)
		return false;
	return f->l4_off == f->l3_off + ip_len;
}

bool net_echo_reply(uint8_t *data, const struct net_frame *f, const uint8_t mac[6])
{
	uint8_t *ip = data + f->l3_off;
	uint8_t *icmp = data + f->payload_off;

	if (!echo_request(data, f))
		return false;
	memcpy(data, data + 6, 6);
	memcpy(data + 6, mac, 6);
	if (f->is_v4) {
		memcpy(ip + 12, f->dst.b + 12, 4);
		memcpy(ip + 16, f->src.b + 12, 4);
		ip[8] = TTL_DEFAULT;
		ip4_write_checksum(ip);
		icmp[0] = ICMP_ECHO_REPLY;
		store_be16(icmp + 2, 0);
		store_be16(icmp + 2, (uint16_t)~csum_fold(csum_add(0, icmp, f->payload_len)));
	} else {
		memcpy(ip + 8, f->dst.b, 16);
		memcpy(ip + 24, f->src.b, 16);
		ip[7] = TTL_DEFAULT;
		icmp[0] = ICMP6_ECHO_REPLY;
		icmp6_write_checksum(icmp, f->payload_len, &f->dst, &f->src);
	}
	return true;
}
