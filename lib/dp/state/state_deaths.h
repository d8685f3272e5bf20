// SPDX-License-Identifier: BSD-3-Clause
// state_deaths.c: how many processes in a row have died young. What ends them may be in the area,
// and then every process that takes it up ends, too. Linux alone, no DPDK. Management lcore.
#pragma once

#include <stdint.h>

struct state_file;

// How many there were. The lock is held.
uint32_t state_deaths(const struct state_file *f);
// Says how many there are: one more at a start, none when the process has lived for a minute or is
// ended in an orderly way. Without a word of it, when the file system will not have it.
void state_deaths_set(const struct state_file *f, uint32_t nb);
