// SPDX-License-Identifier: BSD-3-Clause
// Handshakes of TLS on stream threads, over the loopback interface: how many a source may begin.
#include "stream_world.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <openssl/err.h>

#define TRIES 40
#define BURST 8
#define DEADLINE_S 60

static SSL_CTX *client_tls;
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
	static const struct timeval patience = {.tv_sec = DEADLINE_S};
	const int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_true(fd >= 0);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	assert_int_equal(connect(fd, (struct sockaddr *)&server, sizeof(server)), 0);
	return fd;
}

// Whether its handshake is completed, and not refused by a reset.
static bool shakes(int fd)
{
	SSL *ssl = SSL_new(client_tls);
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
		.idle_s = DEADLINE_S,
		.handshake_s = DEADLINE_S,
		.rate = 1,
		.burst = BURST,
		.queue = 1u << 20};
	double begin;
	unsigned int good = 0, most;

	streams = world_start(c, &server);
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
	world_drain();
}

static int group_setup(void **state)
{
	alarm(DEADLINE_S);
	client_tls = SSL_CTX_new(TLS_client_method());
	return client_tls == NULL ? -1 : world_open();
}

static int group_teardown(void **state)
{
	SSL_CTX_free(client_tls);
	return world_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rate),
	};

	return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
