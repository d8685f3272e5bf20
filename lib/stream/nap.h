// SPDX-License-Identifier: BSD-3-Clause
// Decides if a busy thread sleeps briefly (naps) between its rounds, so that one round handles all
// messages that arrive meanwhile: a wake, an epoll call and a scheduling per message cost more than
// the message. The thread measures the CPU time of its naps, as workers do for their sleeps: the
// more a nap costs, the longer naps are. Pure: the caller reads the clocks and sleeps.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "threads/sleep_cost.h"

#define NAP_MIN_US 50 // shortest nap, in microseconds
#define NAP_MAX_US 300 // longest nap, unless configured otherwise
#define NAP_WORTH 20 // a nap lasts this many times its cost; wakes of workers add to the cost
#define NAP_GATHERS 16 // naps save more than they cost from this many tenths of a message per nap

// State of one thread; nap_init initialises it.
struct nap {
	struct sleep_cost cost;
	uint64_t since_ms;
	uint32_t seen; // messages since since_ms
	uint32_t us; // length of a nap, in microseconds
	bool on;
};

void nap_init(struct nap *n);
// Call it in every round, with the time, the number of messages of the round, and the configured
// limit of a nap in microseconds; 0 = NAP_MAX_US. True in the first round of a millisecond, in
// which it decides.
bool nap_see(struct nap *n, uint64_t now_ms, uint32_t messages, uint32_t told_us);
