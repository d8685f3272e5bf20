// SPDX-License-Identifier: BSD-3-Clause
// Runs one worker lcore. The path of a packet:
//
//	port queue -> accept_burst: checks -> turn_route_begin -> fastpath_burst -> tx
//	                and home worker                               |
//	                 |          |                                 |
//	       host.c: ARP,    handover.c: to its home worker,   turn_route_finish,
//	       ND, ICMP        clients after turn_route_begin    rewrite.c, client.c,
//	                                                         nexthop.c
//
// Not in the drawing: vlans.c splits the burst of a device with VLANs into one for each network,
// and fragments.c keeps fragments until their datagram is complete and comes in like any other.
//
// A round takes a burst from every port queue, from the ring of every worker and of every stream
// thread, and then some of the requests that wait in the backlog. It finishes each burst before the
// next one. Then it runs timers, flushes the outboxes and wakes stream threads. It does not always
// publish the counters: the first round without work does, and under load one round in
// PUBLISH_ROUNDS, where each millisecond that passes counts as one more round. Nothing on this path
// allocates memory, logs, locks or waits.
#include <time.h>

#include <rte_cycles.h>
#include <rte_pause.h>

#include "clock.h"
#include "path/worker.h"
#include "path/accept.h"
#include "path/backlog.h"
#include "capture/capture.h"
#include "clients/dtls_clients.h"
#include "clients/sessions.h"
#include "clients/streams.h"
#include "ask/mailbox.h"
#include "see/progress.h"
#include "see/stats.h"
#include "see/timing.h"
#include "datapath.h"
#include "dp_burst.h"
#include "dp_view.h"
#include "exception/exception.h"
#include "path/fastpath.h"
#include "path/meter.h"
#include "invariant.h"
#include "ip/dscp.h"
#include "ip/fragments.h"
#include "ip/icmp_errors.h"
#include "link/gso_rx.h"
#include "link/gso_whole.h"
#include "link/host.h"
#include "link/mld.h"
#include "link/nexthop.h"
#include "link/tx.h"
#include "link/vlans.h"
#include "port.h"
#include "threads/prompt_wakes.h"
#include "turn.h"
#include "turn_shard.h"
#include "workers/handover.h"
#include "workers/mbuf_meta.h"
#include "workers/messages.h"

// number of busy rounds after which the counters are published at the latest
#define PUBLISH_ROUNDS 64
#define WALL_MS 100 // interval of reading the time of day

void worker_drop(struct worker *w, struct rte_mbuf *m, unsigned int reason)
{
	ASSERT(reason < DP_DROP_END);
	w->live.drop[reason]++;
	if (unlikely(w->capture != NULL))
		capture_drop(w, m, reason);
	if (unlikely(m == w->losses.m))
		losses_planned(w, reason);
	if (unlikely(m == w->timing.m))
		w->timing.m = NULL;
	rte_pktmbuf_free(m);
}

// Tells other workers about changes of their redirects, which are rare.
static inline void send_notes(struct worker *w)
{
	if (unlikely(w->nb_notes > 0 || turn_redirect_noted(w->shard)))
		messages_notes(w);
}

static inline unsigned int relay_plain(struct worker *w, bool may_wait)
{
	if (unlikely(w->pieces.whole.m != NULL))
		gso_whole_look(w);
	return fastpath_burst(w, may_wait);
}

// Relays a burst where DSCP or rates are configured.
static __rte_noinline unsigned int relay_special(struct worker *w, bool may_wait)
{
	dscp_burst(w);
	if (!meter_is_on(w))
		return relay_plain(w, may_wait);
	if (unlikely(w->pieces.whole.m != NULL))
		gso_whole_look(w);
	return fastpath_burst_metered(w, may_wait);
}

// Routes and relays the burst. received: packets received for it; 0: it comes from the backlog, and
// nothing goes back there. homes: as in struct turn_burst.
static void burst_once(struct worker *w, unsigned int received, unsigned int homes)
{
	struct burst *b = &w->burst;
	unsigned int relayed;

	if (b->n == 0)
		return;
	ASSERT(b->n <= DP_BURST);
	b->turn.n = b->n;
	b->turn.homes = homes;
	turn_route_begin(w->shard, &b->turn);
	if (unlikely(b->turn.nb_elsewhere > 0) && !handover_clients(w))
		relayed = 0;
	else if (unlikely(w->special))
		relayed = relay_special(w, received > 0);
	else
		relayed = relay_plain(w, received > 0);
	if (received > 0)
		backlog_note_burst(&w->backlog, received, relayed, w->now_ms);
	send_notes(w);
}

// Calls burst_once, and again for the DTLS records of the burst after decryption.
static void burst_route(struct worker *w, unsigned int received, unsigned int homes)
{
	burst_once(w, received, homes);
	if (likely(!dtls_clients_waiting(w)))
		return;
	dtls_clients_begin(w);
	while (dtls_clients_waiting(w)) {
		const unsigned int opened = dtls_clients_open_burst(w);

		if (unlikely(w->capture != NULL))
			capture_burst(w, DP_CAPTURE_DTLS_IN);
		burst_once(w, opened, 0);
	}
}

// --- the round ----------------------------------------------------------------------------------

// Handles frames for one port: n of the `received` frames that came in together.
static __rte_always_inline void receive_burst(
	struct worker *w, uint8_t port, unsigned int n, unsigned int received)
{
	const unsigned int homes = w->dp->port[port].rss_home ? 0 : w->dp->nb_workers;

	if (unlikely(timing_due(&w->timing, n)))
		timing_begin(w, n);
	accept_burst(w, port, n);
	burst_route(w, received, homes);
	if (unlikely(w->timing.m != NULL))
		timing_settle(w);
}

// Like receive_burst, for ports that deliver super-frames.
static void receive_supers(struct worker *w, uint8_t port, unsigned int n, unsigned int received)
{
	unsigned int ready = gso_rx_begin(w, port, n);

	for (; ready > 0; ready = gso_rx_next(w, port))
		receive_burst(w, port, ready, received);
}

// Handles a burst of a device that delivers super-frames, or frames for several ports.
static __rte_noinline void receive_special(struct worker *w, const struct port *p, unsigned int n)
{
	uint8_t port = p->index;
	unsigned int ready = n;

	w->timing.taken = rte_rdtsc(); // some datagrams wait for others, so their time begins here
	if (p->shared) {
		vlans_begin(w, port, n);
		ready = vlans_next(w, &port);
	}
	while (ready > 0) {
		if (p->rx_super) {
			receive_supers(w, port, ready, n);
		} else {
			w->live.rx += ready;
			receive_burst(w, port, ready, n);
		}
		ready = p->shared ? vlans_next(w, &port) : 0;
	}
	w->timing.taken = 0;
}

static unsigned int receive_port(struct worker *w, const struct rx_queue *q)
{
	struct port *p = w->dp->port[q->port].port;
	unsigned int n;

	progress_at(&w->progress, DP_STAGE_PORT, q->port, 0);
	n = port_rx(p, q->queue, w->burst.m, DP_BURST);
	if (n == 0) {
		w->live.rx_empty++;
		return 0;
	}
	progress_at(&w->progress, DP_STAGE_PORT, q->port, n);
	w->live.rx_bursts++;
	w->live.rx_hist[stats_class(n)]++;
	if (unlikely(w->capture != NULL))
		capture_rx(w, q->port, n);
	if (unlikely(p->rx_super | p->shared)) {
		receive_special(w, p, n);
		return n;
	}
	w->live.rx += n;
	receive_burst(w, q->port, n, n);
	return n;
}

// Handles messages of other workers that are no received datagrams.
static __rte_noinline void take_other(struct worker *w, struct rte_mbuf *m)
{
	struct mbuf_meta *p = mbuf_meta_of(m);

	handover_no_packet(w, p);
	switch ((enum mbuf_meta_kind)p->kind) {
	case MBUF_META_FRAME:
		tx_put(w, p->port, m);
		break;
	case MBUF_META_ICMP:
		icmp_errors_take(w, m, &p->icmp);
		break;
	case MBUF_META_SEAL:
		dtls_clients_reply_for(w, m);
		break;
	case MBUF_META_NEIGHBOUR:
	case MBUF_META_REDIRECT:
	case MBUF_META_CLIENT_ENDED:
		messages_apply(w, m);
		break;
	case MBUF_META_DATAGRAM:
	default: // the other kinds are on other rings
		break;
	}
}

static unsigned int receive_ring(struct worker *w, unsigned int src)
{
	struct burst *b = &w->burst;
	const unsigned int n = handover_take(w, src, b->m);
	// a frame that was plain on its first worker may not be plain here
	const uint8_t flags = w->plain_max != 0 ? UINT8_MAX : (uint8_t)~DP_PLAIN;
	struct turn_view *v = b->turn.view;
	struct rte_mbuf **kept = b->m;

	progress_at(&w->progress, DP_STAGE_WORKER, src, n);
	if (likely(n == 0))
		return 0;
	for (unsigned int i = 0; i < n; i++) {
		struct rte_mbuf *m = b->m[i];
		const struct mbuf_meta *p = mbuf_meta_of(m);

		if (unlikely(p->kind != MBUF_META_DATAGRAM)) {
			take_other(w, m);
			continue;
		}
		*v = p->datagram;
		v->flags &= flags;
		v++;
		*kept++ = m;
	}
	b->n = (unsigned int)(kept - b->m);
	burst_route(w, n, w->dp->homes_hashed ? TURN_HASHED : 0);
	return n;
}

// Receives messages of clients over TCP and TLS, which are routed like datagrams.
static unsigned int receive_stream(struct worker *w, unsigned int thread)
{
	struct burst *b = &w->burst;
	unsigned int taken;

	progress_at(&w->progress, DP_STAGE_STREAM, thread, 0);
	b->n = streams_take(w, thread, b->m, &taken);
	progress_at(&w->progress, DP_STAGE_STREAM, thread, b->n);
	for (unsigned int i = 0; i < b->n; i++)
		b->turn.view[i] = mbuf_meta_of(b->m[i])->datagram;
	if (unlikely(w->capture != NULL))
		capture_burst(w, DP_CAPTURE_STREAM_IN);
	burst_route(w, b->n, 0);
	streams_settle(w);
	return taken;
}

static void clock_set(struct worker *w, uint64_t tsc)
{
	w->now_ms = (tsc - w->dp->tsc_start) / w->dp->tsc_per_ms;
	if (likely(w->now_ms < w->wall_ms))
		return;
	w->wall_ms = w->now_ms + WALL_MS;
	w->wall_s = clock_wall_s(); // vDSO call, not a system call
}

// Lets ports do their periodic work: bonds speak LACP.
static void tick_ports(struct worker *w)
{
	for (unsigned int i = 0; i < w->dp->nb_ports; i++) {
		struct port *p = w->dp->port[i].port;

		if (p->ops->tick != NULL)
			p->ops->tick(p, w->id);
	}
}

// Runs timers: once a millisecond, and in every round while expiry has more to do than one portion.
// work: datagrams and messages of this round.
static void tick_worker(struct worker *w, unsigned int work)
{
	if (unlikely(mailbox_is_asked(&w->mailbox)))
		w->asked = mailbox_serve(w, work);
	send_notes(w);
	if (likely(w->now_ms == w->ticked_ms && !w->more_due))
		return;
	w->ticked_ms = w->now_ms;
	w->since_publish++; // at least once a millisecond
	w->more_due = turn_shard_expire(w->shard);
	send_notes(w);
	nexthop_tick(w);
	mld_tick(w);
	tick_ports(w);
	if (unlikely(w->wires != __atomic_load_n(&w->dp->wires, __ATOMIC_RELAXED)))
		fastpath_wires_init(w);
	if (w->fragments != NULL)
		fragments_tick(w);
	if (w->sessions != NULL)
		sessions_tick(w);
	if (w->id == 0)
		host_announce_tick(w);
}

bool worker_round(struct worker *w, uint64_t tsc)
{
	unsigned int work = 0, waited;

	progress_round(&w->progress);
	clock_set(w, tsc);
	turn_shard_round(w->shard, w->now_ms, w->wall_s);
	for (unsigned int i = 0; i < w->nb_rx; i++)
		work += receive_port(w, &w->rx[i]);
	for (unsigned int src = 0; src < w->dp->nb_workers; src++)
		work += receive_ring(w, src);
	for (unsigned int thread = 0; thread < w->dp->nb_streams; thread++)
		work += receive_stream(w, thread);
	progress_at(&w->progress, DP_STAGE_BACKLOG, 0, 0);
	waited = backlog_fill(w);
	if (unlikely(waited > 0))
		burst_route(w, 0, 0);
	work += waited;
#define X(fill, drain, held)          \
	waited = fill(w);             \
	if (unlikely(waited > 0))     \
		burst_route(w, 0, 0); \
	work += waited;
	DP_FILLS(X)
#undef X
	if (unlikely(w->dp->nb_exceptions > 0)) {
		progress_at(&w->progress, DP_STAGE_EXCEPTION, 0, 0);
		work += exception_round(w);
	}
	progress_at(&w->progress, DP_STAGE_TICK, 0, 0);
	tick_worker(w, work);
	progress_at(&w->progress, DP_STAGE_SEND, 0, 0);
	tx_flush(w);
	handover_flush(w);
	if (unlikely(w->kicks != 0))
		waiter_kick_others(w);
	if (unlikely(w->stream_wake != 0))
		streams_wake(w);
	if (work > 0)
		w->since_publish++;
	if (w->since_publish >= PUBLISH_ROUNDS || (work == 0 && w->since_publish > 0))
		stats_publish(w);
	return work > 0 || w->more_due || w->asked || w->backlog.n > 0;
}

// --- the loop -----------------------------------------------------------------------------------

// Sleeps, dozes or waits, and measures the CPU time of that.
static void rest_worker(struct worker *w, enum idle_state state, uint64_t cycles)
{
	const uint64_t ns = cycles * 1000000 / w->dp->tsc_per_ms;
	const struct timespec ts = {.tv_nsec = (long)ns};
	const bool measure = idle_measures_cost(&w->idle);
	const uint64_t before = measure ? clock_cpu_ns() : 0;

	progress_at(&w->progress, DP_STAGE_SLEEP, 0, 0);
	if (state == IDLE_WAIT)
		waiter_block(w);
	else if (state == IDLE_DOZE)
		waiter_doze(w, ns);
	else
		nanosleep(&ts, NULL);
	if (!measure)
		return;
	idle_learn_cost(&w->idle, clock_cpu_ns() - before);
	w->live.sleep_cost_ns = w->idle.cost.ns;
}

// Waits in two steps: shows its state, and blocks if the next round finds nothing either.
static void wait_worker(struct worker *w)
{
	if (w->waiter.shown == IDLE_WAIT) {
		rest_worker(w, IDLE_WAIT, 0);
	} else if (waiter_in_vain(w) || !waiter_arm(w)) {
		waiter_disarm(w);
		rest_worker(w, IDLE_SLEEP, idle_sleep_length(&w->idle));
	}
}

// Runs after a round that has found nothing.
static void idle_worker(struct worker *w, struct idle_rest rest)
{
	switch (rest.state) {
	case IDLE_POLL:
		waiter_disarm(w);
		rte_pause();
		break;
	case IDLE_SLEEP:
		waiter_disarm(w);
		rest_worker(w, IDLE_SLEEP, rest.length);
		break;
	case IDLE_DOZE:
		if (waiter_drowse(w)) // else the worker polls once more
			rest_worker(w, IDLE_DOZE, rest.length);
		break;
	case IDLE_WAIT:
		wait_worker(w);
		break;
	}
}

// Counts the messages and datagrams of a round that began at start, and chooses the rest after it.
static struct idle_rest choose_rest(struct worker *w, uint64_t start, bool busy, uint64_t got)
{
	const uint64_t sealed = w->live.dtls.rx + w->live.dtls.tx;
	const uint64_t streamed = w->streamed, records = sealed - w->sealed;

	w->streamed = 0;
	w->sealed = sealed;
	if (streamed + records > 0)
		idle_count_messages(&w->idle, start, streamed + records, streamed > 0);
	return idle_choose_rest(&w->idle, start, busy, got);
}

int worker_run(void *worker)
{
	struct worker *w = worker;
	const struct dp *d = w->dp;

	w->idle.worked = rte_rdtsc();
	prompt_wakes();
	while (likely(!__atomic_load_n(&d->stopping, __ATOMIC_ACQUIRE))) {
		const uint64_t before = w->live.rx + w->live.handed_in, start = rte_rdtsc();
		const bool busy = worker_round(w, start);
		const uint64_t got = w->live.rx + w->live.handed_in - before;
		const struct idle_rest rest = choose_rest(w, start, busy, got);

		if (busy) {
			waiter_disarm(w);
			w->waiter.vain = false;
			w->live.busy_cycles += rte_rdtsc() - start;
		} else {
			idle_worker(w, rest);
		}
		w->live.total_cycles += rte_rdtsc() - start;
	}
	waiter_disarm(w);
	stats_publish(w);
	progress_at(&w->progress, DP_STAGE_ENDED, 0, 0);
	return 0;
}
