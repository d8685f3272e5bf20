// SPDX-License-Identifier: BSD-3-Clause
// Runs a signal handler in one thread after the other, until /proc names no thread that has not run
// it yet.
#include "confine/broadcast.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "fatal.h"

#define THREADS_MAX 1024
#define OPENS_S 3 // until a thread has unblocked the signal
#define WAIT_S 60 // for a thread that has: a busy machine may not schedule it for long
#define ROUNDS_MAX 16 // passes over the list; each finds threads that others have created

// The handler's work. One thread at a time reads it.
static struct {
	broadcast_work work;
	void *ctx;
	char name[16];
	int result;
	bool done;
} job;

static void handle_signal(int number)
{
	const int saved = errno;

	(void)number;
	job.result = job.work(job.name, job.ctx);
	__atomic_store_n(&job.done, true, __ATOMIC_RELEASE);
	errno = saved;
}

static void read_name(pid_t tid, char name[16])
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/comm", tid);
	f = fopen(path, "re");
	if (f == NULL || fgets(name, 16, f) == NULL)
		strcpy(name, "?");
	name[strcspn(name, "\n")] = '\0';
	if (f != NULL)
		fclose(f);
}

// True if the thread blocks the signal. False if it has ended.
static bool blocks_signal(pid_t tid)
{
	char path[64], line[128];
	uint64_t mask = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/status", tid);
	f = fopen(path, "re");
	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		if (strncmp(line, "SigBlk:", 7) == 0)
			mask = strtoull(line + 7, NULL, 16);
	if (f != NULL)
		fclose(f);
	return (mask >> (CONFINE_SIGNAL - 1) & 1) != 0;
}

// Runs the work in one thread. 0, -ESRCH if the thread has ended, or -errno.
static int ask_thread(pid_t tid)
{
	const struct timespec pause = {.tv_nsec = 100000};
	const uint64_t begin = clock_monotonic_s();

	read_name(tid, job.name);
	while (blocks_signal(tid)) {
		if (clock_monotonic_s() > begin + OPENS_S)
			return -ENOTSUP;
		nanosleep(&pause, NULL);
	}
	__atomic_store_n(&job.done, false, __ATOMIC_RELEASE);
	if (syscall(SYS_tgkill, getpid(), tid, CONFINE_SIGNAL) != 0)
		return -errno;
	while (clock_monotonic_s() < begin + WAIT_S) {
		if (__atomic_load_n(&job.done, __ATOMIC_ACQUIRE))
			return job.result;
		nanosleep(&pause, NULL);
	}
	return syscall(SYS_tgkill, getpid(), tid, 0) != 0 ? -errno : -ETIMEDOUT;
}

struct asked {
	pid_t tid[THREADS_MAX];
	unsigned int nb;
};

static bool was_asked(const struct asked *a, pid_t tid)
{
	for (unsigned int i = 0; i < a->nb; i++)
		if (a->tid[i] == tid)
			return true;
	return false;
}

// Asks all threads that were not asked yet, except the calling one. Returns how many, or -errno.
static int ask_new(struct asked *a)
{
	DIR *d = opendir("/proc/self/task");
	const struct dirent *e;
	int found = 0, rc = d != NULL ? 0 : -errno;

	while (rc == 0 && (e = readdir(d)) != NULL) {
		const pid_t tid = (pid_t)strtol(e->d_name, NULL, 10);

		if (tid <= 0 || tid == (pid_t)syscall(SYS_gettid) || was_asked(a, tid))
			continue;
		if (a->nb == THREADS_MAX)
			rc = -E2BIG;
		else
			rc = ask_thread(tid);
		rc = rc == -ESRCH ? 0 : rc;
		a->tid[a->nb] = tid;
		a->nb += a->nb < THREADS_MAX - 1;
		found++;
	}
	if (d != NULL)
		closedir(d);
	return rc < 0 ? rc : found;
}

int broadcast_run(broadcast_work work, void *ctx, char *error, size_t len)
{
	struct sigaction take = {.sa_handler = handle_signal, .sa_flags = SA_RESTART}, before;
	static struct asked asked;
	int rc = 1;

	asked.nb = 0;
	job.work = work;
	job.ctx = ctx;
	sigfillset(&take.sa_mask);
	if (sigaction(CONFINE_SIGNAL, &take, &before) != 0) {
		snprintf(error, len, "signal: %s", strerror(errno));
		return -errno;
	}
	for (unsigned int i = 0; i < ROUNDS_MAX && rc > 0; i++)
		rc = ask_new(&asked);
	// After a failure a late handler must still find its work, so the disposition remains.
	if (rc == 0)
		sigaction(CONFINE_SIGNAL, &before, NULL);
	if (rc == 0) {
		read_name((pid_t)syscall(SYS_gettid), job.name);
		rc = work(job.name, ctx);
	}
	if (rc > 0)
		rc = -EAGAIN;
	if (rc < 0)
		snprintf(error, len, "thread %s: %s", job.name, strerror(-rc));
	return rc;
}
