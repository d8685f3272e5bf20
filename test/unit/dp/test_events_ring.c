// SPDX-License-Identifier: BSD-3-Clause
// Events on their way to management: order, fairness, which events get the last room in a ring, and
// that none is lost at the end.
#include "see/event_rings.h"
#include "see/stats.h"
#include "datapath.h"
#include "dp_world.h"
#include "stream.h"
#include "turn_event.h"
#include "path/worker.h"

#define RING 64 // entries, of which one stays free
#define MAX 4096

static struct dp_world world;
static struct turn_event out[MAX];

static void small_ring(struct dp_world *w)
{
	w->conf.events = RING;
}

static void open_world(unsigned int workers)
{
	const struct world_setup s = {.workers = workers,
		.rx_queues = workers,
		.tx_queues = workers,
		.stream_ring = 64,
		.change = small_ring};

	world_open(&world, &s);
}

static void put(unsigned int worker, enum turn_event_kind kind, bool proved, uint64_t id)
{
	const struct turn_event e = {.kind = (uint8_t)kind,
		.proved = proved,
		.id = id,
		.worker = (uint8_t)worker,
		.name_len = TURN_EVENT_NAME_LEN,
		.name = "all of it arrives",
		.usage = {.lost = {[TURN_LOSS_END - 1] = (uint32_t)id}}};

	events_put(world.dp->worker[worker], &e);
}

static struct dp_stats stats(unsigned int worker)
{
	struct dp_stats s;

	stats_publish(world.dp->worker[worker]);
	assert_true(dp_worker_stats(world.dp, worker, &s));
	return s;
}

// Each worker's events come in order, in whatever portions they are taken.
static void test_order(void **state)
{
	uint64_t next[3] = {1, 1, 1};
	unsigned int n, taken = 0;

	open_world(3);
	assert_int_equal(dp_events(world.dp, out, MAX), 0);
	for (unsigned int i = 1; i <= 60; i++)
		for (unsigned int w = 0; w < 3; w++)
			put(w, TURN_EVENT_MADE, true, i);
	for (unsigned int size = 1; (n = dp_events(world.dp, out, size)) > 0; size += 3) {
		assert_in_range(n, 1, size);
		for (unsigned int i = 0; i < n; i++) {
			assert_int_equal(out[i].id, next[out[i].worker]++);
			assert_string_equal(out[i].name, "all of it arrives");
			assert_int_equal(out[i].usage.lost[TURN_LOSS_END - 1], out[i].id);
		}
		taken += n;
	}
	assert_int_equal(taken, 180);
	assert_int_equal(dp_events(world.dp, out, 0), 0);
	world_close(&world);
}

// A worker that always has events does not delay those of other workers.
static void test_fair(void **state)
{
	unsigned int seen = 0;

	open_world(2);
	put(1, TURN_EVENT_MADE, true, 1);
	for (unsigned int calls = 0; seen == 0; calls++) {
		unsigned int n;

		assert_true(calls < 4);
		for (unsigned int i = 0; i < RING; i++)
			put(0, TURN_EVENT_MADE, true, 2);
		n = dp_events(world.dp, out, 40);
		for (unsigned int i = 0; i < n; i++)
			seen += out[i].worker == 1;
	}
	world_close(&world);
}

// A storm of refusals leaves half of the ring to allocation events; refusals of spoofed addresses
// leave half of the other half to other refusals. Lost events are counted.
static void test_storm(void **state)
{
	unsigned int n, counts[3] = {0};

	open_world(1);
	for (unsigned int i = 0; i < 1000; i++)
		put(0, TURN_EVENT_REFUSED, false, 1);
	assert_int_equal(stats(0).events_lost, 1000 - RING / 4);
	for (unsigned int i = 0; i < 1000; i++)
		put(0, TURN_EVENT_REFUSED, true, 2);
	assert_int_equal(stats(0).events_lost, 2000 - RING / 2);
	assert_int_equal(stats(0).session_events_lost, 0);
	for (unsigned int i = 0; i < RING / 2 - 1; i++)
		put(0, i & 1 ? TURN_EVENT_MADE : TURN_EVENT_ENDED, true, 3);
	assert_int_equal(stats(0).session_events_lost, 0);
	put(0, TURN_EVENT_INTERIM, true, 3); // full
	assert_int_equal(stats(0).session_events_lost, 1);
	assert_int_equal(stats(0).events_lost, 2001 - RING / 2);
	n = dp_events(world.dp, out, MAX);
	for (unsigned int i = 0; i < n; i++)
		counts[out[i].id - 1]++;
	assert_int_equal(counts[0], RING / 4);
	assert_int_equal(counts[1], RING / 4);
	assert_int_equal(counts[2], RING / 2 - 1);
	// there is room again
	put(0, TURN_EVENT_REFUSED, false, 1);
	assert_int_equal(dp_events(world.dp, out, MAX), 1);
	world_close(&world);
}

// A flood of peers leaves a quarter of the ring to allocation events, and has a counter of its own.
static void test_peers(void **state)
{
	open_world(1);
	for (unsigned int i = 0; i < 1000; i++)
		put(0, TURN_EVENT_PEER, true, 1);
	assert_int_equal(stats(0).peer_events_lost, 1000 - RING / 4 * 3);
	assert_int_equal(stats(0).events_lost, 1000 - RING / 4 * 3);
	for (unsigned int i = 0; i < RING / 4 - 1; i++)
		put(0, i & 1 ? TURN_EVENT_MADE : TURN_EVENT_ENDED, true, 2);
	assert_int_equal(stats(0).session_events_lost, 0);
	assert_int_equal(dp_events(world.dp, out, MAX), RING - 1);
	world_close(&world);
}

// Refusals of stream threads take this path, too.
static void test_streams(void **state)
{
	const struct stream_refused r = {.client = world_endpoint("10.99.0.20", 4000),
		.listener = 2,
		.reason = STREAM_REFUSED_GARBAGE,
		.offered = "",
		.more = 7};
	unsigned int n = 0;

	open_world(1);
	world_wait(&world, 5);
	while (events_put_refused(world.dp, 0, &r))
		n++;
	assert_in_range(n, 100, 1000);
	assert_int_equal(stats(0).events_lost, 0); // the thread counts them
	assert_int_equal(dp_events(world.dp, out, MAX), n);
	assert_int_equal(out[0].kind, TURN_EVENT_CONNECTION);
	assert_true(endpoint_eq(&out[0].client, &r.client));
	assert_int_equal(out[0].listener, 2);
	assert_int_equal(out[0].reason, STREAM_REFUSED_GARBAGE);
	assert_int_equal(out[0].more, 7);
	assert_true(out[0].proved);
	assert_in_range(dp_clock_ms(world.dp) - out[0].at_ms, 0, 60000);
	world_close(&world);
}

static unsigned int told;

static void take(void *ctx, const struct turn_event *e)
{
	assert_ptr_equal(ctx, &world);
	told++;
	assert_int_equal(e->id, told);
}

// Once workers have stopped, nothing waits and nothing is lost: neither the events on the rings nor
// those that closing the shards adds, however many there are.
static void test_end(void **state)
{
	told = 0;
	open_world(1);
	dp_events_to(world.dp, take, &world);
	for (unsigned int i = 1; i <= 50; i++)
		put(0, TURN_EVENT_MADE, true, i);
	assert_int_equal(told, 0);
	events_drain(world.dp);
	assert_int_equal(told, 50);
	for (unsigned int i = 51; i <= 1000; i++)
		put(0, TURN_EVENT_ENDED, true, i);
	assert_int_equal(told, 1000);
	world_close(&world);
	assert_int_equal(told, 1000);
	// nobody has asked for the events: that does no harm
	open_world(1);
	for (unsigned int i = 1; i <= 100; i++)
		put(0, TURN_EVENT_MADE, true, i);
	world_close(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_fair),
		cmocka_unit_test(test_storm),
		cmocka_unit_test(test_peers),
		cmocka_unit_test(test_streams),
		cmocka_unit_test(test_end),
	};

	world_eal();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
