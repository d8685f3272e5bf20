// SPDX-License-Identifier: BSD-3-Clause
// Writes ICMP errors by the layouts of RFC 792, RFC 1191 and RFC 4443, with checksums of its own.
#include "icmp_frames.h"
#include "bytes.h"
#include "datapath.h"
#include "slow_sum.h"

#define QUOTED_UDP 8

// The IP header of a packet. Returns its length.
static size_t ip_header(
	uint8_t *p, const struct addr *src, const struct addr *dst, uint8_t proto, uint16_t total)
{
	if (addr_is_v4(src)) {
		memset(p, 0, 20);
		p[0] = 0x45;
		store_be16(p + 2, total);
		store_be16(p + 4, 0x1234);
		p[6] = 0x40;
		p[8] = 60;
		p[9] = proto;
		memcpy(p + 12, src->b + 12, 4);
		memcpy(p + 16, dst->b + 12, 4);
		store_be16(p + 10, (uint16_t)~slow_sum(0, p, 20));
		return 20;
	}
	memset(p, 0, 40);
	p[0] = 0x60;
	store_be16(p + 4, (uint16_t)(total - 40));
	p[6] = proto;
	p[7] = 60;
	memcpy(p + 8, src->b, 16);
	memcpy(p + 24, dst->b, 16);
	return 40;
}

size_t icmp_frame_write(struct dp_world *w, const struct icmp_frame *e, uint8_t frame[2048])
{
	const bool is_v4 = addr_is_v4(&e->src.addr);
	const struct addr none = {.d = {0, 0}}, reporter_addr = world_endpoint(e->reporter, 0).addr;
	const struct addr target = addr_eq(&e->target, &none) ? e->src.addr : e->target;
	const uint16_t ip_len = is_v4 ? 20 : 40, len = e->len != 0 ? e->len : 100;
	const uint16_t icmp_len = (uint16_t)(8 + ip_len + QUOTED_UDP);
	uint8_t *ip = frame + 14, *icmp = ip + ip_len, *udp = icmp + 8 + ip_len;
	uint32_t pseudo = 0;

	memcpy(frame, w->dp->port[0].port->mac, 6);
	memcpy(frame + 6, (const uint8_t[]){2, 0, 0, 0, 0, 0x52}, 6);
	store_be16(frame + 12, is_v4 ? 0x0800 : 0x86dd);
	ip_header(ip, &reporter_addr, &target, is_v4 ? 1 : 58, (uint16_t)(ip_len + icmp_len));
	memset(icmp, 0, 8);
	icmp[0] = e->type;
	icmp[1] = e->code;
	store_be32(icmp + 4, e->mtu);
	ip_header(icmp + 8, &e->src.addr, &e->dst.addr, 17, len);
	store_be16(udp, e->src.port);
	store_be16(udp + 2, e->dst.port);
	store_be16(udp + 4, (uint16_t)(len - ip_len));
	store_be16(udp + 6, 0xbeef);
	if (!is_v4) {
		pseudo = slow_sum(0, ip + 8, 32);
		pseudo += 58u + icmp_len;
	}
	store_be16(icmp + 2, (uint16_t)~slow_sum(pseudo, icmp, icmp_len));
	return 14u + ip_len + icmp_len;
}

void icmp_frame_send_by(struct dp_world *w, unsigned int port, const struct icmp_frame *e)
{
	uint8_t frame[2048];
	const size_t len = icmp_frame_write(w, e, frame);

	memcpy(frame, w->dp->port[port].port->mac, 6);
	world_inject(w, port, frame, len);
}

void icmp_frame_send(struct dp_world *w, const struct icmp_frame *e)
{
	icmp_frame_send_by(w, 0, e);
}
