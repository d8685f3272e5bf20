// SPDX-License-Identifier: BSD-3-Clause
// Raises an alarm: it logs the stack of the thread, once the thread has answered a signal with it.
// Later it makes the thread crash, so that the crash report has its stack, too.
#include "watch/watch_alarm.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "counter.h"
#include "crash/crash.h"
#include "log/log.h"
#include "watch/watched.h"

#define ANSWER_NS UINT64_C(100000000) // how long to wait for a stack
#define MS UINT64_C(1000000)
#define LOOK_PART 8 // a thread is examined after 1/8 of its alarm time
#define LOOK_MS 1000 // alarm time for that purpose, of a thread without an alarm
#define END_S 1 // until the watchdog ends the process itself, if the thread does not

static uint64_t stalled_ms(const struct watched *t)
{
	return t->judge.stalled_ns / MS;
}

static void log_stall(struct watched *t, const struct watch_about *a)
{
	char stack[768];

	t->told = true;
	LOG(WORKERS, ERR, "%s makes no progress for %llu ms%s%s; stack: %s", a->name,
		(unsigned long long)stalled_ms(t), a->stage != NULL ? ", at stage " : "",
		a->stage != NULL ? a->stage : "", watched_stack(t, stack, sizeof(stack)));
}

static void tell_again(struct watched *t, const struct watch_about *a, uint64_t ns)
{
	if (t->alarmed && !t->told)
		log_stall(t, a);
	if (t->alarmed)
		LOG(WORKERS, NOTICE, "%s makes progress again: it made none for %llu ms", a->name,
			(unsigned long long)(ns / MS));
	t->alarmed = t->told = false;
	t->asked = 0;
}

static void end_process(struct watched *t, const struct watch_about *a)
{
	const struct timespec wait = {.tv_sec = END_S};
	char reason[128];

	snprintf(reason, sizeof(reason), "watchdog: %s made no progress for %llu ms", a->name,
		(unsigned long long)stalled_ms(t));
	crash_reason(reason);
	LOG(WORKERS, ERR, "%s: the process ends", reason);
	tgkill(getpid(), t->tid, SIGABRT);
	nanosleep(&wait, NULL);
	abort(); // the thread handles no signals
}

void watch_alarm(struct watched *t, const struct watch_tick *k, const struct watch_about *a)
{
	const uint64_t first_ms = a->alarm_ms != 0 ? a->alarm_ms : a->abort_ms;
	const uint64_t stalled_ns = t->judge.stalled_ns;
	struct watch_sample s = {
		.progress = a->progress, .rests = a->rests, .cpu_ns = t->judge.cpu_ns};

	// examining takes system calls, so skip a thread that makes progress
	t->quiet_ns = s.progress == t->judge.progress ? t->quiet_ns + k->ns : 0;
	if (t->quiet_ns >= (first_ms != 0 ? first_ms : LOOK_MS) * MS / LOOK_PART)
		watched_look(t, &s);
	if (watch_judge_tick(&t->judge, &s, k->ns, k->late)) {
		tell_again(t, a, stalled_ns);
		return;
	}
	if (first_ms == 0 || stalled_ms(t) < first_ms / 2)
		return;
	if (a->alarm_ms != 0 && stalled_ms(t) >= a->alarm_ms && !t->alarmed) {
		t->alarmed = true;
		counter_add(&t->alarms, 1);
		watched_ask(t, true);
		return;
	}
	if (t->alarmed && !t->told &&
		(watched_has_stack(t) || stalled_ms(t) >= a->alarm_ms + ANSWER_NS / MS))
		log_stall(t, a);
	if (a->abort_ms != 0 && stalled_ms(t) >= a->abort_ms)
		end_process(t, a);
	watched_ask(t, false);
}
