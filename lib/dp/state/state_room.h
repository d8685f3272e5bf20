// SPDX-License-Identifier: BSD-3-Clause
// Room on the file system of the state area: used and free. Linux only, no DPDK. Management lcore.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct state_file;

// Bytes available for the file of this name in the directory, and its companions: the free bytes,
// and those that these files use. UINT64_MAX: the file system has no limit of its own.
uint64_t state_room(int dir, const char *name);
// Removes files that were put aside: FILE.refused, FILE.crashed. True if there were any.
bool state_room_spare(const struct state_file *f);
