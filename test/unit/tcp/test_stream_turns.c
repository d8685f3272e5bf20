// SPDX-License-Identifier: BSD-3-Clause
// Connections joined to peers take turns with all other connections of their thread: whatever a
// client has half-sent and however fast its peer sends, no other client waits for that.
#include "relay_world.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define OTHERS 16 // connections; not all of them can be on the other thread

static bool endless; // the peer sends without end, and the client reads everything
static in_port_t source, sink; // ports of these two

// libssl's answer for a part of a record: there are bytes, but none can be read.
bool __wrap_tls_io_pending(const void *c);
ssize_t __real_recv(int fd, void *buf, size_t len, int flags);
ssize_t __wrap_recv(int fd, void *buf, size_t len, int flags);
ssize_t __real_send(int fd, const void *buf, size_t len, int flags);
ssize_t __wrap_send(int fd, const void *buf, size_t len, int flags);

bool __wrap_tls_io_pending(const void *c)
{
	return __atomic_load_n(&endless, __ATOMIC_RELAXED);
}

static bool is_from(int fd, in_port_t port)
{
	struct sockaddr_in source_addr;
	socklen_t len = sizeof(source_addr);

	return __atomic_load_n(&endless, __ATOMIC_RELAXED) &&
		getpeername(fd, (struct sockaddr *)&source_addr, &len) == 0 &&
		source_addr.sin_port == port;
}

ssize_t __wrap_recv(int fd, void *buf, size_t len, int flags)
{
	if (!is_from(fd, source))
		return __real_recv(fd, buf, len, flags);
	memset(buf, 1, len);
	return (ssize_t)len;
}

ssize_t __wrap_send(int fd, const void *buf, size_t len, int flags)
{
	return is_from(fd, sink) ? (ssize_t)len : __real_send(fd, buf, len, flags);
}

static in_port_t port_of(int fd)
{
	struct sockaddr_in addr;
	socklen_t len = sizeof(addr);

	assert_int_equal(getsockname(fd, (struct sockaddr *)&addr, &len), 0);
	return addr.sin_port;
}

static int close_world(void **state)
{
	__atomic_store_n(&endless, false, __ATOMIC_RELAXED);
	return relay_world_close(state);
}

static void test_turns(void **state)
{
	uint64_t conn, other_conn;
	const int c = control(&conn), peer = admitted(conn, 5), data = bound(5, "");
	int fd[OTHERS];

	source = port_of(peer);
	sink = port_of(data);
	__atomic_store_n(&endless, true, __ATOMIC_RELAXED);
	assert_true(send(peer, "x", 1, 0) == 1);
	UNTIL(stats().relay_to_clients > 1u << 20);
	for (unsigned int i = 0; i < OTHERS; i++)
		fd[i] = client(1, "", &other_conn); // its message arrives
	for (unsigned int i = 0; i < OTHERS; i++)
		close(fd[i]);
	close(data);
	close(peer);
	close(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_turns, relay_world_open, close_world),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
