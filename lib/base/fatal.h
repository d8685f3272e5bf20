// SPDX-License-Identifier: BSD-3-Clause
// The signals that every thread handles: those of a crash, because a thread that blocks them dies
// of a fault without a report; SIGURG, with which the watchdog checks that a thread runs; and the
// signal that makes each thread drop its privileges (lib/mgmt/confine).
#pragma once

#include <signal.h>

// The kernel keeps separate privileges for each thread. net_tap uses the first real-time signals.
#define CONFINE_SIGNAL (SIGRTMAX - 1)

// Makes a set of all signals except these.
static inline void fatal_others(sigset_t *set)
{
	const int taken[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGURG, CONFINE_SIGNAL};

	sigfillset(set);
	for (unsigned int i = 0; i < sizeof(taken) / sizeof(taken[0]); i++)
		sigdelset(set, taken[i]);
}
