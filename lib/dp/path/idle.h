// SPDX-License-Identifier: BSD-3-Clause
// Chooses the state of a worker after a round that found nothing: it polls, sleeps, waits or dozes.
// Polling pays where the next datagram comes before a sleep would be over. So the worker polls
// while the recent gap between datagrams is shorter than a sleep, and at most for the length of a
// sleep. Otherwise it sleeps at once, for about one gap, but never for so short a time that
// sleeping takes more CPU than it saves. The CPU time of a sleep is measured: 3 to 5 us on bare
// metal, 20 to 50 us in a virtual machine. Where it is high, sleeps are longer in proportion, so
// that the datagrams of one sleep share its cost, and only shorter gaps are bridged by polling. A
// worker in `saving` mode sleeps as long as it may whenever there is nothing to do.
//
// Where ports can wake the worker, it waits for that instead of sleeping: no datagram is delayed,
// and an idle worker takes no CPU. But a wake costs as much as a sleep. Where one sleep would
// gather so many datagrams that it is much cheaper (IDLE_GATHER, or two in `saving` mode), the
// worker sleeps as above. This file only computes: the caller reads clocks, sleeps and waits.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "threads/sleep_cost.h"

#define IDLE_SPIN_US 20 // about the time of a short sleep, falling asleep and waking up included
#define IDLE_SLEEP_US 50 // on bare metal so short a sleep costs up to a tenth of its time
// longest sleep_min on hosts where sleeping costs more; sleep_max_us replaces it
#define IDLE_COSTLY_US 250
#define IDLE_GATHER 16 // datagrams in one sleep that make it cheaper than wakes by ports
// Default sleep in `saving` mode where ports can wake the worker, and the most datagrams that it
// may gather.
#define IDLE_BATCH_US 1000
#define IDLE_BATCH 64
// Dozes (see idle_count_messages). IDLE_STREAMED is the number of messages from clients over TCP,
// TLS or DTLS that make a doze worth it. IDLE_DOZE_WORTH is the length of a doze in sleep costs,
// where a stream thread is active: a little longer than that thread's nap.
#define IDLE_STREAMED 2
#define IDLE_DOZE_WORTH 25
#define IDLE_DOZE_LATE 2 // a doze that no thread ends lasts this many times that length
// length in sleep costs where no stream thread is active and the doze ends by time
#define IDLE_ALONE_WORTH 20
// distance of two messages, in gaps between datagrams, at which about half of all datagrams are
// messages
#define IDLE_MOSTLY 2

// The states of a worker between two rounds. idle.c begins with the table of transitions.
enum idle_state {
	IDLE_POLL, // nothing: the next round begins at once
	IDLE_SLEEP, // sleeps for a time; nothing wakes it
	IDLE_WAIT, // blocks until a port or another thread wakes it, or a timer is due
	IDLE_DOZE, // blocks until a stream thread wakes it, and for a time at most
};

// A state, and how long the worker stays in it at most; 0 for IDLE_POLL and IDLE_WAIT.
struct idle_rest {
	enum idle_state state;
	uint64_t length; // in units of the caller's clock
};

// State of one worker. Times are in units of the caller's clock unless stated otherwise.
struct idle {
	uint64_t per_us; // clock units in a microsecond
	uint64_t spin, sleep_min, sleep_max, doze, alone;
	uint64_t worth_max; // upper limit of sleep_min, doze and alone, however much a sleep costs
	bool saving; // always sleep for sleep_max; the owner may set it
	bool never; // always poll; the owner may set it
	bool wakes; // ports and threads can wake the owner, who then waits; the owner may set it
	uint64_t batch; // longest sleep in `saving` mode with wakes
	bool told; // sleep_max comes from the configuration
	uint64_t worked; // time of the last work
	uint64_t gap; // between two recent datagrams: a moving average
	struct sleep_cost cost;
	// time of the last stream or DTLS message; of the last one from a stream thread
	uint64_t streamed, threaded;
	uint64_t stream_gap; // between two of these messages: a moving average
};

// per_us: clock units in a microsecond. sleep_max_us: the longest sleep, by which a datagram may be
// delayed; 0: IDLE_SLEEP_US, and up to IDLE_COSTLY_US where sleeps are costly.
struct idle idle_init(uint64_t now, uint64_t per_us, uint32_t sleep_max_us);

// Reports the messages of a round from and to clients over TCP, TLS (threads is true) and DTLS.
// Call it before idle_choose_rest. Each message costs a wake of the worker and one of a stream
// thread, if both wait. So where there are many messages the worker dozes: ports do not wake it,
// but a stream thread does after it has read the input of its own nap, and answers are back before
// that thread naps again. With DTLS alone there is no nap, and a doze has the shortest length that
// is worth it.
void idle_count_messages(struct idle *i, uint64_t now, uint64_t messages, bool threads);
// Call it after every round, with the time at its start, true if it found work, and its number of
// datagrams. Returns what to do before the next round: IDLE_POLL if it found work, and IDLE_WAIT or
// IDLE_DOZE only if wakes is set.
struct idle_rest idle_choose_rest(struct idle *i, uint64_t now, bool busy, uint64_t datagrams);
// Length of the sleep in place of IDLE_WAIT, when waiting turns out to be impossible.
uint64_t idle_sleep_length(const struct idle *i);

// Call it before every sleep. True if the caller should measure the CPU time of that sleep, which
// takes a system call before and after it. It is true for all of the first sleeps, then for a few.
bool idle_measures_cost(struct idle *i);

// Reports the CPU time of a measured sleep.
void idle_learn_cost(struct idle *i, uint64_t cost_ns);
