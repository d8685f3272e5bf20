// SPDX-License-Identifier: BSD-3-Clause
// Peers that a reload denies while they have connections (RFC 6062): each state of a connection,
// answers that a worker gave under the old rules, and many at once.
#include "relay_world.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "addr_text.h"

static uint16_t port_of(int fd)
{
	struct sockaddr_in addr;
	socklen_t len = sizeof(addr);

	assert_int_equal(getsockname(fd, (struct sockaddr *)&addr, &len), 0);
	return ntohs(addr.sin_port);
}

static void set_denied(int peer, bool denied)
{
	__atomic_store_n(&world.denied[port_of(peer)], denied, __ATOMIC_RELAXED);
}

static void assert_echoes(int one, int two)
{
	assert_true(send(one, "there", 5, 0) == 5);
	assert_reads(two, "there");
	assert_true(send(two, "again", 5, 0) == 5);
	assert_reads(one, "again");
}

// After the reload no bytes pass to or from a denied peer; both sides are notified. The allocation
// and its other connections remain.
static void test_bound(void **state)
{
	uint64_t conn;
	const int c = control(&conn);
	int peer[2], data[2];

	for (uint32_t i = 0; i < 2; i++) {
		peer[i] = admitted(conn, 5 + i);
		assert_reads(c, "done");
		data[i] = bound(5 + i, "");
		assert_echoes(peer[i], data[i]);
	}
	set_denied(peer[0], true);
	rules_changed();
	assert_is_reset(peer[0]);
	assert_is_reset(data[0]);
	UNTIL(stats().relay_connections == 1);
	assert_echoes(peer[1], data[1]);
	assert_int_equal(stats().relay_denied, 1);
	assert_int_equal(stats().relay_ports, 1);
	assert_int_equal(stats().connections, 2);
	assert_int_equal(stats().closed + stats().failed, 0);
	UNTIL(__atomic_load_n(&world.connections, __ATOMIC_RELAXED) == 1);
	assert_int_equal(__atomic_load_n(&world.relayed[0], __ATOMIC_RELAXED), 15);
	assert_int_equal(__atomic_load_n(&world.relayed[1], __ATOMIC_RELAXED), 15);
	close(peer[1]);
	close(data[1]);
	close(c);
}

#define BUFFER 16384 // our buffer

// Bytes that the kernel still holds for the peer are not sent.
static void test_unsent(void **state)
{
	static char much[1 << 20];
	uint64_t conn;
	const int c = control(&conn), peer = admitted(conn, 5), data = bound(5, "");
	int64_t unsent;
	ssize_t n, got = 0;

	assert_reads(c, "done");
	do { // until only the kernel holds some of it
		int there;

		while (send(data, much, sizeof(much), MSG_DONTWAIT) > 0)
			;
		assert_int_equal(ioctl(peer, FIONREAD, &there), 0);
		unsent = __atomic_load_n(&world.relayed[0], __ATOMIC_RELAXED) - there - BUFFER;
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	} while (unsent < 65536);
	set_denied(peer, true);
	rules_changed();
	UNTIL(stats().relay_connections == 0);
	while ((n = recv(peer, much, sizeof(much), 0)) > 0)
		got += n;
	assert_int_equal(n, -1);
	assert_int_equal(errno, ECONNRESET);
	assert_true(got + BUFFER < world.relayed[0]);
	close(peer);
	close(data);
	close(c);
}

// A connection that waits for its client is closed when the client comes.
static void test_pending(void **state)
{
	uint64_t conn, of_data;
	const int c = control(&conn), peer = admitted(conn, 5), allowed = admitted(conn, 6);
	int data;

	assert_reads(c, "donedone");
	set_denied(peer, true);
	rules_changed();
	assert_is_reset(peer);
	UNTIL(stats().relay_denied == 1);
	data = client(11, "", &of_data);
	order(of_data, binding(5, "ivan"));
	assert_reads(data, "what");
	order(of_data, binding(6, "ivan"));
	assert_reads(data, "done");
	assert_echoes(data, allowed);
	close(data);
	close(allowed);
	close(c);
}

// A connection attempt in progress is answered as failed, and a further one as denied.
static void test_connecting(void **state)
{
	uint64_t conn;
	const int c = control(&conn);
	struct stream_order o = {.owner = {ALLOCATION, 0},
		.peer_index = UINT32_MAX,
		.id = 9,
		.kind = STREAM_ORDER_CONNECT};

	o.endpoint = (struct endpoint){addr_text("192.0.2.1"), 80}; // no answer on the loopback
	order(conn, o);
	UNTIL(stats().relay_connections == 1);
	assert_int_equal(stats().relay_failed, 0);
	world.denied[80] = true;
	rules_changed();
	assert_reads(c, "fail");
	UNTIL(stats().relay_connections == 0);
	assert_int_equal(stats().relay_denied, 1);
	order(conn, o);
	assert_reads(c, "deny");
	assert_int_equal(stats().relay_refused, 1);
	world.denied[80] = false;
	rules_changed();
	order(conn, o);
	UNTIL(stats().relay_connections == 1);
	close(c);
}

// A worker's answer under the old rules arrives when the thread has checked all connections by the
// new ones.
static void test_late_word(void **state)
{
	uint64_t conn, of_data;
	const int c = control(&conn), waits = dial(&world.port);
	struct item *i = next(ITEM_ATTEMPT);
	const int peer = admitted(conn, 5);
	int data;

	assert_reads(c, "done");
	set_denied(waits, true);
	set_denied(peer, true);
	admit(i, 6);
	assert_is_reset(waits);
	UNTIL(stats().relay_denied == 1);
	data = client(11, "", &of_data);
	order(of_data, binding(5, "ivan"));
	assert_reads(data, "what");
	assert_is_reset(peer);
	assert_int_equal(stats().relay_denied, 2);
	assert_int_equal(stats().relay_accepted, 1);
	assert_int_equal(stats().relay_connections, 0);
	close(data);
	close(c);
}

// A connection without an answer of the worker yet is reset, and the answer comes too late.
static void test_unjudged(void **state)
{
	uint64_t conn;
	const int c = control(&conn), peer = dial(&world.port);
	struct item *i = next(ITEM_ATTEMPT);

	set_denied(peer, true);
	rules_changed();
	assert_is_reset(peer);
	UNTIL(stats().relay_denied == 1);
	admit(i, 6);
	close(admitted(conn, 7));
	assert_reads(c, "done"); // only for 7
	assert_int_equal(stats().relay_accepted, 1);
	close(c);
}

// Two allocations of this server are no longer allowed as each other's peers: both ends are
// checked.
static void test_inside(void **state)
{
	uint64_t conn, other_conn;
	const int c = control(&conn), d = control_at(&other_conn, 1, &world.other_port);
	struct stream_order o = {
		.owner = {ALLOCATION, 0}, .peer_index = 1, .id = 9, .kind = STREAM_ORDER_CONNECT};

	o.endpoint = (struct endpoint){addr_text("127.0.0.1"), ntohs(world.other_port.sin_port)};
	order(conn, o);
	assert_reads(c, "done");
	free(next(ITEM_ATTEMPT));
	assert_int_equal(stats().relay_connections, 2);
	world.denied[ntohs(world.port.sin_port)] = true;
	world.denied[ntohs(world.other_port.sin_port)] = true;
	rules_changed();
	UNTIL(stats().relay_connections == 0);
	assert_int_equal(stats().relay_denied, 2);
	close(c);
	close(d);
}

// The rules are those of the allocation's realm.
static void test_realm(void **state)
{
	uint64_t conn, other_conn;
	const int c = control(&conn), peer = admitted(conn, 5), d = client(3, "", &other_conn);
	struct stream_order o = listening;
	struct item *i;
	int client_b;

	o.owner = (struct stream_alloc){ALLOCATION + 1, 1};
	o.endpoint = (struct endpoint){addr_text("127.0.0.1"), ntohs(world.other_port.sin_port)};
	o.realm = 3;
	order(other_conn, o);
	assert_reads(d, "done");
	client_b = dial(&world.other_port);
	i = next(ITEM_ATTEMPT);
	admit(i, 6);
	assert_reads(d, "done");
	world.all_denied[3] = true;
	rules_changed();
	assert_is_reset(client_b);
	UNTIL(stats().relay_connections == 1);
	assert_int_equal(stats().relay_denied, 1);
	close(bound(5, ""));
	close(peer);
	close(c);
	close(d);
}

#define KEPT(i) ((i) % 3 == 0)

// Very many connections are checked in portions. Several reloads within each portion do not keep
// any from being checked.
static void test_many(void **state)
{
	static int peer[RELAY_WORLD_MANY];
	uint64_t conn;
	const int c = control(&conn);
	uint64_t kept = 0;
	int data;

	for (uint32_t i = 0; i < RELAY_WORLD_MANY; i++) {
		peer[i] = admitted(conn, 5 + i);
		assert_reads(c, "done");
		set_denied(peer[i], !KEPT(i));
		kept += KEPT(i);
	}
	__atomic_store_n(&world.restless, true, __ATOMIC_RELAXED);
	rules_changed();
	UNTIL(stats().relay_connections == kept);
	__atomic_store_n(&world.restless, false, __ATOMIC_RELAXED);
	assert_int_equal(stats().relay_denied, RELAY_WORLD_MANY - kept);
	for (unsigned int t = 0; t < 2; t++)
		assert_in_range(world.asked[t].most, 0, 512);
	data = bound(5, "");
	assert_echoes(data, peer[0]);
	for (uint32_t i = 1; i < RELAY_WORLD_MANY; i++) {
		if (KEPT(i))
			close(peer[i]);
		else
			assert_is_reset(peer[i]);
	}
	close(data);
	close(peer[0]);
	close(c);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, relay_world_open, relay_world_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_bound),
		TEST(test_unsent),
		TEST(test_pending),
		TEST(test_connecting),
		TEST(test_late_word),
		TEST(test_unjudged),
		TEST(test_inside),
		TEST(test_realm),
		cmocka_unit_test_setup_teardown(
			test_many, relay_world_open_many, relay_world_close),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
