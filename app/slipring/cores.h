// SPDX-License-Identifier: BSD-3-Clause
// What is in the core dump of a crash, and who may look into the process.
#pragma once

#include <stdbool.h>

// Whether there are core dumps, and whether other processes of the same user may trace this one.
// Root, or whoever has CAP_SYS_PTRACE, may in any case.
void cores_allow(bool yes);
// Leaves DPDK's memory out of core dumps: packets, and the shards with their keys. Once all of it
// has been taken.
void cores_spare(void);
