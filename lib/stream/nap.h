// SPDX-License-Identifier: BSD-3-Clause
// Decides whether a busy thread sleeps a moment between its rounds, so that one round handles all
// that comes meanwhile. A wake, a look at epoll and a scheduling for each message cost more than
// the message. Workers do not wake a thread that naps. Pure.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define NAP_US 200 // microseconds that a nap may delay a message, at least
#define NAP_RATE 8 // messages in a millisecond from which a nap saves more rounds than it makes

// A zeroed nap is off.
struct nap {
	uint64_t since_ms;
	uint32_t seen; // messages since since_ms
	bool on;
};

// Call it in every round, with the time and the number of messages that the round found.
static inline void nap_see(struct nap *n, uint64_t now_ms, uint32_t messages)
{
	n->seen += messages;
	if (now_ms == n->since_ms)
		return;
	n->on = n->seen >= NAP_RATE * (now_ms - n->since_ms);
	n->seen = 0;
	n->since_ms = now_ms;
}
