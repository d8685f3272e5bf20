// SPDX-License-Identifier: BSD-3-Clause
// Super-frames through the whole data path, in and out: what clients and peers get is what was sent
// to them, in order, whether it came and left in super-frames or one by one; and every datagram is
// counted as one, also where a super-frame is refused, finds no room or lies.
#include "bytes.h"
#include "datapath.h"
#include "drop_of.h"
#include "dp_world.h"

#include <rte_mempool.h>

#define CLIENTS 6
#define CHANNEL 0x4001
#define BURST_MAX 300

static struct dp_world world;
static struct world_client client[CLIENTS];
static struct endpoint peer[CLIENTS];

static const struct port_super granted = {.segments = 64, .bufs = 64, .bytes = 65549};

// --- the world ----------------------------------------------------------------------------------

// Client i and its peer: every pair of families.
static void open_world(const struct world_setup *s)
{
	static const char *const clients[] = {"10.99.0.20", "fd99::20", "198.51.100.5"};
	static const char *const peers[] = {"10.99.0.30", "fd99::30"};

	world_open(&world, s);
	for (unsigned int i = 0; i < CLIENTS; i++) {
		peer[i] = world_endpoint(peers[i / 3], (uint16_t)(7000 + i));
		world_client(&world, &client[i], clients[i % 3], (uint16_t)(40000 + i));
		assert_int_equal(
			client_allocate(&world, &client[i], addr_is_v4(&peer[i].addr) ? 4 : 6), 0);
		assert_int_equal(client_bind(&world, &client[i], CHANNEL, &peer[i]), 0);
	}
}

static struct port *wan(void)
{
	return world.dp->port[0].port;
}

// --- a burst ------------------------------------------------------------------------------------

// What was sent and what has to arrive of it.
static struct sent {
	struct world_datagram in;
	struct endpoint from, to;
	uint16_t off, front; // of the payload in.data, that arrives behind a channel header or not
} sent[BURST_MAX];
static unsigned int nb_sent;

static struct sent *make(unsigned int i, bool up, uint16_t len, const struct world_datagram *like)
{
	struct sent *s = &sent[nb_sent++];

	assert_true(nb_sent <= BURST_MAX);
	s->in = *like;
	test_rand_fill(&world.rand, s->in.data, len + 4u);
	if (up) {
		s->in.src = client[i].at;
		s->in.dst = client[i].server;
		s->from = client[i].relay;
		s->to = peer[i];
		store_be16(s->in.data, CHANNEL);
		store_be16(s->in.data + 2, len);
		s->in.len = (uint16_t)(len + 4);
		s->off = 4;
		s->front = 0;
	} else {
		s->in.src = peer[i];
		s->in.dst = client[i].relay;
		s->from = client[i].server;
		s->to = client[i].at;
		s->in.len = len;
		s->off = 0;
		s->front = 4;
	}
	return s;
}

static void arrives(const struct sent *s)
{
	const uint16_t len = (uint16_t)(s->in.len - s->off);
	struct world_datagram got;

	assert_true(world_take(&world, &s->to, &got));
	assert_true(endpoint_eq(&got.src, &s->from));
	assert_int_equal(got.len, s->front + len);
	if (s->front != 0) {
		assert_int_equal(load_be16(got.data), CHANNEL);
		assert_int_equal(load_be16(got.data + 2), len);
	}
	assert_memory_equal(got.data + s->front, s->in.data + s->off, len);
	assert_int_equal(got.tos, s->in.tos);
	assert_int_equal(got.ttl, s->in.ttl - 1);
	// RFC 8656 15: copied where both sides are IPv4
	assert_int_equal(
		got.df, s->in.df && addr_is_v4(&s->to.addr) && addr_is_v4(&s->in.src.addr));
	assert_int_equal(got.no_checksum, s->in.no_checksum && addr_is_v4(&s->to.addr));
}

static void all_arrive(void)
{
	for (unsigned int i = 0; i < nb_sent; i++)
		arrives(&sent[i]);
	assert_int_equal(world.nb_seen, 0);
}

// --- super-frames received ----------------------------------------------------------------------

// sent[from, from + n), of one flow and, except the last, of one size, as one chain.
static struct rte_mbuf *whole(unsigned int from, unsigned int n, uint32_t step)
{
	static uint8_t frame[70000];
	const bool v4 = addr_is_v4(&sent[from].in.src.addr);
	const uint32_t headers = net_headers_len(v4, wan()->vlan);
	struct rte_mbuf *head = NULL, **next = &head;
	uint8_t one[2048], *ip = frame + headers - (v4 ? 28 : 48);
	uint32_t len = headers, done = 0;
	uint16_t segs = 0;

	world_frame(&world, &sent[from].in, one);
	memcpy(frame, one, headers);
	for (unsigned int i = from; i < from + n; len += sent[i++].in.len)
		memcpy(frame + len, sent[i].in.data, sent[i].in.len);
	store_be16(frame + headers - 4, (uint16_t)(len - headers + 8));
	store_be16(frame + headers - 2, 0x1234); // of no meaning
	if (v4) {
		store_be16(ip + 2, (uint16_t)(len - headers + 28));
		store_be16(ip + 10, 0);
		store_be16(ip + 10, (uint16_t)~csum_fold(csum_add(0, ip, 20)));
	} else {
		store_be16(ip + 4, (uint16_t)(len - headers + 8));
	}
	while (done < len) {
		const uint32_t part = RTE_MIN(len - done, 1 + test_rand_below(&world.rand, step));

		*next = rte_pktmbuf_alloc(world.dp->pool);
		assert_non_null(*next);
		memcpy(rte_pktmbuf_append(*next, (uint16_t)part), frame + done, part);
		next = &(*next)->next;
		done += part;
		segs++;
	}
	head->nb_segs = segs;
	head->pkt_len = len;
	head->tso_segsz = sent[from].in.len;
	head->ol_flags = RTE_MBUF_F_RX_LRO | RTE_MBUF_F_RX_L4_CKSUM_GOOD;
	return head;
}

// --- runs at random -----------------------------------------------------------------------------

struct way {
	struct world_setup setup;
	const struct port_super *uso; // leaves in super-frames
	bool super; // comes in super-frames
};

static const struct port_super small = {.segments = 7, .bufs = 5, .bytes = 3000};

static const struct way ways[] = {
	{{.workers = 1, .rx_queues = 1, .tx_queues = 1}, &granted, false},
	{{.workers = 1, .rx_queues = 1, .tx_queues = 1}, NULL, true},
	{{.workers = 1, .rx_queues = 1, .tx_queues = 1, .vlan = 9}, &small, true},
	{{.workers = 2, .rx_queues = 1, .tx_queues = 1}, &granted, true},
	{{.workers = 2, .rx_queues = 1, .tx_queues = 2, .vlan = 9}, &granted, false},
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

// A run of one flow; put in as one super-frame, or one by one.
static void send_run(const struct way *way, uint16_t size, uint32_t wild)
{
	const unsigned int i = test_rand_below(&world.rand, CLIENTS);
	const bool up = test_rand_below(&world.rand, 2) != 0;
	const unsigned int from = nb_sent, n = 1 + test_rand_below(&world.rand, 40);
	struct world_datagram like;
	struct port *p = wan();

	random_like(&like, wild);
	for (unsigned int k = 0; k < n; k++)
		make(i, up, size, &like);
	if (n > 1 && test_rand_below(&world.rand, 2) == 0) {
		nb_sent--;
		make(i, up, (uint16_t)(1 + test_rand_below(&world.rand, size)), &like);
	}
	if (way->super && test_rand_below(&world.rand, 4) != 0) {
		softport_put_mbuf(p, 0, whole(from, n, 1900));
		return;
	}
	for (unsigned int k = from; k < nb_sent; k++) {
		sent[k].in.no_checksum = addr_is_v4(&sent[k].in.src.addr) &&
			test_rand_below(&world.rand, 4 * wild) == 0;
		world_send(&world, &sent[k].in);
	}
}

// Flows in turn, one datagram each.
static void send_mix(uint16_t size, uint32_t wild)
{
	struct world_datagram like;

	for (unsigned int k = 0; k < 64; k++) {
		random_like(&like, wild);
		world_send(&world,
			&make(k % CLIENTS, k / CLIENTS % 2 != 0, (uint16_t)(size + k % CLIENTS),
				&like)
				 ->in);
	}
}

static void send_random(const struct way *way, unsigned int round)
{
	const uint32_t wild = round % 2 != 0 ? 20 : 1000;

	nb_sent = 0;
	while (nb_sent + 64 < BURST_MAX) {
		const uint16_t size = (uint16_t)(1 + test_rand_below(&world.rand, 1400));

		if (test_rand_below(&world.rand, 3) == 0)
			send_mix(size, wild);
		else
			send_run(way, size, wild);
	}
}

static void test_random(void **state)
{
	const struct way *way = *state;
	uint64_t rx, rx_bytes, tx, supers, joined;
	struct dp_stats s;

	open_world(&way->setup);
	wan()->rx_super = way->super;
	s = world_stats(&world);
	rx = s.rx;
	rx_bytes = s.rx_bytes;
	tx = s.tx;
	if (way->uso != NULL)
		softport_uso(wan(), way->uso, 0);
	for (unsigned int round = 0; round < 12; round++) {
		send_random(way, round);
		rx += nb_sent;
		for (unsigned int i = 0; i < nb_sent; i++)
			rx_bytes += sent[i].in.len +
				net_headers_len(addr_is_v4(&sent[i].in.src.addr), wan()->vlan);
		tx += nb_sent;
		world_run(&world);
		all_arrive();
	}
	s = world_stats(&world);
	assert_int_equal(world_drops(&world), 0);
	// datagrams, however they came and left
	assert_int_equal(s.rx, rx);
	assert_int_equal(s.rx_bytes, rx_bytes);
	assert_int_equal(s.tx, tx);
	supers = softport_supers(wan(), &joined);
	assert_int_equal(s.uso_frames, supers);
	assert_int_equal(s.uso_segments, joined);
	if (way->uso != NULL)
		assert_true(joined > s.tx / 3);
	else
		assert_int_equal(joined, 0);
	world_close(&world);
}

// --- the port finds out that it cannot ----------------------------------------------------------

static void test_refused(void **state)
{
	const struct way way = {.super = false};
	const struct world_setup s = {.workers = 1, .rx_queues = 1, .tx_queues = 1};

	for (unsigned int nth = 1; nth < 8; nth++) {
		uint64_t joined;

		open_world(&s);
		softport_uso(wan(), &granted, nth);
		for (unsigned int round = 0; round < 3; round++) {
			send_random(&way, round);
			world_run(&world);
			all_arrive(); // none lost, none twice
		}
		assert_int_equal(softport_supers(wan(), &joined), nth - 1);
		assert_int_equal(wan()->uso.segments, 0);
		assert_int_equal(world_drops(&world), 0);
		world_close(&world);
	}
}

// A ring without room: what is not sent is dropped by name, each datagram of a super-frame counted.
static void test_no_room(void **state)
{
	const struct way way = {.super = false};
	const struct world_setup s = {.workers = 1, .rx_queues = 1, .tx_queues = 1};
	struct dp_stats before, after;
	uint64_t supers, joined, seen = 0, bytes = 0, full = 0;

	open_world(&s);
	softport_uso(wan(), &granted, 0);
	before = world_stats(&world);
	for (unsigned int round = 0; round < 30; round++) {
		send_random(&way, round);
		softport_limit(wan(), test_rand_below(&world.rand, 40));
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
	supers = softport_supers(wan(), &joined);
	assert_int_equal(after.uso_frames, supers);
	assert_int_equal(after.uso_segments, joined);
	world_close(&world);
}

// --- what is received is refused ----------------------------------------------------------------

// Puts in a super-frame of n, changed; all of it is to be dropped for that reason.
static void dropped(unsigned int n, uint16_t size, void (*change)(struct rte_mbuf *m),
	unsigned int reason, unsigned int counted)
{
	const struct world_datagram like = {.ttl = 60, .df = true};
	const struct dp_stats before = world_stats(&world);
	struct dp_stats after;
	struct rte_mbuf *m;

	nb_sent = 0;
	for (unsigned int i = 0; i < n; i++)
		make(0, false, size, &like);
	m = whole(0, n, 700);
	change(m);
	softport_put_mbuf(wan(), 0, m);
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

// Source port and the rest as a TCP header: 20 bytes of it are there.
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

	open_world(&s);
	wan()->rx_super = true;
	dropped(5, 100, no_size, DP_DROP_SUPER, 1);
	dropped(5, 100, too_long, DP_DROP_SUPER, 1);
	dropped(129, 100, nothing, DP_DROP_SUPER, 129);
	dropped(5, 100, bad_checksum, drop_of_net(NET_DROP_UDP_CHECKSUM), 5);
	dropped(5, 100, unknown_checksum, drop_of_net(NET_DROP_UDP_CHECKSUM), 5);
	dropped(2, 1473, nothing, DP_DROP_RX_OVERSIZE, 2);
	dropped(8, 200, no_flag, DP_DROP_SEGMENTED, 1);
	// 12 bytes of the payload are TCP header now
	dropped(4, 100, tcp, drop_of_net(NET_DROP_PROTOCOL), 4);
	world_close(&world);
}

// As many as Linux puts in one, of the largest that come in; more than one burst.
static void test_most(void **state)
{
	const struct world_datagram like = {.ttl = 60, .df = true};
	const struct world_setup s = {.workers = 1, .rx_queues = 1, .tx_queues = 1};
	static const unsigned int n[] = {128, 44, 33, 32, 31, 2, 1};
	static const uint16_t size[] = {500, 1468, 100, 1, 8, 1468, 77};

	open_world(&s);
	wan()->rx_super = true;
	for (unsigned int k = 0; k < RTE_DIM(n); k++) {
		nb_sent = 0;
		for (unsigned int i = 0; i < n[k]; i++)
			make(0, false, size[k], &like);
		softport_put_mbuf(wan(), 0, whole(0, n[k], 2000));
		world_run(&world);
		all_arrive();
	}
	assert_int_equal(world_drops(&world), 0);
	world_close(&world);
}

// In order with what comes before and behind it in the same burst.
static void test_order(void **state)
{
	const struct world_datagram like = {.ttl = 60, .df = true};
	const struct world_setup s = {.workers = 1, .rx_queues = 1, .tx_queues = 1};

	open_world(&s);
	wan()->rx_super = true;
	for (unsigned int before = 0; before < 31; before++) {
		nb_sent = 0;
		for (unsigned int i = 0; i < before; i++)
			world_send(&world, &make(0, true, 50, &like)->in);
		for (unsigned int i = 0; i < 40; i++)
			make(0, true, 60, &like);
		softport_put_mbuf(wan(), 0, whole(before, 40, 2000));
		for (unsigned int i = 0; i < 31 - before; i++)
			world_send(&world, &make(0, true, 70, &like)->in);
		world_run(&world);
		all_arrive();
	}
	world_close(&world);
}

// No buffers to cut into: all of it is dropped, nothing else, and the next is relayed again.
static void test_pool_empty(void **state)
{
	const struct world_datagram like = {.ttl = 60, .df = true};
	const struct world_setup s = {.workers = 1, .rx_queues = 1, .tx_queues = 1};
	static struct rte_mbuf *taken[8192];
	unsigned int n = 0;
	struct rte_mbuf *m;

	open_world(&s);
	wan()->rx_super = true;
	nb_sent = 0;
	for (unsigned int i = 0; i < 10; i++)
		make(0, true, 60, &like);
	m = whole(0, 10, 2000);
	while (n < RTE_DIM(taken) && (taken[n] = rte_pktmbuf_alloc(world.dp->pool)) != NULL)
		n++;
	rte_pktmbuf_free_bulk(taken, 9);
	softport_put_mbuf(wan(), 0, m);
	world_run(&world);
	assert_int_equal(world_stats(&world).drop[DP_DROP_NO_MBUF], 10);
	assert_int_equal(world_drops(&world), 10);
	assert_int_equal(world.nb_seen, 0);
	rte_pktmbuf_free_bulk(taken + 9, n - 9);
	softport_put_mbuf(wan(), 0, whole(0, 10, 2000));
	world_run(&world);
	all_arrive();
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
