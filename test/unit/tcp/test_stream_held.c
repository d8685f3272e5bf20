// SPDX-License-Identifier: BSD-3-Clause
// Bytes that stream threads relay over TCP are requested and reported exactly (limits.rates,
// usage). Also: who may bind a connection after a new access token, and peers when descriptors run
// out.
#include "relay_world.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "addr_text.h"

static int64_t relayed(unsigned int to_client)
{
	return __atomic_load_n(&world.relayed[to_client], __ATOMIC_RELAXED);
}

static void allow(unsigned int to_client, int64_t bytes)
{
	__atomic_fetch_add(&world.allowed[to_client], bytes, __ATOMIC_RELAXED);
}

// From now on only this number of bytes may pass. Bytes that a thread has requested earlier are
// returned first: it would read more than allowed.
static void only(unsigned int to_client, int64_t bytes)
{
	allow(to_client, bytes - (INT64_MAX / 2 - relayed(to_client)));
	UNTIL(__atomic_load_n(&world.allowed[to_client], __ATOMIC_RELAXED) == bytes);
}

// Bytes above the limit wait, and none is lost. The other direction continues.
static void test_held(void **state)
{
	uint64_t conn;
	int peer, data;
	const int c = joined(&conn, &peer, "", &data);

	only(0, 4);
	assert_true(send(data, "1234567890", 10, 0) == 10);
	assert_reads(peer, "1234");
	UNTIL(stats().relay_held > 0);
	assert_true(send(peer, "hello", 5, 0) == 5);
	assert_reads(data, "hello");
	assert_int_equal(relayed(0), 4);
	assert_int_equal(relayed(1), 5);
	allow(0, 2);
	assert_reads(peer, "56");
	allow(0, 100);
	assert_reads(peer, "7890");
	only(1, 0);
	assert_true(send(peer, "there", 5, 0) == 5);
	assert_int_equal(shutdown(peer, SHUT_WR), 0);
	UNTIL(stats().relay_held > 1);
	allow(1, 5);
	assert_reads(data, "there");
	assert_int_equal(relayed(0), 10);
	UNTIL(__atomic_load_n(&world.allowed[0], __ATOMIC_RELAXED) == 96);
	close(peer);
	close(data);
	close(c);
}

// Bytes that are read when the allocation has just ended are in no usage record, and so are not
// relayed. This also applies to bytes that arrived before the binding.
static void test_uncounted(void **state)
{
	uint64_t conn;
	int peer, data, late_data;
	const int c = joined(&conn, &peer, "", &data), second = admitted(conn, 6);

	assert_reads(c, "done");
	__atomic_store_n(&world.over, true, __ATOMIC_RELAXED);
	assert_true(send(data, "late", 4, 0) == 4);
	assert_true(send(peer, "later", 5, 0) == 5);
	late_data = bound(6, "early");
	UNTIL(__atomic_load_n(&world.late[0], __ATOMIC_RELAXED) == 9 &&
		__atomic_load_n(&world.late[1], __ATOMIC_RELAXED) == 5);
	__atomic_store_n(&world.alive, 0, __ATOMIC_RELAXED);
	assert_closes(peer); // no byte before it
	assert_closes(data);
	assert_closes(second);
	assert_closes(late_data);
	assert_int_equal(stats().relay_to_peers + stats().relay_to_clients, 0);
	close(c);
}

// Bytes that arrived before the binding were not requested, but are reported.
static void test_owed(void **state)
{
	uint64_t conn;
	int peer, data, c;

	only(0, 0);
	c = joined(&conn, &peer, "early", &data);
	assert_reads(peer, "early");
	UNTIL(relayed(0) == 5);
	assert_int_equal(__atomic_load_n(&world.allowed[0], __ATOMIC_RELAXED), -5);
	assert_true(send(data, "late", 4, 0) == 4);
	UNTIL(stats().relay_held > 0);
	allow(0, 9);
	assert_reads(peer, "late");
	close(peer);
	close(data);
	close(c);
}

// A waiting connection is closed with its allocation, or by its client.
static void test_held_ends(void **state)
{
	uint64_t conn;
	int peer, data, second_data;
	const int c = joined(&conn, &peer, "", &data), second = admitted(conn, 6);

	second_data = bound(6, "");
	only(0, 0);
	assert_true(send(data, "1", 1, 0) == 1);
	assert_true(send(second_data, "1", 1, 0) == 1);
	UNTIL(stats().relay_held == 2);
	close(second_data);
	__atomic_store_n(&world.alive, 0, __ATOMIC_RELAXED);
	assert_closes(peer);
	assert_closes(data);
	assert_closes(second);
	UNTIL(stats().relay_connections == 0);
	assert_int_equal(stats().relay_held, 2); // no closed connection waits for the rates
	close(c);
}

// The server's end of a client's connection, a socket of this process.
static int far_end(int fd)
{
	struct sockaddr_in local, remote;
	socklen_t len = sizeof(local);

	assert_int_equal(getsockname(fd, (struct sockaddr *)&local, &len), 0);
	for (int i = 0; i < 1024; i++) {
		len = sizeof(remote);
		if (getpeername(i, (struct sockaddr *)&remote, &len) == 0 &&
			len == sizeof(remote) && remote.sin_port == local.sin_port)
			return i;
	}
	fail();
	return -1;
}

static bool is_reset(int fd)
{
	struct tcp_info info;
	socklen_t len = sizeof(info);

	assert_int_equal(getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len), 0);
	return info.tcpi_state == TCP_CLOSE;
}

// A client that reads nothing resets its connection, from which nothing is read either. The peer's
// close reveals that, and it closes both, once: with or without bytes left to write.
static void reset_unseen(bool full)
{
	uint64_t conn, of_data;
	const int c = control(&conn), peer = admitted(conn, 5), data = client(11, "", &of_data);
	struct pollfd answered = {.fd = data, .events = POLLIN};
	int far;

	only(0, 0);
	while (full && stats().queue_full == 0)
		tell(of_data, 1000);
	order(of_data, binding(5, "ivan"));
	UNTIL(stats().relay_bound == 1);
	assert_int_equal(poll(&answered, 1, PATIENCE_MS), 1);
	far = far_end(data);
	close(data); // with unread bytes
	UNTIL(is_reset(far)); // on a busy kernel it might arrive after the peer's end
	assert_int_equal(shutdown(peer, SHUT_WR), 0);
	UNTIL(stats().relay_connections == 0);
	assert_closes(peer);
	close(c);
}

static void test_reset_unseen(void **state)
{
	reset_unseen(true);
}

static void test_reset_unseen_idle(void **state)
{
	reset_unseen(false);
}

// A peer that resets its connection, from which nothing is read: the client's close reveals that.
static void test_peer_reset_unseen(void **state)
{
	uint64_t conn;
	int peer, data, far;
	const int c = joined(&conn, &peer, "early", &data);
	struct pollfd sent = {.fd = peer, .events = POLLIN};

	assert_int_equal(poll(&sent, 1, PATIENCE_MS), 1);
	only(1, 0);
	far = far_end(peer);
	close(peer); // with unread bytes
	UNTIL(is_reset(far));
	assert_int_equal(shutdown(data, SHUT_WR), 0);
	UNTIL(stats().relay_connections == 0);
	assert_is_reset(data);
	close(c);
}

// The newest token can bind, and so can the previous one; an older one cannot, nor another user's.
static void test_rekeyed(void **state)
{
	uint64_t conn, of_data[3];
	const int c = control(&conn);
	struct stream_order o = {.owner = {ALLOCATION, 0}, .kind = STREAM_ORDER_REKEY};
	int peer[2], data;

	for (uint32_t i = 0; i < 2; i++) {
		peer[i] = admitted(conn, 5 + i);
		assert_reads(c, "done");
	}
	memcpy(o.ident, "second", 6);
	order(conn, o);
	assert_reads(c, "done");
	data = client(11, "", &of_data[0]);
	order(of_data[0], binding(5, "ivan"));
	assert_reads(data, "done");
	close(data);
	memcpy(o.ident, "third.", 6);
	order(conn, o);
	assert_reads(c, "done");
	data = client(11, "", &of_data[1]);
	order(of_data[1], binding(6, "ivan"));
	assert_reads(data, "what");
	order(of_data[1], binding(6, "other"));
	assert_reads(data, "what");
	order(of_data[1], binding(6, "second"));
	assert_reads(data, "done");
	o.owner.allocation++; // ended: answered nevertheless
	order(conn, o);
	assert_reads(c, "done");
	for (uint32_t i = 0; i < 2; i++)
		close(peer[i]);
	close(data);
	close(c);
}

// Without a descriptor a peer is reset. It must not wait forever for a thread that never sleeps.
static void test_no_files(void **state)
{
	uint64_t conn;
	const int c = control(&conn), last = socket(AF_INET, SOCK_STREAM, 0);
	struct stream_order o = {.owner = {ALLOCATION, 0},
		.peer_index = UINT32_MAX,
		.id = 9,
		.kind = STREAM_ORDER_CONNECT};
	struct rlimit was, none;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
	none = was;
	none.rlim_cur = (rlim_t)last + 1; // every descriptor below it is used, or is taken here
	for (int fd = 0; fd >= 0;)
		fd = setrlimit(RLIMIT_NOFILE, &none) == 0 ? dup(c) : -1;
	if (connect(last, (struct sockaddr *)&world.port, sizeof(world.port)) != 0)
		assert_int_equal(errno, ECONNRESET);
	assert_closes(last);
	UNTIL(stats().relay_files == 1);
	UNTIL(dup(c) >= 0); // the place of `last`, which accept() may hold briefly
	o.endpoint = (struct endpoint){addr_text("192.0.2.1"), 80};
	order(conn, o);
	assert_reads(c, "fail");
	assert_int_equal(stats().relay_files, 2);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
}

// Both ends of a connection inside the server count for their users.
static void test_inside_limit(void **state)
{
	uint64_t conn, other_conn;
	const int c = control(&conn), d = control_at(&other_conn, 1, &world.other_port);
	struct stream_order o = {
		.owner = {ALLOCATION, 0}, .peer_index = 1, .id = 90, .kind = STREAM_ORDER_CONNECT};
	int peer[5];

	for (uint32_t i = 0; i < 3; i++) {
		peer[i] = admitted(conn, 5 + i);
		assert_reads(c, "done");
	}
	for (uint32_t i = 3; i < 5; i++) {
		struct item *attempt;

		peer[i] = dial(&world.other_port);
		attempt = next(ITEM_ATTEMPT);
		admit(attempt, 50 + i);
		assert_reads(d, "done");
	}
	o.endpoint = (struct endpoint){addr_text("127.0.0.1"), ntohs(world.other_port.sin_port)};
	order(conn, o); // 5 of 6, and it needs 2
	assert_reads(c, "fail");
	assert_int_equal(stats().relay_connections, 5);
	for (uint32_t i = 0; i < 5; i++)
		close(peer[i]);
	close(c);
	close(d);
}

// A worker's answer is lost if the ring back is full: the thread asks again, and the client is
// notified.
static void test_lost_word(void **state)
{
	uint64_t conn;
	const int c = control(&conn), peer = dial(&world.port);
	struct item *lost = next(ITEM_ATTEMPT), *again = next(ITEM_ATTEMPT);

	assert_true(again->attempt.number == lost->attempt.number);
	free(lost);
	admit(again, 5);
	assert_reads(c, "done");
	close(peer);
	close(c);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, relay_world_open, relay_world_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_held), TEST(test_uncounted), TEST(test_owed), TEST(test_held_ends),
		TEST(test_reset_unseen), TEST(test_reset_unseen_idle), TEST(test_peer_reset_unseen),
		TEST(test_rekeyed), TEST(test_inside_limit), TEST(test_lost_word),
		TEST(test_no_files), // leaves descriptors open
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
