// SPDX-License-Identifier: BSD-3-Clause
// Blocks a worker, and wakes it (waiter.h). One ppoll waits for all ports and for kicks: a worker
// has a handful of descriptors, and its system call filter allows ppoll, read and write anyway.
#include "workers/waiter.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <rte_cycles.h>

#include "datapath.h"
#include "port.h"
#include "path/worker.h"
#include "workers/due.h"

_Static_assert(WAITER_QUEUES_MAX >= DP_RX_QUEUES_MAX, "a descriptor for each queue");

// --- start and end -------------------------------------------------------------------------------

static int wake_fd(struct port *p, uint16_t queue)
{
	return p->ops->wake_fd != NULL ? p->ops->wake_fd(p, queue) : -1;
}

// If no port can wake a worker, workers without a queue behave like those with one.
static bool any_port_wakes(const struct dp *d)
{
	for (unsigned int i = 0; i < d->nb_ports; i++)
		if (wake_fd(d->port[i].port, 0) >= 0)
			return true;
	return false;
}

_Static_assert(TURN_WORKERS_MAX <= 64, "workers are bits of waiters and kicks");

int waiter_open(struct worker *w)
{
	struct waiter *k = &w->waiter;

	*k = (struct waiter){.event = -1, .nb = 1};
	for (unsigned int i = 0; i < w->nb_rx; i++) {
		struct port *p = w->dp->port[w->rx[i].port].port;
		const int fd = wake_fd(p, w->rx[i].queue);

		if (fd < 0)
			return 0;
		k->arms |= p->ops->wake_arm != NULL;
		k->fd[k->nb++] = (struct pollfd){.fd = fd, .events = POLLIN};
	}
	if (w->nb_rx == 0 && !any_port_wakes(w->dp))
		return 0;
	k->event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (k->event < 0)
		return -errno;
	k->fd[0] = (struct pollfd){.fd = k->event, .events = POLLIN};
	k->can = true;
	w->dp->waiters |= UINT64_C(1) << w->id;
	return 0;
}

void waiter_close(struct worker *w)
{
	if (w->waiter.can)
		close(w->waiter.event);
	w->waiter.can = false;
}

// --- the worker ----------------------------------------------------------------------------------

// Enables or disables the interrupts of the ports that have any. False if a port fails.
static bool ports_arm(const struct worker *w, bool on)
{
	bool armed = true;

	for (unsigned int i = 0; i < w->nb_rx; i++) {
		struct port *p = w->dp->port[w->rx[i].port].port;

		if (p->ops->wake_arm != NULL && p->ops->wake_arm(p, w->rx[i].queue, on) != 0)
			armed = false;
	}
	return armed;
}

bool waiter_arm(struct worker *w)
{
	struct waiter *k = &w->waiter;

	k->shown = IDLE_WAIT;
	if (k->arms && !ports_arm(w, true)) {
		waiter_disarm(w);
		return false;
	}
	__atomic_store_n(&k->armed, IDLE_WAIT, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return true;
}

void waiter_disarm(struct worker *w)
{
	struct waiter *k = &w->waiter;
	const enum idle_state shown = k->shown;

	if (likely(shown == IDLE_POLL))
		return;
	k->shown = IDLE_POLL;
	__atomic_store_n(&k->armed, IDLE_POLL, __ATOMIC_RELAXED);
	if (k->arms && shown == IDLE_WAIT)
		ports_arm(w, false);
}

bool waiter_in_vain(struct worker *w)
{
	const bool vain = w->waiter.vain;

	w->waiter.vain = false;
	return vain;
}

static void count_wakeup(struct worker *w, int ready)
{
	struct waiter *k = &w->waiter;
	const bool kicked = ready > 0 && k->fd[0].revents != 0;
	uint64_t kicks;

	w->live.waits++;
	// several kicks count as one; one that was taken already does not count
	if (kicked && read(k->event, &kicks, sizeof(kicks)) < 0)
		kicks = 0;
	k->vain = ready > (int)kicked;
	if (k->vain)
		w->live.woken_by_port++;
	else if (kicked)
		w->live.woken_by_kick++;
	else if (ready == 0)
		w->live.woken_by_time++;
}

void waiter_block(struct worker *w)
{
	const struct dp *d = w->dp;
	const uint64_t deadline = d->tsc_start + due_next_ms(w) * d->tsc_per_ms, now = rte_rdtsc();

	if (deadline > now) {
		const uint64_t ns = (deadline - now) * 1000000 / d->tsc_per_ms;
		const struct timespec most = {
			.tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000)};

		count_wakeup(w, ppoll(w->waiter.fd, w->waiter.nb, &most, NULL));
	}
	waiter_disarm(w);
}

bool waiter_drowse(struct worker *w)
{
	struct waiter *k = &w->waiter;

	if (k->shown != IDLE_POLL)
		return true;
	k->shown = IDLE_DOZE;
	__atomic_store_n(&k->armed, IDLE_DOZE, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return false;
}

void waiter_doze(struct worker *w, uint64_t ns)
{
	const struct timespec most = {
		.tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000)};

	count_wakeup(w, ppoll(w->waiter.fd, 1, &most, NULL)); // the first one is for kicks
	waiter_disarm(w);
}

// --- other threads -------------------------------------------------------------------------------

void waiter_wake(struct waiter *k)
{
	static const uint64_t one = 1;

	if (__atomic_exchange_n(&k->armed, IDLE_POLL, __ATOMIC_SEQ_CST) == IDLE_POLL)
		return; // the worker is awake, or another thread wakes it
	while (write(k->event, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

void waiter_kick_others(struct worker *w)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	for (uint64_t left = w->kicks; left != 0; left &= left - 1)
		waiter_look(&w->dp->worker[__builtin_ctzll(left)]->waiter);
	w->kicks = 0;
}
