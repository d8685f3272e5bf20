// SPDX-License-Identifier: BSD-3-Clause
// The process that runs drain.on-change: the program's environment, reports of its exit, and its
// restrictions.
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "drain/helper.h"
#include "test.h"

#define WAIT_MS 20000
#define PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

static char dir[] = "/tmp/test_hook_XXXXXX";
static char out[64]; // a file that the program writes
static int fd;
static pid_t pid;

static int setup(void **state)
{
	int ends[2];

	assert_return_code(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), errno);
	unlink(out);
	pid = fork();
	if (pid == 0) {
		close(ends[0]);
		helper_run(ends[1]);
	}
	close(ends[1]);
	fd = ends[0];
	return 0;
}

// Lets the process end, and waits for it.
static void finish(void)
{
	int status;

	if (pid == 0)
		return;
	close(fd);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	pid = 0;
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static int teardown(void **state)
{
	finish();
	return 0;
}

// Sends it the command: words, with NULL at the end.
static void command(uint32_t timeout_s, const char *const *words)
{
	static struct {
		struct helper_command c;
		char words[4096];
	} m;
	size_t used = 0;

	m.c = (struct helper_command){.timeout_s = timeout_s};
	for (; words[m.c.nb] != NULL; m.c.nb++) {
		strcpy(m.words + used, words[m.c.nb]);
		used += strlen(words[m.c.nb]) + 1;
	}
	assert_return_code(send(fd, &m, sizeof(m.c) + used, 0), errno);
}

static void shell(uint32_t timeout_s, const char *script)
{
	command(timeout_s, (const char *const[]){"/bin/sh", "-c", script, NULL});
}

static void tell(uint8_t state)
{
	assert_int_equal(send(fd, &state, 1, 0), 1);
}

static struct helper_report report(void)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	struct helper_report r;

	assert_int_equal(poll(&p, 1, WAIT_MS), 1);
	assert_int_equal(recv(fd, &r, sizeof(r), 0), sizeof(r));
	return r;
}

static void assert_report(enum helper_state state, enum helper_end how, int code)
{
	const struct helper_report r = report();

	assert_int_equal(r.state, state);
	assert_int_equal(r.how, how);
	assert_int_equal(r.code, code);
}

// The program's output.
static const char *written(void)
{
	static char text[8192];
	FILE *f = fopen(out, "r");
	size_t n;

	assert_non_null(f);
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = '\0';
	fclose(f);
	return text;
}

static void the_state_is_the_last_argument(void **state)
{
	char script[256];

	snprintf(script, sizeof(script), "echo \"$0|$#|$SLIPRING_STATE|$PATH\" >>%s; exit 3", out);
	shell(10, script);
	tell(HELPER_READY);
	assert_report(HELPER_READY, HELPER_EXITED, 3);
	tell(HELPER_DRAINING);
	assert_report(HELPER_DRAINING, HELPER_EXITED, 3);
	assert_string_equal(written(), "ready|0|ready|" PATH "\ndraining|0|draining|" PATH "\n");
}

// The program has moved to another process group, which the signal to its own group does not reach.
static void a_program_that_leaves_its_group_is_killed(void **state)
{
	command(1,
		(const char *const[]){"/usr/bin/env", "python3", "-c",
			"import os, time; os.setpgid(0, os.getppid()); time.sleep(1000)", NULL});
	tell(HELPER_DRAINING);
	assert_report(HELPER_DRAINING, HELPER_TIMEOUT, 0);
}

// It has no capability and cannot gain one, and no descriptor of the server. Its signals have a
// program's defaults.
static void a_program_has_no_privileges(void **state)
{
	char script[512];
	const char *text;

	snprintf(script, sizeof(script),
		"grep -E '^(Cap|NoNewPrivs|SigBlk|SigIgn)' /proc/self/status "
		">%s; "
		"for f in 3 4 5 6 7 8 9; do [ -e /proc/$$/fd/$f ] && echo open $f >>%s; done; "
		"readlink /proc/$$/fd/0 >>%s; env | grep -c = >>%s",
		out, out, out, out);
	setenv("A_SECRET_OF_THE_SERVERS", "x", 1);
	shell(10, script);
	tell(HELPER_DRAINING);
	assert_report(HELPER_DRAINING, HELPER_EXITED, 0);
	text = written();
	for (const char *const *c = (const char *const[]){"CapInh", "CapPrm", "CapEff", "CapBnd",
		     "CapAmb", NULL};
		*c != NULL; c++) {
		char want[64];

		if (geteuid() != 0 && strcmp(*c, "CapBnd") == 0)
			continue; // dropping that one needs a capability
		snprintf(want, sizeof(want), "%s:\t0000000000000000\n", *c);
		assert_non_null(strstr(text, want));
	}
	assert_non_null(strstr(text, "NoNewPrivs:\t1\n"));
	assert_non_null(strstr(text, "SigBlk:\t0000000000000000\n"));
	assert_non_null(strstr(text, "SigIgn:")); // libc uses 32 and 33 itself
	assert_int_equal(strtoull(strstr(text, "SigIgn:") + 8, NULL, 16) & 0x7fffffff, 0);
	assert_null(strstr(text, "open"));
	assert_non_null(strstr(text, "/dev/null\n"));
	assert_null(strstr(text, "A_SECRET"));
}

static void a_program_that_hangs_is_killed(void **state)
{
	struct helper_report r;
	char script[256];

	// its child is killed with it
	snprintf(script, sizeof(script), "sleep 1000 & echo $! >%s; sleep 1000", out);
	shell(3, script);
	tell(HELPER_DRAINING);
	r = report();
	assert_int_equal(r.state, HELPER_DRAINING);
	assert_int_equal(r.how, HELPER_TIMEOUT);
	assert_true(r.took_ms >= 3000);
	for (unsigned int i = 0; kill((pid_t)atoi(written()), 0) == 0; i++) {
		char path[64], state_of = '?';
		FILE *f;

		// an orphan may stay a zombie until its new parent reaps it
		snprintf(path, sizeof(path), "/proc/%d/stat", atoi(written()));
		f = fopen(path, "r");
		if (f == NULL ||
			(fscanf(f, "%*d (%*[^)]) %c", &state_of) == 1 && state_of == 'Z')) {
			if (f != NULL)
				fclose(f);
			break;
		}
		fclose(f);
		assert_true(i < WAIT_MS / 10);
		poll(NULL, 0, 10);
	}
}

static void failures_are_reported(void **state)
{
	command(10, (const char *const[]){"/no/such/program", NULL});
	tell(HELPER_DRAINING);
	assert_report(HELPER_DRAINING, HELPER_FAILED, ENOENT);
	tell(HELPER_READY);
	assert_report(HELPER_READY, HELPER_FAILED, ENOENT);
}

static void a_signal_is_reported(void **state)
{
	shell(10, "kill -SEGV $$");
	tell(HELPER_DRAINING);
	assert_report(HELPER_DRAINING, HELPER_KILLED, SIGSEGV);
}

// One at a time. The last one of the states that arrive meanwhile is run; each is reported.
static void the_last_state_counts(void **state)
{
	char script[256], fifo[80];
	FILE *f;

	snprintf(fifo, sizeof(fifo), "%s/fifo", dir);
	assert_return_code(mkfifo(fifo, 0600), errno);
	snprintf(script, sizeof(script), "[ -e %s ] || read x <%s; echo $0 >>%s", out, fifo, out);
	shell(60, script);
	tell(HELPER_DRAINING); // this one waits at the fifo
	f = fopen(fifo, "w"); // until a reader opens it
	assert_non_null(f);
	tell(HELPER_READY);
	tell(HELPER_DRAINING);
	tell(HELPER_READY);
	assert_report(HELPER_READY, HELPER_SKIPPED, 0);
	assert_report(HELPER_DRAINING, HELPER_SKIPPED, 0);
	fputs("go\n", f);
	fclose(f);
	assert_report(HELPER_DRAINING, HELPER_EXITED, 0);
	assert_report(HELPER_READY, HELPER_EXITED, 0);
	assert_string_equal(written(), "draining\nready\n");
	unlink(fifo);
}

// Neither the server's exit nor a signal to the whole process group stops the program half way.
static void the_last_state_runs_after_the_servers_end(void **state)
{
	char script[128];

	snprintf(script, sizeof(script), "sleep 0.3; echo $0 >>%s", out);
	shell(10, script);
	tell(HELPER_READY);
	assert_report(HELPER_READY, HELPER_EXITED, 0);
	tell(HELPER_DRAINING);
	assert_return_code(shutdown(fd, SHUT_WR), errno);
	kill(pid, SIGTERM);
	kill(pid, SIGINT);
	finish();
	assert_non_null(strstr(written(), "draining\n"));
}

static void without_a_command_the_helper_ends(void **state)
{
	finish();
	assert_return_code(setup(state), 0);
	tell(HELPER_READY); // which is no change
	finish();
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
		T(the_state_is_the_last_argument),
		T(a_program_has_no_privileges),
		T(a_program_that_hangs_is_killed),
		T(a_program_that_leaves_its_group_is_killed),
		T(failures_are_reported),
		T(a_signal_is_reported),
		T(the_last_state_counts),
		T(the_last_state_runs_after_the_servers_end),
		T(without_a_command_the_helper_ends),
	};

	return cmocka_run_group_tests_name("hook", tests, group_setup, group_teardown);
}
