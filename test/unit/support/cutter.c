// SPDX-License-Identifier: BSD-3-Clause
// UDP super-frames cut into datagrams byte by byte, as hardware does.
#include "cutter.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bytes.h"
#include "slow_sum.h"

static uint8_t whole[70000];

#define MUST(condition)                                                       \
	do {                                                                  \
		if (!(condition)) {                                           \
			fprintf(stderr, "super-frame: not %s\n", #condition); \
			abort();                                              \
		}                                                             \
	} while (0)

static uint32_t get16(const uint8_t *p)
{
	return (uint32_t)p[0] << 8 | p[1];
}

static uint32_t pseudo(const uint8_t *ip, bool v4, uint32_t udp_len)
{
	const uint8_t rest[4] = {0, 17, (uint8_t)(udp_len >> 8), (uint8_t)udp_len};

	return slow_sum(slow_sum(0, rest, 4), ip + (v4 ? 12 : 8), v4 ? 8 : 32);
}

static void flatten(const struct rte_mbuf *m)
{
	unsigned int segs = 0;
	size_t len = 0;

	for (const struct rte_mbuf *s = m; s != NULL; s = s->next, segs++) {
		MUST(len + s->data_len <= sizeof(whole));
		memcpy(whole + len, rte_pktmbuf_mtod(s, const uint8_t *), s->data_len);
		len += s->data_len;
	}
	MUST(segs == m->nb_segs);
	MUST(len == m->pkt_len);
}

// Asserts everything that super.h promises of a super-frame for transmission.
static void check(const struct rte_mbuf *m, const uint8_t *ip, bool v4)
{
	const uint8_t *udp = ip + (v4 ? 20 : 40);
	const uint32_t udp_len = m->pkt_len - (uint32_t)(udp - whole);

	MUST(get16(ip - 2) == (v4 ? 0x0800 : 0x86dd));
	MUST((m->ol_flags & RTE_MBUF_F_TX_OFFLOAD_MASK) ==
		(RTE_MBUF_F_TX_UDP_SEG |
			(v4 ? RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM : RTE_MBUF_F_TX_IPV6)));
	MUST(m->l2_len == ip - whole && m->l3_len == udp - ip && m->l4_len == 8);
	MUST(m->outer_l2_len == 0 && m->outer_l3_len == 0);
	MUST(m->data_len >= udp + 8 - whole);
	MUST(m->tso_segsz > 0 && m->tso_segsz < udp_len - 8);
	MUST(udp_len + (v4 ? 20 : 40) <= 65535);
	if (v4) {
		MUST(ip[0] == 0x45 && ip[9] == 17);
		MUST(get16(ip + 2) == 20 + udp_len);
		MUST(slow_sum(0, ip, 20) == 0xffff);
	} else {
		MUST(ip[0] >> 4 == 6 && ip[6] == 17);
		MUST(get16(ip + 4) == udp_len);
	}
	MUST(get16(udp + 4) == udp_len);
	MUST(get16(udp + 6) == pseudo(ip, v4, udp_len));
}

unsigned int cutter_cut(const struct rte_mbuf *m, cutter_out *out, void *arg)
{
	static uint8_t frame[70000];
	const uint32_t headers = m->l2_len + m->l3_len + m->l4_len;
	uint8_t *ip = frame + m->l2_len, *udp = ip + m->l3_len;
	const bool v4 = m->l3_len == 20;
	unsigned int n = 0;

	flatten(m);
	check(m, whole + m->l2_len, v4);
	for (uint32_t offset = headers; offset < m->pkt_len; offset += m->tso_segsz, n++) {
		const uint32_t left = m->pkt_len - offset;
		const uint32_t len = left < m->tso_segsz ? left : m->tso_segsz;
		uint32_t sum;

		memcpy(frame, whole, headers);
		memcpy(frame + headers, whole + offset, len);
		store_be16(udp + 4, 8 + len);
		store_be16(udp + 6, 0);
		sum = 0xffff ^ slow_sum(pseudo(ip, v4, 8 + len), udp, 8 + len);
		store_be16(udp + 6, sum != 0 ? sum : 0xffff);
		if (v4) {
			store_be16(ip + 2, 28 + len);
			store_be16(ip + 4, get16(ip + 4) + n);
			store_be16(ip + 10, 0);
			store_be16(ip + 10, 0xffff ^ slow_sum(0, ip, 20));
		} else {
			store_be16(ip + 4, 8 + len);
		}
		out(arg, frame, headers + len);
	}
	return n;
}
