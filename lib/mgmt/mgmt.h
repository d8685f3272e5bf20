// SPDX-License-Identifier: BSD-3-Clause
// The management lcore: signals, ticks, telemetry, the log. In between it sleeps in epoll.
#pragma once

#include "conf.h"
#include "dp.h"

struct mgmt_events;

// Blocks the signals that mgmt_run takes, for the calling thread and the threads it will make. Call
// it before the file is read. Real-time signals stay open, because net_tap needs them. 0 or -errno.
int mgmt_signals_block(void);
// Whether a signal that would end mgmt_run waits for it, once signals are blocked.
bool mgmt_stop_asked(void);

// Serves until a signal ends it. A reload gives c new values. memory says, for the log, how EAL got
// its memory. Events go to m (events.h), also those of dp_stop, which is to follow. 0 or -errno.
int mgmt_run(struct dp *d, struct conf *c, const char *memory, struct mgmt_events *m);
