// SPDX-License-Identifier: BSD-3-Clause
// Fairness between connections: a client that sends without pause delays others by at most one turn
// of each connection. A worker that takes no news of ends delays only its own clients.
#include "stream_world.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "bytes.h"
#include "in/turns.h"

#define HOSTILE 64 // strangers' connections at the honest one's thread and worker
#define MADE 512 // made to get that number there
#define EMPTY 4 // bytes of ChannelData without data
#define FLOOD (STREAM_CHUNK + EMPTY) // bytes that each has sent: more than one read
#define TURNS 4 // that are checked of each connection

static struct sockaddr_in server;
static struct streams *streams;
static int hostile[MADE];
static unsigned int nb_hostile;

static void start(void)
{
	const struct stream_config c = {
		.connections = 2 * MADE, .idle_s = 600, .handshake_s = 600, .queue = 65536};

	streams = stream_world_start(c, &server);
}

static void stop(void)
{
	while (nb_hostile > 0)
		close(hostile[--nb_hostile]);
	stream_stop(streams);
	stream_world_drain();
}

static void wait_ms(unsigned int ms)
{
	const struct timespec t = {.tv_nsec = (long)ms * 1000000};

	nanosleep(&t, NULL);
}

static int connected(void)
{
	const int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(connect(fd, (struct sockaddr *)&server, sizeof(server)), 0);
	return fd;
}

static uint16_t port_of(int fd)
{
	struct sockaddr_in addr;
	socklen_t len = sizeof(addr);

	assert_int_equal(getsockname(fd, (struct sockaddr *)&addr, &len), 0);
	return ntohs(addr.sin_port);
}

static void put(int fd, const void *data, size_t len)
{
	assert_int_equal(send(fd, data, len, MSG_NOSIGNAL), len);
}

// A Binding indication needs no room for an answer.
static void put_first(int fd)
{
	static const uint8_t indication[20] = {0, 0x11, 0, 0, 0x21, 0x12, 0xa4, 0x42};

	put(fd, indication, sizeof(indication));
}

// The next message of a client.
static struct stream_world_message *next(void)
{
	struct stream_world_message *p;

	while ((p = stream_world_take()) == NULL || p->ended) {
		if (p == NULL)
			wait_ms(1);
		free(p);
	}
	return p;
}

// Waits until a thread has polled its sockets and come round again.
static void wait_rounds(unsigned int thread)
{
	struct stream_progress before, now;

	assert_true(stream_progress(streams, thread, &before));
	do {
		wait_ms(1);
		assert_true(stream_progress(streams, thread, &now));
	} while (now.rounds < before.rounds + MADE / 64 + 3);
}

// Gets the client's first message, which names its thread and worker.
static struct stream_world_message first_of(int fd)
{
	struct stream_world_message *p, m;

	put_first(fd);
	p = next();
	assert_int_equal(p->port, port_of(fd));
	m = *p;
	free(p);
	return m;
}

// Opens connections until HOSTILE are at the thread and worker of `one`.
static void gather(const struct stream_world_message *one)
{
	unsigned int n = 0;

	while (n < HOSTILE) {
		struct stream_world_message m;

		assert_true(nb_hostile < MADE);
		hostile[nb_hostile] = connected();
		m = first_of(hostile[nb_hostile]);
		if (m.thread == one->thread && m.worker == one->worker) {
			nb_hostile++;
			n++;
		} else {
			close(hostile[nb_hostile]);
		}
	}
}

static void flood(void)
{
	static uint8_t data[FLOOD];

	for (unsigned int i = 0; i < sizeof(data); i += EMPTY)
		store_be16(data + i, 0x4000);
	for (unsigned int i = 0; i < nb_hostile; i++)
		put(hostile[i], data, sizeof(data));
}

// While other connections send empty ChannelData without end, a message waits for one turn of each.
static void test_one_turn_of_each(void **state)
{
	struct stream_world_message *p, like;
	unsigned int before = 0;
	int honest;

	start();
	honest = connected();
	like = first_of(honest);
	gather(&like);
	flood();
	wait_rounds(like.thread);
	put_first(honest);
	wait_rounds(like.thread);
	for (;; free(p)) {
		p = next();
		if (p->thread != like.thread || p->worker != like.worker)
			continue;
		if (p->conn == like.conn)
			break;
		before++;
		assert_true(before <= HOSTILE * TURNS_MESSAGES);
	}
	free(p);
	close(honest);
	stop();
}

static unsigned int place(uint16_t port)
{
	for (unsigned int i = 0; i < nb_hostile; i++)
		if (port_of(hostile[i]) == port)
			return i;
	fail();
	return 0;
}

// No connection loses its turn: all make equal progress, whatever room the worker has.
static void test_all_go_on_alike(void **state)
{
	unsigned int got[HOSTILE] = {0}, all = 0;
	struct stream_world_message like, *p;
	int one;

	start();
	one = connected();
	like = first_of(one);
	gather(&like);
	flood();
	wait_rounds(like.thread);
	while (all < HOSTILE * TURNS * TURNS_MESSAGES) {
		p = next();
		got[place(p->port)]++;
		all++;
		free(p);
	}
	for (unsigned int i = 0; i < HOSTILE; i++)
		assert_in_range(got[i], (TURNS - 1) * TURNS_MESSAGES, (TURNS + 1) * TURNS_MESSAGES);
	close(one);
	stop();
}

// A client of a worker.
static int client_of(unsigned int worker, struct stream_world_message *m)
{
	for (unsigned int tries = 0;; tries++) {
		const int fd = socket(AF_INET, SOCK_STREAM, 0);
		const struct sockaddr_in any = {.sin_family = AF_INET};

		// the kernel gives even ports to connecting sockets and odd ones to bound ones, or
		// the other way round
		if (tries % 2 != 0)
			assert_int_equal(bind(fd, (const struct sockaddr *)&any, sizeof(any)), 0);
		assert_int_equal(connect(fd, (struct sockaddr *)&server, sizeof(server)), 0);
		*m = first_of(fd);
		if (m->worker == worker)
			return fd;
		hostile[nb_hostile++] = fd; // its end has not been reported
	}
}

// A worker that takes no messages has not been notified of an end: clients of other workers are
// read.
static void test_untold_keeps_others(void **state)
{
	struct stream_world_message a, b, *p;
	int full, neighbor, ends;

	start();
	full = client_of(0, &a);
	ends = client_of(0, &b);
	neighbor = client_of(1, &b);
	for (unsigned int i = 0; i < 64; i++)
		put_first(full); // more than it has room for
	wait_rounds(a.thread);
	close(ends);
	wait_rounds(0);
	wait_rounds(1);
	put_first(neighbor);
	stream_world_leave(0);
	p = next();
	assert_int_equal(p->conn, b.conn);
	free(p);
	close(neighbor);
	close(full);
	stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_turn_of_each),
		cmocka_unit_test(test_all_go_on_alike),
		cmocka_unit_test(test_untold_keeps_others),
	};

	return cmocka_run_group_tests(tests, stream_world_open, stream_world_close);
}
