// SPDX-License-Identifier: BSD-3-Clause
// How connections with peers end, and what may follow at once: another Connect to the same peer
// while the client closes the old connection, truncated TLS, peers that connect and reset, and
// answers to other requests while a ConnectionBind waits for its own.
#include "relay_world.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <openssl/ssl.h>

#include "addr_text.h"
#include "dtls_world.h"

#define TIMES 20
#define HASTE 100 // simultaneous Connects

static uint64_t conn, other_conn; // control connections of two allocations of this server
static int control_fd[2];
static uint32_t ids;

static void open_two(void)
{
	control_fd[0] = control(&conn);
	control_fd[1] = control_at(&other_conn, 1, &world.other_port);
	ids = 100;
}

static void close_two(void)
{
	for (unsigned int i = 0; i < 2; i++)
		close(control_fd[i]);
}

// Sends a Connect from the first allocation to the second. Returns its id.
static uint32_t connect_inside(void)
{
	struct stream_order o = {.owner = {ALLOCATION, 0},
		.peer_index = 1,
		.id = ++ids,
		.kind = STREAM_ORDER_CONNECT};

	o.endpoint = (struct endpoint){addr_text("127.0.0.1"), ntohs(world.other_port.sin_port)};
	order(conn, o);
	return o.id;
}

// Binds a data connection to each end of the connection that the Connect with this id has opened.
static void join_both(uint32_t id, int fd[2])
{
	const uint32_t accepted = ++ids;

	assert_reads(control_fd[0], "done");
	admit(next(ITEM_ATTEMPT), accepted);
	assert_reads(control_fd[1], "done");
	fd[0] = bound(id, "");
	fd[1] = bound(accepted, "");
}

// Once the server has seen the client close, the old connection does not block a new one, even if
// the peer has not closed its end.
static void test_end_first(void **state)
{
	int fd[2];

	open_two();
	join_both(connect_inside(), fd);
	for (unsigned int i = 0; i < TIMES; i++) {
		const int peer = fd[1];

		assert_true(send(fd[0], "all", 3, 0) == 3);
		close(fd[0]);
		assert_reads(peer, "all");
		assert_ends(dup(peer));
		join_both(connect_inside(), fd);
		assert_closes(peer);
	}
	assert_int_equal(stats().relay_refused, 0);
	close(fd[0]);
	close(fd[1]);
	close_two();
}

// A Connect that arrives before the client closes is answered after the old connection has ended.
// Another Connect in the meantime is refused, because one is in progress.
static void test_connect_first(void **state)
{
	int fd[2];

	open_two();
	join_both(connect_inside(), fd);
	for (unsigned int i = 0; i < TIMES; i++) {
		const int peer = fd[1];
		const uint32_t id = connect_inside();

		connect_inside();
		assert_reads(control_fd[0], "same");
		close(fd[0]);
		assert_ends(dup(peer));
		join_both(id, fd);
		assert_closes(peer);
	}
	assert_int_equal(stats().relay_refused, TIMES);
	close(fd[0]);
	close(fd[1]);
	close_two();
}

// If the old connection stays open, the Connect is refused in the same way after a second, and the
// connection is unaffected.
static void test_lives_on(void **state)
{
	int fd[2];

	open_two();
	join_both(connect_inside(), fd);
	connect_inside();
	assert_reads(control_fd[0], "same");
	assert_int_equal(stats().relay_connections, 2);
	assert_int_equal(shutdown(fd[1], SHUT_WR), 0); // the peer's close, not the client's
	assert_ends(dup(fd[0]));
	connect_inside();
	assert_reads(control_fd[0], "same");
	assert_true(send(fd[0], "still", 5, 0) == 5);
	assert_reads(fd[1], "still");
	close(fd[0]);
	close(fd[1]);
	close_two();
}

// Peers that connect and reset at once leave no connection behind.
static void test_reset_unbound(void **state)
{
	const struct linger now = {.l_onoff = 1};
	int c;

	c = control(&conn);
	for (unsigned int i = 0; i < TIMES; i++) {
		const int peer = i % 2 == 0 ? admitted(conn, 10 + i) : dial(&world.port);

		if (i % 2 == 0)
			assert_reads(c, "done");
		else
			free(next(ITEM_ATTEMPT)); // left unanswered by the worker
		assert_int_equal(setsockopt(peer, SOL_SOCKET, SO_LINGER, &now, sizeof(now)), 0);
		close(peer);
		UNTIL(stats().relay_connections == 0);
	}
	UNTIL(__atomic_load_n(&world.connections, __ATOMIC_RELAXED) == 0);
	close(c);
}

// If the worker picks a number that another connection already has, it is asked for another one.
static void test_taken(void **state)
{
	const int c = control(&conn), peer = admitted(conn, 5), second = dial(&world.port);
	int data;

	assert_reads(c, "done");
	admit(next(ITEM_ATTEMPT), 5);
	admit(next(ITEM_ATTEMPT), 6);
	assert_reads(c, "done");
	data = bound(6, "hello");
	assert_reads(second, "hello");
	assert_int_equal(stats().relay_strangers, 0);
	close(data);
	close(second);
	close(peer);
	close(c);
}

// The answer to an earlier request does not end a ConnectionBind's wait for its own: the bytes that
// follow the ConnectionBind still go to the peer.
static void test_other_answer(void **state)
{
	const int c = control(&conn), peer = admitted(conn, 5), data = dial(&world.server);
	uint8_t sent[50] = {0, 1, 0, 0, 0x21, 0x12, 0xa4, 0x42, 1};
	uint64_t data_conn;

	assert_reads(c, "done");
	memcpy(sent + 20, (const uint8_t[]){0, 11, 0, 0, 0x21, 0x12, 0xa4, 0x42, 2}, 9);
	memcpy(sent + 40, "early data", 10);
	assert_true(send(data, sent, sizeof(sent), 0) == sizeof(sent));
	for (unsigned int i = 0; i < 2; i++) {
		struct item *m = next(ITEM_MESSAGE);

		data_conn = m->origin.conn;
		free(m);
	}
	tell(data_conn, 20); // answers the Binding
	order(data_conn, binding(5, "ivan"));
	assert_reads(peer, "early data");
	assert_int_equal(stats().garbage, 0);
	close(data);
	close(peer);
	close(c);
}

// The rate of a user's Connects is limited, whatever their results. Above it, no connection is
// attempted.
static void test_hasty(void **state)
{
	struct stream_order o = {
		.owner = {ALLOCATION, 0}, .peer_index = 2, .id = 9, .kind = STREAM_ORDER_CONNECT};
	struct timespec begun, now;
	const int c = control(&conn);
	char got[4 * HASTE + 1] = "";
	unsigned int tried = 0;

	o.endpoint = (struct endpoint){addr_text("192.0.2.1"), 80};
	clock_gettime(CLOCK_MONOTONIC, &begun);
	for (unsigned int i = 0; i < HASTE; i++)
		order(conn, o);
	assert_int_equal(recv(c, got, sizeof(got) - 1, MSG_WAITALL), sizeof(got) - 1);
	clock_gettime(CLOCK_MONOTONIC, &now);
	for (unsigned int i = 0; i < HASTE; i++)
		tried += memcmp(got + 4 * i, "fail", 4) == 0;
	assert_in_range(tried, RELAY_WORLD_BURST,
		RELAY_WORLD_BURST + (uint64_t)(now.tv_sec - begun.tv_sec + 1));
	assert_memory_equal(got + 4 * (RELAY_WORLD_BURST - 1), "fail", 4);
	assert_int_equal(stats().relay_failed, tried);
	assert_int_equal(stats().relay_hasty, HASTE - tried);
	close(c);
}

// --- TLS -----------------------------------------------------------------------------------------

static SSL *tls_dial(SSL_CTX *ctx, const uint8_t *message, int len)
{
	SSL *s = SSL_new(ctx);

	assert_true(s != NULL && SSL_set_fd(s, dial(&world.server)) == 1);
	assert_int_equal(SSL_connect(s), 1);
	assert_int_equal(SSL_write(s, message, len), len);
	return s;
}

static void tls_reads(SSL *s, const char *text)
{
	char got[16] = "";

	assert_int_equal(SSL_read(s, got, (int)strlen(text)), (int)strlen(text));
	assert_string_equal(got, text);
}

// A data connection that ends without close_notify is truncated, so the peer's connection is reset.
// After a close_notify, the peer sees a normal close.
static void test_cut(void **state)
{
	static const uint8_t request[20] = {0, 3, 0, 0, 0x21, 0x12, 0xa4, 0x42};
	static const uint8_t bind[20] = {0, 11, 0, 0, 0x21, 0x12, 0xa4, 0x42};
	SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
	struct stream_order o = listening;
	struct item *i;
	SSL *c;

	c = tls_dial(ctx, request, sizeof(request));
	i = next(ITEM_MESSAGE);
	conn = i->origin.conn;
	free(i);
	__atomic_store_n(&world.alive, ALLOCATION, __ATOMIC_RELAXED);
	o.endpoint = (struct endpoint){addr_text("127.0.0.1"), ntohs(world.port.sin_port)};
	order(conn, o);
	tls_reads(c, "done");
	for (uint32_t cut = 0; cut < 2; cut++) {
		const int peer = admitted(conn, 5 + cut);
		SSL *data;

		tls_reads(c, "done");
		data = tls_dial(ctx, bind, sizeof(bind));
		i = next(ITEM_MESSAGE);
		order(i->origin.conn, binding(5 + cut, "ivan"));
		free(i);
		tls_reads(data, "done");
		assert_int_equal(SSL_write(data, "some", 4), 4);
		assert_reads(peer, "some");
		if (cut == 0)
			assert_int_equal(SSL_shutdown(data), 0);
		assert_int_equal(shutdown(SSL_get_fd(data), SHUT_WR), 0);
		if (cut == 0)
			assert_ends(peer);
		else
			assert_is_reset(peer);
		close(SSL_get_fd(data));
		SSL_free(data);
	}
	close(SSL_get_fd(c));
	SSL_free(c);
	SSL_CTX_free(ctx);
}

static int open_tls(void **state)
{
	static struct stream_identities all = {.nb = 1};

	all.list[0] = dtls_files();
	all.list[0].for_tls = true;
	return relay_world_open_tls(&all);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, relay_world_open, relay_world_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_end_first),
		TEST(test_connect_first),
		TEST(test_lives_on),
		TEST(test_reset_unbound),
		TEST(test_taken),
		TEST(test_other_answer),
		cmocka_unit_test_setup_teardown(
			test_hasty, relay_world_open_slow, relay_world_close),
		cmocka_unit_test_setup_teardown(test_cut, open_tls, relay_world_close),
	};

	return cmocka_run_group_tests_name("stream_again", tests, NULL, NULL);
}
