// SPDX-License-Identifier: BSD-3-Clause
// Super-frames of a lane of the load generator: datagrams that leave in them and datagrams that
// find no room are counted one by one, and so are those received in super-frames.
#include <stdlib.h>

#include <rte_eal.h>

#include "coalesce.h"
#include "lanes/gso.h"
#include "softport.h"
#include "test.h"

#define PAYLOAD 200
#define FLOWS 4

static const struct port_super granted = {.segments = 64, .bufs = 64, .bytes = 65535};

static struct rte_mempool *pool;
static struct config config;
static struct engine *engine;
static struct lane *lane;
static struct port *port;

static int begin(void **state)
{
	char error[200];
	const struct port_config pc = {
		.name = "c", .device = "soft:1:1", .queues = 1, .mtu = 1500, .pool = pool};

	config = (struct config){.role = ROLE_BOTH, .mode = MODE_DIRECT, .burst = 64};
	engine = calloc(1, sizeof(*engine));
	lane = aligned_alloc(64, sizeof(*lane));
	memset(lane, 0, sizeof(*lane));
	port = softport_open(&pc, error, sizeof(error));
	assert_non_null(port);
	assert_int_equal(port->ops->start(port), 0);
	softport_uso(port, &granted, 0);
	engine->config = &config;
	engine->pool = pool;
	engine->port[SIDE_CLIENT] = port;
	lane->engine = engine;
	return 0;
}

static int end(void **state)
{
	port->ops->stop(port);
	port->ops->close(port);
	free(lane);
	free(engine);
	assert_int_equal(rte_mempool_in_use_count(pool), 0);
	return 0;
}

// A datagram of a flow, with checksums.
static struct rte_mbuf *datagram(unsigned int flow, uint16_t len)
{
	static const struct net_ip ip = {.ttl = 64, .df = true};
	static const struct net_l2 l2 = {.src = {2, 0, 0, 0, 0, 1}, .dst = {2, 0, 0, 0, 0, 2}};
	struct endpoint src = {.port = (uint16_t)(1000 + flow)}, dst = {.port = 2000};
	struct rte_mbuf *m = rte_pktmbuf_alloc(pool);
	uint8_t *payload, *frame;
	uint32_t sum;

	assert_non_null(m);
	assert_int_equal(addr_parse("10.0.0.1", &src.addr), 0);
	assert_int_equal(addr_parse("10.0.0.2", &dst.addr), 0);
	payload = (uint8_t *)rte_pktmbuf_append(m, len);
	memset(payload, (int)flow, len);
	sum = csum_addrs(&src.addr, &dst.addr) + src.port + dst.port + 17u + 2u * (len + 8u);
	frame = net_write_udp(payload, len, &l2, &src, &dst, &ip,
		(uint16_t)~csum_fold(csum_add(sum, payload, len)));
	rte_pktmbuf_prepend(m, (uint16_t)(payload - frame));
	return m;
}

// Sends n datagrams of all flows in turn, in runs of `row`, and flushes.
static void send(unsigned int n, unsigned int row, enum frame_kind kind)
{
	for (unsigned int i = 0; i < n; i++)
		lane_put(lane, SIDE_CLIENT, datagram(i / row % FLOWS, PAYLOAD), kind, PAYLOAD);
	lane_flush(lane);
}

// Number of frames that left, after cutting like hardware.
static unsigned int left(void)
{
	uint8_t frame[2048];
	unsigned int n = 0;

	while (softport_take(port, frame, sizeof(frame)) > 0)
		n++;
	return n;
}

static void check_sent(uint64_t datagrams, uint64_t frames, uint64_t in_frames)
{
	uint64_t joined;

	assert_int_equal(lane->stats.sent[DIRECTION_UP], datagrams);
	assert_int_equal(lane->stats.sent_bytes[DIRECTION_UP], datagrams * PAYLOAD);
	assert_int_equal(lane->stats.super_sent.frames, frames);
	assert_int_equal(lane->stats.super_sent.datagrams, in_frames);
	assert_int_equal(softport_supers(port, &joined), frames);
	assert_int_equal(joined, in_frames);
}

static void test_bursts(void **state)
{
	send(32, 16, FRAME_UP);
	check_sent(32, 2, 32);
	assert_int_equal(left(), 32);
	send(5, 1, FRAME_UP); // flows 0 to 3 and 0 again
	check_sent(37, 3, 34);
	assert_int_equal(left(), 5);
	send(64, 64, FRAME_UP); // an outbox holds 32
	check_sent(101, 5, 98);
	assert_int_equal(left(), 64);
	assert_int_equal(lane->stats.tx_full, 0);
}

// At most a burst of datagrams per super-frame: late bursts that meet are not merged.
static void test_burst_is_the_most(void **state)
{
	config.burst = 8;
	send(32, 32, FRAME_UP);
	check_sent(32, 4, 32);
	left();
	config.burst = 1;
	send(32, 32, FRAME_UP);
	check_sent(64, 4, 32);
	left();
	config.role = ROLE_PEER; // sends the bursts of others
	send(32, 32, FRAME_UP);
	check_sent(96, 5, 64);
	left();
}

static void test_port_without(void **state)
{
	softport_uso(port, &(struct port_super){0}, 0);
	send(32, 16, FRAME_UP);
	check_sent(32, 0, 0);
	assert_int_equal(left(), 32);
}

// A port accepts k more frames: their datagrams are sent, the others are not.
static void test_no_room(void **state)
{
	for (unsigned int k = 0; k < 4; k++) {
		memset(&lane->stats, 0, sizeof(lane->stats));
		softport_limit(port, k);
		for (unsigned int i = 0; i < 32; i++) // 7, 8 and 8 of flows 0 to 2, 9 of flow 3
			lane_put(lane, SIDE_CLIENT, datagram(RTE_MIN((i + 1) / 8, 3u), PAYLOAD),
				i % 2 != 0 ? FRAME_UP : FRAME_REFLECTED, PAYLOAD);
		lane_flush(lane);
		assert_int_equal(left(), k * 8 - (k > 0));
		assert_int_equal(lane->stats.super_sent.frames, k);
		assert_int_equal(lane->stats.super_sent.datagrams, k * 8 - (k > 0));
		assert_int_equal(lane->stats.sent[DIRECTION_UP], (k * 8 - (k > 0)) / 2);
		assert_int_equal(lane->stats.tx_full, 16 - lane->stats.sent[DIRECTION_UP]);
		assert_int_equal(lane->stats.reflect_full, 16 - (k * 8 - (k > 0) + 1) / 2);
	}
	softport_limit(port, UINT32_MAX);
}

// Room is made before a burst, not within it.
static void test_reserve(void **state)
{
	send(0, 1, FRAME_UP);
	for (unsigned int i = 0; i < 20; i++)
		lane_put(lane, SIDE_CLIENT, datagram(i % FLOWS, PAYLOAD), FRAME_CONTROL, 0);
	lane_reserve(lane, SIDE_CLIENT, 12);
	assert_int_equal(lane->out[SIDE_CLIENT].n, 20);
	lane_reserve(lane, SIDE_CLIENT, 13);
	assert_int_equal(lane->out[SIDE_CLIENT].n, 0);
	assert_int_equal(left(), 20);
}

// --- receiving ----------------------------------------------------------------------------------

// A super-frame as a port receives it.
static struct rte_mbuf *received(unsigned int n, uint16_t len)
{
	struct rte_mbuf *m[PORT_COALESCE_MAX];

	for (unsigned int i = 0; i < n; i++)
		m[i] = datagram(1, len);
	assert_int_equal(port_coalesce(&granted, 0, m, n, NULL).frames, 1);
	m[0]->ol_flags = RTE_MBUF_F_RX_LRO | RTE_MBUF_F_RX_L4_CKSUM_GOOD;
	return m[0];
}

static void test_received(void **state)
{
	struct rte_mbuf *out[SUPER_MAX];
	struct net_frame f;
	struct net_rx rx = {.mac = {2, 0, 0, 0, 0, 2}};

	assert_int_equal(gso_cut(lane, SIDE_CLIENT, received(20, PAYLOAD), out), 20);
	for (unsigned int i = 0; i < 20; i++) {
		assert_int_equal(net_frame_parse(rte_pktmbuf_mtod(out[i], const uint8_t *),
					 out[i]->data_len, &rx, &f),
			NET_OK);
		assert_int_equal(f.payload_len, PAYLOAD);
	}
	rte_pktmbuf_free_bulk(out, 20);
	assert_int_equal(lane->stats.super_received.frames, 1);
	assert_int_equal(lane->stats.super_received.datagrams, 20);
	assert_int_equal(lane->stats.bad_frames, 0);
}

// A super-frame that no host would accept counts as bad, for each of its datagrams.
static void test_refused(void **state)
{
	struct rte_mbuf *out[SUPER_MAX], *m;

	m = received(10, PAYLOAD);
	m->ol_flags = RTE_MBUF_F_RX_LRO | RTE_MBUF_F_RX_L4_CKSUM_BAD;
	assert_int_equal(gso_cut(lane, SIDE_CLIENT, m, out), 0);
	assert_int_equal(lane->stats.bad_frames, 10);
	m = received(10, PAYLOAD);
	m->ol_flags = RTE_MBUF_F_RX_LRO; // checksum not verified
	assert_int_equal(gso_cut(lane, SIDE_CLIENT, m, out), 0);
	assert_int_equal(lane->stats.bad_frames, 20);
	m = received(10, PAYLOAD);
	m->tso_segsz = 0; // inconsistent
	assert_int_equal(gso_cut(lane, SIDE_CLIENT, m, out), 0);
	assert_int_equal(lane->stats.bad_frames, 21);
	m = received(10, PAYLOAD);
	m->tso_segsz = 10; // 200 datagrams
	assert_int_equal(gso_cut(lane, SIDE_CLIENT, m, out), 0);
	assert_int_equal(lane->stats.bad_frames, 221);
	assert_int_equal(gso_cut(lane, SIDE_CLIENT, received(3, 1472), out), 3);
	rte_pktmbuf_free_bulk(out, 3);
	assert_int_equal(gso_cut(lane, SIDE_CLIENT, received(3, 1473), out), 0); // above the MTU
	assert_int_equal(lane->stats.bad_frames, 224);
	assert_int_equal(lane->stats.super_received.frames, 1);
	assert_int_equal(lane->stats.no_mbuf, 0);
}

static void test_pool_empty(void **state)
{
	struct rte_mbuf *out[SUPER_MAX], *m = received(10, PAYLOAD), *all[512];
	const unsigned int n = rte_mempool_avail_count(pool) - 9;

	assert_true(n <= RTE_DIM(all));
	assert_int_equal(rte_pktmbuf_alloc_bulk(pool, all, n), 0);
	assert_int_equal(gso_cut(lane, SIDE_CLIENT, m, out), 0);
	assert_int_equal(lane->stats.no_mbuf, 10);
	assert_int_equal(lane->stats.super_received.frames, 0);
	rte_pktmbuf_free_bulk(all, n);
}

static int start_eal(void **state)
{
	char *argv[] = {"test", "--no-huge", "-m", "64", "--no-pci", "--no-shconf",
		"--no-telemetry", "--iova-mode=va", "--file-prefix=test_loadgen_super",
		"--log-level=*:critical"};

	if (rte_eal_init(RTE_DIM(argv), argv) < 0)
		return -1;
	pool = rte_pktmbuf_pool_create("test", 511, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	return pool == NULL ? -1 : 0;
}

static int stop_eal(void **state)
{
	rte_mempool_free(pool);
	return rte_eal_cleanup();
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_bursts),
		TEST(test_burst_is_the_most),
		TEST(test_port_without),
		TEST(test_no_room),
		TEST(test_reserve),
		TEST(test_received),
		TEST(test_refused),
		TEST(test_pool_empty),
	};

	return cmocka_run_group_tests(tests, start_eal, stop_eal);
}
