// SPDX-License-Identifier: BSD-3-Clause
// The handler of the signals that end a process, and the report that it writes. It writes line by
// line, and safe facts before those whose reading may fault: a fault in the handler ends the
// process at once, and the lines written until then remain.
#include "crash/crash.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "crash/crash_out.h"
#include "crash/crash_stack.h"
#include "invariant.h"

#define FRAMES 48
#define GRACE_S 5 // a report that takes longer, for instance on a hanging disk, is abandoned

static const struct {
	int number;
	const char *name;
} signals[] = {
	{SIGSEGV, "SIGSEGV"},
	{SIGBUS, "SIGBUS"},
	{SIGFPE, "SIGFPE"},
	{SIGILL, "SIGILL"},
	{SIGABRT, "SIGABRT"},
};

#define NB (sizeof(signals) / sizeof(signals[0]))

static struct {
	const char *version, *path;
	int fd;
	int pipe[2]; // for crash_copy: the kernel checks whether memory is readable
	crash_more *more;
	void *ctx;
	char reason[128];
	pid_t writer; // thread that writes the report; 0 = no report yet
	struct crash_out out;
	void *frames[FRAMES];
} state = {.fd = STDERR_FILENO, .pipe = {-1, -1}};

bool crash_copy(void *dst, const void *src, size_t len)
{
	ssize_t n;

	if (len > 4096)
		return false;
	n = write(state.pipe[1], src, len);
	if (n < 0)
		return false;
	return read(state.pipe[0], dst, (size_t)n) == n && (size_t)n == len;
}

// --- the report ----------------------------------------------------------------------------------

static void put_line(struct crash_out *o, const char *name, const char *text)
{
	crash_out_text(o, name);
	crash_out_text(o, text);
	crash_out_end(o);
}

static void put_place(struct crash_out *o, uintptr_t addr)
{
	struct crash_place p;

	crash_stack_find(addr, &p);
	if (p.name != NULL) {
		crash_out_text(o, p.name);
		crash_out_text(o, "+");
		crash_out_hex(o, p.offset);
		crash_out_text(o, " (");
	}
	crash_out_text(o, p.module != NULL ? p.module : "?");
	crash_out_text(o, "+");
	crash_out_hex(o, p.module_offset);
	crash_out_text(o, p.name != NULL ? ")" : "");
}

static const char *name_of(int signal)
{
	for (size_t i = 0; i < NB; i++)
		if (signals[i].number == signal)
			return signals[i].name;
	return "?";
}

static void put_signal(struct crash_out *o, const siginfo_t *info)
{
	crash_out_text(o, "signal: ");
	crash_out_text(o, name_of(info->si_signo));
	if (info->si_code > 0) {
		crash_out_text(o, " at address ");
		crash_out_hex(o, (uintptr_t)info->si_addr);
		crash_out_text(o, ", code ");
		crash_out_number(o, (uint64_t)info->si_code);
	} else {
		crash_out_text(o, " sent by pid ");
		crash_out_number(o, (uint64_t)info->si_pid);
	}
	crash_out_end(o);
}

static void put_head(struct crash_out *o, const siginfo_t *info, const void *context)
{
	struct timespec now = {0};
	char thread[17] = "";

	put_line(o, "slipring crash report 1", "");
	put_line(o, "version: ", state.version);
	clock_gettime(CLOCK_REALTIME, &now);
	crash_out_text(o, "time: ");
	crash_out_time(o, now.tv_sec);
	crash_out_end(o);
	crash_out_text(o, "pid: ");
	crash_out_number(o, (uint64_t)getpid());
	crash_out_end(o);
	put_signal(o, info);
#ifdef SLIPRING_ASSERTS
	if (invariant_text[0] != '\0')
		put_line(o, "reason: ", invariant_text);
#endif
	if (state.reason[0] != '\0')
		put_line(o, "reason: ", state.reason);
	prctl(PR_GET_NAME, thread, 0, 0, 0);
	crash_out_text(o, "thread: ");
	crash_out_number(o, (uint64_t)gettid());
	crash_out_text(o, " ");
	put_line(o, thread, "");
	crash_out_text(o, "at: ");
	put_place(o, crash_stack_pc(context));
	crash_out_text(o, ", stack ");
	crash_out_hex(o, crash_stack_sp(context));
	crash_out_end(o);
}

static void put_stack(struct crash_out *o, const void *context)
{
	const int n = crash_stack_take(state.frames, FRAMES, context);

	for (int i = 0; i < n; i++) {
		crash_out_text(o, "stack ");
		crash_out_number(o, (uint64_t)i);
		crash_out_text(o, ": ");
		put_place(o, (uintptr_t)state.frames[i] - (i > 0));
		crash_out_end(o);
	}
}

// Names the report on standard error.
static void tell_where(int signal)
{
	struct crash_out o = {.fd = STDERR_FILENO};

	if (state.fd == STDERR_FILENO)
		return;
	crash_out_text(&o, "slipring: ");
	crash_out_text(&o, name_of(signal));
	crash_out_text(&o, ": the report is in ");
	put_line(&o, state.path, "");
}

// Restores the default action, which ends the process when the handler returns: by the same fault,
// or by the signal that is pending until then. In process 1 of a container the kernel ignores
// default actions, so that process exits with the status that a shell shows for the signal.
static void reraise_signal(const siginfo_t *info)
{
	if (getpid() == 1)
		_exit(128 + info->si_signo);
	signal(info->si_signo, SIG_DFL);
	if (info->si_code <= 0)
		tgkill(getpid(), gettid(), info->si_signo);
}

static void handle_crash(int number, siginfo_t *info, void *context)
{
	pid_t nobody = 0;

	if (!__atomic_compare_exchange_n(
		    &state.writer, &nobody, gettid(), false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		while (nobody != gettid())
			pause(); // another thread's report ends the process
		reraise_signal(info);
		return;
	}
	signal(SIGALRM, SIG_DFL);
	alarm(GRACE_S);
	state.out = (struct crash_out){.fd = state.fd};
	put_head(&state.out, info, context);
	if (state.more != NULL)
		state.more(&state.out, state.ctx);
	put_stack(&state.out, context);
	put_line(&state.out, "end of report", "");
	tell_where(number);
	reraise_signal(info);
}

// --- start ---------------------------------------------------------------------------------------

int crash_open(const char *version)
{
	struct sigaction take = {.sa_sigaction = handle_crash, .sa_flags = SA_SIGINFO | SA_ONSTACK};

	// while all signals are blocked, a fault ends the process at once
	sigfillset(&take.sa_mask);
	state.version = version;
	if (pipe2(state.pipe, O_CLOEXEC | O_NONBLOCK) != 0)
		return -errno;
	crash_stack_open();
	for (size_t i = 0; i < NB; i++)
		if (sigaction(signals[i].number, &take, NULL) != 0)
			return -errno;
	return 0;
}

void crash_to(int fd, const char *path)
{
	state.path = path;
	state.fd = fd >= 0 ? fd : STDERR_FILENO;
}

void crash_about(crash_more *more, void *ctx)
{
	state.ctx = ctx;
	state.more = more;
}

void crash_reason(const char *text)
{
	if (state.reason[0] == '\0')
		strncpy(state.reason, text, sizeof(state.reason) - 1);
}

void crash_close(void)
{
	for (size_t i = 0; i < NB; i++)
		signal(signals[i].number, SIG_DFL);
	for (unsigned int i = 0; i < 2; i++) {
		if (state.pipe[i] >= 0)
			close(state.pipe[i]);
		state.pipe[i] = -1;
	}
	crash_to(-1, NULL);
	crash_about(NULL, NULL);
}
