// SPDX-License-Identifier: BSD-3-Clause
// Orders of RFC 6062 carried out by stream threads, over the loopback interface: ports, peers that
// connect, connections that are bound, spliced, refused and forgotten. The worker is this test.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "addr_text.h"
#include "stream.h"

#define ROOM 1400
#define PATIENCE_MS 20000 // until a test fails because nothing comes
#define ALLOCATION 77
#define BULK (4u << 20)

// A message between threads and the worker.
struct item {
	struct item *next;
	struct stream_message m;
	struct stream_from from;
	struct stream_attempt attempt;
	enum { ITEM_MESSAGE, ITEM_ENDED, ITEM_ATTEMPT, ITEM_UNOPENED } what;
	unsigned int thread;
	uint8_t data[ROOM];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct item *up[2], *down[2]; // by thread of down; up has one list: up[0]
static struct streams *streams;
static struct sockaddr_in server, port, other_port;
static uint64_t alive; // 0: no allocation lives any more
static uint32_t connections; // as told

// --- the worker ----------------------------------------------------------------------------------

static void append(struct item **list, struct item *i)
{
	pthread_mutex_lock(&lock);
	while (*list != NULL)
		list = &(*list)->next;
	*list = i;
	pthread_mutex_unlock(&lock);
}

static struct item *first(struct item **list)
{
	struct item *i;

	pthread_mutex_lock(&lock);
	i = *list;
	if (i != NULL)
		*list = i->next;
	pthread_mutex_unlock(&lock);
	if (i != NULL)
		i->next = NULL;
	return i;
}

static unsigned int home(void *ctx, const struct endpoint *client, uint8_t listener)
{
	return 0;
}

static bool take(void *ctx, unsigned int t, unsigned int w, struct stream_message *m)
{
	struct item *i = calloc(1, sizeof(*i));

	assert_non_null(i);
	i->thread = t;
	m->buf = i;
	m->data = i->data;
	return true;
}

static bool may_ask(void *ctx, unsigned int t, unsigned int w)
{
	return true;
}

static void give(struct item *i, int what, const struct stream_message *m)
{
	i->what = what;
	i->m = *m;
	append(&up[0], i);
}

static void message(void *ctx, unsigned int t, unsigned int w, const struct stream_message *m,
	const struct stream_from *from)
{
	((struct item *)m->buf)->from = *from;
	give(m->buf, ITEM_MESSAGE, m);
}

static void kick(void *ctx, unsigned int w)
{
}

static bool ended(void *ctx, unsigned int t, unsigned int w, const struct stream_from *from)
{
	return true;
}

static unsigned int receive(
	void *ctx, unsigned int t, unsigned int w, struct stream_message *m, unsigned int n)
{
	struct item *i = first(&down[t]);

	if (i == NULL)
		return 0;
	m[0] = i->m;
	m[0].buf = i;
	m[0].data = i->data;
	return 1;
}

static void release(void *ctx, unsigned int t, unsigned int w, void *buf)
{
	free(buf);
}

static void attempted(void *ctx, unsigned int t, unsigned int w, const struct stream_message *m,
	const struct stream_attempt *a)
{
	((struct item *)m->buf)->attempt = *a;
	give(m->buf, ITEM_ATTEMPT, m);
}

static void unopened(void *ctx, unsigned int t, unsigned int w, const struct stream_message *m,
	const struct stream_place *p)
{
	((struct item *)m->buf)->attempt.of = *p;
	give(m->buf, ITEM_UNOPENED, m);
}

static void device(void *ctx, const struct addr *a, char name[STREAM_DEVICE_LEN])
{
	strcpy(name, "lo");
}

static bool lives(void *ctx, unsigned int w, const struct stream_place *p)
{
	return __atomic_load_n(&alive, __ATOMIC_RELAXED) != 0;
}

static void counted(void *ctx, unsigned int w, const struct stream_place *p, uint32_t n)
{
	__atomic_store_n(&connections, n, __ATOMIC_RELAXED);
}

static const struct stream_ops ops = {.home = home,
	.take = take,
	.may_ask = may_ask,
	.send = message,
	.kick = kick,
	.ended = ended,
	.receive = receive,
	.release = release,
	.attempt = attempted,
	.unopened = unopened,
	.device = device,
	.lives = lives,
	.counted = counted};

// Waits until a condition holds.
#define UNTIL(condition)                                                 \
	for (int left_ = PATIENCE_MS; !(condition); left_--) {           \
		assert_int_not_equal(left_, 0);                          \
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL); \
	}

// The next item of a kind.
static struct item *next(int what)
{
	struct item *i = NULL;

	for (;;) {
		UNTIL((i = first(&up[0])) != NULL);
		if (i->what == (unsigned int)what)
			return i;
		free(i);
	}
}

// Gives an order to the thread of a connection; its answers are the numbers of their outcomes.
static void order(uint64_t conn, struct stream_order o)
{
	static const char *const texts[STREAM_ANSWER_END] = {
		"done", "port", "same", "fail", "many", "deny", "what"};
	struct item *i = calloc(1, sizeof(*i));
	size_t at = sizeof(o);

	assert_non_null(i);
	for (unsigned int k = 0; k < STREAM_ANSWER_END; k++) {
		o.len[k] = 4;
		memcpy(i->data + at, texts[k], 4);
		at += 4;
	}
	memcpy(i->data, &o, sizeof(o));
	i->m = (struct stream_message){
		.kind = STREAM_ORDER, .conn = conn, .len = (uint16_t)at, .lease_s = 60};
	append(&down[stream_thread_of(conn)], i);
	stream_wake(streams, stream_thread_of(conn));
}

static struct stream_stats stats(void)
{
	struct stream_stats s;

	stream_stats(streams, &s);
	return s;
}

// --- clients and peers ---------------------------------------------------------------------------

static int dial(const struct sockaddr_in *to)
{
	const int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (const struct sockaddr *)to, sizeof(*to)), 0);
	return fd;
}

static void assert_reads(int fd, const char *text)
{
	char got[64] = "";

	for (size_t n = 0; n < strlen(text);) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		ssize_t k;

		assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
		k = recv(fd, got + n, strlen(text) - n, 0);
		assert_true(k > 0);
		n += (size_t)k;
	}
	assert_string_equal(got, text);
}

// Waits until the other side has closed.
static void assert_closes(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	char c;

	assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
	assert_true(recv(fd, &c, 1, 0) <= 0);
	close(fd);
}

// A client whose connection the worker knows: *conn is its number. What it sends is a request of
// this method, and more.
static int client(uint8_t method, const char *more, uint64_t *conn)
{
	uint8_t request[64] = {0, method, 0, 0, 0x21, 0x12, 0xa4, 0x42};
	const int fd = dial(&server);
	struct item *i;

	memcpy(request + 20, more, strlen(more));
	assert_true(send(fd, request, 20 + strlen(more), 0) > 0);
	i = next(ITEM_MESSAGE);
	assert_int_equal(i->m.len, 20);
	*conn = i->from.conn;
	free(i);
	return fd;
}

static const struct stream_order listening = {
	.of = {ALLOCATION, 0}, .ident = "ivan", .kind = STREAM_ORDER_LISTEN};

// A control connection with an open port, of an allocation at a place.
static int control_at(uint64_t *conn, uint32_t place, const struct sockaddr_in *at)
{
	const int fd = client(3, "", conn);
	struct stream_order o = listening;

	__atomic_store_n(&alive, ALLOCATION, __ATOMIC_RELAXED);
	o.of = (struct stream_place){ALLOCATION + place, place};
	o.at = (struct endpoint){addr_text("127.0.0.1"), ntohs(at->sin_port)};
	order(*conn, o);
	assert_reads(fd, "done");
	return fd;
}

static int control(uint64_t *conn)
{
	return control_at(conn, 0, &port);
}

// A peer that has connected, and is admitted under a number.
static int admitted(uint64_t conn, uint32_t id)
{
	const int fd = dial(&port);
	struct item *i = next(ITEM_ATTEMPT);

	assert_int_equal(i->attempt.of.allocation, ALLOCATION);
	assert_true(i->attempt.conn == conn);
	order(i->attempt.conn,
		(struct stream_order){.of = i->attempt.of,
			.peer = i->attempt.number,
			.id = id,
			.kind = STREAM_ORDER_ADMIT});
	free(i);
	return fd;
}

static struct stream_order binding(uint32_t id, const char *user)
{
	struct stream_order o = {.id = id, .kind = STREAM_ORDER_BIND};

	memcpy(o.ident, user, strlen(user));
	return o;
}

static int setup(void **state)
{
	struct stream_listener l = {.mode = STREAM_PLAIN};
	struct stream_config c = {.listeners = &l,
		.nb_listeners = 1,
		.threads = 2,
		.workers = 1,
		.connections = 64,
		.idle_s = 60,
		.handshake_s = 60,
		.queue = 65536,
		.room = ROOM,
		.relay = {.ports = 4,
			.connections = 8,
			.per_user = 6,
			.per_allocation = 4,
			.timeout_s = 1,
			.buffer = 16384},
		.ops = &ops};
	socklen_t len = sizeof(server);
	struct sockaddr_in *const at[] = {&server, &port, &other_port};
	char error[200];

	for (unsigned int i = 0; i < 3; i++) { // ports that are free
		const int fd = socket(AF_INET, SOCK_STREAM, 0);

		*at[i] = (struct sockaddr_in){
			.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
		assert_int_equal(bind(fd, (struct sockaddr *)at[i], sizeof(server)), 0);
		assert_int_equal(getsockname(fd, (struct sockaddr *)at[i], &len), 0);
		close(fd);
	}
	l.at = (struct endpoint){addr_text("127.0.0.1"), ntohs(server.sin_port)};
	__atomic_store_n(&alive, 0, __ATOMIC_RELAXED);
	streams = stream_start(&c, error, sizeof(error));
	assert_non_null(streams);
	return 0;
}

static int teardown(void **state)
{
	struct item *i;

	stream_stop(streams);
	while ((i = first(&up[0])) != NULL || (i = first(&down[0])) != NULL ||
		(i = first(&down[1])) != NULL)
		free(i);
	return 0;
}

// --- tests ---------------------------------------------------------------------------------------

// Bytes that came before the binding are the first, on both sides, and an end is passed on behind
// the last, one way at a time.
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
	assert_closes(peer);
	assert_closes(data);
	UNTIL(stats().relay_connections == 0 &&
		__atomic_load_n(&connections, __ATOMIC_RELAXED) == 0);
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

// Much, both ways at once, to readers that are slow at first.
static void test_bulk(void **state)
{
	uint64_t conn, data_conn;
	const int c = control(&conn), peer = admitted(conn, 5);
	int data = client(11, "", &data_conn), both[2] = {peer, data};
	pthread_t sender[2];

	order(data_conn, binding(5, "ivan"));
	assert_reads(data, "done");
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

// Another user, another number, twice: each is told so, and may go on with messages.
static void test_unknown(void **state)
{
	uint64_t conn, data_conn;
	const int c = control(&conn), peer = admitted(conn, 5);
	const int data = client(11, "", &data_conn);
	struct item *i;
	uint8_t request[20] = {0, 11, 0, 0, 0x21, 0x12, 0xa4, 0x42};

	order(data_conn, binding(6, "ivan"));
	assert_reads(data, "what");
	assert_true(send(data, request, 20, 0) == 20);
	i = next(ITEM_MESSAGE);
	assert_true(i->from.conn == data_conn);
	free(i);
	order(data_conn, binding(5, "eve"));
	assert_reads(data, "what");
	assert_int_equal(stats().relay_unknown, 2);
	assert_closes(peer); // after a second
	UNTIL(stats().relay_unbound == 1);
	assert_true(send(data, request, 20, 0) == 20);
	free(next(ITEM_MESSAGE));
	order(data_conn, binding(5, "ivan"));
	assert_reads(data, "what");
	close(data);
	close(c);
}

// What stands behind a ConnectionBind that is refused are messages.
static void test_refused_behind(void **state)
{
	uint64_t conn;
	const char behind[20] = {0, 1, 0, 0, 0x21, 0x12, (char)0xa4, 0x42};
	uint8_t both[40] = {0, 11, 0, 0, 0x21, 0x12, 0xa4, 0x42};
	const int data = dial(&server);
	struct item *i;

	memcpy(both + 20, behind, 20);
	assert_true(send(data, both, 40, 0) == 40);
	i = next(ITEM_MESSAGE);
	conn = i->from.conn;
	free(i);
	order(conn, binding(5, "ivan"));
	assert_reads(data, "what");
	i = next(ITEM_MESSAGE);
	assert_int_equal(i->m.data[1], 1);
	free(i);
	close(data);
}

// A peer without a permission, and peers past what an allocation may have.
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
	UNTIL(__atomic_load_n(&connections, __ATOMIC_RELAXED) == 4);
	assert_closes(dial(&port));
	assert_int_equal(stats().relay_full, 1);
	close(c);
	for (uint32_t i = 0; i < 4; i++)
		assert_closes(peers[i]);
}

// The end of the allocation closes its port and all connections.
static void test_end(void **state)
{
	uint64_t conn, data_conn;
	const int c = control(&conn), peer = admitted(conn, 5), waits = admitted(conn, 6);
	const int data = client(11, "", &data_conn);

	order(data_conn, binding(5, "ivan"));
	assert_reads(data, "done");
	__atomic_store_n(&alive, 0, __ATOMIC_RELAXED);
	assert_closes(peer);
	assert_closes(waits);
	assert_closes(data);
	UNTIL(stats().relay_ports == 0 && stats().relay_connections == 0);
	close(c);
}

// A port that somebody else has, and one that is none.
static void test_unopened(void **state)
{
	uint64_t conn;
	const int c = client(3, "", &conn), other = socket(AF_INET, SOCK_STREAM, 0);
	struct stream_order o = listening;
	struct item *i;

	assert_int_equal(bind(other, (struct sockaddr *)&port, sizeof(port)), 0);
	assert_int_equal(listen(other, 1), 0);
	__atomic_store_n(&alive, ALLOCATION, __ATOMIC_RELAXED);
	o.at = (struct endpoint){addr_text("127.0.0.1"), ntohs(port.sin_port)};
	order(conn, o);
	assert_reads(c, "port");
	i = next(ITEM_UNOPENED);
	assert_int_equal(i->attempt.of.allocation, ALLOCATION);
	free(i);
	o.of.place = 4;
	order(conn, o);
	assert_reads(c, "port");
	close(other);
	close(c);
}

// Every address of the loopback interface is one of this namespace.
static void test_own(void **state)
{
	uint64_t conn;
	const int c = control(&conn);
	struct stream_order o = {
		.of = {ALLOCATION, 0}, .to = UINT32_MAX, .id = 9, .kind = STREAM_ORDER_CONNECT};

	o.at = (struct endpoint){addr_text("127.0.0.1"), ntohs(server.sin_port)};
	order(conn, o);
	assert_reads(c, "deny");
	o.at.addr = addr_text("::1");
	order(conn, o);
	assert_reads(c, "deny");
	o.to = 0; // itself, and none
	order(conn, o);
	assert_reads(c, "fail");
	o.to = 2;
	order(conn, o);
	assert_reads(c, "fail");
	o.of.allocation++; // gone
	order(conn, o);
	assert_reads(c, "fail");
	assert_int_equal(stats().relay_refused, 2);
	assert_int_equal(stats().relay_failed, 3);
	close(c);
}

// Two allocations of this box: the one connects, the other one is asked, and no kernel is between.
static void test_inside(void **state)
{
	uint64_t conn, other_conn, data_conn, other_data;
	const int c = control(&conn), d = control_at(&other_conn, 1, &other_port);
	struct stream_order o = {
		.of = {ALLOCATION, 0}, .to = 1, .id = 9, .kind = STREAM_ORDER_CONNECT};
	struct item *i;
	int data, other;

	o.at = (struct endpoint){addr_text("127.0.0.1"), ntohs(other_port.sin_port)};
	order(conn, o);
	assert_reads(c, "done");
	i = next(ITEM_ATTEMPT);
	assert_int_equal(i->attempt.of.place, 1);
	assert_int_equal(i->attempt.peer.port, ntohs(port.sin_port));
	assert_true(i->attempt.conn == other_conn);
	order(other_conn,
		(struct stream_order){.of = i->attempt.of,
			.peer = i->attempt.number,
			.id = 10,
			.kind = STREAM_ORDER_ADMIT});
	free(i);
	assert_reads(d, "done");
	order(conn, o);
	assert_reads(c, "same");
	data = client(11, "", &data_conn);
	order(data_conn, binding(9, "ivan"));
	assert_reads(data, "done");
	assert_true(send(data, "hello", 5, 0) == 5);
	other = client(11, "", &other_data);
	order(other_data, binding(10, "ivan"));
	assert_reads(other, "donehello");
	assert_true(send(other, "there", 5, 0) == 5);
	assert_reads(data, "there");
	close(data);
	assert_closes(other);
	close(c);
	close(d);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_bind),
		TEST(test_bulk),
		TEST(test_unknown),
		TEST(test_refused_behind),
		TEST(test_strangers),
		TEST(test_end),
		TEST(test_unopened),
		TEST(test_own),
		TEST(test_inside),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
