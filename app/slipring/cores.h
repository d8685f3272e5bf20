// SPDX-License-Identifier: BSD-3-Clause
// Who may look into the process: the content of core dumps, and tracing.
#pragma once

#include <stdbool.h>

// Allows or forbids core dumps, and tracing by other processes of the same user. Root, and
// processes with CAP_SYS_PTRACE, may trace in any case.
void cores_allow(bool yes);
// Leaves DPDK's memory out of core dumps: packets, and the shards with their keys. Call it once all
// of that memory has been taken.
void cores_spare(void);
