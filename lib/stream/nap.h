// SPDX-License-Identifier: BSD-3-Clause
// Whether a thread with much to do sleeps a moment between its rounds, so that what comes meanwhile
// is done in one: a wake, a look at epoll and a scheduling for each message cost more than the
// message. While it naps, workers do not wake it. Pure.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define NAP_US 200 // what a message may have to wait more, at least
#define NAP_RATE 8 // messages in a millisecond from which a nap saves more rounds than it makes

// Zeroed, it does not nap.
struct nap {
	uint64_t since_ms;
	uint32_t seen; // messages since then
	bool on;
};

// To be told of every round: the time, and what it found to do.
static inline void nap_see(struct nap *n, uint64_t now_ms, uint32_t messages)
{
	n->seen += messages;
	if (now_ms == n->since_ms)
		return;
	n->on = n->seen >= NAP_RATE * (now_ms - n->since_ms);
	n->seen = 0;
	n->since_ms = now_ms;
}
