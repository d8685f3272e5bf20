// SPDX-License-Identifier: BSD-3-Clause
// Reports to the program of drain.on-change when its process has no room for a while: in the end it
// gets the last state, and a drain waits for that. News of its exit may be late, too; a drain waits
// for it, but not forever.
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "conf_drain.h"
#include "drain/hook.h"
#include "test.h"

static char dir[] = "/tmp/test_hook_XXXXXX";
static char out[64]; // one line for each state that the program got
static unsigned int fails; // number of sends that find no room
static unsigned int fails_there; // the same number in the process that runs the program
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

static int start(uint32_t timeout_s)
{
	char shell[] = "/bin/sh", c[] = "-c", script[128], *words[] = {shell, c, script};
	const struct conf_drain d = {
		.on_change = words, .nb_on_change = 3, .on_change_s = timeout_s};
	static char program[sizeof(shell)]; // outlives the configuration's text

	snprintf(script, sizeof(script), "echo $0 >>%s", out);
	words[0] = strcpy(program, shell);
	unlink(out);
	fails = fails_there;
	failure = ENOBUFS;
	assert_int_equal(mgmt_hook_fork(), 0);
	fails = 0;
	failure = EAGAIN;
	assert_int_equal(mgmt_hook_command(&d), 0);
	return 0;
}

static int setup(void **state)
{
	fails_there = 0;
	return start(60);
}

static int setup_without_room(void **state)
{
	fails_there = 3;
	return start(60);
}

static int setup_hasty(void **state)
{
	fails_there = 0;
	return start(1);
}

static int teardown(void **state)
{
	mgmt_hook_close();
	return 0;
}

// Waits until everything has been run, and asserts the states.
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

// The first test: no state was reported before.
static void the_first_state_is_sent_later(void **state)
{
	fails = 1;
	mgmt_hook_tell(false);
	assert_true(mgmt_hook_busy());
	assert_told("ready\n");
}

static void a_state_waits_for_room(void **state)
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
	mgmt_hook_tell(false); // it knows already
	assert_false(mgmt_hook_busy());
	mgmt_hook_tick();
	assert_int_equal(fails, 1);
	mgmt_hook_tell(true);
	assert_true(mgmt_hook_busy());
	assert_told("ready\ndraining\n");
}

// Only a lack of room is temporary.
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

static void the_end_of_the_helper_is_noticed_late(void **state)
{
	mgmt_hook_tell(false);
	assert_told("ready\n");
	mgmt_hook_tell(true);
	assert_told("ready\ndraining\n");
}

// The process that runs the program: our only child.
static pid_t child(void)
{
	char path[64];
	int pid = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	f = fopen(path, "r");
	assert_non_null(f);
	assert_int_equal(fscanf(f, "%d", &pid), 1);
	fclose(f);
	return pid;
}

// As if the program's file system did not answer.
static void a_stopped_helper_delays_no_exit(void **state)
{
	const pid_t pid = child();

	mgmt_hook_tell(false);
	assert_told("ready\n");
	assert_int_equal(kill(pid, SIGSTOP), 0);
	mgmt_hook_tell(true);
	assert_true(mgmt_hook_busy());
	while (mgmt_hook_busy()) {
		mgmt_hook_tick();
		poll(NULL, 0, 10);
	}
	assert_int_equal(kill(pid, SIGCONT), 0);
	mgmt_hook_tell(false); // later reports are waited for again
	assert_true(mgmt_hook_busy());
	while (mgmt_hook_busy()) {
		mgmt_hook_tick();
		poll(NULL, 0, 1);
	}
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
		T(the_first_state_is_sent_later),
		T(a_state_waits_for_room),
		T(the_last_state_counts),
		T(other_errors_are_final),
		cmocka_unit_test_setup_teardown(
			the_end_of_the_helper_is_noticed_late, setup_without_room, teardown),
		cmocka_unit_test_setup_teardown(
			a_stopped_helper_delays_no_exit, setup_hasty, teardown),
	};

	return cmocka_run_group_tests_name("hook_told", tests, group_setup, group_teardown);
}
