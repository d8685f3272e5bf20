// SPDX-License-Identifier: BSD-3-Clause
// Starting and ending EAL.
#pragma once

#include <stddef.h>

// Starts EAL with what of argv is its, or with arguments chosen for this machine when nothing is.
// Returns how many of argv it took (argv[n] is then the first of ours, as argv[0] for getopt), or
// -1 with a reason in error. c may be read only for sizes.
int eal_begin(int argc, char **argv, char *error, size_t len);
void eal_end(void);
