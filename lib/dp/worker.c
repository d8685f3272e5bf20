// SPDX-License-Identifier: BSD-3-Clause
// One worker lcore, and the whole way of a packet:
//
//	port queue -> accept_burst: ours? this worker's? -> turn_route_begin -> relay_burst -> tx
//	                  |                |                                       |
//	              host.c: ARP,   handover.c: to its                  turn_route_finish,
//	              ND, echo       home worker                         rewrite.c, nexthop.c
//
// A round takes a burst from every queue and every ring, does each to completion, and ends with
// sending and publishing the counters. Nothing on this way allocates, logs, locks or waits.
#include <sched.h>
#include <sys/prctl.h>
#include <time.h>

#include <rte_cycles.h>
#include <rte_pause.h>

#include "dp_int.h"

#define PUBLISH_ROUNDS 16 // busy rounds after which the counters are published at the latest
#define WALL_MS 100 // the time of day is read this often
// Idle: rounds without work that only pause, then that yield; the sleeps after that grow to the
// cap.
#define IDLE_PAUSES 300
#define IDLE_YIELDS 350
#define IDLE_NS_MIN (10 * 1000)
#define IDLE_NS_MAX (50 * 1000)

void worker_drop(struct worker *w, struct rte_mbuf *m, unsigned int reason)
{
	w->live.drop[reason]++;
	rte_pktmbuf_free(m);
}

// Routes and relays what is in the burst. of: how many packets were received for it; 0 = it comes
// from the backlog, and nothing goes back there.
static void burst_route(struct worker *w, unsigned int of)
{
	struct burst *b = &w->burst;
	unsigned int relayed;

	if (b->n == 0)
		return;
	b->turn.n = b->n;
	turn_route_begin(w->shard, &b->turn);
	relayed = relay_burst(w, of > 0);
	if (of > 0)
		backlog_see(&w->backlog, of, relayed);
	message_notes(w);
}

// --- the round ----------------------------------------------------------------------------------

static unsigned int receive_port(struct worker *w, const struct rx_queue *q)
{
	struct burst *b = &w->burst;
	struct port *p = w->dp->port[q->port].port;
	const unsigned int n = port_rx(p, q->queue, b->m, DP_BURST);
	unsigned int ready = n;

	if (n == 0) {
		w->live.rx_empty++;
		return 0;
	}
	w->live.rx_bursts++;
	w->live.rx_hist[stats_class(n)]++;
	if (unlikely(p->rx_super))
		ready = super_begin(w, q->port, n);
	else
		w->live.rx += n;
	do {
		accept_burst(w, q->port, ready);
		burst_route(w, n);
		ready = unlikely(p->rx_super) ? super_next(w, q->port) : 0;
	} while (ready > 0);
	return n;
}

static unsigned int receive_ring(struct worker *w, unsigned int from)
{
	struct burst *b = &w->burst;
	const unsigned int n = handover_take(w, from, b->m);

	b->n = 0;
	for (unsigned int i = 0; i < n; i++) {
		struct rte_mbuf *m = b->m[i];
		const struct parcel *p = parcel_of(m);

		switch ((enum parcel_kind)p->kind) {
		case PARCEL_DATAGRAM:
			b->turn.view[b->n] = p->datagram;
			if (w->plain_max == 0) // plain where it came from is not plain here
				b->turn.view[b->n].flags &= (uint8_t)~DP_PLAIN;
			b->m[b->n++] = m;
			break;
		case PARCEL_FRAME:
			tx_put(w, p->port, m);
			break;
		case PARCEL_NEIGHBOUR:
		case PARCEL_REDIRECT:
			message_apply(w, m);
			break;
		}
	}
	burst_route(w, n);
	return n;
}

static void clock_set(struct worker *w, uint64_t tsc)
{
	struct timespec wall;

	w->now_ms = (tsc - w->dp->tsc_start) / w->dp->tsc_per_ms;
	if (likely(w->now_ms < w->wall_ms))
		return;
	// all workers at the same times: a nonce of one is then not from the future for another
	w->wall_ms = w->now_ms - w->now_ms % WALL_MS + WALL_MS;
	clock_gettime(CLOCK_REALTIME, &wall); // in the vdso: no system call
	w->wall_s = (uint64_t)wall.tv_sec;
}

// What is due by time: once a millisecond, and again at once while expiry has more than one
// portion.
static void tick(struct worker *w)
{
	mailbox_serve(w);
	message_notes(w);
	if (likely(w->now_ms == w->ticked_ms && !w->more_due))
		return;
	w->ticked_ms = w->now_ms;
	w->since_publish++; // at least once a millisecond
	w->more_due = turn_shard_expire(w->shard);
	message_notes(w);
	nexthop_tick(w);
	if (w->id == 0)
		host_announce_tick(w);
}

bool worker_round(struct worker *w, uint64_t tsc)
{
	unsigned int work = 0;

	clock_set(w, tsc);
	turn_shard_round(w->shard, w->now_ms, w->wall_s);
	for (unsigned int i = 0; i < w->nb_rx; i++)
		work += receive_port(w, &w->rx[i]);
	for (unsigned int from = 0; from < w->dp->nb_workers; from++)
		work += receive_ring(w, from);
	work += backlog_fill(w);
	burst_route(w, 0);
	if (unlikely(w->dp->nb_exceptions > 0))
		work += exceptions_round(w);
	tick(w);
	tx_flush(w);
	handover_flush(w);
	if (work > 0)
		w->since_publish++;
	if (w->since_publish >= PUBLISH_ROUNDS || (work == 0 && w->since_publish > 0))
		stats_publish(w);
	return work > 0 || w->more_due || w->backlog.n > 0;
}

// --- the loop -----------------------------------------------------------------------------------

static void idle_wait(const struct worker *w, unsigned int rounds)
{
	struct timespec ts = {.tv_nsec = IDLE_NS_MIN};

	rte_pause();
	if (w->dp->conf->idle == CONF_IDLE_BUSY || rounds < IDLE_PAUSES)
		return;
	if (rounds < IDLE_YIELDS) {
		sched_yield();
		return;
	}
	ts.tv_nsec = RTE_MIN((long)IDLE_NS_MAX, (long)(rounds - IDLE_YIELDS + 1) * IDLE_NS_MIN);
	nanosleep(&ts, NULL);
}

int worker_run(void *worker)
{
	struct worker *w = worker;
	unsigned int empty = 0;

	// without this every short sleep lasts 50 us longer
	prctl(PR_SET_TIMERSLACK, 1000, 0, 0, 0);
	while (likely(!__atomic_load_n(&w->dp->stopping, __ATOMIC_ACQUIRE))) {
		const uint64_t start = rte_rdtsc();
		const bool busy = worker_round(w, start);
		const uint64_t cycles = rte_rdtsc() - start;

		if (busy)
			w->live.busy_cycles += cycles;
		empty = busy ? 0 : empty + 1;
		if (!busy)
			idle_wait(w, empty);
		w->live.total_cycles += rte_rdtsc() - start;
	}
	stats_publish(w);
	return 0;
}
