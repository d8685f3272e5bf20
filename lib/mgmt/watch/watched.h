// SPDX-License-Identifier: BSD-3-Clause
// A watched thread: the system's view of it, and its stack. Private to lib/mgmt.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "watch/watch_judge.h"

#define WATCHED_FRAMES 32

struct watched {
	// Written by the thread itself; tid is written last.
	clockid_t clock;
	pid_t tid; // 0: not known yet
	// Written by its signal handler.
	uint64_t answers; // signals that it has handled
	bool want_stack; // set by the watchdog, cleared when stack is complete
	int nb;
	void *stack[WATCHED_FRAMES];
	// Used by the watchdog.
	struct watch_judge judge;
	uint64_t quiet_ns; // without progress, for any reason
	uint64_t asked, seen; // signals sent, and the value of answers at the last one
	bool told; // the hang was logged
	bool alarmed;
	uint64_t alarms; // read by any thread
};

// The signal that asks a thread whether it runs. By default it is ignored.
#define WATCHED_SIGNAL SIGURG

// Installs the handler of that signal. 0 or -errno.
int watched_open(void);
// Assigns t to the calling thread, and gives the thread a separate stack for signals. 0 or -errno.
int watched_enter(struct watched *t);
// Assigns t to a thread that cannot call watched_enter. clock: the clock of its CPU time. The
// watchdog thread only.
void watched_know(struct watched *t, pid_t tid, clockid_t clock);
// The calling thread's entry; NULL if it is not watched. May be called in signal handlers.
const struct watched *watched_self(void);

// Reads the thread's state and CPU time.
void watched_look(const struct watched *t, struct watch_sample *s);
// Sends the thread the signal; with_stack: the thread must store its stack.
void watched_ask(struct watched *t, bool with_stack);
// True if the requested stack is complete.
bool watched_has_stack(const struct watched *t);
// Writes its stack as "a+0x1 < b+0x2 < ..." once it is complete; otherwise the kernel function that
// it waits in. Returns buf.
char *watched_stack(const struct watched *t, char *buf, size_t len);
