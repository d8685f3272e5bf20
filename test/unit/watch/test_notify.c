// SPDX-License-Identifier: BSD-3-Clause
// Notifications to systemd, on the test's socket: paths, abstract names, and which process the
// watchdog's time is meant for (sd_notify(3), sd_watchdog_enabled(3)).
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "conf.h"
#include "test.h"
#include "watch/notify.h"
#include "watch/watch_start.h"

static int receiver = -1;

// Binds a socket to the path, and sets the variable as systemd does: '@' for an abstract name.
static void listen_at(const char *path)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	const size_t len = strlen(path);

	memcpy(addr.sun_path, path, len);
	if (path[0] == '@')
		addr.sun_path[0] = '\0';
	receiver = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(receiver, (struct sockaddr *)&addr,
				 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)),
		0);
	setenv("NOTIFY_SOCKET", path, 1);
}

static int tidy(void **state)
{
	notify_close();
	if (receiver >= 0)
		close(receiver);
	receiver = -1;
	unsetenv("NOTIFY_SOCKET");
	unsetenv("WATCHDOG_USEC");
	unsetenv("WATCHDOG_PID");
	return 0;
}

static void assert_told(const char *want)
{
	char got[600] = "";
	const ssize_t n = recv(receiver, got, sizeof(got) - 1, 0);

	assert_int_equal(n, (ssize_t)strlen(want));
	assert_string_equal(got, want);
}

static void assert_tells(const char *path)
{
	listen_at(path);
	assert_int_equal(notify_open(), 0);
	assert_true(notify_is_open());
	notify_send("READY=1\nSTATUS=%s", "relaying");
	notify_send("WATCHDOG=1");
	assert_told("READY=1\nSTATUS=relaying");
	assert_told("WATCHDOG=1");
	assert_int_equal(recv(receiver, (char[1]){0}, 1, 0), -1);
}

static void test_path(void **state)
{
	char path[64];

	snprintf(path, sizeof(path), "/tmp/slipring-notify-%d", (int)getpid());
	unlink(path);
	assert_tells(path);
	unlink(path);
}

static void test_abstract(void **state)
{
	char path[64];

	snprintf(path, sizeof(path), "@slipring-notify-%d", (int)getpid());
	assert_tells(path);
}

static void test_nobody(void **state)
{
	assert_int_equal(notify_open(), 0);
	assert_false(notify_is_open());
	notify_send("READY=1");
	setenv("NOTIFY_SOCKET", "", 1);
	assert_int_equal(notify_open(), 0);
	assert_false(notify_is_open());
	setenv("NOTIFY_SOCKET", "/nonexistent/socket", 1);
	assert_int_equal(notify_open(), 0);
	notify_send("READY=1"); // no receiver: nothing happens
}

static void test_no_address(void **state)
{
	char much[200];

	memset(much, 'x', sizeof(much) - 1);
	much[0] = '/';
	much[sizeof(much) - 1] = '\0';
	for (unsigned int i = 0; i < 3; i++) {
		setenv("NOTIFY_SOCKET", ((const char *[]){"vsock:2:1234", "@", much})[i], 1);
		assert_true(notify_open() < 0);
		assert_false(notify_is_open());
	}
}

static void test_watchdog(void **state)
{
	char pid[16];

	listen_at("@slipring-notify-watchdog");
	assert_int_equal(notify_open(), 0);
	assert_int_equal(notify_watchdog_us(), 0);
	notify_close();
	setenv("WATCHDOG_USEC", "5000000", 1);
	assert_int_equal(notify_open(), 0);
	assert_int_equal(notify_watchdog_us(), 5000000);
	notify_close();
	setenv("WATCHDOG_PID", "1", 1); // of another process
	assert_int_equal(notify_open(), 0);
	assert_int_equal(notify_watchdog_us(), 0);
	notify_close();
	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	setenv("WATCHDOG_PID", pid, 1);
	assert_int_equal(notify_open(), 0);
	assert_int_equal(notify_watchdog_us(), 5000000);
}

#define SECOND UINT64_C(1000000000)

// Simulates a start of this many seconds. Returns the number of requests for more time.
static unsigned int starts(const struct conf *c, unsigned int seconds)
{
	const uint64_t begin = 1000 * SECOND;
	struct watch_starting s;
	unsigned int asked = 0;
	char got[600];

	watch_start_begin(&s, c, begin);
	for (uint64_t now = begin; now < begin + seconds * SECOND; now += SECOND / 10) {
		watch_start_tell(&s, now);
		while (recv(receiver, got, sizeof(got), 0) > 0) {
			assert_int_equal(strncmp(got, "EXTEND_TIMEOUT_USEC=15000000\n", 29), 0);
			asked++;
		}
	}
	return asked;
}

// Every two seconds, well within the fifteen that it asks for; for ten minutes and the file's limit
// for learning addresses, and no longer.
static void test_long_start(void **state)
{
	static struct conf_address dhcp = {.learn = CONF_LEARN_DHCP};
	struct conf_port port = {.learn_wait_s = 300, .addresses = &dhcp, .nb_addresses = 1};
	struct conf_port fixed = {.learn_wait_s = 300};
	const struct conf none = {.ports = &fixed, .nb_ports = 1};
	const struct conf learns = {.ports = &port, .nb_ports = 1};

	listen_at("@slipring-notify-start");
	assert_int_equal(notify_open(), 0);
	assert_int_equal(starts(&none, 10), 5);
	assert_in_range(starts(&none, 2000), 300, 301);
	assert_in_range(starts(&learns, 2000), 450, 451);
	port.learn_wait_s = 0; // waits without limit
	assert_int_equal(starts(&learns, 4000), 2000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_path, tidy),
		cmocka_unit_test_teardown(test_abstract, tidy),
		cmocka_unit_test_teardown(test_nobody, tidy),
		cmocka_unit_test_teardown(test_no_address, tidy),
		cmocka_unit_test_teardown(test_watchdog, tidy),
		cmocka_unit_test_teardown(test_long_start, tidy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
