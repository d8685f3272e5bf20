// SPDX-License-Identifier: BSD-3-Clause
// The DSCP of TCP connections over the kernel's loopback: the listener's, or the client's.
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "addr.h"
#include "emulated.h"
#include "test.h"
#include "tos.h"

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static struct stream_listener listener(bool is_v4)
{
	static const uint8_t home4[4] = {127, 0, 0, 1}, home6[16] = {[15] = 1};

	return (struct stream_listener){
		.endpoint.addr = is_v4 ? addr_from_v4(home4) : addr_from_v6(home6)};
}

static int open_listener(const struct stream_listener *l, union address *addr, socklen_t *len)
{
	int fd;

	*addr = (union address){0};
	*len = addr_is_v4(&l->endpoint.addr) ? sizeof(addr->v4) : sizeof(addr->v6);
	addr->any.sa_family = addr_is_v4(&l->endpoint.addr) ? AF_INET : AF_INET6;
	if (addr->any.sa_family == AF_INET)
		addr->v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	else
		addr->v6.sin6_addr = in6addr_loopback;
	fd = socket(addr->any.sa_family, SOCK_STREAM, 0);
	assert_true(fd >= 0);
	tos_listen(fd, l);
	assert_int_equal(bind(fd, &addr->any, *len), 0);
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(getsockname(fd, &addr->any, len), 0);
	return fd;
}

static int level(const union address *addr)
{
	return addr->any.sa_family == AF_INET ? IPPROTO_IP : IPPROTO_IPV6;
}

static int option(const union address *addr)
{
	return addr->any.sa_family == AF_INET ? IP_TOS : IPV6_TCLASS;
}

// A client with a class connects. Returns the result of tos_accepted, which the kernel has to send.
static int connect_with(const struct stream_listener *l, int tos)
{
	union address addr;
	socklen_t len, size = sizeof(int);
	const int listen_fd = open_listener(l, &addr, &len);
	const int client = socket(addr.any.sa_family, SOCK_STREAM, 0);
	int fd, sent = -1, said;

	assert_int_equal(setsockopt(client, level(&addr), option(&addr), &tos, sizeof(tos)), 0);
	assert_int_equal(connect(client, &addr.any, len), 0);
	fd = accept(listen_fd, NULL, NULL);
	assert_true(fd >= 0);
	said = tos_accepted(fd, l);
	assert_int_equal(getsockopt(fd, level(&addr), option(&addr), &sent, &size), 0);
	assert_int_equal(sent, said);
	close(fd);
	close(client);
	close(listen_fd);
	return said;
}

static void test_copied(void **state)
{
	if (emulated()) {
		print_message("qemu-user takes the value of TCP_SAVED_SYN for an int\n");
		skip();
	}
	for (unsigned int n = 0; n < 128; n++) {
		const struct stream_listener l = listener(n % 2 == 0);
		const int dscp = (int)(n / 2);

		assert_int_equal(connect_with(&l, dscp << 2), dscp << 2);
	}
}

static void test_own(void **state)
{
	for (unsigned int n = 0; n < 128; n++) {
		struct stream_listener l = listener(n % 2 == 0);

		l.marked = true;
		l.tos = (uint8_t)(n / 2 << 2);
		assert_int_equal(connect_with(&l, 34 << 2), l.tos);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_copied),
		cmocka_unit_test(test_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
