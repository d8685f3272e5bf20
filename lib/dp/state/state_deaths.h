// SPDX-License-Identifier: BSD-3-Clause
// Counts how many consecutive processes have died young. The cause may be in the area, and then
// every process that adopts it dies, too. Linux only, no DPDK. Management lcore.
#pragma once

#include <stdint.h>

struct state_file;

// Returns the count. The caller holds the lock.
uint32_t state_deaths(const struct state_file *f);
// Sets the count: one more at a start, 0 when the process has lived for a minute or ends in an
// orderly way. Fails silently if the file system refuses.
void state_deaths_set(const struct state_file *f, uint32_t nb);
