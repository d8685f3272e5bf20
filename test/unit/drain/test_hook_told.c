// SPDX-License-Identifier: BSD-3-Clause
// What the program of drain.on-change is told when its process has no room for a while: in the end
// it knows the last state, and a drain waits for that.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "conf_drain.h"
#include "drain/hook.h"

static char dir[] = "/tmp/test_hook_XXXXXX";
static char out[64]; // what the program has been told, a line each
static unsigned int fails; // so many times there is no room
static int failure;

ssize_t __real_send(int fd, const void *data, size_t len, int flags);
ssize_t __wrap_send(int fd, const void *data, size_t len, int flags);
ssize_t __wrap_send(int fd, const void *data, size_t len, int flags)
{
	if (fails == 0)
		return __real_send(fd, data, len, flags);
	fails--;
	errno = failure;
	return -1;
}

static int setup(void **state)
{
	char shell[] = "/bin/sh", c[] = "-c", script[128], *words[] = {shell, c, script};
	const struct conf_drain d = {.on_change = words, .nb_on_change = 3, .on_change_s = 60};
	static char program[sizeof(shell)]; // the configuration's outlives this

	snprintf(script, sizeof(script), "echo $0 >>%s", out);
	words[0] = strcpy(program, shell);
	unlink(out);
	fails = 0;
	failure = EAGAIN;
	assert_int_equal(mgmt_hook_fork(), 0);
	assert_int_equal(mgmt_hook_command(&d), 0);
	return 0;
}

static int teardown(void **state)
{
	mgmt_hook_close();
	return 0;
}

// Waits until all has been run, and asserts what that was.
static void assert_told(const char *want)
{
	char text[256];
	FILE *f;
	size_t n;

	while (mgmt_hook_busy()) {
		mgmt_hook_tick();
		poll(NULL, 0, 1);
	}
	f = fopen(out, "r");
	assert_non_null(f);
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = '\0';
	fclose(f);
	assert_string_equal(text, want);
}

// The first test: nothing has been told before.
static void the_first_state_is_told_later(void **state)
{
	fails = 1;
	mgmt_hook_tell(false);
	assert_true(mgmt_hook_busy());
	assert_told("ready\n");
}

static void it_is_told_once_there_is_room(void **state)
{
	mgmt_hook_tell(false);
	assert_told("ready\n");
	fails = 3;
	mgmt_hook_tell(true);
	assert_true(mgmt_hook_busy());
	mgmt_hook_tick();
	assert_int_equal(fails, 1);
	assert_true(mgmt_hook_busy());
	assert_told("ready\ndraining\n");
	mgmt_hook_tell(false);
	assert_told("ready\ndraining\nready\n");
}

static void the_last_state_counts(void **state)
{
	mgmt_hook_tell(false);
	assert_told("ready\n");
	fails = 2;
	mgmt_hook_tell(true);
	mgmt_hook_tell(false); // as it knows
	assert_false(mgmt_hook_busy());
	mgmt_hook_tick();
	assert_int_equal(fails, 1);
	mgmt_hook_tell(true);
	assert_true(mgmt_hook_busy());
	assert_told("ready\ndraining\n");
}

// Only a lack of room passes.
static void other_errors_are_final(void **state)
{
	mgmt_hook_tell(false);
	assert_told("ready\n");
	fails = 1;
	failure = EPIPE;
	mgmt_hook_tell(true);
	assert_false(mgmt_hook_busy());
	assert_told("ready\n");
}

static int group_setup(void **state)
{
	if (mkdtemp(dir) == NULL)
		return -1;
	snprintf(out, sizeof(out), "%s/out", dir);
	return 0;
}

static int group_teardown(void **state)
{
	unlink(out);
	return rmdir(dir);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(the_first_state_is_told_later),
		T(it_is_told_once_there_is_room),
		T(the_last_state_counts),
		T(other_errors_are_final),
	};

	return cmocka_run_group_tests_name("hook_told", tests, group_setup, group_teardown);
}
