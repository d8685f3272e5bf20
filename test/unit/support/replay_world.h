// SPDX-License-Identifier: BSD-3-Clause
// EAL, a small pool and replay ports, for the tests of the port and of what is replayed on it.
#pragma once

#include <rte_mempool.h>

#include "port.h"

#define REPLAY_WORLD_POOL 255 // buffers of the pool

extern struct rte_mempool *replay_world_pool;

// A port on a device ("replay:NAME", or any of EAL), started. Fails the test when there is none.
struct port *replay_world_open(const char *device);
// Stops and closes it; asserts that every buffer has come back.
void replay_world_close(struct port *p);
// Starts EAL and makes the pool. prefix: "--file-prefix=NAME", one for each test program. 0, or -1.
int replay_world_start(char *prefix);
// Teardown of the group.
int replay_world_stop(void **state);
