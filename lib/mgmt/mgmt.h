// SPDX-License-Identifier: BSD-3-Clause
// The management lcore: signals, ticks, telemetry and the log. Between events it sleeps in epoll.
#pragma once

#include "conf.h"
#include "dp.h"

struct mgmt_events;

// Blocks the signals that mgmt_run handles, for the calling thread and the threads it will create.
// Call it before the file is read. Real-time signals are not blocked, because net_tap needs them. 0
// or -errno.
int mgmt_signals_block(void);
// True if a blocked signal is pending that will end mgmt_run.
bool mgmt_stop_asked(void);

// Serves until a signal ends it. A reload gives c new values. memory says, for the log, how EAL got
// its memory. Events go to m (events.h), including those of a dp_stop that follows. 0 or -errno.
int mgmt_run(struct dp *d, struct conf *c, const char *memory, struct mgmt_events *m);
