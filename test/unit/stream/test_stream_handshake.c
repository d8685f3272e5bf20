// SPDX-License-Identifier: BSD-3-Clause
// Handshakes of TLS on stream threads, over the loopback interface: how many a source may begin,
// and that who has an open connection does not wait for them.
#include "stream_world.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <openssl/err.h>

#define TRIES 40
#define BURST 8
#define SHAKERS 128
#define PINGS 21
#define SILENT 24

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

// Whether its handshake is completed, and not refused by a reset.
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

// Those within the limit are completed, whatever threads they are on, the others are told at once;
// and who does not speak TLS is none of these.
static void test_rate(void **state)
{
	const struct stream_config c = {.connections = 2 * TRIES,
		.idle_s = STREAM_WORLD_DEADLINE_S,
		.handshake_s = STREAM_WORLD_DEADLINE_S,
		.rate = 1,
		.burst = BURST,
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

// --- who comes first -----------------------------------------------------------------------------

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

// A Binding request of an open connection, and its echo: steps of handshakes made meanwhile.
static unsigned int ping(int fd)
{
	static const uint8_t request[20] = {0, 1, 0, 0, 0x21, 0x12, 0xa4, 0x42};
	const unsigned int before = __atomic_load_n(&steps, __ATOMIC_RELAXED);
	struct stream_world_message *p;
	uint8_t echo[20];

	assert_int_equal(write(fd, request, sizeof(request)), sizeof(request));
	// the news of others' ends is none of ours
	while ((p = stream_world_take()) == NULL || p->ended) {
		free(p);
		usleep(100);
	}
	stream_world_answer(streams, p);
	assert_int_equal(recv(fd, echo, sizeof(echo), MSG_WAITALL), sizeof(echo));
	return __atomic_load_n(&steps, __ATOMIC_RELAXED) - before;
}

// Another byte of a record that never ends, of everybody.
static void shake_all(const int *fd)
{
	for (unsigned int i = 0; i < SHAKERS; i++)
		assert_int_equal(write(fd[i], "x", 1), 1);
}

static int by_size(const void *a, const void *b)
{
	const unsigned int l = *(const unsigned int *)a, r = *(const unsigned int *)b;

	return (l > r) - (l < r);
}

// Both threads have a long line of handshakes to go on with; who is through is served between two
// portions of them, and not behind all.
static void test_first(void **state)
{
	const struct stream_config c = {.connections = 2 * SHAKERS,
		.idle_s = STREAM_WORLD_DEADLINE_S,
		.handshake_s = STREAM_WORLD_DEADLINE_S,
		.queue = 1u << 20};
	unsigned int meanwhile[PINGS];
	int fd[SHAKERS], open;

	streams = stream_world_start(c, &server);
	open = dial();
	ping(open);
	for (unsigned int i = 0; i < SHAKERS; i++) {
		fd[i] = dial();
		assert_int_equal(write(fd[i], "\x16\x03\x01\x40\0", 5), 5);
	}
	for (unsigned int i = 0; i < PINGS; i++) {
		shake_all(fd);
		meanwhile[i] = ping(open);
	}
	qsort(meanwhile, PINGS, sizeof(meanwhile[0]), by_size);
	print_message("steps meanwhile: %u to %u, half of the times no more than %u\n",
		meanwhile[0], meanwhile[PINGS - 1], meanwhile[PINGS / 2]);
	// two ways in a round each, and both threads' steps are counted
	assert_in_range(meanwhile[PINGS / 2], 0, 16);
	for (unsigned int i = 0; i < SHAKERS; i++)
		close(fd[i]);
	close(open);
	stream_stop(streams);
	stream_world_drain();
}

// --- who gives way -------------------------------------------------------------------------------

static bool is_closed(int fd)
{
	uint8_t byte;

	return recv(fd, &byte, 1, MSG_DONTWAIT) == 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
}

// However many there are that say nothing, there is room for one that does, and none is closed that
// has said something.
static void test_gives_way(void **state)
{
	const struct stream_config c = {.connections = SILENT,
		.idle_s = STREAM_WORLD_DEADLINE_S,
		.handshake_s = STREAM_WORLD_DEADLINE_S,
		.queue = 1u << 20};
	int fd[4 * SILENT], talker;

	streams = stream_world_start(c, &server);
	talker = dial();
	ping(talker);
	for (unsigned int i = 0; i < 4 * SILENT; i++) {
		fd[i] = dial();
		if (i % 2 == 1)
			assert_int_equal(write(fd[i], "\x16\x03\x01\x40\0", 5), 5);
		// both threads have some by then: each has one of its own that gives way
		if (i >= 2 * SILENT && i % 8 == 0) {
			const int late = dial();

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rate),
		cmocka_unit_test(test_first),
		cmocka_unit_test(test_gives_way),
	};

	return cmocka_run_group_tests(tests, stream_world_open, stream_world_close);
}
