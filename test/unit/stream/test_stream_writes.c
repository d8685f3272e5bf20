// SPDX-License-Identifier: BSD-3-Clause
// Messages for a client that arrive together are written together: with one system call over TCP,
// and with one for each record over TLS, where the kernel is told that more follow. A record has
// one message, because some clients (turnutils_uclient) take the result of one read for one.
// Partial and refused writes lose nothing and keep the order.
#include "stream_world.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bytes.h"
#include "out/gather.h"
#include "test_rand.h"

#define MESSAGE 28 // an indication with an attribute of 4 bytes
#define FEW 100
#define MANY 1500 // more than a thread takes at a time
#define MEDIA 150 // messages for a connection that has no room for all of them

struct client {
	int fd;
	SSL *ssl;
	struct stream_world_message like; // has its thread, worker and number
};

static struct sockaddr_in server;
static struct streams *streams;
static unsigned int writes, pushes; // by stream threads; pushes: those without more to follow
static bool cuts; // writes are shortened
static bool full; // the kernel takes nothing
static unsigned int takes; // except this number of writes
static __thread bool is_test;

// --- wrapped functions ---------------------------------------------------------------------------

static bool taken(void)
{
	if (__atomic_load_n(&takes, __ATOMIC_RELAXED) == 0)
		return false;
	__atomic_fetch_sub(&takes, 1, __ATOMIC_RELAXED);
	return true;
}

// Random number of bytes of a write that the kernel takes; 0: none now.
static size_t cut(size_t len)
{
	static __thread unsigned int seed;

	__atomic_fetch_add(&writes, 1, __ATOMIC_RELAXED);
	if (__atomic_load_n(&full, __ATOMIC_RELAXED) && !taken()) {
		errno = EAGAIN;
		return 0;
	}
	if (!__atomic_load_n(&cuts, __ATOMIC_RELAXED))
		return len;
	switch (rand_r(&seed) % 4) {
	case 0:
		errno = EAGAIN;
		return 0;
	case 1:
		return 1 + (size_t)rand_r(&seed) % len;
	default:
		return len;
	}
}

ssize_t __real_send(int fd, const void *buf, size_t len, int flags);
ssize_t __wrap_send(int fd, const void *buf, size_t len, int flags);
ssize_t __real_sendmsg(int fd, const struct msghdr *m, int flags);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *m, int flags);

ssize_t __wrap_send(int fd, const void *buf, size_t len, int flags)
{
	const size_t n = is_test ? len : cut(len);

	if (!is_test && (flags & MSG_MORE) == 0)
		__atomic_fetch_add(&pushes, 1, __ATOMIC_RELAXED);
	return n > 0 ? __real_send(fd, buf, n, flags) : -1;
}

// May also cut between pieces: they are counted one by one up to the limit.
ssize_t __wrap_sendmsg(int fd, const struct msghdr *m, int flags)
{
	struct iovec v[1024];
	struct msghdr part = *m;
	size_t all = 0, n;

	if (is_test)
		return __real_sendmsg(fd, m, flags);
	__atomic_fetch_add(&pushes, 1, __ATOMIC_RELAXED);
	assert_in_range(m->msg_iovlen, 1, 1024);
	for (size_t i = 0; i < m->msg_iovlen; i++)
		all += m->msg_iov[i].iov_len;
	n = cut(all);
	if (n == 0)
		return -1;
	part.msg_iov = v;
	for (part.msg_iovlen = 0; n > 0; n -= v[part.msg_iovlen++].iov_len) {
		v[part.msg_iovlen] = m->msg_iov[part.msg_iovlen];
		if (v[part.msg_iovlen].iov_len > n)
			v[part.msg_iovlen].iov_len = n;
	}
	return __real_sendmsg(fd, &part, flags);
}

// --- a client ------------------------------------------------------------------------------------

// The next message, skipping news of ended clients.
static struct stream_world_message *wait_message(void)
{
	struct stream_world_message *p;

	while ((p = stream_world_take()) == NULL || p->ended) {
		if (p == NULL)
			usleep(1000);
		free(p);
	}
	return p;
}

static void begin(struct client *c, bool tls)
{
	const uint8_t m[MESSAGE] = {0, 0x11, 0, MESSAGE - 20, 0x21, 0x12, 0xa4, 0x42};
	struct stream_world_message *p;

	*c = (struct client){.fd = socket(AF_INET, SOCK_STREAM, 0)};
	assert_int_equal(connect(c->fd, (const struct sockaddr *)&server, sizeof(server)), 0);
	if (tls) {
		c->ssl = SSL_new(stream_world_tls);
		assert_int_equal(SSL_set_fd(c->ssl, c->fd), 1);
		assert_int_equal(SSL_connect(c->ssl), 1);
		assert_int_equal(SSL_write(c->ssl, m, sizeof(m)), sizeof(m));
	} else {
		assert_int_equal(send(c->fd, m, sizeof(m), 0), sizeof(m));
	}
	p = wait_message();
	c->like = *p;
	free(p);
}

static void end(struct client *c)
{
	SSL_free(c->ssl);
	close(c->fd);
}

// Adds nb messages of len bytes for a client, numbered from first on.
static void add(const struct client *c, uint32_t first, unsigned int nb, uint16_t len)
{
	for (uint32_t i = 0; i < nb; i++) {
		struct stream_world_message *p = calloc(1, sizeof(*p) + len + 4u);

		*p = c->like;
		p->len = len;
		p->media = true;
		store_be32(p->data, first + i);
		stream_world_answer(streams, p);
	}
}

// The messages that were added while the threads were held arrive together.
static void release(const struct client *c)
{
	stream_world_hold(false);
	stream_wake(streams, c->like.thread);
}

static void leave(const struct client *c, unsigned int nb, uint16_t len)
{
	stream_world_hold(true);
	add(c, 0, nb, len);
	release(c);
}

static size_t read_some(const struct client *c, uint8_t *buf, size_t len)
{
	const ssize_t n =
		c->ssl != NULL ? SSL_read(c->ssl, buf, (int)len) : recv(c->fd, buf, len, 0);

	assert_true(n > 0);
	return (size_t)n;
}

// Reads all messages. Returns the number of reads, which over TLS are records.
static unsigned int expect(const struct client *c, unsigned int nb, uint16_t len)
{
	static uint8_t buf[MANY * 64];
	const size_t all = (size_t)nb * len;
	unsigned int reads = 0;

	assert_true(all <= sizeof(buf));
	for (size_t n = 0; n < all; reads++)
		n += read_some(c, buf + n, all - n);
	for (uint32_t i = 0; i < nb; i++)
		assert_int_equal(load_be32(buf + (size_t)i * len), i);
	return reads;
}

// Waits until `messages` are counted: a client gets them before that.
static void expect_counted(uint64_t messages)
{
	struct stream_stats s;

	do {
		usleep(1000);
		stream_stats(streams, &s);
	} while (s.tx < messages);
	assert_int_equal(s.tx, messages);
	assert_int_equal(s.queue_full + s.late, 0);
}

static unsigned int written(void)
{
	return __atomic_exchange_n(&writes, 0, __ATOMIC_RELAXED);
}

static unsigned int pushed(void)
{
	return __atomic_exchange_n(&pushes, 0, __ATOMIC_RELAXED);
}

// Expects them together, and over TLS in a record each.
static void expect_together(const struct client *c, unsigned int nb, uint16_t len)
{
	assert_int_equal(expect(c, nb, len), c->ssl != NULL ? nb : 1);
}

// --- the tests -----------------------------------------------------------------------------------

static void start_with(uint32_t queue)
{
	const struct stream_config c = {
		.connections = 4, .idle_s = 600, .handshake_s = 600, .queue = queue};

	is_test = true;
	streams = stream_world_start(c, &server);
}

static void start(void)
{
	start_with(1u << 20);
}

static void stop(void)
{
	stream_stop(streams);
	stream_world_drain();
}

static void test_together(void **state)
{
	struct client c[2];
	struct stream_stats s;

	start();
	for (unsigned int i = 0; i < 2; i++) {
		begin(&c[i], i == 1);
		written();
		pushed();
		leave(&c[i], FEW, 40);
		expect_together(&c[i], FEW, 40);
		assert_int_equal(written(), i == 1 ? FEW : 1);
		assert_int_equal(pushed(), 1);
	}
	expect_counted(2 * FEW);
	stream_stats(streams, &s);
	assert_int_equal(s.writes, 2);
	assert_int_equal(s.tx_bytes, 2 * FEW * 40);
	for (unsigned int i = 0; i < 2; i++)
		end(&c[i]);
	stop();
}

// Each of two clients gets its own messages.
static void test_two_clients(void **state)
{
	struct client c[2];

	start();
	for (unsigned int i = 0; i < 2; i++)
		begin(&c[i], i == 1);
	written();
	pushed();
	stream_world_hold(true);
	for (unsigned int i = 0; i < 2 * FEW; i++) {
		struct stream_world_message *p = calloc(1, sizeof(*p) + 40u);

		*p = c[i % 2].like;
		p->len = 40;
		store_be32(p->data, i / 2);
		stream_world_answer(streams, p);
	}
	stream_world_hold(false);
	for (unsigned int i = 0; i < 2; i++)
		stream_wake(streams, c[i].like.thread);
	for (unsigned int i = 0; i < 2; i++)
		expect_together(&c[i], FEW, 40);
	assert_int_equal(written(), 1 + FEW);
	assert_int_equal(pushed(), 2);
	for (unsigned int i = 0; i < 2; i++)
		end(&c[i]);
	stop();
}

// A thread takes more messages at a time than fit into a write: none is cut.
static void test_full_writes(void **state)
{
	enum { LONG = 200, EACH = GATHER_BYTES / LONG };
	struct client c;

	start();
	begin(&c, true);
	written();
	pushed();
	leave(&c, STREAM_BURST, LONG);
	expect_together(&c, STREAM_BURST, LONG);
	assert_int_equal(written(), STREAM_BURST);
	assert_int_equal(pushed(), (STREAM_BURST + EACH - 1) / EACH);
	end(&c);
	stop();
}

static void test_cut_short(void **state)
{
	struct client c;

	start();
	for (unsigned int i = 0; i < 16; i++) {
		begin(&c, i % 2 == 1);
		written();
		__atomic_store_n(&cuts, true, __ATOMIC_RELAXED);
		leave(&c, MANY, 24 + 4 * (i / 2 % 8));
		expect(&c, MANY, (uint16_t)(24 + 4 * (i / 2 % 8)));
		__atomic_store_n(&cuts, false, __ATOMIC_RELAXED);
		end(&c);
	}
	expect_counted(16 * MANY);
	stop();
}

static uint64_t dropped(void)
{
	struct stream_stats s;

	stream_stats(streams, &s);
	return s.queue_full;
}

// Consecutive messages differ in length, so that the length cuts a message in a wrong place.
static uint16_t length(uint32_t i)
{
	return (uint16_t)(40 + 4 * (i % 3));
}

static void add_media(const struct client *c, uint32_t first, unsigned int nb)
{
	for (uint32_t i = first; i < first + nb; i++)
		add(c, i, 1, length(i));
}

static uint32_t read_number(const struct client *c)
{
	uint8_t m[64];
	size_t n = 0;

	while (n < 4)
		n += read_some(c, m + n, 4 - n);
	while (n < length(load_be32(m)))
		n += read_some(c, m + n, length(load_be32(m)) - n);
	return load_be32(m);
}

// Waits until the thread has tried `times` writes since the last call.
static void wait_written(unsigned int times)
{
	while (__atomic_load_n(&writes, __ATOMIC_RELAXED) < times)
		usleep(1000);
	written();
}

static void begin_full(struct client *c)
{
	start_with(MEDIA * 20);
	begin(c, true);
	__atomic_store_n(&full, true, __ATOMIC_RELAXED);
	written();
	stream_world_hold(true);
}

// Reads from the message after `last` to number nb, some of which were dropped.
static void expect_rest(const struct client *c, uint32_t last, uint32_t nb)
{
	uint32_t missing = last > 0 ? last - 1 : 0;

	__atomic_store_n(&full, false, __ATOMIC_RELAXED);
	while (last + 1 < nb) {
		const uint32_t i = read_number(c);

		assert_in_range(i, last + 1, nb - 1);
		missing += i - last - 1;
		last = i;
	}
	assert_int_equal(dropped(), missing);
}

// Bytes offered to libssl belong to the client, because libssl has made a record of them. Messages
// dropped for newer media come after them, gathered or not.
static void offered_stays(bool together)
{
	struct client c;

	begin_full(&c);
	add_media(&c, 0, 1);
	if (!together) {
		release(&c);
		wait_written(1);
	}
	add_media(&c, 1, MEDIA);
	release(&c);
	while (dropped() == 0)
		usleep(1000);
	__atomic_store_n(&full, false, __ATOMIC_RELAXED);
	assert_int_equal(read_number(&c), 0);
	expect_rest(&c, 0, 1 + MEDIA);
	end(&c);
	stop();
}

static void test_offered_stays(void **state)
{
	offered_stays(false);
	offered_stays(true);
}

// Bytes offered from the queue stay, too.
static void test_offered_of_queue(void **state)
{
	struct client c;
	uint32_t first;

	begin_full(&c);
	add_media(&c, 0, 1 + MEDIA);
	release(&c);
	while (dropped() == 0)
		usleep(1000);
	__atomic_store_n(&takes, 1, __ATOMIC_RELAXED);
	assert_int_equal(read_number(&c), 0);
	written();
	wait_written(3); // at least one of them is of the next message
	first = (uint32_t)dropped();
	add_media(&c, 1 + MEDIA, MEDIA);
	while (dropped() == first)
		usleep(1000);
	__atomic_store_n(&full, false, __ATOMIC_RELAXED);
	assert_int_equal(read_number(&c), first + 1);
	expect_rest(&c, first + 1, 1 + 2 * MEDIA);
	end(&c);
	stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_together),
		cmocka_unit_test(test_two_clients),
		cmocka_unit_test(test_full_writes),
		cmocka_unit_test(test_cut_short),
		cmocka_unit_test(test_offered_stays),
		cmocka_unit_test(test_offered_of_queue),
	};

	return cmocka_run_group_tests_name(
		"stream_writes", tests, stream_world_open, stream_world_close);
}
