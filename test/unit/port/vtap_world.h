// SPDX-License-Identifier: BSD-3-Clause
// EAL, a pool and frames, for the tests of the vtap. Frames are made byte by byte, apart from the
// code under test.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <rte_eal.h>
#include <rte_lcore.h>
#include <rte_mempool.h>

#include "vtap_int.h"

#define POOL 511
#define ROOM 2048 // of a buffer, without headroom

static struct rte_mempool *pool;

// What a frame is to be.
struct shape {
	bool v6, tcp, tag;
	uint32_t payload;
	uint8_t seed; // of the payload
};

static inline uint32_t shape_l2(const struct shape *s)
{
	return s->tag ? 18 : 14;
}

static inline uint32_t shape_l4(const struct shape *s)
{
	return shape_l2(s) + (s->v6 ? 40 : 20);
}

static inline uint32_t shape_headers(const struct shape *s)
{
	return shape_l4(s) + (s->tcp ? 20 : 8);
}

static inline uint32_t shape_len(const struct shape *s)
{
	return shape_headers(s) + s->payload;
}

static inline void put16(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

// RFC 1071, word by word.
static inline uint16_t slow_sum(uint32_t sum, const uint8_t *p, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		sum += i % 2 == 0 ? (uint32_t)p[i] << 8 : p[i];
		sum = (sum & 0xffff) + (sum >> 16);
	}
	return (uint16_t)sum;
}

static inline uint16_t pseudo_sum(const struct shape *s, const uint8_t *frame)
{
	const uint32_t len = shape_len(s) - shape_l4(s);

	return slow_sum(
		(s->tcp ? 6 : 17) + len, frame + shape_l2(s) + (s->v6 ? 8 : 12), s->v6 ? 32 : 8);
}

// Writes shape_len bytes. The checksum is whole, or with partial the folded sum of the
// pseudo-header. Returns where the checksum field is.
static inline uint32_t frame_make(const struct shape *s, uint8_t *f, bool partial)
{
	static const uint8_t macs[12] = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2};
	const uint32_t l3 = shape_l2(s), l4 = shape_l4(s), len = shape_len(s);
	const uint32_t field = l4 + (s->tcp ? 16 : 6);
	uint16_t sum;

	memset(f, 0, shape_headers(s));
	memcpy(f, macs, sizeof(macs));
	if (s->tag) {
		put16(f + 12, 0x8100);
		put16(f + 14, 77);
	}
	put16(f + l3 - 2, s->v6 ? 0x86dd : 0x0800);
	if (s->v6) {
		f[l3] = 0x60;
		put16(f + l3 + 4, len - l4);
		f[l3 + 6] = s->tcp ? 6 : 17;
		f[l3 + 7] = 64;
		f[l3 + 8] = f[l3 + 24] = 0xfd;
		f[l3 + 23] = 1;
		f[l3 + 39] = 2;
	} else {
		f[l3] = 0x45;
		put16(f + l3 + 2, len - l3);
		f[l3 + 8] = 64;
		f[l3 + 9] = s->tcp ? 6 : 17;
		f[l3 + 12] = f[l3 + 16] = 10;
		f[l3 + 15] = 1;
		f[l3 + 19] = 2;
		put16(f + l3 + 10, (uint16_t)~slow_sum(0, f + l3, 20));
	}
	put16(f + l4, 5000);
	put16(f + l4 + 2, 6000);
	if (s->tcp) {
		f[l4 + 12] = 0x50;
		f[l4 + 13] = 0x10;
	} else {
		put16(f + l4 + 4, len - l4);
	}
	for (uint32_t i = 0; i < s->payload; i++)
		f[shape_headers(s) + i] = (uint8_t)(i * 31 + (i >> 8) + s->seed);
	put16(f + field, pseudo_sum(s, f));
	if (!partial) {
		sum = (uint16_t)~slow_sum(0, f + l4, len - l4);
		put16(f + field, sum == 0 && !s->tcp ? 0xffff : sum);
	}
	return field;
}

// Bytes as a chain of buffers of part bytes each.
static inline struct rte_mbuf *chain_make(const uint8_t *bytes, uint32_t len, uint16_t part)
{
	struct rte_mbuf *first = NULL, *last = NULL;

	for (uint32_t at = 0; at < len; at += part) {
		struct rte_mbuf *m = rte_pktmbuf_alloc(pool);
		const uint16_t n = (uint16_t)RTE_MIN(len - at, (uint32_t)part);

		assert_non_null(m);
		memcpy(rte_pktmbuf_append(m, n), bytes + at, n);
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

// A super-frame to be sent, as segment.h says.
static inline struct rte_mbuf *super_make(
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

static inline int world_start(void **state)
{
	char *argv[] = {"test", "--no-huge", "-m", "64", "--no-pci", "--no-shconf",
		"--no-telemetry", ("--file-prefix=" TEST_NAME), "--log-level=*:critical"};

	if (rte_eal_init(RTE_DIM(argv), argv) < 0)
		return -1;
	pool = rte_pktmbuf_pool_create(
		"test", POOL, 0, 0, RTE_PKTMBUF_HEADROOM + ROOM, SOCKET_ID_ANY);
	return pool == NULL ? -1 : 0;
}

static inline int world_stop(void **state)
{
	rte_mempool_free(pool);
	rte_eal_cleanup();
	return 0;
}

// After each test: every buffer has come back.
static inline int world_whole(void **state)
{
	return rte_mempool_in_use_count(pool) == 0 ? 0 : -1;
}
