// SPDX-License-Identifier: BSD-3-Clause
// Control socket connections when there is no room: clients that are closed and clients that are
// kept. A process without descriptors sleeps, and accepts again when it has some.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "clock.h"
#include "socket/clients.h"
#include "test.h"

#define MAX 3 // connections
#define DESCRIPTORS 64
#define WAIT_MS 20
#define PIPELINED 20000 // requests sent without waiting for answers, more than two buffers

static char dir[] = "/tmp/clients.XXXXXX", path[64];
static struct clients clients;
static struct client *asked; // the client of the last line
static int listener, sock[MAX + CLIENTS_FOR_ROOT + 1];
static unsigned int all; // connections that this process may have

static void line(void *ctx, struct client *c, char *text, size_t len)
{
	asked = c;
	if (strcmp(text, "answer") == 0)
		clients_answer(&clients, c, strdup("done\n"), 5);
}

static int setup(void **state)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};

	strcpy(dir, "/tmp/clients.XXXXXX");
	if (mkdtemp(dir) == NULL)
		return -1;
	snprintf(path, sizeof(path), "%s/socket", dir);
	strcpy(addr.sun_path, path);
	listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	memset(sock, -1, sizeof(sock));
	all = MAX + (geteuid() == 0 ? CLIENTS_FOR_ROOT : 0);
	clients = (struct clients){.line = line};
	return bind(listener, (const struct sockaddr *)&addr, sizeof(addr)) != 0 ||
		listen(listener, 64) != 0 ||
		clients_open(&clients, listener, MAX,
			&(struct roles){ROLES_NO_GROUP, ROLES_NO_GROUP}) != 0;
}

static int teardown(void **state)
{
	clients_close(&clients);
	for (unsigned int i = 0; i <= all; i++)
		close(sock[i]);
	close(listener);
	unlink(path);
	return rmdir(dir);
}

static void serve(void)
{
	for (unsigned int i = 0; i < 3; i++)
		clients_serve(&clients, 0, -1);
}

static int join(void)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	strcpy(addr.sun_path, path);
	assert_int_equal(connect(fd, (const struct sockaddr *)&addr, sizeof(addr)), 0);
	return fd;
}

static void say(int fd, const char *text)
{
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
	serve();
}

// Received length, or 0 = closed, -1 = nothing.
static ssize_t got(int fd)
{
	char buf[256];

	return recv(fd, buf, sizeof(buf), MSG_DONTWAIT);
}

// Fills all places. All clients have been silent for more than a minute, sock[0] for longest.
static void fill(void)
{
	const uint64_t now_ms = clock_monotonic_ms();
	unsigned int i = all;

	for (unsigned int k = 0; k < all; k++) {
		sock[k] = join();
		serve();
	}
	assert_int_equal(clients.nb, all);
	for (struct client *c = clients.first; c != NULL; c = c->next) // the newest is the first
		c->asked_ms = now_ms - CLIENTS_IDLE_MS - 1000 * (all - i--);
}

static void the_longest_idle_gives_way(void **state)
{
	fill(); // all have been idle for a minute and more, sock[0] for longest
	sock[all] = join();
	serve();
	assert_int_equal(clients.nb, all);
	assert_int_equal(clients.idle, 1);
	assert_int_equal(clients.refused, 0);
	assert_int_equal(got(sock[0]), 0);
	for (unsigned int i = 1; i <= all; i++)
		assert_int_equal(got(sock[i]), -1);
	say(sock[all], "answer\n");
	assert_int_equal(got(sock[all]), 5);
}

// A client that has asked within the last minute, or waits for an answer, is not closed.
static void a_served_client_is_not_closed(void **state)
{
	uint64_t before;

	fill();
	for (unsigned int i = 0; i < all; i++)
		say(sock[i], i == 0 ? "later\n" : "answer\n");
	clients.first->asked_ms -= CLIENTS_IDLE_MS - 1000; // a second less than needed
	for (struct client *c = clients.first; c != NULL; c = c->next)
		if (c->waits)
			c->asked_ms -= 10 * CLIENTS_IDLE_MS;
	before = clients.refused;
	sock[all] = join();
	serve();
	assert_true(got(sock[all]) > 0); // the reason
	assert_int_equal(got(sock[all]), 0);
	assert_int_equal(clients.refused, before + 1);
	assert_int_equal(clients.idle, 0);
	assert_int_equal(clients.nb, all);
}

// The spare descriptor has been taken by another user of descriptors.
static void without_descriptors_it_sleeps(void **state)
{
	const uint64_t begin = clock_monotonic_ms();
	struct rlimit before, few;
	int taken[DESCRIPTORS];
	unsigned int n = 0;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	few = (struct rlimit){DESCRIPTORS, before.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	sock[0] = join();
	close(clients.spare);
	clients.spare = -1;
	while ((taken[n] = dup(listener)) >= 0)
		n++;
	for (unsigned int i = 0; i < 20; i++)
		clients_serve(&clients, WAIT_MS, -1);
	assert_true(clock_monotonic_ms() - begin >= 10 * WAIT_MS);
	assert_int_equal(clients.nb, 0);
	while (n > 0)
		close(taken[--n]);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	while (clients.nb == 0) {
		assert_true(clock_monotonic_ms() - begin < 20000);
		clients_serve(&clients, WAIT_MS, -1);
	}
	assert_true(clients.spare >= 0);
	say(sock[0], "answer\n");
	assert_int_equal(got(sock[0]), 5);
}

// A client that sends faster than it is answered, and reads all answers, has no line that is too
// long.
static void requests_may_be_many(void **state)
{
	static const char request[] = "answer\n";
	const size_t all_bytes = PIPELINED * (sizeof(request) - 1);
	size_t sent = 0, answered = 0;

	sock[0] = join();
	while (answered < PIPELINED * 5u) {
		const size_t phase = sent % (sizeof(request) - 1);
		char some[4096 + 64], buf[65536];
		size_t n = 0;
		ssize_t rc;

		for (size_t i = phase; n < 4096 && sent + n < all_bytes; i = (i + 1) % 7)
			some[n++] = request[i];
		rc = n > 0 ? send(sock[0], some, n, MSG_DONTWAIT | MSG_NOSIGNAL) : 0;
		sent += rc > 0 ? (size_t)rc : 0;
		if (sent % 3 == 0 || rc <= 0)
			clients_serve(&clients, 0, -1);
		rc = recv(sock[0], buf, sizeof(buf), MSG_DONTWAIT);
		assert_int_not_equal(rc, 0);
		answered += rc > 0 ? (size_t)rc : 0;
		assert_int_equal(clients.broken, 0);
	}
	assert_int_equal(clients.nb, 1);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(the_longest_idle_gives_way),
		CASE(a_served_client_is_not_closed),
		CASE(without_descriptors_it_sleeps),
		CASE(requests_may_be_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
