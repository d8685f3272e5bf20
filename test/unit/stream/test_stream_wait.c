// SPDX-License-Identifier: BSD-3-Clause
// Connections of stream threads that wait: for workers that take nothing, for clients that do not
// read, for a thread that naps. No message is lost, and no connection is closed for it.
#include "stream_world.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "bytes.h"

#define MESSAGE 1000 // bytes of a STUN message here
#define MANY 12 // more messages than workers have buffers
#define QUEUE 65536 // bytes that may wait for a client; half of them are harmless
#define QUEUED (QUEUE * 3 / 4 / MESSAGE)
#define LOTS 300 // more messages than the queue and the kernel take
#define HANDSHAKE_S 1
#define NAP_US (2 * STREAM_WORLD_DEADLINE_S * 1000000u) // longer than any test may take
#define CLOCK_US 20000 // enough for some answers, one after another, in a nap
#define BATCH 5 // small messages, as many as workers have buffers

static struct sockaddr_in server;
static struct streams *streams;

static void start(uint32_t queue)
{
	const struct stream_config c = {
		.connections = 4, .idle_s = 600, .handshake_s = HANDSHAKE_S, .queue = queue};

	streams = stream_world_start(c, &server);
}

static void stop(void)
{
	stream_stop(streams);
	stream_world_drain();
}

static struct stream_stats stats(void)
{
	struct stream_stats s;

	stream_stats(streams, &s);
	return s;
}

static void wait_ms(unsigned int ms)
{
	const struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};

	nanosleep(&t, NULL);
}

// Connects with a small receive buffer.
static int connected(void)
{
	static const int little = 4096;
	const struct timeval patience = {.tv_sec = STREAM_WORLD_DEADLINE_S};
	const int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &little, sizeof(little)), 0);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&server, sizeof(server)), 0);
	return fd;
}

static void make_message(uint8_t message[MESSAGE])
{
	memset(message, 0, MESSAGE);
	store_be16(message, 1);
	store_be16(message + 2, MESSAGE - 20);
	store_be32(message + 4, 0x2112A442);
}

static void put(int fd, const void *data, size_t len)
{
	assert_int_equal(send(fd, data, len, MSG_NOSIGNAL), len);
}

// Messages that wait for buffers, followed by bytes that end the connection.
static void test_garbage_behind_waiting(void **state)
{
	uint8_t all[(MANY + 1) * MESSAGE];
	unsigned int got = 0, told = 0;
	struct stream_world_message *p;
	int fd;

	start(1u << 20);
	for (unsigned int i = 0; i < MANY; i++)
		make_message(all + i * MESSAGE);
	memset(all + MANY * MESSAGE, 0xff, MESSAGE);
	fd = connected();
	put(fd, all, sizeof(all));
	while (stats().stalled == 0)
		wait_ms(1);
	while (told < STREAM_WORLD_WORKERS) {
		p = stream_world_take();
		if (p == NULL) {
			wait_ms(1);
			continue;
		}
		told += p->ended;
		got += !p->ended;
		free(p);
	}
	assert_int_equal(got, MANY);
	assert_int_equal(stats().garbage, 1);
	close(fd);
	stop();
}

// Takes n messages for workers.
static void take_all(struct stream_world_message **p, unsigned int n)
{
	for (unsigned int i = 0; i < n;) {
		p[i] = stream_world_take();
		if (p[i] != NULL)
			i++;
		else
			wait_ms(1);
	}
}

static uint64_t rounds(unsigned int thread)
{
	struct stream_progress r;

	assert_true(stream_progress(streams, thread, &r));
	return r.rounds;
}

// Answers until neither the kernel nor the client takes more, and then until the server stops
// reading. Returns the number of answers.
static unsigned int answer_too_many(struct stream_world_message **p)
{
	const unsigned int thread = p[0]->thread;
	unsigned int n = 0, waited = 0;
	uint64_t tried = 0; // by then the thread has taken the last answer and written what it can

	while (waited < 50 || rounds(thread) < tried) {
		if (stats().tx == n) {
			assert_true(n < LOTS - QUEUED);
			stream_world_answer(streams, p[n++]);
			tried = rounds(thread) + 3;
			waited = 0;
		}
		wait_ms(1);
		waited++;
	}
	for (unsigned int i = 0; i < QUEUED; i++)
		stream_world_answer(streams, p[n++]);
	return n;
}

// A client that does not read its answers is not read from. It may finish its partial message
// afterwards.
static void test_reader_comes_back(void **state)
{
	static uint8_t all[(LOTS + 1) * MESSAGE], buf[MESSAGE];
	struct stream_world_message *p[LOTS + 1];
	unsigned int answers;
	int fd;

	start(QUEUE);
	for (unsigned int i = 0; i <= LOTS; i++)
		make_message(all + i * MESSAGE);
	fd = connected();
	put(fd, all, sizeof(all) - MESSAGE / 2);
	take_all(p, LOTS);
	while (stats().rx_bytes < sizeof(all) - MESSAGE / 2)
		wait_ms(1);
	answers = answer_too_many(p);
	wait_ms(HANDSHAKE_S * 1500);
	for (unsigned int i = 0; i < answers; i++)
		assert_int_equal(recv(fd, buf, MESSAGE, MSG_WAITALL), MESSAGE);
	wait_ms(HANDSHAKE_S * 500); // every connection has been checked
	assert_int_equal(stats().slow, 0);
	put(fd, all, MESSAGE / 2);
	take_all(&p[LOTS], 1);
	assert_int_equal(stats().queue_full, 0);
	for (unsigned int i = answers; i <= LOTS; i++)
		free(p[i]);
	close(fd);
	stop();
}

// --- main ----------------------------------------------------------------------------------------

// A thread that naps longer than this test may take still writes a worker's messages, once, and
// ends when asked to.
static void test_nap_is_broken(void **state)
{
	const struct stream_config c = {
		.connections = 4, .idle_s = 600, .handshake_s = 600, .queue = QUEUE};
	const uint8_t one[20] = {0, 0x11, 0, 0, 0x21, 0x12, 0xa4, 0x42};
	uint8_t all[BATCH * sizeof(one)], back[sizeof(one)];
	struct stream_world_message *p[BATCH];
	int fd;

	streams = stream_world_start(c, &server);
	fd = connected();
	put(fd, one, sizeof(one));
	take_all(p, 1);
	free(p[0]);
	__atomic_store_n(&streams->conf.nap_us, NAP_US, __ATOMIC_RELAXED);
	for (unsigned int i = 0; i < BATCH; i++)
		memcpy(all + i * sizeof(one), one, sizeof(one));
	put(fd, all, sizeof(all));
	for (unsigned int i = 0; i < BATCH; i++)
		while ((p[i] = stream_world_take()) == NULL)
			wait_ms(1);
	stream_world_answer(streams, p[0]);
	assert_int_equal(recv(fd, back, sizeof(back), MSG_WAITALL), sizeof(back));
	assert_memory_equal(back, one, sizeof(one));
	for (unsigned int i = 1; i < BATCH; i++)
		free(p[i]);
	stop();
	close(fd);
}

// A thread that naps ends the dozes of the worker that has messages for its clients, even without
// messages for the worker; and of no other worker.
static void test_nap_is_a_clock(void **state)
{
	const struct stream_config c = {.connections = 4,
		.idle_s = 600,
		.handshake_s = 600,
		.queue = QUEUE,
		.nap_us = CLOCK_US};
	const uint8_t one[20] = {0, 0x11, 0, 0, 0x21, 0x12, 0xa4, 0x42};
	uint8_t back[sizeof(one)];
	struct stream_world_message *like;
	unsigned int rouses;
	int fd;

	streams = stream_world_start(c, &server);
	fd = connected();
	put(fd, one, sizeof(one));
	while ((like = stream_world_take()) == NULL)
		wait_ms(1);
	rouses = stream_world_roused(!like->worker);
	for (const unsigned int before = stream_world_roused(like->worker);
		stream_world_roused(like->worker) == before;) {
		struct stream_world_message *p = calloc(1, sizeof(*p) + sizeof(one));

		memcpy(p, like, sizeof(*p) + sizeof(one));
		stream_world_answer(streams, p);
		assert_int_equal(recv(fd, back, sizeof(back), MSG_WAITALL), sizeof(back));
	}
	assert_int_equal(stream_world_roused(!like->worker), rouses);
	assert_int_equal(stats().rx, 1);
	free(like);
	stop();
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_garbage_behind_waiting),
		cmocka_unit_test(test_reader_comes_back),
		cmocka_unit_test(test_nap_is_broken),
		cmocka_unit_test(test_nap_is_a_clock),
	};

	return cmocka_run_group_tests(tests, stream_world_open, stream_world_close);
}
