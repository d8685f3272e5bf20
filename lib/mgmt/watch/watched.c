// SPDX-License-Identifier: BSD-3-Clause
// Examines a thread from outside: /proc, its CPU clock, and a signal that it answers with its
// stack.
#include "watch/watched.h"

#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "crash/crash_stack.h"

#define STACK_SIZE (64 * 1024)
#define GUARD 4096

#define KNOWN 32

static __thread struct watched *self;
static struct watched *known[KNOWN]; // of watched_know; each entry is written before nb_known
static unsigned int nb_known;

const struct watched *watched_self(void)
{
	return self;
}

void watched_know(struct watched *t, pid_t tid, clockid_t clock)
{
	if (t->tid == tid || nb_known == KNOWN)
		return;
	t->clock = clock;
	t->tid = tid;
	known[nb_known] = t;
	__atomic_store_n(&nb_known, nb_known + 1, __ATOMIC_RELEASE);
}

// The calling thread's entry, even if the thread has not called watched_enter.
static struct watched *find_self(void)
{
	const unsigned int n = __atomic_load_n(&nb_known, __ATOMIC_ACQUIRE);
	const pid_t tid = gettid();

	for (unsigned int i = 0; self == NULL && i < n; i++)
		if (known[i]->tid == tid)
			self = known[i];
	return self;
}

static void answer_signal(int sig, siginfo_t *info, void *context)
{
	const int error = errno;
	struct watched *t = find_self();

	if (t == NULL)
		return;
	if (__atomic_load_n(&t->want_stack, __ATOMIC_ACQUIRE)) {
		t->nb = crash_stack_take(t->stack, WATCHED_FRAMES, context);
		__atomic_store_n(&t->want_stack, false, __ATOMIC_RELEASE);
	}
	__atomic_store_n(&t->answers, t->answers + 1, __ATOMIC_RELEASE);
	errno = error;
}

int watched_open(void)
{
	const struct sigaction take = {
		.sa_sigaction = answer_signal, .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};

	return sigaction(WATCHED_SIGNAL, &take, NULL) == 0 ? 0 : -errno;
}

int watched_enter(struct watched *t)
{
	char *stack = mmap(NULL, GUARD + STACK_SIZE, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	int rc;

	if (stack == MAP_FAILED)
		return -errno;
	mprotect(stack, GUARD, PROT_NONE);
	if (sigaltstack(&(stack_t){.ss_sp = stack + GUARD, .ss_size = STACK_SIZE}, NULL) != 0)
		return -errno;
	rc = pthread_getcpuclockid(pthread_self(), &t->clock);
	if (rc != 0)
		return -rc;
	self = t;
	__atomic_store_n(&t->tid, gettid(), __ATOMIC_RELEASE);
	return 0;
}

// --- from outside --------------------------------------------------------------------------------

// Reads a file of a thread in /proc. Returns its length, or 0 if it cannot be read.
static size_t read_of(pid_t tid, const char *name, char *buf, size_t len)
{
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/%s", (int)tid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	n = read(fd, buf, len - 1);
	close(fd);
	buf[n > 0 ? n : 0] = '\0';
	return n > 0 ? (size_t)n : 0;
}

// proc(5): the state follows the name, which is in brackets and may contain any character.
static char state_of(pid_t tid)
{
	char buf[256];
	const char *end;

	if (read_of(tid, "stat", buf, sizeof(buf)) == 0)
		return 0;
	end = strrchr(buf, ')');
	return end != NULL && end[1] == ' ' ? end[2] : 0;
}

void watched_look(const struct watched *t, struct watch_sample *s)
{
	struct timespec cpu = {0};

	s->state = state_of(t->tid);
	if (clock_gettime(t->clock, &cpu) == 0)
		s->cpu_ns = (uint64_t)cpu.tv_sec * 1000000000 + (uint64_t)cpu.tv_nsec;
	s->asked = t->asked > 0;
	s->answered = __atomic_load_n(&t->answers, __ATOMIC_ACQUIRE) != t->seen;
}

void watched_ask(struct watched *t, bool with_stack)
{
	t->seen = __atomic_load_n(&t->answers, __ATOMIC_ACQUIRE);
	t->asked++;
	if (with_stack)
		__atomic_store_n(&t->want_stack, true, __ATOMIC_RELEASE);
	tgkill(getpid(), t->tid, WATCHED_SIGNAL);
}

bool watched_has_stack(const struct watched *t)
{
	return !__atomic_load_n(&t->want_stack, __ATOMIC_ACQUIRE);
}

char *watched_stack(const struct watched *t, char *buf, size_t len)
{
	char where[64];

	if (watched_has_stack(t))
		return crash_stack_line(t->stack, t->nb, buf, len);
	if (read_of(t->tid, "wchan", where, sizeof(where)) == 0 || where[0] == '0')
		snprintf(where, sizeof(where), "unknown");
	snprintf(buf, len, "unavailable: it handles no signals; it waits in the kernel in %s",
		where);
	return buf;
}
