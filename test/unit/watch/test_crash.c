// SPDX-License-Identifier: BSD-3-Clause
// Crashes of child processes: the report of each signal, the exit status of the process, and faults
// in the report itself.
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "crash/crash.h"
#include "crash/crash_out.h"
#include "crash/crash_stack.h"
#include "invariant.h"
#include "test.h"

static char report[CRASH_REPORT_MAX + 4096];

// Runs a child that crashes by `crash`. Returns its status as waitpid gives it; report has the
// child's output.
static int crash_by(void (*crash)(void))
{
	FILE *file = tmpfile();
	int status;
	pid_t pid;
	size_t n;

	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
		if (crash_open("slipring 1.2.3 (test)") != 0)
			_exit(98);
		crash_to(fileno(file), "the file");
		crash();
		_exit(99);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	rewind(file);
	n = fread(report, 1, sizeof(report) - 1, file);
	report[n] = '\0';
	fclose(file);
	return status;
}

static void assert_line(const char *begin)
{
	if (strncmp(report, begin, strlen(begin)) == 0)
		return;
	for (const char *newline = report; (newline = strchr(newline, '\n')) != NULL; newline++)
		if (strncmp(newline + 1, begin, strlen(begin)) == 0)
			return;
	fail_msg("no line %s in: %s", begin, report);
}

static void assert_ended_by(int status, int signal)
{
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), signal);
}

// The parts of every report.
static void assert_whole(void)
{
	assert_int_equal(strncmp(report, "slipring crash report 1\n", 24), 0);
	assert_line("version: slipring 1.2.3 (test)\n");
	assert_line("time: 20");
	assert_line("pid: ");
	assert_line("thread: ");
	assert_line("at: ");
	assert_line("stack 0: ");
	assert_line("stack 1: ");
	assert_line("end of report\n");
	assert_true(strlen(report) <= CRASH_REPORT_MAX);
	for (const char *c = report; *c != '\0'; c++)
		assert_true(*c == '\n' || (*c >= 0x20 && *c < 0x7f));
}

static void by_address(void)
{
	*(volatile int *volatile)(uintptr_t)24 = 1;
}

static void by_abort(void)
{
	abort();
}

static unsigned int looked;

static bool look(void)
{
	looked++;
	return false;
}

static void by_assert(void)
{
	ASSERT(look());
}

static void by_signal(int number)
{
	raise(number);
}

static void by_bus(void)
{
	by_signal(SIGBUS);
}

static void by_fpe(void)
{
	by_signal(SIGFPE);
}

static void by_ill(void)
{
	by_signal(SIGILL);
}

static void test_kinds(void **state)
{
	static const struct {
		void (*crash)(void);
		int signal;
		const char *line;
	} kinds[] = {
		{by_address, SIGSEGV, "signal: SIGSEGV at address 0x18, code 1"},
		{by_abort, SIGABRT, "signal: SIGABRT sent by pid "},
		{by_bus, SIGBUS, "signal: SIGBUS sent by pid "},
		{by_fpe, SIGFPE, "signal: SIGFPE sent by pid "},
		{by_ill, SIGILL, "signal: SIGILL sent by pid "},
	};

	for (unsigned int i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		assert_ended_by(crash_by(kinds[i].crash), kinds[i].signal);
		assert_line(kinds[i].line);
		assert_whole();
		assert_null(strstr(report, "\nreason:"));
	}
}

static void by_segv(void)
{
	by_signal(SIGSEGV);
}

// Process 1 of a container ends, too, although the kernel spares it from default actions.
static void test_process_1(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		if (unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0)
			_exit(77);
		status = crash_by(by_segv); // the first child of this process is process 1
		_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(WEXITSTATUS(status), 128 + SIGSEGV);
}

// A failed ASSERT names itself in the report; builds without ASSERT do not look at its condition.
static void test_assert(void **state)
{
#ifdef SLIPRING_ASSERTS
	assert_ended_by(crash_by(by_assert), SIGABRT);
	assert_line("signal: SIGABRT sent by pid ");
	assert_line("reason: ");
	assert_non_null(strstr(report, ": by_assert: ASSERT(look())\n"));
	assert_whole();
#else
	by_assert();
#endif
	assert_int_equal(looked, 0); // in this process
}

// The first reason counts: later ones are consequences.
static void by_reason(void)
{
	crash_reason("watchdog: worker 3 made no progress for 2000 ms");
	crash_reason("another");
	abort();
}

static void test_reason(void **state)
{
	assert_ended_by(crash_by(by_reason), SIGABRT);
	assert_line("reason: watchdog: worker 3 made no progress for 2000 ms\n");
	assert_null(strstr(report, "another"));
}

// --- faults of the report itself -----------------------------------------------------------------

static void tells_much(struct crash_out *o, void *ctx)
{
	for (unsigned int i = 0; i < 10000; i++) {
		for (unsigned int k = 0; k < 100; k++)
			crash_out_text(o, "as much as it likes\x01\xff\n");
		crash_out_end(o);
	}
}

static void by_much(void)
{
	crash_about(tells_much, NULL);
	abort();
}

static void test_bounded(void **state)
{
	assert_ended_by(crash_by(by_much), SIGABRT);
	assert_true(strlen(report) <= CRASH_REPORT_MAX);
	assert_true(strlen(report) > CRASH_REPORT_MAX / 2);
	assert_line("as much as it likes???as much");
}

static void faults(struct crash_out *o, void *ctx)
{
	crash_out_text(o, "before the fault");
	crash_out_end(o);
	by_address();
}

static void by_double_fault(void)
{
	crash_about(faults, NULL);
	abort();
}

static void test_double_fault(void **state)
{
	const time_t begin = time(NULL);

	assert_ended_by(crash_by(by_double_fault), SIGSEGV);
	assert_line("signal: SIGABRT");
	assert_line("before the fault\n");
	assert_null(strstr(report, "end of report"));
	assert_true(time(NULL) - begin < 5);
}

static void hangs(struct crash_out *o, void *ctx)
{
	for (;;)
		pause();
}

static void by_hanging(void)
{
	crash_about(hangs, NULL);
	abort();
}

static void *waits(void *arg)
{
	for (;;)
		pause();
	return NULL;
}

// A report that hangs is abandoned, as long as some thread takes the signal.
static void by_hanging_beside(void)
{
	pthread_t t;

	pthread_create(&t, NULL, waits, NULL);
	by_hanging();
}

static void test_hangs(void **state)
{
	assert_ended_by(crash_by(by_hanging_beside), SIGALRM);
	assert_line("signal: SIGABRT");
}

static void *crashes(void *arg)
{
	by_address();
	return NULL;
}

static void takes_time(struct crash_out *o, void *ctx)
{
	const struct timespec while_others_crash = {.tv_nsec = 200000000};

	nanosleep(&while_others_crash, NULL);
	crash_out_text(o, "one thread tells");
	crash_out_end(o);
}

static void by_many(void)
{
	pthread_t t[8];

	crash_about(takes_time, NULL);
	for (unsigned int i = 0; i < 8; i++)
		pthread_create(&t[i], NULL, crashes, NULL);
	pthread_join(t[0], NULL);
}

static void test_many_at_once(void **state)
{
	assert_ended_by(crash_by(by_many), SIGSEGV);
	assert_whole();
	assert_non_null(strstr(report, "one thread tells"));
	assert_null(strstr(strstr(report, "one thread tells") + 1, "one thread tells"));
}

// --- parts ---------------------------------------------------------------------------------------

static void test_copy(void **state)
{
	char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char out[256], many[4096];

	assert_int_equal(crash_open("x"), 0);
	memset(page, 'a', 8192);
	assert_int_equal(munmap(page + 4096, 4096), 0);
	assert_true(crash_copy(out, page + 4096 - 256, 256));
	assert_int_equal(out[255], 'a');
	assert_false(crash_copy(out, page + 4096 - 255, 256)); // the last byte is not readable
	assert_false(crash_copy(out, page + 4096, 1));
	assert_false(crash_copy(out, NULL, 8));
	assert_false(crash_copy(out, (const void *)UINTPTR_MAX, 8));
	assert_true(crash_copy(many, page, 4096)); // the failure left nothing behind
	assert_true(crash_copy(out, page, 0));
	assert_int_equal(many[4095], 'a');
	crash_close();
	munmap(page, 4096);
}

static void test_time(void **state)
{
	static const int64_t hard[] = {0, 951782399, 951782400, 951868800, 1709164800, 1735689599,
		4107542399, 4107542400, 4102444800, 13569465600};
	struct crash_out o = {.fd = -1};
	char want[64];

	for (unsigned int i = 0; i < 20000; i++) {
		const int64_t seconds =
			i < sizeof(hard) / sizeof(hard[0]) ? hard[i] : (int64_t)i * 6543217;
		const time_t t = (time_t)seconds;
		struct tm utc;

		o.len = 0;
		crash_out_time(&o, seconds);
		o.line[o.len] = '\0';
		strftime(want, sizeof(want), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&t, &utc));
		assert_string_equal(o.line, want);
	}
}

static void test_numbers(void **state)
{
	struct crash_out o = {.fd = -1};

	crash_out_number(&o, 0);
	crash_out_text(&o, " ");
	crash_out_number(&o, UINT64_MAX);
	crash_out_text(&o, " ");
	crash_out_hex(&o, UINT64_MAX);
	crash_out_text(&o, " ");
	crash_out_bytes(&o, (const uint8_t *)"\x00\x0f\xf0", 3);
	o.line[o.len] = '\0';
	assert_string_equal(o.line, "0 18446744073709551615 0xffffffffffffffff 000ff0");
}

// Functions of a shared library whose symbol table is mapped.
static void test_names(void **state)
{
	struct crash_place p;

	crash_stack_open();
	crash_stack_find((uintptr_t)strtod + 1, &p);
	assert_non_null(p.name);
	assert_int_equal(p.offset, 1);
	assert_int_equal(strncmp(p.module, "libc.so", 7), 0);
	crash_stack_find((uintptr_t)test_names, &p);
	assert_string_equal(p.module, "slipring");
	crash_stack_find(16, &p);
	assert_null(p.module);
	assert_null(p.name);
	assert_int_equal(p.module_offset, 16);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_process_1),
		cmocka_unit_test(test_assert),
		cmocka_unit_test(test_reason),
		cmocka_unit_test(test_bounded),
		cmocka_unit_test(test_double_fault),
		cmocka_unit_test(test_hangs),
		cmocka_unit_test(test_many_at_once),
		cmocka_unit_test(test_copy),
		cmocka_unit_test(test_time),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
