// SPDX-License-Identifier: BSD-3-Clause
// state_room.c: how much of its file system the files of an area have, and may have. Linux alone,
// no DPDK. Management lcore.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct state_file;

// Bytes for the file of this name in the directory, and all that lie beside it: those that are
// free, and those that these have. UINT64_MAX: the file system has no limit of its own.
uint64_t state_room(int dir, const char *name);
// Removes what was put aside: FILE.refused, FILE.crashed. True when there was any.
bool state_room_spare(const struct state_file *f);
