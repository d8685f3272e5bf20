// SPDX-License-Identifier: BSD-3-Clause
// The program of drain.on-change, and the process that runs it: never this one, whose memory has
// secrets and whose threads relay. That process is forked before anything else is done. It takes
// one command and then nothing but the words "ready" and "draining". There is one of it, as of the
// log.
#pragma once

#include <stdbool.h>

struct conf_drain;

// Makes the process: before the configuration is read, signals are blocked and threads are made. 0
// or -errno.
int mgmt_hook_fork(void);
// Tells it the command and how long that may run; without a command it ends. Once. 0 or -errno.
int mgmt_hook_command(const struct conf_drain *d);
// Lets it go. It ends when all it was told has been run.
void mgmt_hook_close(void);

// --- management lcore ----------------------------------------------------------------------------

// Has the program told that the appliance drains, or that it is ready: by the next ticks, where
// there is no room now. Without a command it does nothing.
void mgmt_hook_tell(bool draining);
// Logs what has become of runs, and of the process.
void mgmt_hook_tick(void);
// Whether something that was told has not been run to its end. After twice the time that a run may
// take, and 3 seconds, nobody waits any more.
bool mgmt_hook_busy(void);
