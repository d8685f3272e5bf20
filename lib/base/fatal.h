// SPDX-License-Identifier: BSD-3-Clause
// The signals that every thread takes: those of a crash, because a thread that blocks them dies of
// a fault without a report; and SIGURG, by which the watchdog asks whether a thread runs.
#pragma once

#include <signal.h>

// Makes a set of all signals except these.
static inline void fatal_others(sigset_t *set)
{
	static const int taken[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGURG};

	sigfillset(set);
	for (unsigned int i = 0; i < sizeof(taken) / sizeof(taken[0]); i++)
		sigdelset(set, taken[i]);
}
