// SPDX-License-Identifier: BSD-3-Clause
// A thread that is watched: what the system says of it, and its stack. Private to lib/mgmt.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "watch/watch_judge.h"

#define WATCHED_FRAMES 32

struct watched {
	// Written by the thread itself before tid, which is written last.
	clockid_t clock;
	pid_t tid; // 0: not known yet
	// Written by its signal handler.
	uint64_t answers; // signals it has handled
	bool want_stack; // set by the watchdog, cleared when stack is there
	int nb;
	void *stack[WATCHED_FRAMES];
	// The watchdog's.
	struct watch_judge judge;
	uint64_t quiet_ns; // without progress, for whatever reason
	uint64_t asked, seen; // signals sent, and answers when the last one was
	bool told; // the log knows that it hangs
	bool alarmed;
	uint64_t alarms; // read by any thread
};

// The signal that asks a thread whether it runs. Its default is to be ignored.
#define WATCHED_SIGNAL SIGURG

// Makes the process take that signal. 0 or -errno.
int watched_open(void);
// Makes t the calling thread's: it has a stack of its own for signals from now on. 0 or -errno.
int watched_enter(struct watched *t);
// Makes t that of a thread which cannot be had to call watched_enter. clock: of its CPU time. By
// the thread that watches.
void watched_know(struct watched *t, pid_t tid, clockid_t clock);
// The calling thread's; NULL: it is not watched. For signal handlers, too.
const struct watched *watched_self(void);

// What the system says: state and CPU time.
void watched_look(const struct watched *t, struct watch_sample *s);
// Sends it the signal; with_stack: it is to leave its stack.
void watched_ask(struct watched *t, bool with_stack);
// Whether its stack is there, once it was asked for it.
bool watched_has_stack(const struct watched *t);
// Writes its stack as "a+0x1 < b+0x2 < ..." once it is there; else what the kernel says it waits
// in. Returns buf.
char *watched_stack(const struct watched *t, char *buf, size_t len);
