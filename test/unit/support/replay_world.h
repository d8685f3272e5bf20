// SPDX-License-Identifier: BSD-3-Clause
// EAL, a small pool and replay ports, for tests of the replay port and of the frames it replays.
#pragma once

#include <rte_mempool.h>

#include "port.h"

#define REPLAY_WORLD_POOL 255 // buffers of the pool

extern struct rte_mempool *replay_world_pool;

// Opens and starts a port on a device ("replay:NAME", or any EAL device). Fails the test on an
// error.
struct port *replay_world_open(const char *device);
// Stops and closes a port. Asserts that every buffer has been returned.
void replay_world_close(struct port *p);
// Starts EAL and makes the pool. prefix: "--file-prefix=NAME", different for each test program.
// Returns 0 or -1.
int replay_world_start(char *prefix);
// Teardown of the group.
int replay_world_stop(void **state);
