// SPDX-License-Identifier: BSD-3-Clause
// Orders of RFC 6062 carried out by stream threads, over the loopback interface: ports, peers that
// connect, and connections that are bound, spliced, refused and released. This test acts as the
// worker.
#include "relay_world.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "addr_text.h"

#define BULK (4u << 20)

// --- tests ---------------------------------------------------------------------------------------

// Bytes that arrived before the binding come first, on both sides, and an end is passed on after
// the last byte, in each direction separately.
static void test_bind(void **state)
{
	uint64_t conn, data_conn;
	const int c = control(&conn), peer = admitted(conn, 5);
	int data;

	assert_reads(c, "done"); // the ConnectionAttempt
	assert_true(send(peer, "early", 5, 0) == 5);
	data = client(11, "bird", &data_conn);
	order(data_conn, binding(5, "ivan"));
	assert_reads(data, "doneearly");
	assert_reads(peer, "bird");
	assert_int_equal(shutdown(data, SHUT_WR), 0);
	assert_true(send(peer, "still", 5, 0) == 5);
	assert_reads(data, "still");
	assert_ends(peer);
	assert_ends(data);
	UNTIL(stats().relay_connections == 0 &&
		__atomic_load_n(&world.connections, __ATOMIC_RELAXED) == 0);
	assert_int_equal(stats().relay_bound, 1);
	assert_int_equal(stats().relay_to_peers, 4);
	assert_int_equal(stats().relay_to_clients, 10);
	close(c);
}

static void *send_bulk(void *arg)
{
	uint8_t *bulk = malloc(BULK);

	for (uint32_t i = 0; i < BULK; i++)
		bulk[i] = (uint8_t)(i * 7 + (i >> 11));
	for (size_t n = 0; n < BULK;) {
		const ssize_t k = send(*(int *)arg, bulk + n, BULK - n, MSG_NOSIGNAL);

		if (k <= 0)
			break;
		n += (size_t)k;
	}
	free(bulk);
	shutdown(*(int *)arg, SHUT_WR);
	return NULL;
}

static void assert_bulk(int fd)
{
	static uint8_t got[65536];
	uint32_t n = 0;
	ssize_t k;

	while ((k = recv(fd, got, sizeof(got), 0)) > 0)
		for (ssize_t i = 0; i < k; i++, n++)
			if (got[i] != (uint8_t)(n * 7 + (n >> 11)))
				fail_msg("byte %u is another", n);
	assert_int_equal(n, BULK);
}

// Much data, in both directions at once, to readers that are slow at first.
static void test_bulk(void **state)
{
	uint64_t conn;
	const int c = control(&conn), peer = admitted(conn, 5), data = bound(5, "");
	int both[2] = {peer, data};
	pthread_t sender[2];

	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&sender[i], NULL, send_bulk, &both[i]), 0);
	assert_bulk(data);
	assert_bulk(peer);
	for (int i = 0; i < 2; i++) {
		pthread_join(sender[i], NULL);
		close(both[i]);
	}
	UNTIL(stats().relay_connections == 0);
	close(c);
}

// Another user, another number, twice: each gets an error, and may continue with messages.
static void test_unknown(void **state)
{
	uint64_t conn, data_conn;
	const int c = control(&conn), peer = admitted(conn, 5);
	const int data = client(11, "", &data_conn);
	struct stream_order elsewhere = binding(5, "ivan");
	struct item *i;
	uint8_t request[20] = {0, 11, 0, 0, 0x21, 0x12, 0xa4, 0x42};

	order(data_conn, binding(6, "ivan"));
	assert_reads(data, "what");
	assert_true(send(data, request, 20, 0) == 20);
	i = next(ITEM_MESSAGE);
	assert_true(i->origin.conn == data_conn);
	free(i);
	order(data_conn, binding(5, "eve"));
	assert_reads(data, "what");
	elsewhere.listener = 1; // of a client of another listener
	order(data_conn, elsewhere);
	assert_reads(data, "what");
	assert_int_equal(stats().relay_unknown, 3);
	assert_closes(peer); // after a second
	UNTIL(stats().relay_unbound == 1);
	assert_true(send(data, request, 20, 0) == 20);
	free(next(ITEM_MESSAGE));
	order(data_conn, binding(5, "ivan"));
	assert_reads(data, "what");
	close(data);
	close(c);
}

// Bytes after a refused ConnectionBind are messages.
static void test_refused_behind(void **state)
{
	uint64_t conn;
	const char behind[20] = {0, 1, 0, 0, 0x21, 0x12, (char)0xa4, 0x42};
	uint8_t both[40] = {0, 11, 0, 0, 0x21, 0x12, 0xa4, 0x42};
	const int data = dial(&world.server);
	struct item *i;

	memcpy(both + 20, behind, 20);
	assert_true(send(data, both, 40, 0) == 40);
	i = next(ITEM_MESSAGE);
	conn = i->origin.conn;
	free(i);
	order(conn, binding(5, "ivan"));
	assert_reads(data, "what");
	i = next(ITEM_MESSAGE);
	assert_int_equal(i->m.data[1], 1);
	free(i);
	close(data);
}

// A ConnectionBind that gets no answer (a worker drops it, or the answer): the bytes after it are
// read a second later, and not before.
static void test_bind_is_not_answered(void **state)
{
	uint8_t both[40] = {0, 11, 0, 0, 0x21, 0x12, 0xa4, 0x42};
	const int data = dial(&world.server);
	struct timespec sent, got;
	struct item *i;

	memcpy(both + 20, both, 20);
	both[21] = 1; // a Binding
	clock_gettime(CLOCK_MONOTONIC, &sent);
	assert_true(send(data, both, 40, 0) == 40);
	for (uint8_t n = 0; n < 2; n++) {
		i = next(ITEM_MESSAGE);
		assert_int_equal(i->data[1], n == 0 ? 11 : 1);
		free(i);
	}
	clock_gettime(CLOCK_MONOTONIC, &got);
	assert_true(
		(got.tv_sec - sent.tv_sec) * 1000 + (got.tv_nsec - sent.tv_nsec) / 1000000 >= 999);
	close(data);
}

// A peer without a permission, and peers above the limit of an allocation.
static void test_strangers(void **state)
{
	uint64_t conn;
	const int c = control(&conn);
	int peers[4];

	assert_closes(admitted(conn, 0));
	UNTIL(stats().relay_strangers == 1);
	for (uint32_t i = 0; i < 4; i++) {
		peers[i] = admitted(conn, 10 + i);
		assert_reads(c, "done");
	}
	UNTIL(__atomic_load_n(&world.connections, __ATOMIC_RELAXED) == 4);
	assert_closes(dial(&world.port));
	assert_int_equal(stats().relay_full, 1);
	__atomic_store_n(&world.alive, 0, __ATOMIC_RELAXED);
	close(c);
	for (uint32_t i = 0; i < 4; i++)
		assert_closes(peers[i]);
}

// The end of the allocation closes its port and all connections. A connection joined with another
// is reset, because it may not have received all of the other's bytes.
static void test_end(void **state)
{
	uint64_t conn;
	const int c = control(&conn), peer = admitted(conn, 5), waits = admitted(conn, 6);
	const int data = bound(5, "");

	__atomic_store_n(&world.alive, 0, __ATOMIC_RELAXED);
	assert_is_reset(peer);
	assert_closes(waits);
	assert_is_reset(data);
	UNTIL(stats().relay_ports == 0 && stats().relay_connections == 0);
	close(c);
}

// Closes with a reset.
static void reset(int fd)
{
	const struct linger now = {.l_onoff = 1};

	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now)), 0);
	close(fd);
}

// A side that has received all of the other's bytes and its end gets a close and no reset when the
// allocation ends: the client after a download, and the peer after an upload.
static void test_end_of_halves(void **state)
{
	uint64_t conn;
	int end[2]; // a peer and a client

	for (unsigned int i = 0; i < 2; i++) {
		const int c = joined(&conn, &end[0], "", &end[1]);

		assert_true(send(end[i], "all", 3, 0) == 3);
		assert_int_equal(shutdown(end[i], SHUT_WR), 0);
		assert_reads(end[!i], "all");
		assert_ends(dup(end[!i]));
		__atomic_store_n(&world.alive, 0, __ATOMIC_RELAXED);
		assert_is_reset(end[i]);
		assert_ends(end[!i]);
		UNTIL(stats().relay_ports == 0 && stats().relay_connections == 0);
		close(c);
	}
}

// When both directions have ended, a slow reader still gets the bytes that the kernel holds.
static void test_unread(void **state)
{
	static char much[1 << 16];
	const int small = 2048;
	uint64_t conn;
	int end[2]; // a peer and a client

	for (unsigned int i = 0; i < 2; i++) {
		const int c = joined(&conn, &end[0], "", &end[1]), reader = end[!i];
		size_t got = 0;
		ssize_t n;

		assert_int_equal(
			setsockopt(reader, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)), 0);
		assert_int_equal(shutdown(reader, SHUT_WR), 0);
		assert_true(send(end[i], much, sizeof(much), 0) == sizeof(much));
		assert_int_equal(shutdown(end[i], SHUT_WR), 0);
		UNTIL(stats().relay_connections == 0);
		while ((n = recv(reader, much, sizeof(much), 0)) > 0)
			got += (size_t)n;
		assert_int_equal(n, 0);
		assert_int_equal(got, sizeof(much));
		__atomic_store_n(&world.alive, 0, __ATOMIC_RELAXED);
		UNTIL(stats().relay_ports == 0);
		close(end[0]);
		close(end[1]);
		close(c);
	}
}

// A reset of one side resets the other.
static void test_reset(void **state)
{
	uint64_t conn;
	int end[2];

	for (unsigned int i = 0; i < 2; i++) {
		const int c = joined(&conn, &end[0], "", &end[1]);

		reset(end[i]);
		assert_is_reset(end[!i]);
		UNTIL(stats().relay_connections == 0);
		close(c);
	}
}

// Threads that stop reset their connections.
static void test_stop(void **state)
{
	uint64_t conn;
	int peer, data;
	const int c = joined(&conn, &peer, "", &data);

	stream_stop(world.streams);
	world.streams = NULL;
	assert_is_reset(peer);
	assert_is_reset(data);
	close(c);
}

// Very many connections of an allocation are closed in portions, a few in each round, and all of
// them are.
static void test_end_of_many(void **state)
{
	static int peer[RELAY_WORLD_MANY];
	uint64_t conn;
	const int c = control(&conn);

	for (uint32_t i = 0; i < RELAY_WORLD_MANY; i++) {
		peer[i] = admitted(conn, 5 + i);
		assert_reads(c, "done");
	}
	__atomic_store_n(&world.alive, 0, __ATOMIC_RELAXED);
	UNTIL(stats().relay_connections == 0 && stats().relay_ports == 0);
	assert_int_equal(stats().relay_unbound, RELAY_WORLD_MANY);
	for (unsigned int t = 0; t < 2; t++)
		assert_in_range(world.gone[t].most, 0, 2 * 16);
	for (uint32_t i = 0; i < RELAY_WORLD_MANY; i++)
		assert_closes(peer[i]);
	close(c);
}

// A port that another socket has, and a number that is no port.
static void test_unopened(void **state)
{
	uint64_t conn;
	const int c = client(3, "", &conn), holder = socket(AF_INET, SOCK_STREAM, 0);
	struct sockaddr_in addr = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct stream_order o = listening;
	socklen_t len = sizeof(addr);
	struct item *i;

	assert_int_equal(bind(holder, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(getsockname(holder, (struct sockaddr *)&addr, &len), 0);
	assert_int_equal(listen(holder, 1), 0);
	__atomic_store_n(&world.alive, ALLOCATION, __ATOMIC_RELAXED);
	o.endpoint = (struct endpoint){addr_text("127.0.0.1"), ntohs(addr.sin_port)};
	order(conn, o);
	assert_reads(c, "port");
	i = next(ITEM_UNOPENED);
	assert_int_equal(i->attempt.owner.allocation, ALLOCATION);
	free(i);
	o.owner.port_index = 4;
	order(conn, o);
	assert_reads(c, "port");
	close(holder);
	close(c);
}

// Every address of the loopback interface belongs to this network namespace.
static void test_own(void **state)
{
	uint64_t conn;
	const int c = control(&conn);
	struct stream_order o = {.owner = {ALLOCATION, 0},
		.peer_index = UINT32_MAX,
		.id = 9,
		.kind = STREAM_ORDER_CONNECT};

	o.endpoint = (struct endpoint){addr_text("127.0.0.1"), ntohs(world.server.sin_port)};
	order(conn, o);
	assert_reads(c, "deny");
	o.endpoint.addr = addr_text("::1");
	order(conn, o);
	assert_reads(c, "deny");
	o.peer_index = 0; // itself, and no allocation
	order(conn, o);
	assert_reads(c, "fail");
	o.peer_index = 2;
	order(conn, o);
	assert_reads(c, "fail");
	o.owner.allocation++; // ended
	order(conn, o);
	assert_reads(c, "fail");
	assert_int_equal(stats().relay_refused, 2);
	assert_int_equal(stats().relay_failed, 3);
	close(c);
}

// A peer that does not answer is given up after the timeout, and the Connect is answered.
static void test_in_vain(void **state)
{
	uint64_t conn;
	const int c = control(&conn);
	struct stream_order o = {.owner = {ALLOCATION, 0},
		.peer_index = UINT32_MAX,
		.id = 9,
		.kind = STREAM_ORDER_CONNECT};

	o.endpoint = (struct endpoint){addr_text("192.0.2.1"), 80}; // no answer on the loopback
	order(conn, o);
	assert_reads(c, "fail"); // after a second
	UNTIL(stats().relay_connections == 0);
	assert_int_equal(stats().relay_failed, 1);
	assert_int_equal(stats().relay_unbound, 0);
	close(c);
}

// Two allocations of this server: one connects, the other one accepts, without the kernel.
static void join_inside(int *data, int *second)
{
	uint64_t conn, other_conn, other_data;
	const int c = control(&conn), d = control_at(&other_conn, 1, &world.other_port);
	struct stream_order o = {
		.owner = {ALLOCATION, 0}, .peer_index = 1, .id = 9, .kind = STREAM_ORDER_CONNECT};
	struct item *i;

	o.endpoint = (struct endpoint){addr_text("127.0.0.1"), ntohs(world.other_port.sin_port)};
	order(conn, o);
	assert_reads(c, "done");
	i = next(ITEM_ATTEMPT);
	assert_int_equal(i->attempt.owner.port_index, 1);
	assert_int_equal(i->attempt.peer.port, ntohs(world.port.sin_port));
	assert_true(i->attempt.conn == other_conn);
	admit(i, 10);
	assert_reads(d, "done");
	order(conn, o);
	assert_reads(c, "same");
	// the other one has no connection to a peer yet (RFC 6062 5.2): both may connect at once
	o.owner = (struct stream_alloc){ALLOCATION + 1, 1};
	o.peer_index = 0;
	o.id = 11;
	o.endpoint.port = ntohs(world.port.sin_port);
	order(other_conn, o);
	assert_reads(d, "done");
	i = next(ITEM_ATTEMPT); // and not a second time about the first
	assert_int_equal(i->attempt.owner.port_index, 0);
	free(i);
	order(other_conn, o);
	assert_reads(d, "same");
	*data = bound(9, "");
	assert_true(send(*data, "hello", 5, 0) == 5);
	*second = client(11, "", &other_data);
	order(other_data, binding(10, "ivan"));
	assert_reads(*second, "donehello");
	assert_true(send(*second, "there", 5, 0) == 5);
	assert_reads(*data, "there");
	close(c);
	close(d);
}

static void test_inside(void **state)
{
	int data, second;

	join_inside(&data, &second);
	close(data);
	assert_ends(second);
}

// The worker is not notified of a connection that ends before there is a buffer for the question.
static void test_inside_untold(void **state)
{
	uint64_t conn, other_conn;
	const int c = control(&conn), d = control_at(&other_conn, 1, &world.other_port);
	struct stream_order o = {
		.owner = {ALLOCATION, 0}, .peer_index = 1, .id = 9, .kind = STREAM_ORDER_CONNECT};
	struct item *i;
	int peer[2];

	o.endpoint = (struct endpoint){addr_text("127.0.0.1"), ntohs(world.other_port.sin_port)};
	buffers_run_out(true);
	order(conn, o);
	assert_reads(c, "done");
	UNTIL(stats().relay_unbound > 0); // a second later
	UNTIL(stats().relay_connections == 0);
	buffers_run_out(false);
	for (uint32_t k = 0; k < 2; k++) { // reusing the entries of its ends
		peer[k] = admitted(conn, 10 + k);
		assert_reads(c, "done");
	}
	o.id = 12;
	order(conn, o);
	assert_reads(c, "done");
	i = next(ITEM_ATTEMPT);
	assert_true(i->attempt.conn == other_conn);
	free(i);
	for (uint32_t k = 0; k < 2; k++)
		close(peer[k]);
	close(c);
	close(d);
}

// Inside the server no kernel passes on a reset.
static void test_inside_reset(void **state)
{
	int data, second;

	join_inside(&data, &second);
	reset(data);
	assert_is_reset(second);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, relay_world_open, relay_world_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_bind),
		TEST(test_bulk),
		cmocka_unit_test_setup_teardown(
			test_unknown, relay_world_open_hasty, relay_world_close),
		cmocka_unit_test_setup_teardown(
			test_in_vain, relay_world_open_hasty, relay_world_close),
		TEST(test_refused_behind),
		cmocka_unit_test_setup_teardown(
			test_bind_is_not_answered, relay_world_open_curt, relay_world_close),
		TEST(test_strangers),
		TEST(test_end),
		TEST(test_end_of_halves),
		TEST(test_unread),
		TEST(test_reset),
		TEST(test_stop),
		cmocka_unit_test_setup_teardown(
			test_end_of_many, relay_world_open_many, relay_world_close),
		TEST(test_unopened),
		TEST(test_own),
		TEST(test_inside),
		TEST(test_inside_reset),
		cmocka_unit_test_setup_teardown(
			test_inside_untold, relay_world_open_hasty, relay_world_close),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
