// SPDX-License-Identifier: BSD-3-Clause
// Starts and ends DPDK's environment abstraction layer (EAL). Main lcore.
#pragma once

#include <stddef.h>

// Index of the "--" before the program's own arguments: from there on argv is for getopt, with
// argv[n] in place of the program's name. 0 if there is no "--", and all arguments are the
// program's.
int eal_separator(int argc, char **argv);
// Starts EAL. Arguments before "--" go to EAL; without a "--" eal_begin chooses EAL's arguments for
// this machine. 0, or -1 with the reason in error.
int eal_begin(int argc, char **argv, char *error, size_t len);
// Releases what EAL holds.
void eal_end(void);
