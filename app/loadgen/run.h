// SPDX-License-Identifier: BSD-3-Clause
// What the main lcore does: from the command line to running lanes (setup.c), through the phases
// (run.c), and back.
#pragma once

#include <stdio.h>

#include "lanes/engine.h"

// --- setup.c -------------------------------------------------------------------------------------

// Opens the ports and makes the lanes on EAL's worker lcores; nothing runs yet. NULL with a reason
// in error, everything undone.
struct engine *engine_create(const struct config *c, char *error, size_t len);
int engine_launch(struct engine *e);
// Lanes return, ports are stopped and closed, all packets freed.
void engine_destroy(struct engine *e);

// --- eal.c ---------------------------------------------------------------------------------------

// Starts EAL with what of argv is its, or with arguments chosen for this machine when nothing is.
// Returns how many of argv it took (argv[n] is then the first of ours, as argv[0] for getopt), or
// -1 with a reason in error. c may be read only for sizes.
int eal_begin(int argc, char **argv, char *error, size_t len);
void eal_end(void);

// --- run.c ---------------------------------------------------------------------------------------

// Set by the signal handlers: stop sending, release, and end.
extern volatile int run_stop;

// All phases, and what is told of them. Exit status.
int run(struct engine *e);
