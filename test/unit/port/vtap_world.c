// SPDX-License-Identifier: BSD-3-Clause
// Frames made byte by byte, super-frames of them in chains of buffers, and EAL with a pool.
#include <string.h>

#include "test.h"
#include "vtap_world.h"

#include <rte_eal.h>
#include <rte_lcore.h>

#include "bytes.h"
#include "slow_sum.h"

struct rte_mempool *vtap_world_pool;

uint32_t shape_l2(const struct shape *s)
{
	return s->tag ? 18 : 14;
}

uint32_t shape_l4(const struct shape *s)
{
	return shape_l2(s) + (s->v6 ? 40 : 20);
}

uint32_t shape_headers(const struct shape *s)
{
	return shape_l4(s) + (s->tcp ? 20 : 8);
}

uint32_t shape_len(const struct shape *s)
{
	return shape_headers(s) + s->payload;
}

uint16_t vtap_world_pseudo_sum(const struct shape *s, const uint8_t *frame)
{
	const uint32_t len = shape_len(s) - shape_l4(s);

	return slow_sum(
		(s->tcp ? 6 : 17) + len, frame + shape_l2(s) + (s->v6 ? 8 : 12), s->v6 ? 32 : 8);
}

uint32_t frame_make(const struct shape *s, uint8_t *f, bool partial)
{
	static const uint8_t macs[12] = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2};
	const uint32_t l3 = shape_l2(s), l4 = shape_l4(s), len = shape_len(s);
	const uint32_t field = l4 + (s->tcp ? 16 : 6);
	uint16_t sum;

	memset(f, 0, shape_headers(s));
	memcpy(f, macs, sizeof(macs));
	if (s->tag) {
		store_be16(f + 12, 0x8100);
		store_be16(f + 14, 77);
	}
	store_be16(f + l3 - 2, s->v6 ? 0x86dd : 0x0800);
	if (s->v6) {
		f[l3] = 0x60;
		store_be16(f + l3 + 4, len - l4);
		f[l3 + 6] = s->tcp ? 6 : 17;
		f[l3 + 7] = 64;
		f[l3 + 8] = f[l3 + 24] = 0xfd;
		f[l3 + 23] = 1;
		f[l3 + 39] = 2;
	} else {
		f[l3] = 0x45;
		store_be16(f + l3 + 2, len - l3);
		f[l3 + 8] = 64;
		f[l3 + 9] = s->tcp ? 6 : 17;
		f[l3 + 12] = f[l3 + 16] = 10;
		f[l3 + 15] = 1;
		f[l3 + 19] = 2;
		store_be16(f + l3 + 10, (uint16_t)~slow_sum(0, f + l3, 20));
	}
	store_be16(f + l4, 5000);
	store_be16(f + l4 + 2, 6000);
	if (s->tcp) {
		f[l4 + 12] = 0x50;
		f[l4 + 13] = 0x10;
	} else {
		store_be16(f + l4 + 4, len - l4);
	}
	for (uint32_t i = 0; i < s->payload; i++)
		f[shape_headers(s) + i] = (uint8_t)(i * 31 + (i >> 8) + s->seed);
	store_be16(f + field, vtap_world_pseudo_sum(s, f));
	if (!partial) {
		sum = (uint16_t)~slow_sum(0, f + l4, len - l4);
		store_be16(f + field, sum == 0 && !s->tcp ? 0xffff : sum);
	}
	return field;
}

struct rte_mbuf *chain_make(const uint8_t *bytes, uint32_t len, uint16_t part)
{
	struct rte_mbuf *first = NULL, *last = NULL;

	for (uint32_t offset = 0; offset < len; offset += part) {
		struct rte_mbuf *m = rte_pktmbuf_alloc(vtap_world_pool);
		const uint16_t n = (uint16_t)RTE_MIN(len - offset, (uint32_t)part);

		assert_non_null(m);
		memcpy(rte_pktmbuf_append(m, n), bytes + offset, n);
		if (first == NULL) {
			first = m;
		} else {
			last->next = m;
			first->nb_segs++;
			first->pkt_len += n;
		}
		last = m;
	}
	return first;
}

struct rte_mbuf *super_make(
	const struct shape *s, const uint8_t *bytes, uint16_t size, uint16_t part)
{
	struct rte_mbuf *m = chain_make(bytes, shape_len(s), part);

	m->ol_flags = (s->tcp ? RTE_MBUF_F_TX_TCP_SEG : RTE_MBUF_F_TX_UDP_SEG) |
		(s->v6 ? RTE_MBUF_F_TX_IPV6 : RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM);
	m->l2_len = shape_l2(s);
	m->l3_len = shape_l4(s) - shape_l2(s);
	m->l4_len = shape_headers(s) - shape_l4(s);
	m->tso_segsz = size;
	return m;
}

int vtap_world_start(char *prefix)
{
	char *argv[] = {"test", "--no-huge", "-m", "64", "--no-pci", "--no-shconf",
		"--no-telemetry", prefix, "--log-level=*:critical"};

	if (rte_eal_init(RTE_DIM(argv), argv) < 0)
		return -1;
	vtap_world_pool = rte_pktmbuf_pool_create("test", VTAP_WORLD_POOL, 0, 0,
		RTE_PKTMBUF_HEADROOM + VTAP_WORLD_ROOM, SOCKET_ID_ANY);
	return vtap_world_pool == NULL ? -1 : 0;
}

int vtap_world_stop(void **state)
{
	rte_mempool_free(vtap_world_pool);
	rte_eal_cleanup();
	return 0;
}

int vtap_world_whole(void **state)
{
	return rte_mempool_in_use_count(vtap_world_pool) == 0 ? 0 : -1;
}
