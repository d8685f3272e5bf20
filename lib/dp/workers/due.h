// SPDX-License-Identifier: BSD-3-Clause
// The next timer of a worker.
#pragma once

#include <stdint.h>

struct worker;

#define DUE_MS 100 // longest wait: counters are published, and the time of day is read
// Longest wait if a port has a tick at unknown times: a bond sends LACP ten times a second.
#define DUE_PORTS_MS 50

// Time of the worker's next round if no packet comes in, on its clock (now_ms): later than the last
// tick, and at most DUE_MS ahead. Call it after a round that found no work. On the worker's lcore.
uint64_t due_next_ms(const struct worker *w);
