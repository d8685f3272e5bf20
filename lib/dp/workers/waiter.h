// SPDX-License-Identifier: BSD-3-Clause
// waiter.c: a worker that has nothing to do waits until a port has a frame for it, until somebody
// has put something for it elsewhere and kicks it, or until something is due by time (due.h).
//
// It can doze, too: then ports do not wake it, nor do other workers, but a stream thread does that
// has read all that has come in its own nap. A doze ends after some microseconds at the latest.
//
// No wake is lost. The worker raises its flag, makes one more round, which looks at all that there
// may be, and blocks only if that has found nothing. Whoever puts something for it puts it first,
// and looks at the flag then. Each of them has a full fence between its two steps, so one of them
// at least sees what the other has done: the worker what was put, or the other the flag. A port's
// descriptor is readable for as long as a frame waits. test_waiter_model goes through all orders of
// these steps.
#pragma once

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_branch_prediction.h>
#include <rte_common.h>

#include "conf.h"

struct worker;

// Values of the flag.
enum { WAITER_AWAKE, WAITER_WAITS, WAITER_DOZES };

#define WAITER_QUEUES_MAX (CONF_PORTS_MAX * 4) // receive queues of a worker

struct waiter {
	// The worker's own.
	bool up; // it has raised its flag and not taken it back
	bool dozes; // for a doze
	bool vain; // a port has woken it, and no round has found anything since
	bool arms; // there are ports with wake_arm
	unsigned int nb; // descriptors; the first is that of the kicks
	struct pollfd fd[1 + WAITER_QUEUES_MAX];
	// Read by all. The flag: the worker raises it, who wakes it takes it down.
	uint32_t armed __rte_cache_aligned;
	bool can; // set at start: all that the worker receives can wake it
	int event; // set at start: descriptor of the kicks; -1 = none
} __rte_cache_aligned;

// Finds out whether the ports of a worker, which are started, can wake it: if one of its queues
// cannot, it never waits. A worker without a queue waits where the queues of others can wake. 0 or
// -errno. Management lcore, before the worker runs.
int waiter_open(struct worker *w);
void waiter_close(struct worker *w);

// Raises the flag: from now on kicks wake. True when the worker may wait, once another round has
// found nothing. False: a port cannot wake it this time, and it has to sleep. The worker, as all
// that follows except for kicking.
bool waiter_arm(struct worker *w);
// Takes the flag back, once there is work. Nothing happens if it is not up.
void waiter_disarm(struct worker *w);
// Whether the last wait was ended by a port that had nothing then: one whose descriptor has an
// error, or for whose frames there is no buffer. It would be so again at once: sleep. True once for
// each such wait.
bool waiter_in_vain(struct worker *w);
// Blocks until something comes, or is due by time, and takes the flag back. The flag is up and a
// round behind that has found nothing.
void waiter_block(struct worker *w);

// Raises the flag for a doze, if it is not up. True when it was up: another round has found nothing
// since, and the worker may doze.
bool waiter_drowse(struct worker *w);
// Dozes for so many ns, until a stream thread kicks, and takes the flag back.
void waiter_doze(struct worker *w, uint64_t ns);

void waiter_wake(struct waiter *k); // for the next two

// The second half of a kick, behind a full fence.
static inline void waiter_look(struct waiter *k)
{
	if (unlikely(__atomic_load_n(&k->armed, __ATOMIC_RELAXED) == WAITER_WAITS))
		waiter_wake(k);
}

// Wakes a worker if it waits, behind putting something where its next round looks. Any thread.
static inline void waiter_kick(struct waiter *k)
{
	if (!k->can)
		return;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	waiter_look(k);
}

// The same of a stream thread, behind all that a round of it has read: it ends a doze, too.
static inline void waiter_kick_stream(struct waiter *k)
{
	if (!k->can)
		return;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (__atomic_load_n(&k->armed, __ATOMIC_RELAXED) != WAITER_AWAKE)
		waiter_wake(k);
}

// Ends a doze alone, behind nothing: who has its clock gives the time.
static inline void waiter_rouse(struct waiter *k)
{
	if (__atomic_load_n(&k->armed, __ATOMIC_RELAXED) == WAITER_DOZES)
		waiter_wake(k);
}

// Kicks the workers to whose rings a round of w has put something (w->kicks), at its end.
void waiter_kick_others(struct worker *w);
