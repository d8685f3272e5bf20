// SPDX-License-Identifier: BSD-3-Clause
// What a worker does between two datagrams: poll on, or sleep, and for how long. Polling pays where
// the next datagram comes before a sleep would be over. So it polls while datagrams came closer
// together than that of late, and then for no longer than that; else it sleeps at once, for the
// time that lay between two of them, but not so shortly that sleeping takes more of the CPU than it
// gives back. What a sleep takes of the CPU is learned: 3 to 5 us on iron, 20 to 50 in a virtual
// machine. Where it is much, sleeps are longer in proportion, and it polls through shorter gaps
// only: all that comes in one sleep then costs one sleep. Who would rather have the CPU than the
// time (saving) sleeps the longest whenever there is nothing.
//
// Where the ports wake the worker it waits for that in place of a sleep: nothing comes late, and
// nothing is done while nothing comes. A wake costs what a sleep does, though. Where so many
// datagrams come in one sleep that it is the cheaper by far (IDLE_GATHER, or two for one that
// saves), it sleeps as before. Pure arithmetic: the caller reads the clocks, sleeps and waits.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "threads/sleep_cost.h"

#define IDLE_SPIN_US 20 // about what a short sleep takes, falling asleep and waking up included
#define IDLE_SLEEP_US 50 // a sleep as short as that takes up to a tenth of it on iron
#define IDLE_COSTLY_US 250 // the longest where it takes more, unless told otherwise
#define IDLE_GATHER 16 // datagrams of one sleep that are worth it where a port would wake
// The sleep of one that saves, where a port would wake, unless told otherwise; and no more than so
// many datagrams are to come in it.
#define IDLE_BATCH_US 1000
#define IDLE_BATCH 64
// Messages of clients over TCP, TLS or DTLS in a doze (see idle_streamed), and how many times what
// a sleep costs it lasts beside a stream thread: a little longer than that one's nap.
#define IDLE_STREAMED 2
#define IDLE_DOZE_WORTH 25
#define IDLE_DOZE_LATE 2 // times that: when a doze ends by time that a thread should have ended
#define IDLE_ALONE_WORTH 20 // the same without a thread beside it, which ends by time
#define IDLE_MOSTLY 2 // gaps: messages that come as close are at least about half of all datagrams
#define IDLE_WAIT UINT64_MAX // no sleep: until a port or somebody else wakes

// One worker's. Times are in units of the caller's clock unless they say otherwise.
struct idle {
	uint64_t per_us; // units in a microsecond
	uint64_t spin, sleep_min, sleep_max, doze, alone;
	uint64_t worth_max; // however much a sleep costs, sleep_min is no longer
	bool saving; // sleep_max whenever there is nothing; the owner may set it
	bool never; // the owner does not ask: it polls on; the owner may set it
	bool wakes; // all that comes wakes the owner, who waits for it; the owner may set it
	uint64_t batch; // the longest sleep where it saves and wakes
	bool told; // that it is what the file says
	uint64_t worked; // when there was work last
	uint64_t gap; // between two datagrams of late: a moving average
	struct sleep_cost cost;
	uint64_t streamed, threaded; // when there were such messages last, and of stream threads
	uint64_t stream_gap; // between two of the former: a moving average
	bool dozes; // what idle_after has said is a doze: stream threads may end it
};

// per_us: units in a microsecond. sleep_max_us: the longest sleep, and so how much longer a
// datagram may have to wait; 0: IDLE_SLEEP_US, and up to IDLE_COSTLY_US where sleeps are costly.
struct idle idle_init(uint64_t now, uint64_t per_us, uint32_t sleep_max_us);

// To be told, before idle_after, of messages from and to clients over TCP, TLS (threads) and DTLS
// in a round. Each costs a wake, of the worker and of a stream thread, where both wait. So where
// they come in numbers the worker dozes: ports do not wake it, but a stream thread does that has
// read all that has come in its own nap, and answers are back before that thread sleeps on. With
// DTLS alone a doze is as short as is worth it, since there is no nap.
void idle_streamed(struct idle *i, uint64_t now, uint64_t messages, bool threads);
// To be told of every round: the time at its begin, whether it found work, and how many datagrams.
// Returns how long to sleep before the next; 0: not at all, IDLE_WAIT (only if wakes is set): until
// something comes.
uint64_t idle_after(struct idle *i, uint64_t now, bool busy, uint64_t datagrams);
// How long to sleep in place of IDLE_WAIT, when waiting is not possible after all.
uint64_t idle_sleep(const struct idle *i);

// To be asked before every sleep: whether to measure the CPU time that it takes, which is a system
// call before it and one behind it. The first sleeps are measured each, then few.
bool idle_measures(struct idle *i);

// To be told of each that was measured.
void idle_learn(struct idle *i, uint64_t cost_ns);
