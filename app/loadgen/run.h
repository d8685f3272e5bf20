// SPDX-License-Identifier: BSD-3-Clause
// The phases of a run: next hops, set-up, traffic, release. Main lcore.
#pragma once

#include "lanes/engine.h"

// The signal handlers raise it. From 1 on the run stops sending, releases its allocations and ends;
// from 2 on it waits for nothing more.
extern volatile int run_stop;

// Goes through all phases and reports on each. Returns the program's exit status.
int run(struct engine *e);
