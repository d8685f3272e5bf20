// SPDX-License-Identifier: BSD-3-Clause
// The watchdog thread. It wakes several times in the shortest alarm time, checks which workers have
// begun no round since, and judges them (watch_judge.c). It shares no lock with them.
#include "watch/watch.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_lcore.h>
#include <rte_launch.h>
#include <rte_version.h>

#include "clock.h"
#include "conf.h"
#include "counter.h"
#include "crash/crash.h"
#include "crash/crash_files.h"
#include "crash/crash_stack.h"
#include "dp.h"
#include "fatal.h"
#include "log/log.h"
#include "watch/notify.h"
#include "watch/watch_alarm.h"
#include "watch/watch_report.h"
#include "watch/watch_start.h"
#include "watch/watched.h"

#define TICKS 8 // in the time until an alarm
#define TICK_MS_MAX 100
#define TICK_MS_MIN 5
#define OTHERS 5 // times the alarm time, for other threads: they wait for logs and sockets
#define STATUS_NS UINT64_C(5000000000)

static struct {
	const struct conf *conf;
	pthread_t thread;
	bool running, stop; // the thread reads stop
	uint64_t tick_ns;
	// Valid once there are lcores; the watched threads by lcore.
	struct watched lcore[RTE_MAX_LCORE];
	struct watched management;
	struct watched others[DP_THREADS_MAX]; // in the order of dp_thread_progress
	uint64_t beats; // rounds of the management loop
	struct crash_files files;
	pthread_mutex_t lock; // guards dp
	const struct dp *dp; // NULL: nothing is watched
	struct watch_starting starting;
	bool ready, reloading;
	uint64_t ticks, late; // read by any thread
	uint64_t fed_ns, status_ns; // when systemd was notified last
	uint64_t ordered; // fault << 32 | milliseconds; 0 = no order
} state = {.lock = PTHREAD_MUTEX_INITIALIZER, .files = {.fd = -1}};

// --- a tick --------------------------------------------------------------------------------------

static void look_at_worker(unsigned int i, const struct watch_tick *k)
{
	const unsigned int lcore = dp_worker_lcore(state.dp, i);
	struct watched *t = &state.lcore[lcore];
	char name[48], stage[64];
	struct dp_progress p;

	if (!dp_progress(state.dp, i, &p) || p.stage == DP_STAGE_NONE || t->tid == 0)
		return;
	snprintf(name, sizeof(name), "worker %u (lcore %u)", i, lcore);
	watch_alarm(t, k,
		&(struct watch_about){.name = name,
			.stage = watch_report_stage(state.dp, &p, stage, sizeof(stage)),
			.progress = p.rounds,
			.rests = p.stage == DP_STAGE_SLEEP || p.stage == DP_STAGE_ENDED,
			.alarm_ms = state.conf->watch.alarm_ms,
			.abort_ms = state.conf->watch.abort_ms});
}

// Clients over TCP, TLS and DTLS, or the kernel, wait for these threads; media over UDP does not.
static void look_at_threads(const struct watch_tick *k)
{
	struct dp_thread p;

	for (unsigned int i = 0; i < DP_THREADS_MAX; i++) {
		if (!dp_thread_progress(state.dp, i, &p) || p.tid == 0)
			continue;
		watched_know(&state.others[i], p.tid, p.clock);
		watch_alarm(&state.others[i], k,
			&(struct watch_about){.name = p.name,
				.progress = p.rounds,
				.alarm_ms = OTHERS * state.conf->watch.alarm_ms});
	}
}

static void look_at_all(const struct watch_tick *k)
{
	pthread_mutex_lock(&state.lock);
	for (unsigned int i = 0; state.dp != NULL && i < dp_workers(state.dp); i++)
		look_at_worker(i, k);
	if (state.dp != NULL)
		look_at_threads(k);
	if (state.dp != NULL)
		watch_alarm(&state.management, k,
			&(struct watch_about){.name = "management",
				.progress = __atomic_load_n(&state.beats, __ATOMIC_RELAXED),
				.alarm_ms = OTHERS * state.conf->watch.alarm_ms});
	pthread_mutex_unlock(&state.lock);
}

// True if all threads make progress: systemd restarts a service that does not report this in time.
static bool is_well(void)
{
	if (state.management.judge.stalled_ns / 1000000 >= state.conf->watch.management_ms)
		return false;
	for (unsigned int i = 0; i < RTE_MAX_LCORE; i++)
		if (state.lcore[i].alarmed)
			return false;
	return true;
}

static void tell_systemd(uint64_t now)
{
	const uint64_t every = notify_watchdog_us() * 1000 / 2;

	if (!notify_is_open())
		return;
	if (!__atomic_load_n(&state.ready, __ATOMIC_ACQUIRE))
		watch_start_tell(&state.starting, now);
	// one tick before half of the time is over, so that half of it is never exceeded
	if (every > 0 && now + state.tick_ns >= state.fed_ns + every && is_well()) {
		state.fed_ns = now;
		notify_send("WATCHDOG=1");
	}
}

static void *run_watch(void *arg)
{
	const struct timespec pause = {.tv_nsec = (long)state.tick_ns};
	uint64_t before = clock_monotonic_ns();

	while (!__atomic_load_n(&state.stop, __ATOMIC_ACQUIRE)) {
		struct watch_tick k;
		uint64_t now;

		clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
		now = clock_monotonic_ns();
		k = (struct watch_tick){
			.ns = now - before, .late = watch_judge_late(now - before, state.tick_ns)};
		before = now;
		counter_add(&state.ticks, 1);
		counter_add(&state.late, k.late);
		look_at_all(&k);
		tell_systemd(now);
	}
	return NULL;
}

// --- start and end -------------------------------------------------------------------------------

static uint64_t tick_ns(const struct conf_watch *w)
{
	const uint32_t ms = w->alarm_ms != 0 ? w->alarm_ms : w->abort_ms;
	uint32_t tick = ms / TICKS;

	if (ms == 0 || tick > TICK_MS_MAX)
		tick = TICK_MS_MAX;
	return (tick < TICK_MS_MIN ? TICK_MS_MIN : tick) * UINT64_C(1000000);
}

static int start_thread(void)
{
	sigset_t all, before;
	int rc;

	fatal_others(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(&state.thread, NULL, run_watch, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (rc == 0)
		pthread_setname_np(state.thread, "slipring-watch");
	return rc;
}

int watch_start(const struct conf *c, char *error, unsigned int len)
{
	static char version[128];
	int rc = notify_open();

	if (rc != 0)
		LOG(START, WARNING, "NOTIFY_SOCKET: %s: systemd gets no notifications",
			strerror(-rc));
	snprintf(version, sizeof(version), "slipring %s (%s)", SLIPRING_VERSION, rte_version());
	rc = crash_open(version);
	if (rc == 0)
		rc = watched_open();
	state.conf = c;
	state.tick_ns = tick_ns(&c->watch);
	watch_start_begin(&state.starting, c, clock_monotonic_ns());
	if (rc == 0)
		rc = -start_thread();
	state.running = rc == 0;
	if (rc != 0)
		snprintf(error, len, "watchdog: %s", strerror(-rc));
	return rc == 0 ? 0 : -1;
}

static int enter_lcore(void *arg)
{
	return watched_enter(arg);
}

static void tell_crash(const struct crash_files *f)
{
	if (f->newest[0] != '\0')
		LOG(START, WARNING, "the last run has crashed: %s/%s, or slipringctl crash newest",
			f->directory, f->newest);
}

int watch_lcores(const char *file_prefix, char *error, unsigned int len)
{
	unsigned int lcore;
	int rc = watched_enter(&state.management);

	RTE_LCORE_FOREACH_WORKER (lcore) {
		if (rc == 0)
			rc = rte_eal_remote_launch(enter_lcore, &state.lcore[lcore], lcore);
		if (rc == 0)
			rc = rte_eal_wait_lcore(lcore);
	}
	if (rc != 0) {
		snprintf(error, len, "watchdog: %s", strerror(-rc));
		return -1;
	}
	crash_stack_open(); // all drivers are loaded now
	if (crash_files_open(&state.files, &state.conf->crash, file_prefix, error, len) != 0)
		return -1;
	if (state.files.fd < 0)
		LOG(START, INFO, "reports of crashes go to standard error%s%s",
			state.conf->crash.directory == NULL ? ": " : "",
			state.conf->crash.directory == NULL ? error : "");
	crash_to(state.files.fd, state.files.waiting);
	tell_crash(&state.files);
	return 0;
}

void watch_workers(const struct dp *d)
{
	watch_report_open(d, state.lcore);
}

void watch_ready(const struct dp *d)
{
	pthread_mutex_lock(&state.lock);
	state.dp = d;
	pthread_mutex_unlock(&state.lock);
	__atomic_store_n(&state.ready, true, __ATOMIC_RELEASE);
	notify_send("READY=1\nSTATUS=relaying");
}

static void take_fault(void)
{
	const uint64_t o = __atomic_exchange_n(&state.ordered, 0, __ATOMIC_RELAXED);

	if (o != 0)
		dp_fault_now(
			&(struct dp_fault_order){.fault = (uint8_t)(o >> 32), .ms = (uint32_t)o});
}

// Runs on the management lcore: a worker that hangs while it publishes its counters would block the
// watchdog.
static void tell_status(uint64_t now)
{
	struct dp_stats s;

	if (!notify_is_open() || state.dp == NULL || now - state.status_ns < STATUS_NS)
		return;
	state.status_ns = now;
	dp_total_stats(state.dp, &s);
	notify_send("STATUS=relaying; %llu allocations", (unsigned long long)s.turn.allocations);
}

void watch_works(void)
{
	counter_add(&state.beats, 1);
	tell_status(clock_monotonic_ns());
	if (__atomic_load_n(&state.ordered, __ATOMIC_RELAXED) != 0)
		take_fault();
}

void watch_fault(const struct dp_fault_order *o)
{
	__atomic_store_n(&state.ordered, (uint64_t)o->fault << 32 | o->ms, __ATOMIC_RELAXED);
}

// The time says which of several reloads a READY=1 is about (sd_notify(3)).
void watch_reloads(bool reloads)
{
	if (reloads == state.reloading)
		return;
	state.reloading = reloads;
	if (reloads)
		notify_send("RELOADING=1\nMONOTONIC_USEC=%llu\nSTATUS=reading the configuration",
			(unsigned long long)(clock_monotonic_ns() / 1000));
	else
		notify_send("READY=1\nSTATUS=relaying");
}

void watch_stopping(void)
{
	notify_send("STOPPING=1\nSTATUS=stopping");
	watch_report_open(NULL, NULL);
	pthread_mutex_lock(&state.lock);
	state.dp = NULL;
	pthread_mutex_unlock(&state.lock);
}

void watch_stop(void)
{
	if (!state.running)
		return;
	__atomic_store_n(&state.stop, true, __ATOMIC_RELEASE);
	pthread_join(state.thread, NULL);
	state.running = false;
	crash_close();
	crash_files_close(&state.files);
	notify_close();
}

// --- state ---------------------------------------------------------------------------------------

void watch_counters(struct watch_counters *out)
{
	*out = (struct watch_counters){
		.management = __atomic_load_n(&state.management.alarms, __ATOMIC_RELAXED),
		.ticks = __atomic_load_n(&state.ticks, __ATOMIC_RELAXED),
		.late = __atomic_load_n(&state.late, __ATOMIC_RELAXED),
		.reports = state.files.kept};
	for (unsigned int i = 0; i < RTE_MAX_LCORE; i++)
		out->workers += __atomic_load_n(&state.lcore[i].alarms, __ATOMIC_RELAXED);
	for (unsigned int i = 0; i < DP_THREADS_MAX; i++)
		out->threads += __atomic_load_n(&state.others[i].alarms, __ATOMIC_RELAXED);
}

const struct crash_files *watch_crashes(void)
{
	return &state.files;
}
