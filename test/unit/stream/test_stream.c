// SPDX-License-Identifier: BSD-3-Clause
// Stream threads as a whole, over the loopback interface: clients that cut their bytes anywhere,
// with TLS and without, and leave in every possible way; workers that are full now and then; a
// certificate that is reloaded all the time. Every message arrives once, in order and whole, and
// none after the news of the end. Under sanitizers the test finds races between threads.
#include "stream_world.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <openssl/err.h>

#include "bytes.h"
#include "stream_change.h"
#include "test_rand.h"

#define CLIENTS 16
#define LIVES 4 // connections of a client, one after another
#define MESSAGES 40
#define STUN_HEADER 20
#define GARBAGE 8
#define BYTES (MESSAGES * 4400 + GARBAGE)

enum leaving { LEAVE_CLOSE, LEAVE_RESET, LEAVE_GARBAGE, LEAVE_HALFWAY, LEAVINGS };

struct client {
	int fd;
	SSL *ssl;
	uint16_t port;
	unsigned int lives; // remaining ones
	enum leaving leaving;
	uint8_t out[BYTES], echo[BYTES]; // sent bytes, and their echo
	size_t out_len, out_at, echo_len, back, seen; // seen: the part of echo seen by workers
	size_t halfway;
	size_t again; // libssl wants the length repeated
	uint64_t conn; // 0: no byte of it has reached a worker
	unsigned int told; // a bit for each worker that knows its end
	bool left;
};

static struct sockaddr_in server;
static struct streams *streams;
static struct client clients[CLIENTS];
static struct test_rand rnd;
static unsigned int nb_left[LEAVINGS], messages, connections;

// --- the workers ---------------------------------------------------------------------------------

static struct client *client_of(const struct stream_world_message *p)
{
	for (unsigned int i = 0; i < CLIENTS; i++)
		if (clients[i].port == p->port &&
			(clients[i].conn == 0 || clients[i].conn == p->conn))
			return &clients[i];
	fail_msg("a message of nobody");
	return NULL;
}

static void work(struct stream_world_message *p)
{
	struct client *c = client_of(p);

	assert_int_equal(p->thread, stream_thread_of(p->conn));
	assert_int_equal(c->told >> p->worker & 1, 0);
	if (p->ended) {
		assert_true(c->left);
		assert_true(c->seen == c->echo_len || c->leaving == LEAVE_HALFWAY);
		assert_int_equal(c->conn, p->conn);
		assert_false(stream_alive(streams, p->conn));
		c->told |= 1u << p->worker;
		free(p);
		return;
	}
	c->conn = p->conn;
	assert_int_equal(p->worker, c->port % STREAM_WORLD_WORKERS);
	assert_true(c->seen + p->len <= c->echo_len);
	assert_memory_equal(c->echo + c->seen, p->data, p->len);
	c->seen += (p->len + 3u) & ~3u;
	messages++;
	stream_world_answer(streams, p);
}

// Handles a few messages, or no message.
static bool workers_round(void)
{
	const unsigned int most = test_rand_below(&rnd, 4);
	struct stream_world_message *p = NULL;
	unsigned int n = 0;

	for (; n < most && (p = stream_world_take()) != NULL; n++)
		work(p);
	return n > 0;
}

// --- a client ------------------------------------------------------------------------------------

static void add_message(struct client *c, unsigned int i)
{
	uint8_t *p = c->out + c->out_len;
	const uint32_t kind = 1 + test_rand_below(&rnd, 8);
	const bool is_long = i > 0 && kind == 8;
	uint32_t len = is_long
		? STREAM_WORLD_ROOM - 24 + test_rand_below(&rnd, 2 * STREAM_WORLD_ROOM)
		: test_rand_below(&rnd, 200);

	// the first is STUN: a connection cannot begin with ChannelData
	if (i == 0 || kind % 2 == 1) {
		len &= ~3u;
		test_rand_fill(&rnd, p, STUN_HEADER + len);
		store_be16(p, 1);
		store_be16(p + 2, (uint16_t)len);
		store_be32(p + 4, 0x2112A442);
		len += STUN_HEADER;
	} else {
		memset(p, 0, len + 8);
		test_rand_fill(&rnd, p + 4, len);
		store_be16(p, 0x4001);
		store_be16(p + 2, (uint16_t)len);
		len += 4;
	}
	c->out_len += (len + 3) & ~3u;
	if (len > STREAM_WORLD_ROOM)
		return; // those are skipped
	memcpy(c->echo + c->echo_len, p, (len + 3) & ~3u);
	c->echo_len += (len + 3) & ~3u;
}

static void begin(struct client *c)
{
	const unsigned int lives = c->lives - 1;
	struct sockaddr_in local;
	socklen_t len = sizeof(local);

	*c = (struct client){.lives = lives, .leaving = test_rand_below(&rnd, LEAVINGS)};
	for (unsigned int i = 0; i < MESSAGES; i++)
		add_message(c, i);
	c->halfway = test_rand_below(&rnd, (uint32_t)c->out_len);
	c->fd = socket(AF_INET, SOCK_STREAM, 0);
	assert_true(c->fd >= 0);
	assert_int_equal(connect(c->fd, (struct sockaddr *)&server, sizeof(server)), 0);
	assert_int_equal(fcntl(c->fd, F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(getsockname(c->fd, (struct sockaddr *)&local, &len), 0);
	c->port = ntohs(local.sin_port);
	connections++;
	if (test_rand_below(&rnd, 2) == 0)
		return;
	c->ssl = SSL_new(stream_world_tls);
	assert_int_equal(SSL_set_fd(c->ssl, c->fd), 1);
	SSL_set_connect_state(c->ssl);
}

// More than 0: bytes; 0: would block; -1: the server has closed.
static ssize_t result(const struct client *c, ssize_t rc)
{
	const int e = c->ssl != NULL && rc <= 0 ? SSL_get_error(c->ssl, (int)rc) : 0;

	if (rc > 0)
		return rc;
	if (c->ssl != NULL)
		return e == SSL_ERROR_WANT_READ || e == SSL_ERROR_WANT_WRITE ? 0 : -1;
	return rc < 0 && errno == EAGAIN ? 0 : -1;
}

static ssize_t put(struct client *c, const uint8_t *p, size_t len)
{
	ERR_clear_error();
	return result(c,
		c->ssl != NULL ? SSL_write(c->ssl, p, (int)len)
			       : send(c->fd, p, len, MSG_NOSIGNAL));
}

static ssize_t get(struct client *c, uint8_t *p, size_t len)
{
	ERR_clear_error();
	return result(c, c->ssl != NULL ? SSL_read(c->ssl, p, (int)len) : recv(c->fd, p, len, 0));
}

static void send_some(struct client *c)
{
	const size_t left = c->out_len - c->out_at;
	size_t n = 1 + test_rand_below(&rnd, test_rand_below(&rnd, 2) == 0 ? 30 : 6000);
	ssize_t rc;

	if (c->again != 0 || n > left)
		n = c->again != 0 ? c->again : left;
	if (n == 0)
		return;
	rc = put(c, c->out + c->out_at, n);
	assert_true(rc >= 0 || c->left);
	c->again = rc == 0 && c->ssl != NULL ? n : 0;
	c->out_at += rc > 0 ? (size_t)rc : 0;
}

// False when the server has closed.
static bool read_some(struct client *c)
{
	static uint8_t buf[6000];
	const ssize_t n = get(c, buf, sizeof(buf));

	if (n > 0) {
		assert_true(c->back + (size_t)n <= c->echo_len);
		assert_memory_equal(c->echo + c->back, buf, (size_t)n);
		c->back += (size_t)n;
	}
	return n >= 0;
}

static void hang_up(struct client *c, bool reset)
{
	static const struct linger now = {.l_onoff = 1};

	if (reset)
		setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	else if (c->ssl != NULL && test_rand_below(&rnd, 2) == 0)
		SSL_shutdown(c->ssl);
	SSL_free(c->ssl);
	close(c->fd);
	c->ssl = NULL;
	c->fd = -1;
}

static void leave(struct client *c)
{
	c->left = true;
	nb_left[c->leaving]++;
	if (c->leaving != LEAVE_GARBAGE) {
		hang_up(c, c->leaving == LEAVE_RESET || test_rand_below(&rnd, 2) == 0);
		return;
	}
	memset(c->out + c->out_len, 0xff, GARBAGE);
	c->out_len += GARBAGE;
}

static bool wants_to_leave(const struct client *c)
{
	if (c->leaving == LEAVE_HALFWAY)
		return c->out_at >= c->halfway && c->conn != 0;
	// garbage follows the last message directly
	return c->out_at == c->out_len && (c->back == c->echo_len || c->leaving == LEAVE_GARBAGE);
}

// False if it has nothing left to do.
static bool client_round(struct client *c)
{
	if (c->fd < 0) {
		if (c->told != (1u << STREAM_WORLD_WORKERS) - 1)
			return true;
		if (c->lives == 0)
			return false;
		begin(c);
	}
	if (!c->left || c->out_at < c->out_len)
		send_some(c);
	if (test_rand_below(&rnd, 4) == 0 && !read_some(c)) {
		assert_true(c->left);
		hang_up(c, false);
	} else if (!c->left && wants_to_leave(c)) {
		leave(c);
	}
	return true;
}

// --- the tests -----------------------------------------------------------------------------------

static void block_pipe(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
}

static void start(void)
{
	const struct stream_config c = {.connections = CLIENTS,
		.idle_s = 2 * STREAM_WORLD_DEADLINE_S,
		.handshake_s = 2 * STREAM_WORLD_DEADLINE_S,
		.queue = 1u << 20};

	streams = stream_world_start(c, &server);
	block_pipe(); // only of this thread: clients have to get the error
	rnd = test_rand_start("test_stream");
	messages = connections = 0;
	memset(nb_left, 0, sizeof(nb_left));
	for (unsigned int i = 0; i < CLIENTS; i++)
		clients[i] = (struct client){
			.fd = -1, .told = (1u << STREAM_WORLD_WORKERS) - 1, .lives = LIVES};
}

// A round of all clients and workers. False if all clients have finished.
static bool round_of_all(void)
{
	static const struct timespec pause = {.tv_nsec = 50 * 1000};
	struct stream_stats s;
	char error[256];
	bool more = false;

	for (unsigned int i = 0; i < CLIENTS; i++)
		more |= client_round(&clients[i]);
	if (!workers_round())
		nanosleep(&pause, NULL);
	if (test_rand_below(&rnd, 50) == 0)
		assert_int_equal(stream_tls_reload(streams, error, sizeof(error)), 0);
	stream_stats(streams, &s);
	assert_in_range(s.connections, 0, CLIENTS);
	return more;
}

static bool renewing;

// Reloads the certificate concurrently with the other thread that does so.
static void *renew(void *arg)
{
	char error[256];

	while (__atomic_load_n(&renewing, __ATOMIC_RELAXED)) {
		if (stream_tls_reload(streams, error, sizeof(error)) != 0)
			abort();
		usleep(100); // the lock is not fair
	}
	return NULL;
}

// Also the content and the order of messages, and the news of the end: see workers_round() and
// read_some().
static void test_whatever_arrives_and_ends_is_counted(void **state)
{
	const unsigned int files = stream_world_open_files();
	struct stream_stats s;
	pthread_t renewer;

	start();
	renewing = true;
	assert_int_equal(pthread_create(&renewer, NULL, renew, NULL), 0);
	while (round_of_all())
		;
	__atomic_store_n(&renewing, false, __ATOMIC_RELAXED);
	pthread_join(renewer, NULL);
	stream_stats(streams, &s);
	assert_int_equal(connections, CLIENTS * LIVES);
	assert_int_equal(s.accepted, connections);
	assert_int_equal(s.connections + s.tls, 0);
	assert_int_equal(s.rx, messages);
	assert_int_equal(s.garbage, nb_left[LEAVE_GARBAGE]);
	assert_int_equal(s.garbage + s.closed + s.failed, connections);
	assert_in_range(s.tx, 1, messages);
	assert_int_equal(s.refused_total + s.refused_files + s.handshake_failed, 0);
	assert_int_equal(s.queue_full + s.slow + s.idle, 0);
	assert_true(s.oversize > 0 && s.stalled > 0);
	stream_stop(streams);
	assert_int_equal(stream_world_open_files(), files);
}

// Stops in the middle of the traffic.
static void test_stop(void **state)
{
	const unsigned int files = stream_world_open_files();

	for (unsigned int i = 0; i < 8; i++) {
		start();
		for (unsigned int k = test_rand_below(&rnd, 200); k > 0; k--)
			round_of_all();
		stream_stop(streams);
		for (unsigned int k = 0; k < CLIENTS; k++)
			if (clients[k].fd >= 0)
				hang_up(&clients[k], true);
		stream_world_drain();
		assert_int_equal(stream_world_open_files(), files);
	}
}

static int connected(const struct sockaddr_in *addr)
{
	const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (const struct sockaddr *)addr, sizeof(*addr)), 0);
	return fd;
}

// Waits until the server has closed the connection, and closes the client's end.
static void is_closed(int fd)
{
	uint8_t byte;

	assert_true(read(fd, &byte, 1) <= 0);
	close(fd);
}

// A client who is no longer served loses its connection when the rules have changed, and gets no
// other one.
static void test_denied_clients_are_closed(void **state)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	const struct stream_config c = {
		.connections = 8, .idle_s = 60, .handshake_s = 60, .queue = 65536};
	struct stream_stats s;
	struct sockaddr_in addr;
	int fds[5];

	streams = stream_world_start(c, &addr);
	for (unsigned int i = 0; i < 5; i++)
		fds[i] = connected(&addr);
	do {
		nanosleep(&pause, NULL);
		stream_stats(streams, &s);
	} while (s.accepted < 5);
	stream_review_clients(streams);
	stream_world_deny(true);
	is_closed(connected(&addr));
	stream_review_clients(streams);
	for (unsigned int i = 0; i < 5; i++)
		is_closed(fds[i]);
	stream_stats(streams, &s);
	assert_int_equal(s.refused_denied, 6);
	assert_int_equal(s.accepted, 5);
	stream_world_deny(false);
	fds[0] = connected(&addr);
	do {
		nanosleep(&pause, NULL);
		stream_stats(streams, &s);
	} while (s.accepted < 6);
	assert_int_equal(s.refused_denied, 6);
	close(fds[0]);
	stream_stop(streams);
	stream_world_drain();
}

static int group_setup(void **state)
{
	if (stream_world_open(state) != 0)
		return -1;
	SSL_CTX_set_mode(stream_world_tls, SSL_MODE_ENABLE_PARTIAL_WRITE);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whatever_arrives_and_ends_is_counted),
		cmocka_unit_test(test_stop),
		cmocka_unit_test(test_denied_clients_are_closed),
	};

	return cmocka_run_group_tests(tests, group_setup, stream_world_close);
}
