// SPDX-License-Identifier: BSD-3-Clause
// Super-frames on an ethdev. No software device of DPDK takes them, so the test plays the driver's
// two functions: which frames reach it, which it refuses, a ring without room.

#include <rte_eal.h>
#include <rte_ip.h>

#include "bytes.h"
#include "cutter.h"
#include "ethdev/ethdev.h"
#include "ethdev/uso.h"
#include "open_request.h"
#include "slow_sum.h"
#include "super/super.h"
#include "test.h"

#define SIZE 100
#define SEEN 64

#define SUPER (RTE_MBUF_F_TX_UDP_SEG | RTE_MBUF_F_TX_TCP_SEG)

static struct rte_mempool *pool;
static char error[256];
static bool tcp; // frames and super-frames are TCP

static struct port *open_null(enum port_uso uso)
{
	const struct port_config c = {
		.name = "wan",
		.device = "net_null0,size=60",
		.queues = 1,
		.mtu = 1500,
		.uso = uso,
		.tso = uso,
		.rx_ring = 256,
		.tx_ring = 256,
		.pool = pool,
		.socket = SOCKET_ID_ANY,
	};
	struct port *p = port_open(&c, error, sizeof(error));

	assert_non_null(p);
	return p;
}

// --- frames -------------------------------------------------------------------------------------

// n datagrams of SIZE bytes, the last one shorter by one; n = 1: a plain frame. The payload holds
// the number of the datagram.
static struct rte_mbuf *frame(bool v4, unsigned int n, uint8_t first)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(pool);
	const uint32_t l3 = v4 ? 20 : 40, l4 = tcp ? 20 : 8, len = n * SIZE - (n > 1);
	uint8_t *ip, *udp;
	uint32_t sum;

	assert_non_null(m);
	ip = (uint8_t *)rte_pktmbuf_append(m, (uint16_t)(14 + l3 + l4 + len)) + 14;
	memset(ip - 14, 0x22, 14 + l3 + l4 + len);
	store_be16(ip - 2, v4 ? 0x0800 : 0x86dd);
	ip[0] = v4 ? 0x45 : 0x60;
	ip[v4 ? 9 : 6] = tcp ? 6 : 17;
	store_be16(ip + (v4 ? 2 : 4), (v4 ? 20 : 0) + l4 + len);
	udp = ip + l3;
	if (tcp)
		udp[12] = 0x50;
	else
		store_be16(udp + 4, 8 + len);
	if (v4) {
		store_be16(ip + 6, 0x4000);
		store_be16(ip + 10, 0);
		store_be16(ip + 10, 0xffff ^ slow_sum(0, ip, 20));
	}
	for (unsigned int i = 0; i < n; i++)
		memset(udp + l4 + i * SIZE, first + (int)i, i + 1 < n ? SIZE : len - i * SIZE);
	if (n == 1)
		return m;
	sum = slow_sum(tcp ? 6 : 17, ip + (v4 ? 12 : 8), v4 ? 8 : 32) + l4 + len;
	store_be16(udp + (tcp ? 16 : 6), (sum & 0xffff) + (sum >> 16));
	m->l2_len = 14;
	m->l3_len = l3 & 0x1ff;
	m->l4_len = l4 & 0xff;
	m->tso_segsz = SIZE;
	m->ol_flags = (tcp ? RTE_MBUF_F_TX_TCP_SEG : RTE_MBUF_F_TX_UDP_SEG) |
		(v4 ? RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM : RTE_MBUF_F_TX_IPV6);
	return m;
}

// --- a driver -----------------------------------------------------------------------------------

static struct driver {
	bool refuses; // refuses super-frames
	unsigned int room; // frames that it takes
	unsigned int a_call; // and frames per call
	unsigned int nb_seen;
	uint8_t seen[SEEN]; // number of the first datagram in each frame
	uint16_t supers;
} driver;

static uint16_t driver_prepare(void *queue, struct rte_mbuf **m, uint16_t n)
{
	for (uint16_t i = 0; i < n; i++)
		if (driver.refuses && (m[i]->ol_flags & SUPER) != 0) {
			rte_errno = ENOTSUP;
			return i;
		}
	return n;
}

// Checks the checksums that a driver expects, with DPDK's own function for TCP super-frames.
static void check_prepared(struct rte_mbuf *m)
{
	uint8_t *ip = rte_pktmbuf_mtod_offset(m, uint8_t *, m->l2_len);
	uint16_t want, got;

	memcpy(&got, ip + m->l3_len + (tcp ? 16 : 6), 2);
	if (ip[0] == 0x45) {
		want = rte_ipv4_phdr_cksum((struct rte_ipv4_hdr *)ip, RTE_MBUF_F_TX_TCP_SEG);
		assert_int_equal(ip[10] | ip[11], 0);
	} else {
		want = rte_ipv6_phdr_cksum((struct rte_ipv6_hdr *)ip, RTE_MBUF_F_TX_TCP_SEG);
	}
	assert_int_equal(got, want);
}

static uint16_t driver_burst(void *queue, struct rte_mbuf **m, uint16_t n)
{
	uint16_t i;

	for (i = 0; i < n && i < driver.a_call && driver.room > 0; i++, driver.room--) {
		const bool super = (m[i]->ol_flags & SUPER) != 0;
		const uint8_t *ip = rte_pktmbuf_mtod_offset(m[i], uint8_t *, 14);

		assert_false(super && driver.refuses);
		if (super)
			check_prepared(m[i]);
		else if (m[i]->ol_flags != 0)
			fail_msg("flags %lx on a plain frame", (unsigned long)m[i]->ol_flags);
		driver.supers += super;
		driver.seen[driver.nb_seen++] = ip[(ip[0] == 0x45 ? 20 : 40) + (tcp ? 20 : 8)];
		rte_pktmbuf_free(m[i]);
	}
	return i;
}

static struct port *open_driver(void)
{
	struct port *p = open_null(PORT_USO_AUTO);

	assert_int_equal(p->ops->start(p), 0);
	p->uso.segments = p->tso.segments = 64;
	driver = (struct driver){.room = UINT32_MAX, .a_call = UINT32_MAX};
	rte_eth_fp_ops[p->dpdk_id].tx_pkt_prepare = driver_prepare;
	rte_eth_fp_ops[p->dpdk_id].tx_pkt_burst = driver_burst;
	return p;
}

static void close_driver(struct port *p)
{
	p->ops->stop(p);
	p->ops->close(p);
	assert_int_equal(rte_mempool_in_use_count(pool), 0);
}

static void seen_is(const uint8_t *want, unsigned int n)
{
	assert_int_equal(driver.nb_seen, n);
	assert_memory_equal(driver.seen, want, n);
}

// Makes plain 1; super-frame of 2, 3, 4; plain 5; super-frame of 6, 7.
static void mixed(struct rte_mbuf *m[4])
{
	m[0] = frame(true, 1, 1);
	m[1] = frame(true, 3, 2);
	m[2] = frame(false, 1, 5);
	m[3] = frame(false, 2, 6);
}

static const uint8_t one_by_one[] = {1, 2, 3, 4, 5, 6, 7};

// --- tests --------------------------------------------------------------------------------------

// No software device offers it: the port works without it.
static void test_not_offered(void **state)
{
	const enum port_uso all[] = {PORT_USO_AUTO, PORT_USO_ON, PORT_USO_OFF};

	for (unsigned int i = 0; i < RTE_DIM(all); i++) {
		struct port *p = open_null(all[i]);
		struct rte_mbuf *m = frame(true, 1, 1);

		assert_int_equal(p->uso.segments | p->tso.segments, 0);
		assert_int_equal(p->ops->start(p), 0);
		assert_int_equal(port_tx(p, 0, &m, 1), 1);
		p->ops->stop(p);
		p->ops->close(p);
	}
}

// Which drivers are asked to do it.
static void test_plan(void **state)
{
	const struct port_config on = {.name = "wan", .uso = PORT_USO_ON},
				 unasked = {.name = "wan", .uso = PORT_USO_AUTO};
	const uint64_t all = RTE_ETH_TX_OFFLOAD_UDP_TSO | RTE_ETH_TX_OFFLOAD_MULTI_SEGS |
		RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_UDP_CKSUM;
	const struct {
		const char *driver;
		uint64_t capa;
		uint16_t nb_seg_max, nb_mtu_seg_max, bufs;
	} rows[] = {
		{"net_igc", all, 255, 8, 64},
		{"net_igc", all | RTE_ETH_TX_OFFLOAD_TCP_TSO, 40, 40, 40},
		{"net_igc", all & ~RTE_ETH_TX_OFFLOAD_UDP_TSO, 255, 8, 0},
		{"net_igc", all & ~RTE_ETH_TX_OFFLOAD_MULTI_SEGS, 255, 8, 0},
		{"net_igc", all & ~RTE_ETH_TX_OFFLOAD_UDP_CKSUM, 255, 8, 0},
		{"net_igc", all, 1, 8, 0},
		{"net_igc", all, 255, 1, 0},
		{"net_txgbe", all, 255, 8, 0}, // offers it, but does not do it
		{"net_ngbe_vf", all, 255, 8, 0},
	};

	for (unsigned int i = 0; i < RTE_DIM(rows); i++) {
		struct ethdev e = {
			.info.driver_name = rows[i].driver, .info.tx_offload_capa = rows[i].capa};
		const struct port_request r = {.c = &on}, none = {.c = &unasked};

		e.info.tx_desc_lim.nb_seg_max = rows[i].nb_seg_max;
		e.info.tx_desc_lim.nb_mtu_seg_max = rows[i].nb_mtu_seg_max;
		assert_int_equal(port_uso_plan(&e, &none), 0);
		assert_int_equal(e.port.uso.segments, 0);
		assert_int_equal(port_uso_plan(&e, &r), rows[i].bufs != 0 ? all : 0);
		assert_int_equal(e.port.uso.segments, rows[i].bufs != 0 ? 64 : 0);
		assert_int_equal(e.port.uso.bufs, rows[i].bufs);
	}
}

static void test_taken(void **state)
{
	struct port *p = open_driver();
	struct rte_mbuf *m[4];

	mixed(m);
	assert_int_equal(port_uso_tx(p, 0, m, 4), 4);
	seen_is((const uint8_t[]){1, 2, 5, 6}, 4);
	assert_int_equal(driver.supers, 2);
	assert_int_equal(p->uso.segments, 64);
	close_driver(p);
}

// A full ring: the caller keeps the rest, and offers it again unchanged.
static void test_full(void **state)
{
	struct port *p = open_driver();
	struct rte_mbuf *m[4];

	mixed(m);
	driver.room = 1;
	assert_int_equal(port_uso_tx(p, 0, m, 4), 1);
	assert_int_equal(port_uso_tx(p, 0, m + 1, 3), 0);
	driver.room = UINT32_MAX;
	driver.a_call = 2;
	assert_int_equal(port_uso_tx(p, 0, m + 1, 3), 2);
	assert_int_equal(port_uso_tx(p, 0, m + 3, 1), 1);
	seen_is((const uint8_t[]){1, 2, 5, 6}, 4);
	close_driver(p);
}

// A refused super-frame is cut, in order and without loss, also if it was offered before to a full
// ring; from then on the port no longer offers them.
static void test_refused(void **state)
{
	for (unsigned int a_call = 1; a_call < 9; a_call++) {
		struct port *p = open_driver();
		struct rte_mbuf *m[4];
		uint16_t done = 0;

		mixed(m);
		driver.room = 1;
		done += port_uso_tx(p, 0, m, 4);
		assert_int_equal(done, 1);
		driver.room = UINT32_MAX;
		driver.a_call = a_call;
		driver.refuses = true;
		for (unsigned int i = 0; i < 8 && done < 4; i++)
			done += port_uso_tx(p, 0, m + done, (uint16_t)(4 - done));
		assert_int_equal(done, 4);
		seen_is(one_by_one, 7);
		assert_int_equal(p->uso.segments, 0);
		close_driver(p);
	}
}

// The frames that a refused super-frame is cut into are complete.
static void test_refused_frames(void **state)
{
	struct rte_mbuf *m[4], *whole[8], *prepared[8];

	mixed(m);
	for (unsigned int i = 1; i < 4; i += 2) {
		const unsigned int n = port_super_cut(m[i], pool, whole, 8);

		port_uso_prepare(m[i]);
		port_uso_prepare(m[i]); // offered twice
		assert_int_equal(port_super_cut(m[i], pool, prepared, 8), n);
		for (unsigned int k = 0; k < n; k++)
			assert_memory_equal(rte_pktmbuf_mtod(whole[k], void *),
				rte_pktmbuf_mtod(prepared[k], void *), whole[k]->data_len);
		rte_pktmbuf_free_bulk(whole, n);
		rte_pktmbuf_free_bulk(prepared, n);
	}
	rte_pktmbuf_free_bulk(m, 4);
	assert_int_equal(rte_mempool_in_use_count(pool), 0);
}

// TCP super-frames are cut in this way, too, and each kind is switched off by itself.
static void test_tcp(void **state)
{
	struct rte_mbuf *m[4];
	struct port *p;

	tcp = true;
	test_taken(state);
	test_refused_frames(state);
	p = open_driver();
	mixed(m);
	driver.refuses = true;
	assert_int_equal(port_uso_tx(p, 0, m, 4), 4);
	seen_is(one_by_one, 7);
	assert_int_equal(p->tso.segments, 0);
	assert_int_equal(p->uso.segments, 64);
	close_driver(p);
	tcp = false;
}

// Requirements on a NIC that cuts TCP, and super-frames that it never gets.
static void test_plan_tcp(void **state)
{
	const struct port_config on = {.name = "wan", .tso = PORT_USO_ON}, off = {.name = "wan"};
	const uint64_t all = RTE_ETH_TX_OFFLOAD_TCP_TSO | RTE_ETH_TX_OFFLOAD_MULTI_SEGS |
		RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_TCP_CKSUM;
	const struct port_request r = {.c = &on}, none = {.c = &off};
	struct ethdev e = {.info.driver_name = "net_ice", .info.tx_offload_capa = all};

	e.info.tx_desc_lim.nb_seg_max = 40;
	e.info.tx_desc_lim.nb_mtu_seg_max = 8;
	assert_int_equal(port_uso_plan(&e, &none), 0);
	assert_int_equal(port_uso_plan(&e, &r), all);
	assert_int_equal(e.port.tso.bufs, 40);
	assert_true(e.port.tso.size_min >= 256); // i40e and iavf of DPDK 22.11: I40E_TSO_MIN_MSS
	assert_int_equal(e.port.uso.segments, 0);
	for (unsigned int bit = 0; bit < 64; bit++) {
		if ((all >> bit & 1) == 0)
			continue;
		e.port.tso = (struct port_super){0};
		e.info.tx_offload_capa = all & ~(UINT64_C(1) << bit);
		assert_int_equal(port_uso_plan(&e, &r), 0);
		assert_int_equal(e.port.tso.segments, 0);
	}
}

// No buffers for the pieces: the caller keeps the super-frame.
static void test_refused_pool_empty(void **state)
{
	static struct rte_mbuf *taken[2048];
	struct port *p = open_driver();
	struct rte_mbuf *m[4];
	unsigned int n = 0;

	mixed(m);
	driver.refuses = true;
	while (n < RTE_DIM(taken) && (taken[n] = rte_pktmbuf_alloc(pool)) != NULL)
		n++;
	assert_int_equal(port_uso_tx(p, 0, m, 4), 1); // the plain frame
	rte_pktmbuf_free_bulk(taken, n);
	assert_int_equal(port_uso_tx(p, 0, m + 1, 3), 3);
	seen_is(one_by_one, 7);
	close_driver(p);
}

// A ring that stays full while a super-frame is cut: lost datagrams are counted.
static void test_refused_lost(void **state)
{
	struct port *p = open_driver();
	struct port_counters k;
	struct rte_mbuf *m[4];

	mixed(m);
	driver.refuses = true;
	driver.room = 3;
	assert_int_equal(port_uso_tx(p, 0, m, 4), 2);
	seen_is(one_by_one, 3);
	p->ops->counters(p, &k);
	assert_int_equal(k.tx_errors, 1);
	rte_pktmbuf_free_bulk(m + 2, 2);
	close_driver(p);
}

static int start_eal(void **state)
{
	char *argv[] = {"test", "--no-huge", "-m", "64", "--no-pci", "--no-shconf",
		"--no-telemetry", "--file-prefix=test_port_uso", "--log-level=*:critical"};

	if (rte_eal_init(RTE_DIM(argv), argv) < 0)
		return -1;
	pool = rte_pktmbuf_pool_create(
		"test", 1023, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	return pool == NULL ? -1 : 0;
}

static int stop_eal(void **state)
{
	rte_mempool_free(pool);
	rte_eal_cleanup();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_not_offered),
		cmocka_unit_test(test_plan),
		cmocka_unit_test(test_taken),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_refused_frames),
		cmocka_unit_test(test_tcp),
		cmocka_unit_test(test_plan_tcp),
		cmocka_unit_test(test_refused_pool_empty),
		cmocka_unit_test(test_refused_lost),
	};

	return cmocka_run_group_tests(tests, start_eal, stop_eal);
}
