// SPDX-License-Identifier: BSD-3-Clause
// Full rings between workers and stream threads: buffers still return to the pool.
#include "clients/stream_rings.h"
#include "clients/streams.h"
#include "datapath.h"
#include "dp_world.h"
#include "path/worker.h"

#define CHANNEL 0x4001
#define RING 64

static const struct world_setup setup = {
	.workers = 1, .rx_queues = 1, .tx_queues = 1, .stream_ring = RING};
static struct dp_world world;

bool __wrap_stream_alive(const struct streams *s, uint64_t conn);
void __wrap_stream_wake(struct streams *s, unsigned int thread);

bool __wrap_stream_alive(const struct streams *s, uint64_t conn)
{
	return true;
}

void __wrap_stream_wake(struct streams *s, unsigned int thread)
{
}

// A client with a channel, and three messages on their way to it. Returns the ring to the thread.
static const struct rte_ring *open_world(struct world_client *c)
{
	const struct endpoint peer = world_endpoint("10.99.0.30", 7000);

	world_open(&world, &setup);
	world.dp->streams = (struct streams *)1; // only ever passed to the two functions above
	world_stream_client(&world, c, "203.0.113.5", 40000);
	assert_int_equal(client_allocate(&world, c, 4), 0);
	assert_int_equal(client_bind(&world, c, CHANNEL, &peer), 0);
	for (unsigned int i = 0; i < 3; i++)
		world_send_bytes(&world, &peer, &c->relay, "abc", 3);
	worker_round(world.dp->worker[0], world.dp->tsc_start + world.ms * world.dp->tsc_per_ms);
	return world.dp->stream_rings[0].up;
}

// Asserts that all buffers are back in the pool.
static void close_world(void)
{
	world.dp->streams = NULL;
	world_close(&world);
}

static bool send_one(const struct world_client *c)
{
	return world_stream_send(&world, c, "\x40\x01\x00\x03yes", 7);
}

static void give_back_shared(const struct stream_message *m, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		rte_mbuf_refcnt_update(m[i].buf, 1);
		streams_ops.release(world.dp, 0, 0, m[i].buf);
		rte_pktmbuf_free(m[i].buf);
	}
}

// Buffers that the thread does not own alone (a NIC may have attached a segment of its own) return
// to the worker by the ring: the thread takes no more of them than the ring has room for.
static void test_shared_buffers(void **state)
{
	struct stream_message m[STREAM_BURST];
	struct world_client c;
	unsigned int n = 0;

	open_world(&c);
	while (send_one(&c))
		;
	for (unsigned int i = 0; i < 2; i++) {
		n = streams_ops.receive(world.dp, 0, 0, m, RTE_DIM(m));
		give_back_shared(m, n);
		worker_round(
			world.dp->worker[0], world.dp->tsc_start + world.ms * world.dp->tsc_per_ms);
	}
	assert_int_equal(n, 3);
	close_world();
}

// A thread may send more messages between the two (the end of a handshake is one), as many as leave
// room for the buffers that it returns.
static void test_sends_before_it_gives_back(void **state)
{
	struct stream_message m[STREAM_BURST];
	struct world_client c;
	const struct rte_ring *up = open_world(&c);
	unsigned int n, sent = 0;

	while (rte_ring_free_count(up) > 5)
		assert_true(send_one(&c));
	n = streams_ops.receive(world.dp, 0, 0, m, RTE_DIM(m));
	assert_int_equal(n, 3);
	while (send_one(&c))
		sent++;
	assert_int_equal(sent, 2);
	give_back_shared(m, n);
	assert_int_equal(rte_ring_free_count(up), 0);
	close_world();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shared_buffers),
		cmocka_unit_test(test_sends_before_it_gives_back),
	};

	world_eal();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
