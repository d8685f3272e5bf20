// SPDX-License-Identifier: BSD-3-Clause
// The signals of a crash. A thread that blocks them dies of a fault without a report.
#pragma once

#include <signal.h>

// Makes a set of all signals except these.
static inline void fatal_others(sigset_t *set)
{
	static const int fatal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

	sigfillset(set);
	for (unsigned int i = 0; i < sizeof(fatal) / sizeof(fatal[0]); i++)
		sigdelset(set, fatal[i]);
}
