// SPDX-License-Identifier: BSD-3-Clause
// Super-frames through the whole data path, in and out: clients and peers get the datagrams that
// were sent to them, in order, no matter if they came and left in super-frames or one by one. Every
// datagram is counted as one, also where a super-frame is refused, finds no room or is malformed.
#include "bytes.h"
#include "datapath.h"
#include "drop_of.h"
#include "gso_world.h"

#include <rte_mempool.h>

// --- random runs --------------------------------------------------------------------------------

struct variant {
	struct world_setup setup;
	const struct port_super *uso; // the port sends super-frames
	bool super; // the port receives super-frames
};

static const struct port_super small = {.segments = 7, .bufs = 5, .bytes = 3000};

static const struct variant ways[] = {
	{{.workers = 1, .rx_queues = 1, .tx_queues = 1}, &gso_granted, false},
	{{.workers = 1, .rx_queues = 1, .tx_queues = 1}, NULL, true},
	{{.workers = 1, .rx_queues = 1, .tx_queues = 1, .vlan = 9}, &small, true},
	{{.workers = 2, .rx_queues = 1, .tx_queues = 1}, &gso_granted, true},
	{{.workers = 2, .rx_queues = 1, .tx_queues = 2, .vlan = 9}, &gso_granted, false},
	{{.workers = 1, .rx_queues = 1, .tx_queues = 1}, &gso_granted, true},
	{{.workers = 1, .rx_queues = 1, .tx_queues = 1}, &small, true},
	{{.workers = 2, .rx_queues = 1, .tx_queues = 2}, &gso_granted, true},
};

static void random_like(struct world_datagram *d, uint32_t wild)
{
	*d = (struct world_datagram){.ttl = 60, .df = true};
	if (test_rand_below(&world.rand, wild) == 0)
		d->tos = 0xb8;
	if (test_rand_below(&world.rand, wild) == 0)
		d->ttl = 61;
	if (test_rand_below(&world.rand, wild) == 0)
		d->df = false;
}

// Sends a run of one flow, as one super-frame or one by one.
static void send_run(const struct variant *variant, uint16_t size, uint32_t wild)
{
	const unsigned int i = test_rand_below(&world.rand, GSO_CLIENTS);
	const bool up = test_rand_below(&world.rand, 2) != 0;
	const unsigned int first = nb_sent, n = 1 + test_rand_below(&world.rand, 40);
	struct world_datagram like;
	struct port *p = gso_port();

	random_like(&like, wild);
	for (unsigned int k = 0; k < n; k++)
		gso_make(i, up, size, &like);
	if (n > 1 && test_rand_below(&world.rand, 2) == 0) {
		nb_sent--;
		gso_make(i, up, (uint16_t)(1 + test_rand_below(&world.rand, size)), &like);
	}
	if (variant->super && test_rand_below(&world.rand, 4) != 0) {
		softport_put_mbuf(p, 0, gso_whole(first, n, 1900));
		return;
	}
	for (unsigned int k = first; k < nb_sent; k++) {
		sent[k].in.no_checksum = addr_is_v4(&sent[k].in.src.addr) &&
			test_rand_below(&world.rand, 4 * wild) == 0;
		world_send(&world, &sent[k].in);
	}
}

// Sends one datagram of each flow in turn.
static void send_mix(uint16_t size, uint32_t wild)
{
	struct world_datagram like;

	for (unsigned int k = 0; k < 64; k++) {
		random_like(&like, wild);
		world_send(&world,
			&gso_make(k % GSO_CLIENTS, k / GSO_CLIENTS % 2 != 0,
				(uint16_t)(size + k % GSO_CLIENTS), &like)
				 ->in);
	}
}

static void send_random(const struct variant *variant, unsigned int round)
{
	const uint32_t wild = round % 2 != 0 ? 20 : 1000;

	nb_sent = 0;
	while (nb_sent + 64 < GSO_BURST_MAX) {
		const uint16_t size = (uint16_t)(1 + test_rand_below(&world.rand, 1400));

		if (test_rand_below(&world.rand, 3) == 0)
			send_mix(size, wild);
		else
			send_run(variant, size, wild);
	}
}

static void test_random(void **state)
{
	const struct variant *variant = *state;
	uint64_t rx, rx_bytes, tx, supers, joined;
	struct dp_stats s;

	gso_open(&variant->setup);
	gso_port()->rx_super = variant->super;
	s = world_stats(&world);
	rx = s.rx;
	rx_bytes = s.rx_bytes;
	tx = s.tx;
	if (variant->uso != NULL)
		softport_uso(gso_port(), variant->uso, 0);
	for (unsigned int round = 0; round < 12; round++) {
		send_random(variant, round);
		rx += nb_sent;
		for (unsigned int i = 0; i < nb_sent; i++)
			rx_bytes += sent[i].in.len +
				net_headers_len(addr_is_v4(&sent[i].in.src.addr), gso_port()->vlan);
		tx += nb_sent;
		world_run(&world);
		gso_all_arrive();
	}
	s = world_stats(&world);
	assert_int_equal(world_drops(&world), 0);
	// counts datagrams, however they came and left
	assert_int_equal(s.rx, rx);
	assert_int_equal(s.rx_bytes, rx_bytes);
	assert_int_equal(s.tx, tx);
	supers = softport_supers(gso_port(), &joined);
	assert_int_equal(s.uso_frames, supers);
	assert_int_equal(s.uso_segments, joined);
	if (variant->uso != NULL)
		assert_true(joined > s.tx / 3);
	else
		assert_int_equal(joined, 0);
	if (variant->uso == NULL || !variant->super || variant->setup.vlan != 0)
		assert_int_equal(s.whole_frames, 0);
	gso_all_counted();
	world_close(&world);
}

// --- a port that turns out not to support super-frames ------------------------------------------

static void refused(bool super)
{
	const struct variant variant = {.super = super};
	const struct world_setup s = {.workers = 1, .rx_queues = 1, .tx_queues = 1};

	for (unsigned int nth = 1; nth < 8; nth++) {
		uint64_t joined;

		gso_open(&s);
		gso_port()->rx_super = super;
		softport_uso(gso_port(), &gso_granted, nth);
		for (unsigned int round = 0; round < 3; round++) {
			send_random(&variant, round);
			world_run(&world);
			gso_all_arrive(); // none lost, none twice
		}
		assert_int_equal(softport_supers(gso_port(), &joined), nth - 1);
		assert_int_equal(gso_port()->uso.segments, 0);
		assert_int_equal(world_drops(&world), 0);
		world_close(&world);
	}
}

static void test_refused(void **state)
{
	refused(false);
	refused(true);
}

// A full ring: datagrams that are not sent are dropped by name, and each datagram of a super-frame
// counts.
static void no_room(bool super)
{
	const struct variant variant = {.super = super};
	const struct world_setup s = {.workers = 1, .rx_queues = 1, .tx_queues = 1};
	struct dp_stats before, after;
	uint64_t supers, joined, seen = 0, bytes = 0, full = 0;

	gso_open(&s);
	gso_port()->rx_super = super;
	softport_uso(gso_port(), &gso_granted, 0);
	before = world_stats(&world);
	for (unsigned int round = 0; round < 30; round++) {
		send_random(&variant, round);
		softport_limit(gso_port(), test_rand_below(&world.rand, 40));
		world_run(&world);
		seen += world.nb_seen;
		for (unsigned int i = 0; i < world.nb_seen; i++)
			bytes += world.seen[i].len +
				net_headers_len(addr_is_v4(&world.seen[i].src.addr), 0);
		full += nb_sent - world.nb_seen;
		world.nb_seen = 0;
	}
	after = world_stats(&world);
	assert_true(full > 0 && seen > 0);
	assert_int_equal(after.drop[DP_DROP_TX_FULL], full);
	assert_int_equal(after.tx - before.tx, seen);
	assert_int_equal(after.tx_bytes - before.tx_bytes, bytes);
	supers = softport_supers(gso_port(), &joined);
	assert_int_equal(after.uso_frames, supers);
	assert_int_equal(after.uso_segments, joined);
	world_close(&world);
}

static void test_no_room(void **state)
{
	no_room(false);
	no_room(true);
}

// --- refused super-frames -----------------------------------------------------------------------

// Receives a changed super-frame of n datagrams; all of them must be dropped for that reason.
static void dropped(unsigned int n, uint16_t size, void (*change)(struct rte_mbuf *m),
	unsigned int reason, unsigned int counted)
{
	const struct world_datagram like = {.ttl = 60, .df = true};
	const struct dp_stats before = world_stats(&world);
	struct dp_stats after;
	struct rte_mbuf *m;

	nb_sent = 0;
	for (unsigned int i = 0; i < n; i++)
		gso_make(0, false, size, &like);
	m = gso_whole(0, n, 700);
	change(m);
	softport_put_mbuf(gso_port(), 0, m);
	world_run(&world);
	after = world_stats(&world);
	assert_int_equal(after.rx - before.rx, counted);
	assert_int_equal(after.drop[reason] - before.drop[reason], counted);
	assert_int_equal(after.tx, before.tx);
	assert_int_equal(rte_mempool_in_use_count(world.dp->pool), 0);
}

static void nothing(struct rte_mbuf *m)
{
}

static void no_size(struct rte_mbuf *m)
{
	m->tso_segsz = 0;
}

static void too_long(struct rte_mbuf *m)
{
	m->pkt_len += 100;
}

static void no_flag(struct rte_mbuf *m)
{
	m->ol_flags = RTE_MBUF_F_RX_L4_CKSUM_GOOD;
}

static void bad_checksum(struct rte_mbuf *m)
{
	m->ol_flags = RTE_MBUF_F_RX_LRO | RTE_MBUF_F_RX_L4_CKSUM_BAD;
}

static void unknown_checksum(struct rte_mbuf *m)
{
	m->ol_flags = RTE_MBUF_F_RX_LRO;
}

// Turns the UDP header and the next 12 bytes into a TCP header.
static void tcp(struct rte_mbuf *m)
{
	uint8_t *ip;

	assert_int_equal(rte_pktmbuf_linearize(m), 0);
	ip = rte_pktmbuf_mtod_offset(m, uint8_t *, 14);
	ip[9] = 6;
	ip[20 + 12] = 0x50;
	store_be16(ip + 10, 0);
	store_be16(ip + 10, (uint16_t)~csum_fold(csum_add(0, ip, 20)));
}

static void test_lies(void **state)
{
	const struct world_setup s = {.workers = 1, .rx_queues = 1, .tx_queues = 1};

	gso_open(&s);
	gso_port()->rx_super = true;
	dropped(5, 100, no_size, DP_DROP_SUPER, 1);
	dropped(5, 100, too_long, DP_DROP_SUPER, 1);
	dropped(129, 100, nothing, DP_DROP_SUPER, 129);
	dropped(5, 100, bad_checksum, drop_of_net(NET_DROP_UDP_CHECKSUM), 5);
	dropped(5, 100, unknown_checksum, drop_of_net(NET_DROP_UDP_CHECKSUM), 5);
	dropped(2, 1473, nothing, DP_DROP_RX_OVERSIZE, 2);
	dropped(8, 200, no_flag, DP_DROP_SEGMENTED, 1);
	// 12 bytes of the payload belong to the TCP header now
	dropped(4, 100, tcp, drop_of_net(NET_DROP_PROTOCOL), 4);
	world_close(&world);
}

// The largest number that Linux puts in one super-frame, of the largest datagrams that come in;
// more than one burst.
static void test_most(void **state)
{
	const struct world_datagram like = {.ttl = 60, .df = true};
	const struct world_setup s = {.workers = 1, .rx_queues = 1, .tx_queues = 1};
	static const unsigned int n[] = {128, 44, 33, 32, 31, 2, 1};
	static const uint16_t size[] = {500, 1468, 100, 1, 8, 1468, 77};

	gso_open(&s);
	gso_port()->rx_super = true;
	for (unsigned int k = 0; k < RTE_DIM(n); k++) {
		nb_sent = 0;
		for (unsigned int i = 0; i < n[k]; i++)
			gso_make(0, false, size[k], &like);
		softport_put_mbuf(gso_port(), 0, gso_whole(0, n[k], 2000));
		world_run(&world);
		gso_all_arrive();
	}
	assert_int_equal(world_drops(&world), 0);
	world_close(&world);
}

// In order with datagrams before and after it in the burst.
static void test_order(void **state)
{
	const struct world_datagram like = {.ttl = 60, .df = true};
	const struct world_setup s = {.workers = 1, .rx_queues = 1, .tx_queues = 1};

	gso_open(&s);
	gso_port()->rx_super = true;
	for (unsigned int before = 0; before < 31; before++) {
		nb_sent = 0;
		for (unsigned int i = 0; i < before; i++)
			world_send(&world, &gso_make(0, true, 50, &like)->in);
		for (unsigned int i = 0; i < 40; i++)
			gso_make(0, true, 60, &like);
		softport_put_mbuf(gso_port(), 0, gso_whole(before, 40, 2000));
		for (unsigned int i = 0; i < 31 - before; i++)
			world_send(&world, &gso_make(0, true, 70, &like)->in);
		world_run(&world);
		gso_all_arrive();
	}
	world_close(&world);
}

// No buffers for the segments: the whole super-frame is dropped and nothing else, and the next one
// is relayed again.
static void test_pool_empty(void **state)
{
	const struct world_datagram like = {.ttl = 60, .df = true};
	const struct world_setup s = {.workers = 1, .rx_queues = 1, .tx_queues = 1};
	static struct rte_mbuf *taken[8192];
	unsigned int n = 0;
	struct rte_mbuf *m;

	gso_open(&s);
	gso_port()->rx_super = true;
	nb_sent = 0;
	for (unsigned int i = 0; i < 10; i++)
		gso_make(0, true, 60, &like);
	m = gso_whole(0, 10, 2000);
	while (n < RTE_DIM(taken) && (taken[n] = rte_pktmbuf_alloc(world.dp->pool)) != NULL)
		n++;
	rte_pktmbuf_free_bulk(taken, 9);
	softport_put_mbuf(gso_port(), 0, m);
	world_run(&world);
	assert_int_equal(world_stats(&world).drop[DP_DROP_NO_MBUF], 10);
	assert_int_equal(world_drops(&world), 10);
	assert_int_equal(world.nb_seen, 0);
	rte_pktmbuf_free_bulk(taken + 9, n - 9);
	softport_put_mbuf(gso_port(), 0, gso_whole(0, 10, 2000));
	world_run(&world);
	gso_all_arrive();
	world_close(&world);
}

#define WITH(test, i)                                        \
	{                                                    \
		.name = #test " " #i, .test_func = test,     \
		.initial_state = (void *)(uintptr_t)&ways[i] \
	}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH(test_random, 0),
		WITH(test_random, 1),
		WITH(test_random, 2),
		WITH(test_random, 3),
		WITH(test_random, 4),
		WITH(test_random, 5),
		WITH(test_random, 6),
		WITH(test_random, 7),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_no_room),
		cmocka_unit_test(test_lies),
		cmocka_unit_test(test_most),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_pool_empty),
	};

	world_eal();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
