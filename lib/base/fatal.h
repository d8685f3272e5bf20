// SPDX-License-Identifier: BSD-3-Clause
// The signals that every thread takes: those of a crash, because a thread that blocks them dies of
// a fault without a report; SIGURG, by which the watchdog asks whether a thread runs; and the one
// by which each thread is asked to give up its privileges (lib/mgmt/confine).
#pragma once

#include <signal.h>

// The kernel keeps privileges for each thread by itself. The first real-time signals are net_tap's.
#define CONFINE_SIGNAL (SIGRTMAX - 1)

// Makes a set of all signals except these.
static inline void fatal_others(sigset_t *set)
{
	const int taken[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGURG, CONFINE_SIGNAL};

	sigfillset(set);
	for (unsigned int i = 0; i < sizeof(taken) / sizeof(taken[0]); i++)
		sigdelset(set, taken[i]);
}
