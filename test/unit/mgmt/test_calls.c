// SPDX-License-Identifier: BSD-3-Clause
// System call filters: calls that a thread of each role may and may not make, tried in child
// processes.
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "confine/calls.h"
#include "test.h"
#include "threads/prompt_wakes.h"

static struct calls calls;

// Exit status of a child that makes a call under the filter: 0 allowed, EPERM refused, -SIGNAL.
static int try(long (*call)(void))
{
	const pid_t child = fork();
	int status;

	if (child == 0) {
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || calls_apply(&calls) != 0)
			syscall(SYS_exit_group, 99);
		errno = 0;
		call();
		syscall(SYS_exit_group, errno == EPERM ? EPERM : 0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

static long sleeps(void)
{
	const struct timespec t = {.tv_nsec = 1};

	return nanosleep(&t, NULL);
}

static long writes_to_a_vtap(void)
{
	return syscall(SYS_writev, -1, NULL, 0);
}

static long sends(void)
{
	return syscall(SYS_sendto, -1, NULL, 0, 0, NULL, 0);
}

static long receives(void)
{
	return syscall(SYS_recvfrom, -1, NULL, 0, 0, NULL, NULL);
}

static long opens(void)
{
	return syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDONLY);
}

#ifndef __SANITIZE_ADDRESS__
static long finds_no_file(void)
{
	if (opens() >= 0 || errno != ENOENT)
		syscall(SYS_exit_group, 98);
	errno = 0;
	return 0;
}
#endif

static long makes_a_socket(void)
{
	return syscall(SYS_socket, AF_INET, SOCK_DGRAM, 0);
}

static long maps(void)
{
	return syscall(SYS_mmap, NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static long maps_code(void)
{
	return syscall(
		SYS_mmap, NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static long makes_code(void)
{
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return syscall(SYS_mprotect, page, 4096, PROT_READ | PROT_EXEC);
}

static long runs_a_program(void)
{
	return syscall(SYS_execve, "/nonexistent", NULL, NULL);
}

static long attaches_a_program(void)
{
	return syscall(SYS_bpf, BPF_LINK_CREATE, NULL, 0);
}

static long loads_a_program(void)
{
	return syscall(SYS_bpf, BPF_PROG_LOAD, NULL, 0);
}

static long leaves_the_namespace(void)
{
	return syscall(SYS_unshare, 0);
}

static long traces(void)
{
	return syscall(SYS_ptrace, 0, 0, 0, 0);
}

static long renames(void)
{
	return syscall(SYS_renameat2, AT_FDCWD, "/nonexistent/a", AT_FDCWD, "/nonexistent/b", 0);
}

static long sets_timer_slack(void)
{
	return prctl(PR_SET_TIMERSLACK, 1000, 0, 0, 0);
}

static long of_slice(pid_t pid)
{
	struct prompt_wakes_attr a;

	if (syscall(SYS_sched_getattr, pid, &a, sizeof(a), 0) != 0)
		return -1;
	return syscall(SYS_sched_setattr, pid, &a, 0);
}

static long sets_its_slice(void)
{
	return of_slice(0);
}

static long sets_slice_of_another(void)
{
	return of_slice(getppid());
}

static long names_itself(void)
{
	return prctl(PR_SET_NAME, "another", 0, 0, 0);
}

#ifdef __x86_64__
// The number as a call of x32.
static long calls_as_x32(void)
{
	return syscall(0x40000000 | SYS_getpid);
}
#endif

static void assert_may(long (*call)(void), bool allowed)
{
	assert_int_equal(try(call), allowed ? 0 : EPERM);
}

static void a_worker_may_do_what_its_ports_do(void **state)
{
	static const unsigned int kinds[] = {
		0, CALLS_VTAP, CALLS_SOCKET, CALLS_TAP, CALLS_VTAP | CALLS_SOCKET};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		assert_int_equal(calls_make(&calls, CALLS_WORKER, kinds[i], false), 0);
		assert_may(sleeps, true);
		assert_may(sets_timer_slack, true);
		assert_may(sets_its_slice, true);
		assert_may(sets_slice_of_another, false);
		assert_may(writes_to_a_vtap, (kinds[i] & (CALLS_VTAP | CALLS_TAP)) != 0);
		assert_may(receives, (kinds[i] & CALLS_SOCKET) != 0);
		assert_may(sends, true); // a log line of DPDK
		assert_may(names_itself, false);
		assert_may(makes_a_socket, false);
		assert_may(renames, false);
		assert_may(runs_a_program, false);
		assert_may(leaves_the_namespace, false);
		assert_may(maps, true);
		assert_may(maps_code, false);
		assert_may(makes_code, false);
#ifndef __SANITIZE_ADDRESS__
		assert_may(opens, false);
#endif
	}
}

static void a_stream_thread_may_do_what_sockets_take(void **state)
{
	assert_int_equal(calls_make(&calls, CALLS_STREAM, 0, false), 0);
	assert_may(sleeps, true);
	assert_may(sets_timer_slack, true);
	assert_may(sets_its_slice, true);
	assert_may(sets_slice_of_another, false);
	assert_may(sends, true);
	assert_may(maps, true);
	assert_may(maps_code, false);
	assert_may(makes_a_socket, true);
	assert_may(renames, false);
	assert_may(runs_a_program, false);
	assert_may(traces, false);
#ifndef __SANITIZE_ADDRESS__
	assert_int_equal(try(finds_no_file), 0);
#endif
}

static void no_role_may_call_more(void **state)
{
	assert_int_equal(calls_make(&calls, CALLS_OTHER, 0, false), 0);
	assert_may(sleeps, true);
	assert_may(opens, true);
	assert_may(renames, true);
	assert_may(makes_a_socket, true);
	assert_may(runs_a_program, false);
	assert_may(leaves_the_namespace, false);
#ifndef __SANITIZE_ADDRESS__
	assert_may(traces, false);
#endif
}

// Management attaches the port's own BPF program in front of others. It neither loads a program nor
// queries those of others.
static void a_packet_port_may_attach_what_it_has(void **state)
{
	assert_int_equal(calls_make(&calls, CALLS_OTHER, CALLS_PACKET, false), 0);
	assert_may(attaches_a_program, true);
	assert_may(loads_a_program, false);
	assert_may(opens, true);
	assert_may(runs_a_program, false);
	assert_int_equal(calls_make(&calls, CALLS_OTHER, CALLS_VTAP, false), 0);
	assert_may(attaches_a_program, false);
	assert_int_equal(calls_make(&calls, CALLS_WORKER, CALLS_PACKET, false), 0);
	assert_may(attaches_a_program, false);
}

// An unknown driver: its worker may make all calls that any other worker may.
static void a_worker_of_an_unknown_driver_may_do_more(void **state)
{
	assert_int_equal(calls_make(&calls, CALLS_WORKER, CALLS_DRIVER | CALLS_VTAP, false), 0);
	assert_may(opens, true);
	assert_may(maps, true);
	assert_may(runs_a_program, false);
}

static void with_kill_the_process_ends(void **state)
{
	static const enum calls_role roles[] = {CALLS_WORKER, CALLS_STREAM, CALLS_OTHER};

	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(calls_make(&calls, roles[i], 0, true), 0);
		assert_int_equal(try(sleeps), 0);
		assert_int_equal(try(runs_a_program), -SIGSYS);
	}
}

static void calls_of_other_architectures_are_refused(void **state)
{
#ifdef __x86_64__
	assert_int_equal(calls_make(&calls, CALLS_OTHER, 0, true), 0);
	assert_int_equal(try(calls_as_x32), -SIGSYS);
#else
	skip();
#endif
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_worker_may_do_what_its_ports_do),
		cmocka_unit_test(a_stream_thread_may_do_what_sockets_take),
		cmocka_unit_test(no_role_may_call_more),
		cmocka_unit_test(a_packet_port_may_attach_what_it_has),
		cmocka_unit_test(a_worker_of_an_unknown_driver_may_do_more),
		cmocka_unit_test(with_kill_the_process_ends),
		cmocka_unit_test(calls_of_other_architectures_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
