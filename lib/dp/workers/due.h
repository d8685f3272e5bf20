// SPDX-License-Identifier: BSD-3-Clause
// due.c: until when a worker has nothing to do by time.
#pragma once

#include <stdint.h>

struct worker;

#define DUE_MS 100 // no wait is longer: counters are published, and the time of day is read
#define DUE_PORTS_MS \
	50 // where a port with a tick cannot say when: a bond speaks LACP ten times a second

// When the worker has to make its next round though nothing comes in: a time of its clock
// (now_ms), later than the last tick, and DUE_MS ahead at most. Call it behind a round that has
// found nothing to do. The worker's lcore.
uint64_t due_next_ms(const struct worker *w);
