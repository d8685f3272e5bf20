// SPDX-License-Identifier: BSD-3-Clause
// Starts and ends DPDK's environment abstraction layer (EAL). Main lcore.
#pragma once

#include <stddef.h>

// Starts EAL. Arguments before "--" go to EAL; without a "--" eal_begin chooses EAL's arguments for
// this machine. Returns the index of the "--", or 0 without one: argv from there on is for getopt,
// with argv[n] in the place of the program's name. Returns -1 with the reason in error.
int eal_begin(int argc, char **argv, char *error, size_t len);
// Releases what EAL holds.
void eal_end(void);
