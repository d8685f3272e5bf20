// SPDX-License-Identifier: BSD-3-Clause
// Controls access to the process: the content of core dumps, and tracing.
#pragma once

#include <stdbool.h>

// Allows or forbids core dumps, and tracing by other processes of the same user. Root, and
// processes with CAP_SYS_PTRACE, can always trace.
void cores_allow(bool yes);
// Excludes DPDK's memory from core dumps: packets, and the shards with their keys. Call it once all
// of that memory is allocated.
void cores_spare(void);
