// SPDX-License-Identifier: BSD-3-Clause
// The phases of a run. Main lcore.
#pragma once

#include "lanes/engine.h"

// Set by the signal handlers: stop sending, release, and end.
extern volatile int run_stop;

// All phases, and what is told of them. Exit status.
int run(struct engine *e);
