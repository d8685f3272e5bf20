// SPDX-License-Identifier: BSD-3-Clause
// Lets an idle worker wait until a port has a frame for it, until another thread puts something for
// it elsewhere and kicks it, or until a timer is due (due.h).
//
// It can doze, too: then ports and other workers do not wake it, but a stream thread does after it
// has read the input of its own nap. A doze lasts only some microseconds.
//
// No wake is lost. The worker raises its flag, makes one more round, which looks at all sources,
// and blocks only if that finds nothing. A thread that has something for the worker first puts it
// there, and then looks at the flag. Both have a full fence between their two steps, so at least
// one of them sees what the other did: the worker sees the new entry, or the thread sees the flag.
// A port's descriptor is readable as long as a frame waits. test_waiter_model checks all orders of
// these steps.
#pragma once

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_branch_prediction.h>
#include <rte_common.h>

#include "conf.h"
#include "path/idle.h"

struct worker;

#define WAITER_QUEUES_MAX (CONF_PORTS_MAX * 4) // receive queues of a worker

struct waiter {
	// For the worker only.
	// The state that it has raised its flag for: IDLE_WAIT or IDLE_DOZE; else IDLE_POLL.
	enum idle_state shown;
	bool vain; // a port has woken it, but no round has found anything since
	bool arms; // some ports have wake_arm
	unsigned int nb; // number of descriptors; the first one is for kicks
	struct pollfd fd[1 + WAITER_QUEUES_MAX];
	// Read by all threads. The flag, an idle_state: the worker raises it to IDLE_WAIT or
	// IDLE_DOZE; the thread that wakes the worker lowers it to IDLE_POLL.
	uint32_t armed __rte_cache_aligned;
	bool can; // set at start: every source of the worker can wake it
	int event; // set at start: descriptor for kicks; -1 = none
} __rte_cache_aligned;

// Checks whether the started ports of a worker can wake it: if one of its queues cannot, the worker
// never waits. A worker without a queue waits if the queues of others can wake. Returns 0 or
// -errno. Management lcore, before the worker runs.
int waiter_open(struct worker *w);
void waiter_close(struct worker *w);

// Raises the flag: from now on kicks wake. True if the worker may wait, after another round has
// found nothing. False if a port cannot wake it this time, so it has to sleep. Only the worker
// calls this and the following functions, except the kicks.
bool waiter_arm(struct worker *w);
// Lowers the flag, when there is work. Does nothing if it is not raised.
void waiter_disarm(struct worker *w);
// True if a port ended the last wait but then had no frame: its descriptor has an error, or there
// is no buffer for its frames. Waiting would end at once again, so the worker sleeps. True once for
// each such wait.
bool waiter_in_vain(struct worker *w);
// Blocks until something comes or a timer is due, and lowers the flag. The flag must be raised and
// a round after that must have found nothing.
void waiter_block(struct worker *w);

// Raises the flag for a doze, if it is not raised. True if it was raised before: another round has
// found nothing since, and the worker may doze.
bool waiter_drowse(struct worker *w);
// Dozes for ns nanoseconds or until a stream thread kicks, and lowers the flag.
void waiter_doze(struct worker *w, uint64_t ns);

void waiter_wake(struct waiter *k); // for the following inline functions

// Second half of a kick, after a full fence.
static inline void waiter_look(struct waiter *k)
{
	if (unlikely(__atomic_load_n(&k->armed, __ATOMIC_RELAXED) == IDLE_WAIT))
		waiter_wake(k);
}

// Wakes a worker if it waits. Call it after putting something where the worker's next round looks.
// Any thread.
static inline void waiter_kick(struct waiter *k)
{
	if (!k->can)
		return;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	waiter_look(k);
}

// Wakes from a stream thread, after it has queued all input of its round. Also ends a doze.
static inline void waiter_kick_stream(struct waiter *k)
{
	if (!k->can)
		return;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (__atomic_load_n(&k->armed, __ATOMIC_RELAXED) != IDLE_POLL)
		waiter_wake(k);
}

// Only ends a doze, without new data: the thread that has the clock ends it on time.
static inline void waiter_rouse(struct waiter *k)
{
	if (__atomic_load_n(&k->armed, __ATOMIC_RELAXED) == IDLE_DOZE)
		waiter_wake(k);
}

// Kicks the workers that have new entries in their rings from this round of w (w->kicks). Call it
// at the end of a round.
void waiter_kick_others(struct worker *w);
