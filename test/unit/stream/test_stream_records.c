// SPDX-License-Identifier: BSD-3-Clause
// TLS records that arrive together are read together. No record is left in libssl, of which epoll
// tells nothing, whatever room the worker has. A connection with too many key updates is closed.
#include "stream_world.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bytes.h"

#define FEW 6 // messages that a worker has buffers for
#define MANY 200
#define MESSAGE 28 // an indication with an attribute of 4 bytes
#define REKEYS_FEW 3 // key updates that a client may well send at once
#define REKEYS_MANY 500
#define RECORDS_MAX 16384 // bytes of one read

static struct sockaddr_in server;
static struct streams *streams;
static unsigned int reads; // on sockets, by stream threads
static unsigned int asked; // calls into libssl for a record

ssize_t __real_recv(int fd, void *buf, size_t len, int flags);
ssize_t __wrap_recv(int fd, void *buf, size_t len, int flags);

ssize_t __wrap_recv(int fd, void *buf, size_t len, int flags)
{
	if ((flags & MSG_PEEK) == 0)
		__atomic_fetch_add(&reads, 1, __ATOMIC_RELAXED);
	return __real_recv(fd, buf, len, flags);
}

int __real_SSL_read(SSL *ssl, void *buf, int len);
int __wrap_SSL_read(SSL *ssl, void *buf, int len);

int __wrap_SSL_read(SSL *ssl, void *buf, int len)
{
	__atomic_fetch_add(&asked, 1, __ATOMIC_RELAXED);
	return __real_SSL_read(ssl, buf, len);
}

// A client whose records go to memory from now on.
static SSL *connected(int fd)
{
	SSL *ssl = SSL_new(stream_world_tls);

	assert_int_equal(connect(fd, (const struct sockaddr *)&server, sizeof(server)), 0);
	assert_int_equal(SSL_set_fd(ssl, fd), 1);
	assert_int_equal(SSL_connect(ssl), 1);
	SSL_set0_wbio(ssl, BIO_new(BIO_s_mem()));
	return ssl;
}

// Numbered messages, a record each, sent in one piece.
static void send_records(SSL *ssl, int fd, uint32_t first, uint32_t nb)
{
	uint8_t m[MESSAGE] = {0, 0x11, 0, MESSAGE - 20, 0x21, 0x12, 0xa4, 0x42};
	char *sealed;
	long len;

	for (uint32_t i = first; i < first + nb; i++) {
		store_be32(m + MESSAGE - 4, i);
		assert_int_equal(SSL_write(ssl, m, sizeof(m)), sizeof(m));
	}
	len = BIO_get_mem_data(SSL_get_wbio(ssl), &sealed);
	assert_int_equal(send(fd, sealed, (size_t)len, 0), len);
	assert_int_equal(BIO_reset(SSL_get_wbio(ssl)), 1);
}

static void expect(uint32_t first, uint32_t nb)
{
	for (uint32_t i = first; i < first + nb;) {
		struct stream_world_message *p = stream_world_take();

		if (p == NULL) {
			usleep(1000);
			continue;
		}
		assert_false(p->ended);
		assert_int_equal(p->len, MESSAGE);
		assert_int_equal(load_be32(p->data + MESSAGE - 4), i);
		free(p);
		i++;
	}
}

static void test_records(void **state)
{
	const struct stream_config c = {
		.connections = 4, .idle_s = 600, .handshake_s = 600, .queue = 65536};
	const int fd = socket(AF_INET, SOCK_STREAM, 0);
	unsigned int before, before_asked;
	SSL *ssl;

	streams = stream_world_start(c, &server);
	ssl = connected(fd);
	send_records(ssl, fd, 0, 1);
	expect(0, 1);
	before = __atomic_load_n(&reads, __ATOMIC_RELAXED);
	before_asked = __atomic_load_n(&asked, __ATOMIC_RELAXED);
	send_records(ssl, fd, 1, FEW);
	expect(1, FEW);
	before = __atomic_load_n(&reads, __ATOMIC_RELAXED) - before;
	assert_in_range(before, 1, 2);
	// one call for each record, and at most one for each read that brought a part of one
	before_asked = __atomic_load_n(&asked, __ATOMIC_RELAXED) - before_asked;
	assert_in_range(before_asked, FEW, FEW + before - 1);
	send_records(ssl, fd, 1 + FEW, MANY); // the worker has no room for all of them at once
	expect(1 + FEW, MANY);
	SSL_free(ssl);
	close(fd);
	stream_stop(streams);
	stream_world_drain();
}

// Makes libssl write `nb` KeyUpdates to memory.
static void rekey(SSL *ssl, unsigned int nb, int kind)
{
	char *sealed;

	for (unsigned int i = 0; i < nb; i++) {
		assert_int_equal(SSL_key_update(ssl, kind), 1);
		assert_int_equal(SSL_do_handshake(ssl), 1);
	}
	assert_true(BIO_get_mem_data(SSL_get_wbio(ssl), &sealed) < RECORDS_MAX - 2 * MESSAGE);
}

static struct stream_stats counters(void)
{
	struct stream_stats s;

	stream_stats(streams, &s);
	return s;
}

// Key updates cost a thread more than messages do, and no client needs them often.
static void rekeys(int kind)
{
	const struct stream_config c = {
		.connections = 4, .idle_s = 600, .handshake_s = 600, .queue = 65536};
	const int fd = socket(AF_INET, SOCK_STREAM, 0);
	struct stream_world_message *p;
	SSL *ssl;

	streams = stream_world_start(c, &server);
	ssl = connected(fd);
	send_records(ssl, fd, 0, 1);
	expect(0, 1);
	rekey(ssl, REKEYS_FEW, kind);
	send_records(ssl, fd, 1, 1);
	expect(1, 1);
	assert_int_equal(counters().rekeys, 0);
	rekey(ssl, REKEYS_MANY, kind);
	send_records(ssl, fd, 2, 1); // after them, in the same read
	while ((p = stream_world_take()) == NULL)
		usleep(1000);
	assert_true(p->ended);
	free(p);
	assert_int_equal(counters().rekeys, 1);
	assert_int_equal(counters().connections, 0);
	SSL_free(ssl);
	close(fd);
	stream_stop(streams);
	stream_world_drain();
}

static void test_rekeys(void **state)
{
	rekeys(SSL_KEY_UPDATE_NOT_REQUESTED);
}

static void test_rekeys_of_both(void **state)
{
	rekeys(SSL_KEY_UPDATE_REQUESTED);
}

// Waits until the thread has made `nb` rounds. Without traffic each takes a tenth of a second.
static void go_round(uint64_t nb)
{
	struct stream_progress begun, now;

	assert_true(stream_progress(streams, 0, &begun));
	do {
		usleep(10000);
		assert_true(stream_progress(streams, 0, &now));
	} while (now.rounds < begun.rounds + nb);
}

// A connection that lasts for days may change its keys every hour.
static void test_rekeys_in_time(void **state)
{
	const struct stream_config c = {
		.connections = 4, .idle_s = 600, .handshake_s = 600, .queue = 65536};
	const int fd = socket(AF_INET, SOCK_STREAM, 0);
	SSL *ssl;

	streams = stream_world_start(c, &server);
	ssl = connected(fd);
	for (uint32_t i = 0; i < 4; i++) {
		rekey(ssl, REKEYS_FEW, SSL_KEY_UPDATE_NOT_REQUESTED);
		send_records(ssl, fd, i, 1);
		expect(i, 1);
		go_round(2 * REKEYS_FEW + 4);
	}
	assert_int_equal(counters().rekeys, 0);
	SSL_free(ssl);
	close(fd);
	stream_stop(streams);
	stream_world_drain();
}

// TLS 1.2 changes keys only by another handshake, which is refused.
static void test_another_handshake(void **state)
{
	const struct stream_config c = {
		.connections = 4, .idle_s = 600, .handshake_s = 600, .queue = 65536};
	const int fd = socket(AF_INET, SOCK_STREAM, 0);
	struct stream_world_message *p;
	SSL *ssl;

	assert_int_equal(SSL_CTX_set_max_proto_version(stream_world_tls, TLS1_2_VERSION), 1);
	streams = stream_world_start(c, &server);
	ssl = connected(fd);
	send_records(ssl, fd, 0, 1);
	expect(0, 1);
	assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(SSL_renegotiate(ssl), 1);
	assert_int_equal(SSL_do_handshake(ssl), -1); // it waits for an answer
	send_records(ssl, fd, 1, 0); // the ClientHello
	while ((p = stream_world_take()) == NULL)
		usleep(1000);
	assert_true(p->ended);
	free(p);
	assert_int_equal(counters().rekeys, 1);
	SSL_free(ssl);
	close(fd);
	stream_stop(streams);
	stream_world_drain();
	assert_int_equal(SSL_CTX_set_max_proto_version(stream_world_tls, 0), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_records),
		cmocka_unit_test(test_rekeys), cmocka_unit_test(test_rekeys_of_both),
		cmocka_unit_test(test_rekeys_in_time), cmocka_unit_test(test_another_handshake)};

	return cmocka_run_group_tests_name(
		"stream_records", tests, stream_world_open, stream_world_close);
}
