// SPDX-License-Identifier: BSD-3-Clause
// Workers that wait, on their own lcores: frames, hand-overs, questions and the end wake them, and
// the time of the next due work is known. No test relies on how soon a thread gets a CPU: counters
// show what ended each wait.
#include <time.h>
#include <unistd.h>

#include "datapath.h"
#include "dp_world.h"
#include "link/nexthop.h"
#include "turn_event.h"
#include "path/worker.h"
#include "workers/due.h"
#include "workers/waiter.h"

#define TIMES 40

static struct dp_world world;
static struct world_client client;

static const struct world_setup two = {.workers = 2, .rx_queues = 2, .tx_queues = 2};
static const struct world_setup one_queue = {.workers = 2, .rx_queues = 1, .tx_queues = 1};

static void begin(enum softport_wake wake, const struct world_setup *s)
{
	softport_wake = wake;
	world_open(&world, s);
	softport_wake = SOFTPORT_SILENT;
}

static struct worker *worker(unsigned int i)
{
	return world.dp->worker[i];
}

static bool is_armed(unsigned int i)
{
	return __atomic_load_n(&worker(i)->waiter.armed, __ATOMIC_ACQUIRE) != 0;
}

static struct dp_stats stats_of(unsigned int i)
{
	struct dp_stats s;

	assert_true(dp_worker_stats(world.dp, i, &s));
	return s;
}

// Waits for a worker's flag. It need not have blocked yet: it must find everything that comes from
// now on.
static void until_armed(unsigned int i)
{
	const struct timespec pause = {.tv_nsec = 50 * 1000};

	for (unsigned int n = 0; !is_armed(i); n++) {
		assert_true(n < 200000);
		nanosleep(&pause, NULL);
	}
}

static void until_rx(uint64_t rx)
{
	const struct timespec pause = {.tv_nsec = 50 * 1000};

	for (unsigned int n = 0; world_stats(&world).rx < rx; n++) {
		assert_true(n < 200000);
		nanosleep(&pause, NULL);
	}
}

// A frame that is counted and dropped: too short for anything.
static void put(uint16_t queue)
{
	softport_put(world.dp->port[0].port, queue, "\x02\0\0\0\xff\x6e", 6);
}

static void frames_wake(void **state)
{
	const enum softport_wake wake = *(const enum softport_wake *)*state;
	uint64_t woken = 0;

	begin(wake, &two);
	assert_int_equal(world.dp->waiters, 3);
	assert_int_equal(dp_launch(world.dp), 0);
	for (unsigned int i = 0; i < TIMES; i++) {
		until_armed(i % 2);
		put((uint16_t)(i % 2));
		until_rx(i + 1);
	}
	dp_halt(world.dp);
	for (unsigned int i = 0; i < 2; i++) {
		woken += stats_of(i).woken_by_port;
		assert_true(stats_of(i).waits >= stats_of(i).woken_by_port);
		assert_false(is_armed(i));
	}
	// a few may have come just when a wait timed out, or during the last look
	assert_true(woken >= TIMES / 2);
	world_close(&world);
}

// Worker 1 has no queue. Its packets come from worker 0, whose queue wakes it.
static void hand_overs_wake(void **state)
{
	const struct world_setup s = {.workers = 2, .rx_queues = 1, .tx_queues = 1};
	unsigned int sent = 0;

	begin(SOFTPORT_LEVEL, &s);
	assert_int_equal(world.dp->waiters, 3);
	assert_int_equal(worker(1)->nb_rx, 0);
	world_client(&world, &client, "10.99.0.20", 20000);
	assert_int_equal(dp_launch(world.dp), 0);
	for (unsigned int i = 0; i < 4 * TIMES; i++) { // half of the clients belong to worker 1
		client_begin(&world, &client, STUN_BINDING);
		client.endpoint.port = (uint16_t)(20000 + i);
		until_armed(0);
		until_armed(1);
		world_send_bytes(&world, &client.endpoint, &client.server, client.message,
			stun_end(&client.w));
		until_rx(++sent);
	}
	dp_halt(world.dp);
	assert_true(stats_of(1).handed_in <= stats_of(0).handed_out);
	assert_true(stats_of(1).handed_in > TIMES / 2);
	assert_true(stats_of(1).woken_by_kick > TIMES / 4);
	world_close(&world);
}

static void questions_wake(void **state)
{
	static struct turn_info rows[32];

	begin(SOFTPORT_LEVEL, &two);
	assert_int_equal(dp_launch(world.dp), 0);
	for (unsigned int i = 0; i < TIMES; i++) {
		until_armed(1);
		while (dp_list(world.dp, 1, 0, rows) != 0) // it gets no CPU
			;
	}
	dp_halt(world.dp);
	assert_true(stats_of(1).woken_by_kick >= TIMES / 2);
	assert_true(stats_of(0).woken_by_kick <= 1); // the end, unless that comes between two waits
	world_close(&world);
}

static void the_end_wakes(void **state)
{
	uint64_t kicks = 0;

	for (unsigned int i = 0; i < TIMES / 4; i++) {
		begin(SOFTPORT_LEVEL, &two);
		assert_int_equal(dp_launch(world.dp), 0);
		until_armed(0);
		until_armed(1);
		dp_halt(world.dp);
		kicks += stats_of(0).woken_by_kick + stats_of(1).woken_by_kick;
		world_close(&world);
	}
	assert_true(kicks >= TIMES / 4);
}

// If one of its queues cannot wake it, a worker goes on sleeping, and nobody kicks it.
static void silent_ports_do_not_wait(void **state)
{
	begin(SOFTPORT_SILENT, &one_queue);
	assert_int_equal(world.dp->waiters, 0);
	assert_false(worker(0)->waiter.can || worker(1)->waiter.can);
	assert_int_equal(dp_launch(world.dp), 0);
	put(0);
	until_rx(1);
	dp_halt(world.dp);
	assert_int_equal(stats_of(0).waits + stats_of(1).waits, 0);
	assert_int_equal(worker(0)->kicks | worker(1)->kicks, 0);
	world_close(&world);
}

static void busy_workers_do_not_wait(struct dp_world *w)
{
	w->conf.idle = CONF_IDLE_BUSY;
}

static void busy_workers_do_not_sleep(void **state)
{
	struct world_setup s = two;

	s.change = busy_workers_do_not_wait;
	begin(SOFTPORT_LEVEL, &s);
	assert_int_equal(dp_launch(world.dp), 0);
	for (unsigned int i = 0; i < TIMES; i++)
		put((uint16_t)(i % 2));
	until_rx(TIMES);
	dp_halt(world.dp);
	assert_int_equal(stats_of(0).waits + stats_of(1).waits, 0);
	world_close(&world);
}

// A descriptor that is readable without data (an error, no buffers) does not make the worker spin:
// it sleeps once between two such waits.
static void wakes_without_data_do_not_spin(void **state)
{
	const uint64_t one = 1;
	struct worker *w;

	begin(SOFTPORT_INTERRUPT, &two);
	w = worker(0);
	assert_false(waiter_in_vain(w));
	assert_true(waiter_arm(w));
	assert_int_equal(write(w->waiter.fd[1].fd, &one, sizeof(one)), sizeof(one));
	// the next due work is a minute from now, however long this thread gets no CPU
	w->now_ms = (rte_rdtsc() - world.dp->tsc_start) / world.dp->tsc_per_ms + 60000;
	w->ticked_ms = w->now_ms;
	waiter_block(w);
	assert_false(is_armed(0));
	assert_int_equal(w->live.woken_by_port, 1);
	assert_true(waiter_in_vain(w));
	assert_false(waiter_in_vain(w));
	// a kick from earlier is consumed and ignored
	assert_true(waiter_arm(w));
	waiter_kick(&w->waiter);
	assert_false(is_armed(0));
	waiter_kick(&w->waiter); // that wakes nobody twice
	waiter_block(w);
	assert_int_equal(w->live.woken_by_kick, 1);
	assert_false(waiter_in_vain(w));
	assert_int_equal(w->live.waits, 2);
	world_close(&world);
}

static bool port_is_due;

static void port_tick(struct port *p, uint16_t queue)
{
}

static bool port_says(struct port *p, uint16_t queue)
{
	return port_is_due;
}

// A port that knows when its tick is due causes a wake for that tick alone.
static void due_by_a_port(void **state)
{
	struct port_ops ops;
	struct worker *w;

	begin(SOFTPORT_LEVEL, &one_queue);
	w = worker(0);
	world_wait(&world, 4500);
	ops = *world.dp->port[0].port->ops;
	ops.tick = port_tick;
	ops.is_due = port_says;
	world.dp->port[0].port->ops = &ops;
	assert_true(due_next_ms(w) > w->ticked_ms + 1);
	port_is_due = true;
	assert_int_equal(due_next_ms(w), w->ticked_ms + 1);
	world_close(&world);
}

// The time of the next tick that has something to do.
static void due_by_time(void **state)
{
	struct endpoint nobody = world_endpoint("10.99.0.77", 9);
	struct worker *w;

	begin(SOFTPORT_LEVEL, &one_queue);
	w = worker(0);
	world_wait(&world, 4000); // announcements and routers are done
	assert_in_range(due_next_ms(w), w->ticked_ms + 1, w->now_ms + DUE_MS);
	world.deaf = true;
	world_client(&world, &client, "10.99.0.20", 20000);
	neigh_use(w->neigh, &nobody.addr, 0, w->now_ms);
	assert_int_equal(due_next_ms(w), w->ticked_ms + 1); // the address must be resolved
	world_wait(&world, 1);
	assert_true(due_next_ms(w) > w->ticked_ms + 1);
	w->nb_notes = 1;
	assert_int_equal(due_next_ms(w), w->ticked_ms + 1);
	w->nb_notes = 0;
	world.dp->port[0].announce++; // as after a link came up
	assert_int_equal(due_next_ms(w), w->ticked_ms + 1);
	world_wait(&world, 5000);
	softport_use(world.dp->port[0].port, 1); // now the port is a bond
	assert_in_range(due_next_ms(w), w->ticked_ms + 1, w->now_ms + DUE_PORTS_MS);
	world_close(&world);
}

// Where the kernel is the host, the kernel announces, and no such work is due for us.
static void nothing_to_announce(void **state)
{
	struct worker *w;

	begin(SOFTPORT_LEVEL, &one_queue);
	w = worker(0);
	world_wait(&world, 4000);
	world.dp->port[0].port->kernel_is_host = true;
	world.dp->port[0].announce++;
	world_wait(&world, 20);
	assert_true(due_next_ms(w) > w->ticked_ms + 1);
	world_close(&world);
}

static int start(void **state)
{
	world_eal();
	return 0;
}

// A doze is ended by stream threads or by time, and not by other kicks.
static void doze_ends(void **state)
{
	struct worker *w;

	begin(SOFTPORT_LEVEL, &two);
	w = worker(0);
	waiter_kick_stream(&w->waiter); // it is awake: nobody writes to the eventfd
	assert_false(waiter_drowse(w));
	assert_true(waiter_drowse(w));
	waiter_doze(w, 1000);
	assert_int_equal(w->live.woken_by_time, 1);
	assert_false(is_armed(0));
	assert_false(waiter_drowse(w));
	put(0); // no port wakes it either
	waiter_kick(&w->waiter);
	assert_true(is_armed(0));
	waiter_doze(w, 1000);
	assert_int_equal(w->live.woken_by_time, 2);
	assert_false(waiter_drowse(w));
	waiter_kick_stream(&w->waiter);
	assert_false(is_armed(0));
	assert_true(waiter_drowse(w)); // it has not lowered its flag yet
	waiter_doze(w, UINT64_C(3600) * 1000000000);
	assert_int_equal(w->live.woken_by_kick, 1);
	assert_int_equal(w->live.woken_by_port, 0);
	assert_int_equal(w->live.waits, 3);
	waiter_rouse(&w->waiter); // it is awake
	assert_false(waiter_drowse(w));
	waiter_rouse(&w->waiter);
	assert_false(is_armed(0));
	waiter_doze(w, UINT64_C(3600) * 1000000000);
	assert_int_equal(w->live.woken_by_kick, 2);
	assert_true(waiter_arm(w));
	waiter_rouse(&w->waiter); // it waits, and does not doze
	assert_true(is_armed(0));
	waiter_disarm(w);
	world_close(&world);
}

// A worker that has begun to doze waits instead once that is better, and vice versa.
static void doze_and_wait(void **state)
{
	struct worker *w;

	begin(SOFTPORT_INTERRUPT, &two);
	w = worker(0);
	assert_false(waiter_drowse(w));
	assert_true(waiter_arm(w));
	waiter_kick(&w->waiter);
	assert_false(is_armed(0));
	waiter_disarm(w);
	assert_true(waiter_arm(w));
	assert_true(waiter_drowse(w));
	waiter_doze(w, 1000); // from the kick before
	assert_int_equal(w->live.woken_by_kick, 1);
	assert_false(is_armed(0));
	world_close(&world);
}

int main(void)
{
	static const enum softport_wake level = SOFTPORT_LEVEL, interrupt = SOFTPORT_INTERRUPT;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_prestate(frames_wake, (void *)&level),
		cmocka_unit_test_prestate(frames_wake, (void *)&interrupt),
		cmocka_unit_test(hand_overs_wake),
		cmocka_unit_test(questions_wake),
		cmocka_unit_test(the_end_wakes),
		cmocka_unit_test(silent_ports_do_not_wait),
		cmocka_unit_test(busy_workers_do_not_sleep),
		cmocka_unit_test(wakes_without_data_do_not_spin),
		cmocka_unit_test(due_by_time),
		cmocka_unit_test(due_by_a_port),
		cmocka_unit_test(nothing_to_announce),
		cmocka_unit_test(doze_ends),
		cmocka_unit_test(doze_and_wait),
	};

	return cmocka_run_group_tests_name("waiter", tests, start, NULL);
}
