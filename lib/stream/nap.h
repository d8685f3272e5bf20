// SPDX-License-Identifier: BSD-3-Clause
// Decides whether a busy thread sleeps a moment between its rounds, so that one round handles all
// that comes meanwhile: a wake, a look at epoll and a scheduling for each message cost more than
// the message. What a nap takes of the CPU is learned, as workers learn it of their sleeps: where
// it is much, naps are longer in proportion. Pure: the caller reads the clocks and sleeps.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "threads/sleep_cost.h"

#define NAP_MIN_US 50 // of the microseconds that a nap lasts
#define NAP_MAX_US 300 // unless told otherwise
#define NAP_WORTH 20 // times what it costs: each wakes a worker, too, and is broken by its answers
#define NAP_GATHERS 16 // tenths of a message in a nap from which it saves more than it costs

// One thread's; nap_init makes it.
struct nap {
	struct sleep_cost cost;
	uint64_t since_ms;
	uint32_t seen; // messages since since_ms
	uint32_t us; // how long a nap lasts
	bool on;
};

void nap_init(struct nap *n);
// Call it in every round, with the time, the number of messages that the round found, and how long
// a nap may last in any case, in microseconds; 0 = no longer than it is worth. True in the first
// round of a millisecond, in which it decides.
bool nap_see(struct nap *n, uint64_t now_ms, uint32_t messages, uint32_t told_us);
