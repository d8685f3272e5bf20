// SPDX-License-Identifier: BSD-3-Clause
// Starts and ends DPDK's environment abstraction layer (EAL). Main lcore.
#pragma once

#include <stddef.h>

// Index of the "--" before our own arguments: argv from there on is for getopt, with argv[n] in the
// place of the program's name. 0: there is none, and all are ours.
int eal_separator(int argc, char **argv);
// Starts EAL. Arguments before "--" go to EAL; without a "--" eal_begin chooses EAL's arguments for
// this machine. 0, or -1 with the reason in error.
int eal_begin(int argc, char **argv, char *error, size_t len);
// Releases what EAL holds.
void eal_end(void);
