// SPDX-License-Identifier: BSD-3-Clause
// The generator's TURN clients with lib/turn as their server: their allocations relay media, for
// hours, over a network that loses a large part of all datagrams.
#include "support/loadgen_world.h"
#include "turn_fixture.h"

static struct loadgen_world w;
static struct fixture f;
static struct turn_config server;

_Static_assert(WORLD_NOW_MS == FIXTURE_NOW_MS && WORLD_WALL_S == FIXTURE_WALL_S, "one clock");

static void open_both(const struct config *c, uint32_t count)
{
	fixture_open(&f, &server, 1);
	world_open(&w, c, count, 2);
}

static void close_both(void)
{
	world_close(&w);
	fixture_close(&f);
}

static int setup(void **state)
{
	server = fixture_config();
	return 0;
}

static uint64_t live(void)
{
	struct turn_stats s;

	turn_shard_stats(f.shard, &s);
	return s.allocations;
}

static struct fixture_client as_fixture(uint32_t i)
{
	const struct endpoint client_addr = clients_at(w.clients, i)->local;

	return (struct fixture_client){.endpoint = client_addr,
		.listener = addr_is_v4(&client_addr.addr) ? 0 : 1,
		.user = "ivan",
		.password = "pw",
		.alg = STUN_ALG_MD5};
}

// Sets the server's clock to the clients' time.
static void catch_up(void)
{
	if (w.now_ms > f.now_ms)
		fixture_advance(&f, w.now_ms - f.now_ms);
	fixture_expire(&f);
}

// Carries the last datagram to the server and the answer back; false if there was no answer.
static bool exchange(void)
{
	const struct fixture_client c = as_fixture(w.i);
	const struct turn_plan *plan;

	catch_up();
	plan = fixture_from_client(&f, &c, w.out, w.len);
	w.len = 0;
	if (plan->verdict != TURN_REPLY)
		return false;
	world_feed(&w, w.i, f.burst.side.front, plan->front_len);
	return true;
}

static void serve(void)
{
	while (w.len > 0)
		assert_true(exchange());
}

static void start(uint32_t first, uint32_t end)
{
	for (uint32_t i = first; i < end; i++) {
		world_start(&w, i);
		serve();
	}
}

static void assert_state(uint32_t first, uint32_t end, enum client_state state)
{
	for (uint32_t i = first; i < end; i++)
		assert_int_equal(world_state(&w, i), state);
}

// --- media ---------------------------------------------------------------------------------------

static void assert_channel(uint32_t i)
{
	const struct client *cl = clients_at(w.clients, i);
	const struct fixture_client c = as_fixture(i);
	const struct turn_plan *plan;
	struct turn_path path;

	plan = fixture_channel_data(&f, &c, cl->channel, "up", 2);
	assert_int_equal(plan->verdict, TURN_RELAY);
	turn_route_path(f.shard, plan->flow, &path);
	assert_true(endpoint_eq(&path.src, &cl->relay));
	assert_true(endpoint_eq(&path.dst, &cl->peer));
	plan = fixture_from_peer(&f, &cl->relay, &cl->peer, "down", 4);
	assert_int_equal(plan->verdict, TURN_RELAY);
	assert_int_equal(plan->front_len, CHANNEL_HEADER_LEN);
	assert_int_equal(plan->channel, cl->channel);
	turn_route_path(f.shard, plan->flow, &path);
	assert_true(endpoint_eq(&path.dst, &cl->local));
}

static void assert_indications(uint32_t i)
{
	const struct client *cl = clients_at(w.clients, i);
	const struct fixture_client c = as_fixture(i);
	const struct turn_plan *plan;

	fixture_begin(&f, STUN_INDICATION, STUN_SEND);
	stun_put_xor_addr(&f.w, STUN_XOR_PEER_ADDRESS, &cl->peer);
	stun_put(&f.w, STUN_DATA_ATTR, "up", 2);
	plan = fixture_send(&f, &c);
	assert_true(plan->verdict == TURN_SEND || plan->verdict == TURN_RELAY);
	plan = fixture_from_peer(&f, &cl->relay, &cl->peer, "down", 4);
	assert_int_equal(plan->verdict, TURN_RELAY);
	assert_int_not_equal(plan->front_len, CHANNEL_HEADER_LEN);
}

static void assert_media(uint32_t i)
{
	catch_up();
	if (w.config.mode == MODE_CHANNEL)
		assert_channel(i);
	else
		assert_indications(i);
}

static void media_flows_in_every_family_and_mode(void **state)
{
	static const char *const addr[2][3] = {{"10.99.0.1", "198.51.100.2", "10.99.0.50"},
		{"fd99::1", "2001:db8::2", "fd99::50"}};

	for (unsigned int kind = 0; kind < 16; kind++) {
		struct config c = world_config(kind & 1 ? MODE_CHANNEL : MODE_SEND);

		world_addrs(
			&c, addr[kind >> 1 & 1][0], addr[kind >> 1 & 1][1], addr[kind >> 2 & 1][2]);
		c.integrity = kind & 8 ? INTEGRITY_SHA256 : INTEGRITY_SHA1;
		c.dont_fragment = kind & 1;
		open_both(&c, 20);
		start(0, 20);
		assert_state(0, 20, CLIENT_READY);
		for (uint32_t i = 0; i < 20; i++)
			assert_media(i);
		assert_int_equal(world_stats(&w)->challenges, 20);
		assert_int_equal(live(), 20);
		for (uint32_t i = 0; i < 20; i++) {
			world_release(&w, i);
			serve();
		}
		assert_state(0, 20, CLIENT_IDLE);
		assert_int_equal(live(), 0);
		close_both();
	}
}

static void rest_credentials(void **state)
{
	for (int kind = 0; kind < 8; kind++) {
		struct config c = world_config(MODE_CHANNEL);

		strcpy(c.secret, "s3cret");
		c.user_per_client = kind & 1;
		if (kind & 2)
			c.user[0] = '\0';
		c.integrity = kind & 4 ? INTEGRITY_SHA256 : INTEGRITY_SHA1;
		server.limits.per_user = c.user_per_client ? 1 : 0;
		open_both(&c, 10);
		start(0, 10);
		assert_state(0, 10, CLIENT_READY);
		close_both();
	}
}

// --- time ----------------------------------------------------------------------------------------

static void hold(enum mode mode, enum integrity integrity)
{
	struct config c = world_config(mode);
	uint64_t end;

	c.integrity = integrity;
	open_both(&c, 5);
	for (uint32_t i = 0; i < 5; i++) {
		start(i, i + 1);
		w.now_ms += 7777;
	}
	end = w.now_ms + 3 * 3600 * 1000;
	for (uint64_t check = w.now_ms; w.now_ms < end; check += 29000) {
		while (w.now_ms < check && world_wait(&w, check - w.now_ms, 10))
			serve();
		for (uint32_t i = 0; i < 5; i++)
			assert_media(i);
	}
	assert_state(0, 5, CLIENT_READY);
	assert_int_equal(live(), 5);
	assert_int_equal(world_stats(&w)->allocations, 5);
	assert_true(world_stats(&w)->challenges >= 5 * 15); // the server's nonces last 600 s
	assert_true(world_stats(&w)->refreshes >= 5 * 3 * (7 + 15));
	close_both();
}

static void media_flows_for_hours(void **state)
{
	hold(MODE_CHANNEL, INTEGRITY_SHA1);
	hold(MODE_SEND, INTEGRITY_SHA256);
}

static void cycles_over_the_life_of_a_nonce(void **state)
{
	const struct config c = world_config(MODE_ALLOC);

	open_both(&c, 1);
	for (uint64_t n = 1; n <= 120; n++) {
		start(0, 1);
		assert_int_equal(live(), 1);
		w.now_ms += 61000;
		world_release(&w, 0);
		serve();
		assert_int_equal(live(), 0);
		assert_int_equal(world_state(&w, 0), CLIENT_IDLE);
		assert_int_equal(world_stats(&w)->releases, n);
		assert_int_equal(world_stats(&w)->requests, 2 * n + world_stats(&w)->challenges);
	}
	assert_in_range(world_stats(&w)->challenges, 10, 14);
	close_both();
}

// --- a lossy network -----------------------------------------------------------------------------

#define LOSSY_CLIENTS 100
#define LOSSES_MAX 5 // in a row, so that no request fails

static uint8_t losses[LOSSY_CLIENTS];

// Two in five requests are lost, and so are two in five answers.
static void lossy_exchange(struct test_rand *r)
{
	while (w.len > 0) {
		const uint32_t i = w.i;
		const uint32_t luck = losses[i] < LOSSES_MAX ? test_rand_below(r, 25) : 24;
		const struct fixture_client c = as_fixture(i);

		losses[i] = luck < 16 ? losses[i] + 1 : 0;
		if (luck < 10) // on the way to the server
			return;
		if (luck >= 16) {
			assert_true(exchange());
			continue;
		}
		catch_up();
		fixture_from_client(&f, &c, w.out, w.len);
		return;
	}
}

static void wait_for(struct test_rand *r, enum client_state state)
{
	for (uint32_t n = 0; world_stats(&w)->state[state] < LOSSY_CLIENTS; n++) {
		assert_true(n < 10000);
		if (world_wait(&w, 60000, 1))
			lossy_exchange(r);
	}
}

static void all_get_through_a_lossy_network(void **state)
{
	const struct config c = world_config(MODE_CHANNEL);
	struct test_rand r = test_rand_start("client losses");

	open_both(&c, LOSSY_CLIENTS);
	memset(losses, 0, sizeof(losses));
	for (uint32_t i = 0; i < LOSSY_CLIENTS; i++) {
		world_start(&w, i);
		lossy_exchange(&r);
	}
	wait_for(&r, CLIENT_READY);
	assert_int_equal(live(), LOSSY_CLIENTS);
	for (uint32_t i = 0; i < LOSSY_CLIENTS; i++) {
		world_release(&w, i);
		lossy_exchange(&r);
	}
	wait_for(&r, CLIENT_IDLE);
	assert_int_equal(live(), 0);
	assert_int_equal(world_stats(&w)->allocations, LOSSY_CLIENTS);
	assert_int_equal(world_stats(&w)->releases, LOSSY_CLIENTS);
	assert_true(world_stats(&w)->retransmissions > LOSSY_CLIENTS);
	close_both();
}

// --- refusals ------------------------------------------------------------------------------------

static void assert_refused(uint32_t count, uint32_t good, unsigned int code)
{
	start(0, count);
	assert_int_equal(world_stats(&w)->state[CLIENT_READY], good);
	assert_int_equal(world_stats(&w)->state[CLIENT_FAILED], count - good);
	assert_int_equal(world_stats(&w)->fault[CLIENT_FAULT_REFUSED], count - good);
	assert_int_equal(world_stats(&w)->error[code - 300], count - good);
	assert_int_equal(live(), good);
	close_both();
}

static void refusals_of_the_server(void **state)
{
	struct config c = world_config(MODE_CHANNEL);

	server.limits.per_user = 3;
	open_both(&c, 5);
	assert_refused(5, 3, 486);
	server.limits.per_user = 0;
	open_both(&c, 300);
	assert_refused(300, 256, 508); // the address has 256 ports
	strcpy(c.password, "wrong");
	open_both(&c, 3);
	assert_refused(3, 0, 401);
	strcpy(c.password, "pw");
	world_addrs(&c, "10.99.0.1", "198.51.100.2", "192.168.0.1"); // denied
	open_both(&c, 3);
	assert_refused(3, 0, 403);
}

static void allocations_of_an_aborted_run(void **state)
{
	const struct config c = world_config(MODE_CHANNEL);

	open_both(&c, 10);
	start(0, 10);
	world_close(&w);
	world_open(&w, &c, 10, 3);
	start(0, 10);
	assert_state(0, 10, CLIENT_READY);
	assert_int_equal(live(), 10);
	assert_int_equal(world_stats(&w)->error[437 - 300], 10);
	assert_int_equal(world_stats(&w)->fault[CLIENT_FAULT_REFUSED], 0);
	assert_media(7);
	close_both();
}

static void an_allocation_that_the_server_ends(void **state)
{
	const struct config c = world_config(MODE_CHANNEL);
	struct fixture_client twin;

	open_both(&c, 2);
	start(0, 2);
	twin = as_fixture(1);
	assert_int_equal(fixture_refresh(&f, &twin, 0), 0);
	while (world_stats(&w)->state[CLIENT_FAILED] == 0) {
		assert_true(world_wait(&w, 600000, 10));
		serve();
	}
	assert_failed(&w, 1, CLIENT_FAULT_LOST);
	assert_int_equal(world_state(&w, 0), CLIENT_READY);
	start(1, 2);
	assert_media(1);
	close_both();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(media_flows_in_every_family_and_mode, setup),
		cmocka_unit_test_setup(rest_credentials, setup),
		cmocka_unit_test_setup(media_flows_for_hours, setup),
		cmocka_unit_test_setup(cycles_over_the_life_of_a_nonce, setup),
		cmocka_unit_test_setup(all_get_through_a_lossy_network, setup),
		cmocka_unit_test_setup(refusals_of_the_server, setup),
		cmocka_unit_test_setup(allocations_of_an_aborted_run, setup),
		cmocka_unit_test_setup(an_allocation_that_the_server_ends, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
