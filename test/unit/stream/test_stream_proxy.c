// SPDX-License-Identifier: BSD-3-Clause
// Connections through balancers, over the loopback interface: the client that workers see, the
// thread that gets it, and every way in which such a connection is refused.
#include "stream_world.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <openssl/err.h>

#include "addr_text.h"
#include "bytes.h"
#include "stream_change.h"

#define HEADER 28 // bytes: IPv4, no TLVs
#define MESSAGE 20
#define ROOM 100
#define HEADERS 4 // per thread

static const struct prefix lo = {{{.b = {[10] = 0xff, [11] = 0xff, 127}}}, 96 + 24};
static struct stream_listener balanced;
static struct sockaddr_in server;
static struct streams *streams;
static unsigned int files;

static int start(void **state)
{
	struct stream_config c = {.connections = 64,
		.idle_s = 600,
		.handshake_s = 60,
		.queue = 65536,
		.headers = HEADERS,
		.listeners = &balanced};
	struct prefix trusted = lo; // it need not outlive the start

	files = stream_world_open_files();
	balanced = (struct stream_listener){.proxy = &trusted, .nb_proxy = 1, .proxy_room = ROOM};
	if (*state != NULL)
		c.handshake_s = 1;
	streams = stream_world_start(c, &server);
	memset(&trusted, 0xee, sizeof(trusted));
	return 0;
}

static int stop(void **state)
{
	stream_stop(streams);
	stream_world_drain();
	assert_int_equal(stream_world_open_files(), files);
	return 0;
}

static struct stream_stats stats(void)
{
	struct stream_stats s;

	stream_stats(streams, &s);
	return s;
}

static void wait_a_bit(void)
{
	static const struct timespec t = {.tv_nsec = 1000000};

	nanosleep(&t, NULL);
}

#define UNTIL(condition)     \
	while (!(condition)) \
	wait_a_bit()

// --- the balancer --------------------------------------------------------------------------------

static int connected(const char *address)
{
	const struct addr a = addr_text(address);
	const struct timeval patience = {.tv_sec = STREAM_WORLD_DEADLINE_S};
	struct sockaddr_in local = {.sin_family = AF_INET};
	const int fd = socket(AF_INET, SOCK_STREAM, 0);

	memcpy(&local.sin_addr, a.b + 12, 4);
	assert_int_equal(bind(fd, (struct sockaddr *)&local, sizeof(local)), 0);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)), 0);
	// a reset may arrive before the system call returns
	if (connect(fd, (struct sockaddr *)&server, sizeof(server)) != 0)
		assert_int_equal(errno, ECONNRESET);
	return fd;
}

// A header for a client's port, followed by a message of this client.
static void write_both(uint8_t both[HEADER + MESSAGE], uint16_t port)
{
	static const uint8_t first[] = {0x0d, 0x0a, 0x0d, 0x0a, 0x00, 0x0d, 0x0a, 0x51, 0x55, 0x49,
		0x54, 0x0a, 0x21, 0x11, 0x00, 0x0c, 203, 0, 113, 9, 10, 0, 0, 5, 0, 0, 0x0d, 0x96};

	_Static_assert(sizeof(first) == HEADER, "whole");
	memset(both, 0, HEADER + MESSAGE);
	memcpy(both, first, HEADER);
	store_be16(both + 24, port);
	store_be16(both + HEADER, 1);
	store_be32(both + HEADER + 4, 0x2112A442);
	store_be16(both + HEADER + 8, port);
}

static void put(int fd, const void *data, size_t len)
{
	assert_int_equal(send(fd, data, len, MSG_NOSIGNAL), len);
}

static bool is_closed(int fd)
{
	char byte;
	const ssize_t n = recv(fd, &byte, 1, 0);

	return n == 0 || (n < 0 && errno == ECONNRESET);
}

static struct stream_world_message *taken(void)
{
	struct stream_world_message *p;

	UNTIL((p = stream_world_take()) != NULL);
	return p;
}

// A client's message arrives, and its answer goes back. Returns the client's thread.
static unsigned int served(int fd, uint16_t port)
{
	struct stream_world_message *p = taken();
	const unsigned int thread = p->thread;
	uint8_t back[MESSAGE];

	assert_false(p->ended);
	assert_int_equal(p->len, MESSAGE);
	assert_int_equal(p->port, port);
	stream_world_answer(streams, p);
	assert_int_equal(recv(fd, back, MESSAGE, MSG_WAITALL), MESSAGE);
	assert_int_equal(load_be16(back), 1);
	return thread;
}

static void gone(void)
{
	for (unsigned int i = 0; i < STREAM_WORLD_WORKERS; i++) {
		struct stream_world_message *p = taken();

		assert_true(p->ended);
		free(p);
	}
}

// A counter summed over all threads, by its offset in the struct.
static uint64_t counted(size_t offset)
{
	const struct stream_stats s = stats();

	return *(const uint64_t *)((const char *)&s + offset);
}

// The counter is raised right after the reset.
static void refused(const void *data, size_t len, size_t counter)
{
	const int fd = connected("127.0.0.1");

	put(fd, data, len);
	assert_true(is_closed(fd));
	close(fd);
	UNTIL(counted(counter) == 1);
	assert_int_equal(stats().accepted, 0);
	assert_int_equal(stats().connections, 0);
}

// --- tests ---------------------------------------------------------------------------------------

// The client is the one that the header names, however it is cut, and all later bytes belong to it.
static void test_client(void **state)
{
	uint8_t both[HEADER + MESSAGE];
	int fd = connected("127.0.0.1");

	write_both(both, 40001);
	put(fd, both, sizeof(both));
	served(fd, 40001);
	close(fd);
	gone();
	fd = connected("127.0.0.7");
	write_both(both, 40002);
	for (size_t i = 0; i < sizeof(both); i++) {
		put(fd, both + i, 1);
		wait_a_bit();
	}
	served(fd, 40002);
	close(fd);
	gone();
	UNTIL(stats().accepted == 2);
}

// The kernel spreads balancers' connections over all threads. A client always gets the same thread,
// so that news of an end precedes what follows. Different clients use all threads.
static void test_thread(void **state)
{
	unsigned int seen = 0, moved = 0;

	for (uint16_t port = 1; port <= 40; port++) {
		unsigned int first = 0;

		for (unsigned int i = 0; i < 6; i++) {
			uint8_t both[HEADER + MESSAGE];
			const int fd = connected("127.0.0.1");
			unsigned int thread;

			write_both(both, port);
			put(fd, both, sizeof(both));
			thread = served(fd, port);
			moved += i > 0 && thread != first;
			first = thread;
			close(fd);
			gone();
		}
		seen |= 1u << first;
	}
	assert_int_equal(moved, 0);
	assert_int_equal(seen, (1u << STREAM_WORLD_THREADS) - 1);
	assert_int_equal(stats().proxy_taken, 0);
}

// TLS begins after the header.
static void test_tls(void **state)
{
	uint8_t both[HEADER + MESSAGE];
	SSL *ssl = SSL_new(stream_world_tls);
	int fd = connected("127.0.0.1");
	struct stream_world_message *p;

	write_both(both, 40003);
	put(fd, both, HEADER);
	assert_int_equal(SSL_set_fd(ssl, fd), 1);
	assert_int_equal(SSL_connect(ssl), 1);
	assert_int_equal(SSL_write(ssl, both + HEADER, MESSAGE), MESSAGE);
	p = taken();
	assert_int_equal(p->port, 40003);
	assert_non_null(stream_cipher(streams, p->conn));
	free(p);
	SSL_free(ssl);
	close(fd);
	gone();
}

// LOCAL, and unsupported address families: the balancer itself is the client.
static void test_own(void **state)
{
	static const uint8_t commands[][2] = {
		{0x20, 0x00}, {0x20, 0x11}, {0x21, 0x00}, {0x21, 0x12}};

	for (unsigned int i = 0; i < 4; i++) {
		uint8_t both[HEADER + MESSAGE];
		const int fd = connected("127.0.0.1");
		struct sockaddr_in local;
		socklen_t len = sizeof(local);

		assert_int_equal(getsockname(fd, (struct sockaddr *)&local, &len), 0);
		write_both(both, 9);
		memcpy(both + 12, commands[i], 2);
		put(fd, both, sizeof(both));
		served(fd, ntohs(local.sin_port));
		close(fd);
		gone();
	}
	UNTIL(stats().proxy_own == 4);
}

// Two simultaneous connections with one address and port would be one client to workers. The first
// stays.
static void test_taken(void **state)
{
	uint8_t both[HEADER + MESSAGE];
	int fd[4];

	write_both(both, 40004);
	fd[0] = connected("127.0.0.1");
	put(fd[0], both, sizeof(both));
	served(fd[0], 40004);
	for (unsigned int i = 1; i < 4; i++) {
		fd[i] = connected("127.0.0.1");
		put(fd[i], both, sizeof(both));
		assert_true(is_closed(fd[i]));
		close(fd[i]);
	}
	UNTIL(stats().proxy_taken == 3);
	put(fd[0], both + HEADER, MESSAGE);
	served(fd[0], 40004);
	close(fd[0]);
	gone();
	fd[0] = connected("127.0.0.1");
	put(fd[0], both, sizeof(both));
	served(fd[0], 40004);
	close(fd[0]);
	gone();
}

static void test_stranger(void **state)
{
	uint8_t both[HEADER + MESSAGE];
	const int fd = connected("127.0.1.1");

	write_both(both, 9);
	if (send(fd, both, sizeof(both), MSG_NOSIGNAL) > 0)
		assert_true(is_closed(fd));
	close(fd);
	UNTIL(stats().refused_proxy == 1);
	assert_int_equal(stats().accepted, 0);
}

#define COUNTER(name) offsetof(struct stream_stats, name)

static void test_no_header(void **state)
{
	static const char http[] = "POST /turn HTTP/1.1\r\n";

	refused(http, sizeof(http) - 1, COUNTER(proxy_none));
}

static void test_direct(void **state)
{
	uint8_t both[HEADER + MESSAGE];

	write_both(both, 9);
	refused(both + HEADER, MESSAGE, COUNTER(proxy_none));
}

static void test_bad(void **state)
{
	uint8_t both[HEADER + MESSAGE];

	write_both(both, 0);
	refused(both, sizeof(both), COUNTER(proxy_bad));
}

// A header that announces too many bytes is refused without waiting for them.
static void test_long(void **state)
{
	uint8_t both[HEADER + MESSAGE];

	write_both(both, 9);
	store_be16(both + 14, ROOM - 15);
	refused(both, 16, COUNTER(proxy_long));
}

static void test_longest(void **state)
{
	uint8_t text[ROOM + MESSAGE] = {0};
	const int fd = connected("127.0.0.1");

	write_both(text, 40005);
	memmove(text + ROOM, text + HEADER, MESSAGE);
	memset(text + HEADER, 0, ROOM - HEADER);
	text[HEADER] = 4; // padding
	text[HEADER + 2] = ROOM - HEADER - 3;
	text[15] = ROOM - 16;
	put(fd, text, sizeof(text));
	served(fd, 40005);
	close(fd);
	gone();
}

// Half a header, and no header at all.
static void test_slow(void **state)
{
	uint8_t both[HEADER + MESSAGE];
	int fd[2];

	write_both(both, 9);
	for (unsigned int i = 0; i < 2; i++)
		fd[i] = connected("127.0.0.1");
	put(fd[1], both, HEADER - 1);
	for (unsigned int i = 0; i < 2; i++) {
		assert_true(is_closed(fd[i]));
		close(fd[i]);
	}
	UNTIL(stats().proxy_slow == 2);
	assert_int_equal(stats().slow, 0);
	assert_int_equal(stats().accepted, 0);
}

// A balancer that checks if the port is open.
static void test_closed(void **state)
{
	uint8_t both[HEADER + MESSAGE];
	int fd = connected("127.0.0.1");

	close(fd);
	UNTIL(stats().proxy_closed == 1);
	write_both(both, 9);
	fd = connected("127.0.0.1");
	put(fd, both, HEADER - 1);
	close(fd);
	UNTIL(stats().proxy_closed == 2);
	assert_int_equal(stats().accepted, 0);
}

// Silent connections give way, and one that sends everything at once is served. They use no place
// of the connections.
static void test_flood(void **state)
{
	uint8_t both[HEADER + MESSAGE];
	int silent[100], fd;

	for (unsigned int i = 0; i < 100; i++)
		silent[i] = connected("127.0.0.1");
	UNTIL(stats().proxy_gave_way >= 100 - STREAM_WORLD_THREADS * HEADERS);
	fd = connected("127.0.0.1");
	write_both(both, 40006);
	put(fd, both, sizeof(both));
	served(fd, 40006);
	assert_int_equal(stats().connections, 1);
	for (unsigned int i = 0; i < 100; i++)
		close(silent[i]);
	close(fd);
	gone();
}

// The list of trusted balancers, and whether there is one, changes while threads run.
static void test_change(void **state)
{
	const struct prefix trusted = {{{.b = {[10] = 0xff, [11] = 0xff, 127, 0, 1}}}, 96 + 24};
	struct stream_listener l = {.proxy = &trusted, .nb_proxy = 1, .proxy_room = ROOM};
	const struct stream_config c = {.listeners = &l, .idle_s = 600, .handshake_s = 60};
	uint8_t both[HEADER + MESSAGE];
	int fd, old = connected("127.0.0.1");

	write_both(both, 40007);
	put(old, both, sizeof(both));
	served(old, 40007);
	stream_change(streams, &c);
	fd = connected("127.0.0.1");
	if (send(fd, both, sizeof(both), MSG_NOSIGNAL) > 0)
		assert_true(is_closed(fd));
	UNTIL(stats().refused_proxy == 1);
	close(fd);
	fd = connected("127.0.1.1");
	write_both(both, 40008);
	put(fd, both, sizeof(both));
	served(fd, 40008);
	close(fd);
	gone();
	l.nb_proxy = 0;
	stream_change(streams, &c);
	fd = connected("127.0.0.1");
	put(fd, both + HEADER, MESSAGE);
	free(taken());
	close(fd);
	gone();
	put(old, both + HEADER, MESSAGE); // existing connections keep their client
	served(old, 40007);
	close(old);
	gone();
}

int main(void)
{
	static bool impatient = true;
#define CASE(test) cmocka_unit_test_setup_teardown(test, start, stop)
	const struct CMUnitTest tests[] = {CASE(test_client), CASE(test_thread), CASE(test_tls),
		CASE(test_own), CASE(test_taken), CASE(test_stranger), CASE(test_no_header),
		CASE(test_direct), CASE(test_bad), CASE(test_long), CASE(test_longest),
		cmocka_unit_test_prestate_setup_teardown(test_slow, start, stop, &impatient),
		CASE(test_closed), CASE(test_flood), CASE(test_change)};

	return cmocka_run_group_tests(tests, stream_world_open, stream_world_close);
}
