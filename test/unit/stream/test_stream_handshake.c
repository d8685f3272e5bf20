// SPDX-License-Identifier: BSD-3-Clause
// TLS handshakes on stream threads, over the loopback interface: the number that a source may
// begin, and that open connections do not wait for them.
#include "stream_world.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <openssl/err.h>

#include "bytes.h"
#include "identity/tls_hello.h"

#define TRIES 40
#define BURST 8
#define HANDSHAKES 128
#define PINGS 21
#define SILENT 64

static struct sockaddr_in server;
static struct streams *streams;

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static int dial(void)
{
	static const struct timeval patience = {.tv_sec = STREAM_WORLD_DEADLINE_S};
	const int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_true(fd >= 0);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	assert_int_equal(connect(fd, (struct sockaddr *)&server, sizeof(server)), 0);
	return fd;
}

// True if the handshake is completed, not refused by a reset.
static bool shakes(int fd)
{
	SSL *ssl = SSL_new(stream_world_tls);
	bool good;

	assert_non_null(ssl);
	SSL_set_fd(ssl, fd);
	ERR_clear_error();
	good = SSL_connect(ssl) == 1;
	SSL_free(ssl);
	return good;
}

static struct stream_stats counters(void)
{
	struct stream_stats s;

	stream_stats(streams, &s);
	return s;
}

// Those within the limit are completed, whatever threads they are on. The others are refused at
// once. Connections without TLS do not count.
static void test_rate(void **state)
{
	const struct stream_config c = {.connections = 2 * TRIES,
		.idle_s = STREAM_WORLD_DEADLINE_S,
		.handshake_s = STREAM_WORLD_DEADLINE_S,
		.handshakes = {1, BURST},
		.queue = 1u << 20};
	double begin;
	unsigned int good = 0, most;

	streams = stream_world_start(c, &server);
	begin = seconds();
	for (unsigned int i = 0; i < TRIES; i++) {
		const int plain = dial(), fd = dial();

		assert_int_equal(write(plain, "\0\1", 2), 2);
		good += shakes(fd);
		close(fd);
		close(plain);
	}
	most = BURST + (unsigned int)(seconds() - begin) + 1;
	assert_in_range(good, BURST, most);
	while (counters().handshakes + counters().refused_rate < TRIES)
		usleep(1000);
	assert_int_equal(counters().refused_rate, TRIES - good);
	assert_int_equal(counters().handshakes, good);
	assert_int_equal(counters().handshake_failed, 0);
	stream_stop(streams);
	stream_world_drain();
}

// --- priority ------------------------------------------------------------------------------------

static unsigned int steps; // of handshakes

// Each step takes as long as with a large key.
int __real_SSL_accept(SSL *ssl);
int __wrap_SSL_accept(SSL *ssl);
int __wrap_SSL_accept(SSL *ssl)
{
	static const struct timespec key = {.tv_nsec = 2 * 1000 * 1000};

	nanosleep(&key, NULL);
	__atomic_add_fetch(&steps, 1, __ATOMIC_RELAXED);
	return __real_SSL_accept(ssl);
}

// A Binding request of an open connection, and its echo. Returns the handshake steps made
// meanwhile.
static unsigned int ping(int fd)
{
	static const uint8_t request[20] = {0, 1, 0, 0, 0x21, 0x12, 0xa4, 0x42};
	const unsigned int before = __atomic_load_n(&steps, __ATOMIC_RELAXED);
	struct stream_world_message *p;
	uint8_t echo[20];

	assert_int_equal(write(fd, request, sizeof(request)), sizeof(request));
	// news of the end of other clients is skipped
	while ((p = stream_world_take()) == NULL || p->ended) {
		free(p);
		usleep(100);
	}
	stream_world_answer(streams, p);
	assert_int_equal(recv(fd, echo, sizeof(echo), MSG_WAITALL), sizeof(echo));
	return __atomic_load_n(&steps, __ATOMIC_RELAXED) - before;
}

// Each client sends another byte of a record that never ends.
static void handshake_all(const int *fd)
{
	for (unsigned int i = 0; i < HANDSHAKES; i++)
		assert_int_equal(write(fd[i], "\0", 1), 1);
}

static int by_size(const void *a, const void *b)
{
	const unsigned int l = *(const unsigned int *)a, r = *(const unsigned int *)b;

	return (l > r) - (l < r);
}

// Both threads have a long queue of handshakes. Open connections are served between two portions of
// it, not after all.
static void test_first(void **state)
{
	const struct stream_config c = {.connections = 2 * HANDSHAKES,
		.idle_s = STREAM_WORLD_DEADLINE_S,
		.handshake_s = STREAM_WORLD_DEADLINE_S,
		.queue = 1u << 20};
	unsigned int meanwhile[PINGS];
	int fd[HANDSHAKES], open;

	streams = stream_world_start(c, &server);
	open = dial();
	ping(open);
	for (unsigned int i = 0; i < HANDSHAKES; i++) {
		fd[i] = dial();
		assert_int_equal(write(fd[i], "\x16\x03\x01\x40\0", 5), 5);
	}
	for (unsigned int i = 0; i < PINGS; i++) {
		handshake_all(fd);
		meanwhile[i] = ping(open);
	}
	qsort(meanwhile, PINGS, sizeof(meanwhile[0]), by_size);
	print_message("steps meanwhile: %u to %u, half of the times no more than %u\n",
		meanwhile[0], meanwhile[PINGS - 1], meanwhile[PINGS / 2]);
	// two trips in a round each, and the steps of both threads count
	assert_in_range(meanwhile[PINGS / 2], 0, 16);
	for (unsigned int i = 0; i < HANDSHAKES; i++)
		close(fd[i]);
	close(open);
	stream_stop(streams);
	stream_world_drain();
}

// --- closed to make room -------------------------------------------------------------------------

static bool is_closed(int fd)
{
	uint8_t byte;

	return recv(fd, &byte, 1, MSG_DONTWAIT) == 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
}

// Opens a connection and waits until its thread has taken it. A late thread would have no silent
// connection to close once the other has filled all places.
static int dial_taken(void)
{
	const uint64_t before = counters().accepted;
	const int fd = dial();

	while (counters().accepted == before) {
		assert_int_equal(counters().refused_total, 0);
		usleep(100);
	}
	return fd;
}

// However many connections are silent, there is room for one that speaks, and no connection that
// has spoken is closed. The number is large so that no thread gets no part of them by chance: with
// 24 places that was one run in 8,000.
static void test_gives_way(void **state)
{
	const struct stream_config c = {.connections = SILENT,
		.idle_s = STREAM_WORLD_DEADLINE_S,
		.handshake_s = STREAM_WORLD_DEADLINE_S,
		.queue = 1u << 20};
	int fd[4 * SILENT], talker;

	streams = stream_world_start(c, &server);
	talker = dial_taken();
	ping(talker);
	for (unsigned int i = 0; i < 4 * SILENT; i++) {
		fd[i] = dial_taken();
		if (i % 2 == 1)
			assert_int_equal(write(fd[i], "\x16\x03\x01\x40\0", 5), 5);
		// both threads have some by then: each has a silent one to close
		if (i >= 2 * SILENT && i % 8 == 0) {
			const int late = dial_taken();

			ping(late);
			close(late);
		}
		ping(talker);
	}
	assert_true(counters().gave_way > SILENT);
	assert_true(is_closed(fd[0]));
	for (unsigned int i = 0; i < 4 * SILENT; i++)
		close(fd[i]);
	close(talker);
	stream_stop(streams);
	stream_world_drain();
}

// Sends the bytes that a client has written to memory, one at a time.
static void carry(SSL *ssl, int fd)
{
	uint8_t buf[16384];
	int n;

	while ((n = BIO_read(SSL_get_wbio(ssl), buf, sizeof(buf))) > 0)
		for (int i = 0; i < n; i++)
			assert_int_equal(send(fd, buf + i, 1, MSG_NOSIGNAL), 1);
}

// A Binding request over TLS, and its echo.
static void ping_over(SSL *ssl, int fd)
{
	static const uint8_t request[20] = {0, 1, 0, 0, 0x21, 0x12, 0xa4, 0x42};
	struct stream_world_message *p;
	uint8_t buf[4096];

	assert_int_equal(SSL_write(ssl, request, sizeof(request)), sizeof(request));
	carry(ssl, fd);
	while ((p = stream_world_take()) == NULL || p->ended) {
		free(p);
		usleep(100);
	}
	stream_world_answer(streams, p);
	while (SSL_read(ssl, buf, sizeof(buf)) != sizeof(request)) {
		const ssize_t n = recv(fd, buf, sizeof(buf), 0);

		assert_true(n > 0);
		assert_int_equal(BIO_write(SSL_get_rbio(ssl), buf, (int)n), n);
	}
}

// --- long ones -----------------------------------------------------------------------------------

// A handshake record that begins a ClientHello of `len` bytes.
static void begin_hello(uint8_t out[9], uint32_t len)
{
	static const uint8_t record[] = {0x16, 3, 1, 0x40, 0};

	memcpy(out, record, sizeof(record));
	store_be32(out + 5, 1u << 24 | len);
}

// Continues a client's handshake until it has nothing more to send. True once it is complete.
static bool goes_on(SSL *ssl, int fd)
{
	uint8_t buf[16384];
	ssize_t n;
	int rc;

	ERR_clear_error();
	rc = SSL_connect(ssl);
	carry(ssl, fd);
	if (rc == 1)
		return true;
	assert_int_equal(SSL_get_error(ssl, rc), SSL_ERROR_WANT_READ);
	n = recv(fd, buf, sizeof(buf), 0);
	assert_true(n > 0);
	assert_int_equal(BIO_write(SSL_get_rbio(ssl), buf, (int)n), n);
	return false;
}

static SSL *client(int version, const char *groups)
{
	SSL *ssl = SSL_new(stream_world_tls);

	SSL_set_bio(ssl, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
	BIO_set_nbio(SSL_get_rbio(ssl), 1);
	assert_int_equal(SSL_set_max_proto_version(ssl, version), 1);
	assert_int_equal(SSL_set1_groups_list(ssl, groups), 1);
	return ssl;
}

static void start_for_hellos(void)
{
	const struct stream_config c = {.connections = 8,
		.idle_s = STREAM_WORLD_DEADLINE_S,
		.handshake_s = STREAM_WORLD_DEADLINE_S,
		.queue = 1u << 20};

	streams = stream_world_start(c, &server);
}

// Handshakes in pieces, in both versions, resumed or not, and with a first ClientHello without the
// right key share (RFC 8446 4.1.4).
static void test_pieces(void **state)
{
	static const struct {
		int version;
		const char *groups;
	} kinds[] = {{TLS1_3_VERSION, "X25519"}, {TLS1_2_VERSION, "X25519:P-256"},
		{TLS1_3_VERSION, "P-521:P-256"}};

	start_for_hellos();
	for (unsigned int i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		SSL_SESSION *session = NULL;

		for (unsigned int again = 0; again < 2; again++) {
			SSL *ssl = client(kinds[i].version, kinds[i].groups);
			const int fd = dial();

			if (session != NULL)
				assert_int_equal(SSL_set_session(ssl, session), 1);
			while (!goes_on(ssl, fd))
				continue;
			ping_over(ssl, fd);
			SSL_SESSION_free(session);
			session = SSL_get1_session(ssl);
			SSL_free(ssl);
			close(fd);
		}
		SSL_SESSION_free(session);
	}
	assert_int_equal(counters().handshake_failed, 0);
	stream_stop(streams);
	stream_world_drain();
}

// A thread does not wait for the rest of an overlong ClientHello, nor allocates memory for it:
// neither for the first one nor for the second.
static void test_long(void **state)
{
	uint8_t hello[9];
	SSL *ssl;
	int fd;

	start_for_hellos();
	begin_hello(hello, TLS_HELLO_MAX);
	fd = dial();
	assert_int_equal(write(fd, hello, sizeof(hello)), sizeof(hello));
	begin_hello(hello, TLS_HELLO_MAX + 1);
	for (unsigned int i = 0; i < 2; i++) {
		const int excess = dial();

		for (unsigned int offset = 0; offset < sizeof(hello);
			offset += i == 0 ? sizeof(hello) : 1)
			assert_true(send(excess, hello + offset, i == 0 ? sizeof(hello) : 1,
					    MSG_NOSIGNAL) > 0);
		while (counters().handshake_failed < i + 1)
			usleep(1000);
		close(excess);
	}
	assert_false(is_closed(fd));
	close(fd);
	ssl = client(TLS1_3_VERSION, "P-521:P-256");
	fd = dial();
	assert_false(goes_on(ssl, fd)); // HelloRetryRequest received
	assert_int_equal(write(fd, hello, sizeof(hello)), sizeof(hello));
	while (counters().handshake_failed < 3)
		usleep(1000);
	SSL_free(ssl);
	close(fd);
	stream_stop(streams);
	stream_world_drain();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rate),
		cmocka_unit_test(test_first),
		cmocka_unit_test(test_gives_way),
		cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_long),
	};

	return cmocka_run_group_tests(tests, stream_world_open, stream_world_close);
}
