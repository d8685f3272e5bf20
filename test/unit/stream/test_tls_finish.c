// SPDX-License-Identifier: BSD-3-Clause
// If an end can be reported to a client, plain or over TLS: a client that is connected, one that
// has no room, one that has reset the connection.
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "conn.h"
#include "held_port.h"
#include "test.h"
#include "tls.h"

#define DEADLINE_S 60

static int client;
static SSL *client_ssl;

// Two ends of a non-blocking TCP connection.
static void connect_both(struct conn *c)
{
	struct sockaddr_in addr;
	const int listener = held_port(&addr);

	assert_int_equal(listen(listener, 1), 0);
	client = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(connect(client, (struct sockaddr *)&addr, sizeof(addr)), 0);
	c->fd = accept(listener, NULL, NULL);
	assert_true(c->fd >= 0);
	close(listener);
	assert_int_equal(fcntl(client, F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(fcntl(c->fd, F_SETFL, O_NONBLOCK), 0);
}

static SSL *end_of(const SSL_METHOD *method, int fd)
{
	SSL_CTX *ctx = SSL_CTX_new(method);
	SSL *ssl;

	// without certificates
	assert_int_equal(SSL_CTX_set_cipher_list(ctx, "AECDH-AES256-SHA:@SECLEVEL=0"), 1);
	assert_int_equal(SSL_CTX_set_max_proto_version(ctx, TLS1_2_VERSION), 1);
	ssl = SSL_new(ctx);
	assert_int_equal(SSL_set_fd(ssl, fd), 1);
	SSL_CTX_free(ctx);
	return ssl;
}

static void begin(struct conn *c, bool tls)
{
	*c = (struct conn){.fd = -1};
	client_ssl = NULL;
	connect_both(c);
	if (!tls)
		return;
	c->ssl = end_of(TLS_server_method(), c->fd);
	client_ssl = end_of(TLS_client_method(), client);
	for (int l = 0, r = 0; l != 1 || r != 1;) {
		l = l == 1 ? 1 : SSL_connect(client_ssl);
		r = r == 1 ? 1 : SSL_accept(c->ssl);
	}
}

static void finish(struct conn *c)
{
	SSL_free(c->ssl);
	SSL_free(client_ssl);
	close(c->fd);
}

static void test_there(void **state)
{
	for (unsigned int tls = 0; tls < 2; tls++) {
		struct pollfd p = {.events = POLLIN};
		struct conn c;
		char byte;

		begin(&c, tls == 1);
		assert_true(tls_io_finish(&c));
		p.fd = client;
		assert_int_equal(poll(&p, 1, DEADLINE_S * 1000), 1);
		if (tls == 0) {
			assert_int_equal(recv(client, &byte, 1, 0), 0);
		} else {
			assert_int_equal(SSL_read(client_ssl, &byte, 1), 0);
			assert_int_equal(SSL_get_error(client_ssl, 0), SSL_ERROR_ZERO_RETURN);
		}
		close(client);
		finish(&c);
	}
}

static void test_no_room(void **state)
{
	static const uint8_t much[16384];
	struct conn c;

	begin(&c, true);
	while (tls_io_write(&c, much, sizeof(much)) > 0)
		continue;
	assert_true(tls_io_finish(&c));
	close(client);
	finish(&c);
}

static void test_reset(void **state)
{
	for (unsigned int tls = 0; tls < 2; tls++) {
		const struct linger now = {.l_onoff = 1};
		struct pollfd p = {.events = 0};
		struct conn c;

		begin(&c, tls == 1);
		assert_int_equal(setsockopt(client, SOL_SOCKET, SO_LINGER, &now, sizeof(now)), 0);
		close(client);
		p.fd = c.fd;
		assert_int_equal(poll(&p, 1, DEADLINE_S * 1000), 1); // the reset has arrived
		assert_false(tls_io_finish(&c));
		finish(&c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_there),
		cmocka_unit_test(test_no_room),
		cmocka_unit_test(test_reset),
	};

	signal(SIGPIPE, SIG_IGN);
	alarm(DEADLINE_S);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
