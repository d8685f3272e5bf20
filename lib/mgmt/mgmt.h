// SPDX-License-Identifier: BSD-3-Clause
// The management lcore: signals, ticks, telemetry, the log. It sleeps in epoll between.
#pragma once

#include "conf.h"
#include "dp.h"

// Blocks the signals that mgmt_run takes, for the calling thread and those it will make. Call
// before EAL starts. Real-time signals stay open: net_tap lives on them. 0 or -errno.
int mgmt_signals_block(void);

// Serves until a signal says stop. memory: how EAL got its memory, for the log. 0 or -errno.
int mgmt_run(struct dp *d, const struct conf *c, const char *memory);
