// SPDX-License-Identifier: BSD-3-Clause
// Runs the program of drain.on-change in a helper process, because the memory of the server has
// secrets and its threads relay. The helper is forked before anything else is done. It receives one
// command, and then nothing but the words "ready" and "draining". The state has file scope: there
// is one helper.
#pragma once

#include <stdbool.h>

struct conf_drain;

// Forks the helper. Call it before the configuration is read, signals are blocked and threads are
// created. 0 or -errno.
int mgmt_hook_fork(void);
// Sends the command and its time limit; without a command the helper ends. Call it once. 0 or
// -errno.
int mgmt_hook_command(const struct conf_drain *d);
// Closes the helper's socket. The helper ends when all pending states have been run.
void mgmt_hook_close(void);

// --- management lcore ----------------------------------------------------------------------------

// Notifies the program that the server drains or is ready. If there is no room now, the next ticks
// do it. Without a command it does nothing.
void mgmt_hook_tell(bool draining);
// Logs the results of runs, and the death of the helper.
void mgmt_hook_tick(void);
// True if a state was sent whose run has not ended. After twice the time limit of a run plus 3
// seconds, false again.
bool mgmt_hook_busy(void);
