// SPDX-License-Identifier: BSD-3-Clause
// Queues of a worker for the clients of a slow stream thread: one client's media takes no room from
// other clients, from handshakes or from orders.
#include "clients/stream_rings.h"
#include "clients/streams.h"
#include "datapath.h"
#include "dp_world.h"
#include "feature_names.h"
#ifdef FEATURE_TCP
#include "features/tcp/relay_tcp.h"
#endif
#include "path/worker.h"
#include "workers/mbuf_meta.h"

#define CHANNEL 0x4001
#define RING 1024
#define MS 500
#define FLOOD 240 // datagrams a millisecond of one client's peer
#define CALL 5 // and of another client's peer
#define TAKEN 100 // that the thread takes in a millisecond

static const struct world_setup setup = {
	.workers = 1, .rx_queues = 1, .tx_queues = 1, .stream_ring = RING};
static struct dp_world world;
static struct endpoint peer;

bool __wrap_stream_alive(const struct streams *s, uint64_t conn);
void __wrap_stream_wake(struct streams *s, unsigned int thread);

bool __wrap_stream_alive(const struct streams *s, uint64_t conn)
{
	return true;
}

void __wrap_stream_wake(struct streams *s, unsigned int thread)
{
}

static void open_world(void)
{
	peer = world_endpoint("10.99.0.30", 7000);
	world_open(&world, &setup);
	world.dp->streams = (struct streams *)1; // only ever passed to the two functions above
}

static void close_world(void)
{
	world.dp->streams = NULL;
	world_close(&world);
}

static void client(struct world_client *c, const char *addr)
{
	world_stream_client(&world, c, addr, 40000);
	assert_int_equal(client_allocate(&world, c, 4), 0);
	assert_int_equal(client_bind(&world, c, CHANNEL, &peer), 0);
}

static void peers_send(const struct world_client *c, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		world_send_bytes(&world, &peer, &c->relay, "x", 1);
		if (i % 32 == 31)
			worker_round(world.dp->worker[0],
				world.dp->tsc_start + world.ms * world.dp->tsc_per_ms);
	}
	worker_round(world.dp->worker[0], world.dp->tsc_start + world.ms * world.dp->tsc_per_ms);
}

// The thread takes up to n messages. Returns how many of them belong to connection `conn`.
static unsigned int take(unsigned int n, uint64_t conn, unsigned int *all)
{
	struct stream_message m[STREAM_BURST];
	unsigned int matching = 0;

	*all = streams_ops.receive(world.dp, 0, 0, m, n);
	for (unsigned int i = 0; i < *all; i++) {
		matching += m[i].conn == conn;
		streams_ops.release(world.dp, 0, 0, m[i].buf);
	}
	worker_round(world.dp->worker[0], world.dp->tsc_start + world.ms * world.dp->tsc_per_ms);
	return matching;
}

// All datagrams of a call arrive while a flood sends more than the thread takes.
static void test_call_beside_flood(void **state)
{
	struct world_client flooded, calling;
	unsigned int got = 0, all, taken = 0;

	open_world();
	client(&flooded, "203.0.113.5");
	client(&calling, "203.0.113.6");
	for (unsigned int ms = 0; ms < MS; ms++) {
		peers_send(&flooded, FLOOD / 2);
		peers_send(&calling, CALL);
		peers_send(&flooded, FLOOD / 2);
		got += take(TAKEN, calling.conn, &all);
		taken += all;
		world.ms++;
	}
	assert_int_equal(taken, MS * TAKEN); // the thread is still kept busy
	do {
		got += take(TAKEN, calling.conn, &all);
	} while (all > 0);
	assert_int_equal(got, MS * CALL);
	close_world();
}

static struct rte_mbuf *packet(enum mbuf_meta_kind kind)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(world.dp->pool);

	assert_non_null(m);
	mbuf_meta_of(m)->kind = (uint8_t)kind;
	mbuf_meta_of(m)->dtls.session = NULL;
	mbuf_meta_of(m)->dtls.conn = 0;
	return m;
}

// Fills the queue of handshakes with datagrams. Returns how many there is room for.
static unsigned int fill_shakes(void)
{
	struct rte_mbuf *m = packet(MBUF_META_DTLS);
	unsigned int n = 0;

	for (; streams_give(world.dp->worker[0], 0, m); n++)
		m = packet(MBUF_META_DTLS);
	rte_pktmbuf_free(m);
	return n;
}

// After a flood of media, a handshake's datagram is among the next that the thread takes.
static void test_handshake_beside_flood(void **state)
{
	struct stream_message m[STREAM_BURST];
	struct world_client flooded;
	unsigned int n, shakes = 0;

	open_world();
	client(&flooded, "203.0.113.5");
	peers_send(&flooded, 2 * RING);
	assert_true(streams_give(world.dp->worker[0], 0, packet(MBUF_META_DTLS)));
	n = streams_ops.receive(world.dp, 0, 0, m, 8);
	for (unsigned int i = 0; i < n; i++) {
		shakes += m[i].conn == 0;
		streams_ops.release(world.dp, 0, 0, m[i].buf);
	}
	assert_int_equal(shakes, 1);
	close_world();
}

// Gives an order to admit a peer, if the feature is built. Returns the number of such orders.
static unsigned int give_order(const struct world_client *c)
{
#ifdef FEATURE_TCP
	assert_true(relay_tcp_admit(world.dp->worker[0], packet(MBUF_META_STREAM), c->conn));
	return 1;
#else
	return 0;
#endif
}

// Handshakes take no room from media, from orders, or from sessions that the thread must free.
static void test_flood_of_handshakes(void **state)
{
	struct world_client calling;
	unsigned int all, orders, got = 0;

	open_world();
	client(&calling, "203.0.113.6");
	fill_shakes();
	assert_true(streams_give(world.dp->worker[0], 0, packet(MBUF_META_DTLS_NOTE)));
	orders = give_order(&calling);
	peers_send(&calling, CALL);
	do {
		got += take(TAKEN, calling.conn, &all);
	} while (all > 0);
	assert_int_equal(got, CALL + orders);
	close_world();
}

// However much media all clients have, there is room for an order to admit a peer.
static void test_order_beside_floods(void **state)
{
	enum { CLIENTS = 24 };
	struct world_client flooded[CLIENTS];
	const struct stream_rings *y;
	char addr[16];

	open_world();
	y = &world.dp->stream_rings[0];
	for (unsigned int i = 0; i < CLIENTS; i++) {
		snprintf(addr, sizeof(addr), "203.0.113.%u", 10 + i);
		client(&flooded[i], addr);
	}
	for (unsigned int i = 0; i < CLIENTS; i++)
		peers_send(&flooded[i], RING);
	assert_in_range(rte_ring_count(y->down), RING * 3 / 4, RING);
	give_order(&flooded[0]);
	close_world();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_call_beside_flood),
		cmocka_unit_test(test_handshake_beside_flood),
		cmocka_unit_test(test_flood_of_handshakes),
		cmocka_unit_test(test_order_beside_floods),
	};

	world_eal();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
