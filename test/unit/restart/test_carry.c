// SPDX-License-Identifier: BSD-3-Clause
// A data path that ends and a new one that adopts its area: clients continue, on ports of all kinds
// and with another number of workers.
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bytes.h"
#include "datapath.h"
#include "dp_state.h"
#include "dp_world.h"
#include "net.h"
#include "state/carry.h"
#include "steering/steer.h"
#include "path/worker.h"

#define CLIENTS 60

static struct dp_world world;
static char dir[64], file[96];

struct change {
	struct world_setup before, after;
};

static void name_file(struct dp_world *w)
{
	w->conf.state.file = file;
	w->conf.state.crashes = 3;
}

static void open_world(const struct world_setup *s)
{
	struct world_setup named = *s;

	named.change = name_file;
	world_open(&world, &named);
	// the world's own time would be far ahead of the time of adoption
	world.ms = dp_clock_ms(world.dp) + 1;
}

static int begin(void **state)
{
	snprintf(dir, sizeof(dir), "/dev/shm/carry.XXXXXX");
	if (mkdtemp(dir) == NULL)
		return -1;
	snprintf(file, sizeof(file), "%s/state", dir);
	return 0;
}

static int end(void **state)
{
	char command[96];

	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

static void make_client(struct world_client *c, unsigned int i, const struct endpoint *peer)
{
	static const char *const hosts[] = {"10.99.0.20", "fd99::20", "198.51.100.5"};

	world_client(&world, c, hosts[i % 3], (uint16_t)(20000 + i));
	assert_int_equal(client_allocate(&world, c, 4), 0);
	assert_int_equal(client_bind(&world, c, 0x4000, peer), 0);
}

static void assert_relays(struct world_client *c, const struct endpoint *peer)
{
	struct world_datagram got;

	client_channel_data(&world, c, 0x4000, "to the peer", 11);
	world_run(&world);
	assert_true(world_take(&world, peer, &got));
	assert_true(endpoint_eq(&got.src, &c->relay));
	assert_int_equal(got.len, 11);
	world_send_bytes(&world, peer, &c->relay, "to the client", 13);
	world_run(&world);
	assert_true(world_take(&world, &c->endpoint, &got));
	assert_int_equal(got.len, 4 + 13);
}

static void calls_go_on(void **state)
{
	static struct world_client c[CLIENTS];
	const struct endpoint peer = world_endpoint("10.99.0.30", 7000);
	const struct change *s = *state;
	struct dp_state told;

	open_world(&s->before);
	assert_true(dp_state(world.dp, &told));
	assert_int_equal(told.start, DP_STATE_EMPTY);
	for (unsigned int i = 0; i < CLIENTS; i++)
		make_client(&c[i], i, &peer);
	world_close(&world);
	open_world(&s->after);
	assert_true(dp_state(world.dp, &told));
	assert_int_equal(told.start, DP_STATE_TAKEN);
	for (unsigned int i = 0; i < TURN_STATE_LOST_END; i++)
		if (told.adopted.lost[i] != 0)
			fail_msg("%lu lost: %s", told.adopted.lost[i], turn_state_loss_name(i));
	assert_int_equal(told.adopted.allocations, CLIENTS);
	if (s->before.rss && s->after.rss && s->before.workers == s->after.workers)
		assert_int_equal(told.adopted.redirects, 0);
	assert_int_equal(world_stats(&world).turn.allocations, CLIENTS);
	for (unsigned int i = 0; i < CLIENTS; i++)
		assert_relays(&c[i], &peer);
	for (unsigned int i = 0; i < CLIENTS; i++) {
		client_begin(&world, &c[i], STUN_REFRESH);
		assert_int_equal(client_ask(&world, &c[i]), 0); // with its current nonce
		assert_relays(&c[i], &peer);
	}
	assert_int_equal(world_drops(&world), 0);
	world_close(&world);
}

static void rss_key_of(unsigned int i, uint8_t key[40])
{
	assert_true(world.dp->port[i].rss_home);
	memcpy(key, world.dp->port[i].port->rss_key, 40);
}

// After a restart a NIC spreads as before, or every client would get another home. Another server
// spreads differently, and so does another port, or a server that keeps no state.
static void the_nic_spreads_as_before(void **state)
{
	const struct world_setup s = {
		.workers = 3, .rx_queues = 3, .tx_queues = 3, .rss = true, .two_ports = true};
	uint8_t first[40], again[40], second_key[40];

	open_world(&s);
	rss_key_of(0, first);
	rss_key_of(1, second_key);
	assert_memory_not_equal(first, second_key, sizeof(first));
	world_close(&world);
	open_world(&s);
	rss_key_of(0, again);
	assert_memory_equal(first, again, sizeof(first));
	dp_state_forget(world.dp, true);
	world_close(&world);
	open_world(&s);
	rss_key_of(0, again);
	assert_memory_not_equal(first, again, sizeof(first));
	world_close(&world);
}

// The computed home of a client is the worker that gets its packets.
static void the_home_is_the_worker_that_gets_the_packets(void **state)
{
	const struct change *s = *state;
	const char *const hosts[] = {"10.99.0.20", "fd99::20", "198.51.100.5", "2a00:db9::5"};
	static struct rte_mbuf none; // no hash from the NIC

	open_world(&s->after);
	for (unsigned int n = 0; n < 1000; n++) {
		const struct dp_port *wan = &world.dp->port[0];
		struct world_datagram d = {.len = 20, .data = {0xff}};
		struct net_frame f;
		uint8_t frame[2048];
		size_t len;

		d.src = world_endpoint(hosts[n % 4], (uint16_t)(1024 + n * 7));
		d.dst = world.listeners[n % 2].endpoint;
		len = world_frame(&world, &d, frame);
		assert_int_equal(net_frame_parse(frame, len, &wan->rx[0], &f), NET_OK);
		if (wan->rss_home)
			assert_int_equal(steer_tuple_home(wan, &d.src, &d.dst),
				steer_client_home(world.dp, wan, &none, &f, n % 2));
	}
	world_close(&world);
}

static void an_end_may_discard_the_state(void **state)
{
	const struct endpoint peer = world_endpoint("10.99.0.30", 7000);
	const struct change *s = *state;
	struct world_client c;
	struct dp_state told;
	struct stat st;

	open_world(&s->before);
	make_client(&c, 0, &peer);
	dp_state_forget(world.dp, true);
	world_close(&world);
	assert_int_equal(stat(file, &st), -1);
	open_world(&s->after);
	assert_true(dp_state(world.dp, &told));
	assert_int_equal(told.start, DP_STATE_EMPTY);
	assert_int_equal(world_stats(&world).turn.allocations, 0);
	world_close(&world);
}

// --- deaths --------------------------------------------------------------------------------------

static off_t lock_size(void)
{
	char path[112];
	struct stat st;

	snprintf(path, sizeof(path), "%s.lock", file);
	assert_int_equal(stat(path, &st), 0);
	return st.st_size;
}

// As many processes have died soon after their start.
static void die(unsigned int times)
{
	char path[112];

	snprintf(path, sizeof(path), "%s.lock", file);
	assert_int_equal(truncate(path, (off_t)times * 4096), 0);
}

// A process counts as a crash until it has run for a minute, or has ended in order.
static void a_minute_is_a_life(void **state)
{
	const struct change *s = *state;

	open_world(&s->before);
	assert_int_equal(lock_size(), 4096);
	world.dp->tsc_start -= 58000 * world.dp->tsc_per_ms;
	carry_tick(world.dp);
	assert_int_equal(lock_size(), 4096);
	world.dp->tsc_start -= 2000 * world.dp->tsc_per_ms;
	carry_tick(world.dp);
	assert_int_equal(lock_size(), 0);
	world_close(&world);
	open_world(&s->before);
	assert_int_equal(lock_size(), 4096);
	world_close(&world);
	assert_int_equal(lock_size(), 0);
}

// State that three processes died with is not adopted by a fourth.
static void three_deaths_are_enough(void **state)
{
	const struct endpoint peer = world_endpoint("10.99.0.30", 7000);
	const struct change *s = *state;
	struct world_client c;
	struct dp_state told;
	char path[112];
	struct stat st;

	open_world(&s->before);
	make_client(&c, 0, &peer);
	world_close(&world);
	die(2);
	open_world(&s->before);
	assert_true(dp_state(world.dp, &told));
	assert_int_equal(told.start, DP_STATE_TAKEN);
	assert_int_equal(told.deaths, 2);
	assert_int_equal(lock_size(), 3 * 4096);
	world_close(&world);
	die(3);
	open_world(&s->before);
	assert_true(dp_state(world.dp, &told));
	assert_int_equal(told.start, DP_STATE_CRASHED);
	assert_non_null(strstr(told.reason, "3 processes in a row have died"));
	assert_true(told.aside);
	assert_int_equal(world_stats(&world).turn.allocations, 0);
	assert_int_equal(lock_size(), 4096); // and this process is the first of a new row
	snprintf(path, sizeof(path), "%s.crashed", file);
	assert_int_equal(stat(path, &st), 0);
	world_close(&world);
	die(3);
	assert_int_equal(unlink(file), 0); // there is no state to adopt
	open_world(&s->before);
	assert_true(dp_state(world.dp, &told));
	assert_int_equal(told.start, DP_STATE_EMPTY);
	assert_int_equal(lock_size(), 4096);
	world_close(&world);
}

static struct change changes[] = {
	{{.workers = 1, .rx_queues = 1, .tx_queues = 1},
		{.workers = 1, .rx_queues = 1, .tx_queues = 1}},
	{{.workers = 2, .rx_queues = 2, .tx_queues = 2},
		{.workers = 3, .rx_queues = 3, .tx_queues = 3, .rss = true}},
	{{.workers = 3, .rx_queues = 3, .tx_queues = 3, .rss = true},
		{.workers = 3, .rx_queues = 3, .tx_queues = 3, .rss = true}},
	{{.workers = 3, .rx_queues = 3, .tx_queues = 3, .rss = true},
		{.workers = 2, .rx_queues = 1, .tx_queues = 2}},
};

#define CASE(test, i)                                                         \
	{                                                                     \
		.name = #test " " #i, .test_func = test, .setup_func = begin, \
		.teardown_func = end, .initial_state = &changes[i]            \
	}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(calls_go_on, 0),
		CASE(calls_go_on, 1),
		CASE(calls_go_on, 2),
		CASE(calls_go_on, 3),
		CASE(the_home_is_the_worker_that_gets_the_packets, 1),
		CASE(the_nic_spreads_as_before, 2),
		CASE(an_end_may_discard_the_state, 0),
		CASE(a_minute_is_a_life, 0),
		CASE(three_deaths_are_enough, 0),
	};

	world_eal();
	return cmocka_run_group_tests_name("carry", tests, NULL, NULL);
}
