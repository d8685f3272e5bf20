// SPDX-License-Identifier: BSD-3-Clause
// One worker lcore, and the whole way of a packet:
//
//	port queue -> burst_parse -> ours? for this worker? -> burst_route -> apply -> tx
//	                   |                  |                 (lib/turn)      |
//	               host.c: ARP,     handover.c: to its                  rewrite.c,
//	               ND, echo         home worker                         nexthop.c
//
// A round takes a burst from every queue and every ring, does each to completion, and ends with
// sending and publishing the counters. Nothing on this way allocates, logs, locks or waits.
#include <sched.h>
#include <sys/prctl.h>
#include <time.h>

#include <rte_cycles.h>
#include <rte_pause.h>

#include "dp_int.h"
#include "udp.h"

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

// --- in -----------------------------------------------------------------------------------------

// What the port has verified of a packet decides what the parser still has to.
static inline const struct net_rx *rx_rules(const struct dp_port *p, const struct rte_mbuf *m)
{
	const bool ip = p->port->ip_checksum_good &&
		(m->ol_flags & RTE_MBUF_F_RX_IP_CKSUM_MASK) == RTE_MBUF_F_RX_IP_CKSUM_GOOD;
	const bool l4 = p->port->l4_checksum_good &&
		(m->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_MASK) == RTE_MBUF_F_RX_L4_CKSUM_GOOD;

	return &p->rx[ip | l4 << 1];
}

// Finds what a datagram is for and the worker that owns it. DP_SENT or a reason to drop it.
static unsigned int classify(struct worker *w, uint8_t port, const struct rte_mbuf *m,
	struct datagram *d, unsigned int *home)
{
	const struct dp *dp = w->dp;
	const struct net_frame *f = &d->frame;
	const struct local *to = local_find(dp->local, &f->dst);
	int listener;

	if (to == NULL || to->kind != LOCAL_OWN || to->port != port)
		return drop_of_net(to != NULL && to->kind == LOCAL_BROADCAST
				? NET_DROP_MARTIAN_DESTINATION
				: NET_DROP_NOT_FOR_US);
	if (local_find(dp->local, &f->src) != NULL) // ours, or a broadcast address
		return drop_of_net(NET_DROP_MARTIAN_SOURCE);
	d->via = TURN_NO_WORKER;
	d->hairpin = false;
	listener = local_listener(dp->local, to, f->dport);
	if (listener >= 0) {
		d->leg = TURN_FROM_CLIENT;
		d->listener = (uint8_t)listener;
		*home = steer_client_home(dp, &dp->port[port], m, f);
		return DP_SENT;
	}
	d->leg = TURN_FROM_PEER;
	if (to->relay >= 0 &&
		turn_relay_home(dp->map, (unsigned int)to->relay, f->dport, home, &d->slot))
		return DP_SENT;
	return DP_DROP_NO_LISTENER;
}

// True when the packet is a datagram for this worker's shard; else it has been dealt with.
static bool accept(struct worker *w, uint8_t port, struct rte_mbuf *m, struct datagram *d)
{
	const struct dp_port *p = &w->dp->port[port];
	const struct net_rx *rules = rx_rules(p, m);
	const uint8_t *data = rte_pktmbuf_mtod(m, const uint8_t *);
	struct net_frame *f = &d->frame;
	enum net_drop bad;
	unsigned int reason, home;

	if (unlikely(m->nb_segs != 1)) {
		worker_drop(w, m, DP_DROP_SEGMENTED);
		return false;
	}
	if (unlikely(!net_udp_parse(data, m->data_len, rules, f))) {
		bad = net_frame_parse(data, m->data_len, rules, f);
		if (bad != NET_OK) {
			worker_drop(w, m, drop_of_net(bad));
			return false;
		}
	}
	if (unlikely(f->kind != NET_ARP &&
		    f->payload_off + f->payload_len - f->l3_off > p->port->mtu)) {
		worker_drop(w, m, DP_DROP_RX_OVERSIZE);
		return false;
	}
	if (unlikely(f->kind != NET_UDP)) {
		host_input(w, port, m, f);
		return false;
	}
	reason = classify(w, port, m, d, &home);
	if (unlikely(reason != DP_SENT))
		worker_drop(w, m, reason);
	else if (home != w->id)
		handover_datagram(w, home, m, d);
	else
		return true;
	return false;
}

// Parses n received packets; those for the shard stay in the burst, moved together.
static void burst_parse(struct worker *w, uint8_t port, unsigned int n)
{
	struct burst *b = &w->burst;

	for (unsigned int i = 0; i < n; i++)
		rte_prefetch0(rte_pktmbuf_mtod(b->m[i], const void *));
	b->n = 0;
	for (unsigned int i = 0; i < n; i++)
		if (accept(w, port, b->m[i], &b->d[b->n]))
			b->m[b->n++] = b->m[i];
}

// --- through ------------------------------------------------------------------------------------

static inline void view_fill(struct turn_view *v, struct rte_mbuf *m, const struct datagram *d)
{
	const struct net_frame *f = &d->frame;

	v->src = f->src;
	v->src_port = f->sport;
	v->data = rte_pktmbuf_mtod_offset(m, const uint8_t *, f->payload_off);
	v->len = f->payload_len;
	v->slot = d->slot;
	v->leg = d->leg;
	v->listener = d->listener;
	v->via = d->via;
	v->hairpin = d->hairpin;
	v->df = f->df;
}

// Executes the plan of packet i.
static inline void apply(struct worker *w, unsigned int i)
{
	struct burst *b = &w->burst;
	const struct turn_plan *plan = &b->turn.plan[i];
	const struct turn_side *side = &b->turn.side[i % TURN_CHUNK];

	switch ((enum turn_verdict)plan->verdict) {
	case TURN_RELAY:
		rewrite_relay(w, b->m[i], &b->d[i], plan, side);
		break;
	case TURN_SEND:
		rewrite_send(w, b->m[i], &b->d[i], plan, side);
		break;
	case TURN_REPLY:
		rewrite_reply(w, b->m[i], &b->d[i], plan, side);
		break;
	case TURN_HANDOVER: // the client was redirected; there it is not asked for its home again
		b->d[i].via = w->id;
		handover_datagram(w, plan->flow, b->m[i], &b->d[i]);
		break;
	case TURN_DROP:
		worker_drop(w, b->m[i], drop_of_turn(plan->reason));
		break;
	}
}

// Routes what is in the burst. In chunks: plans are executed while the next ones' lines arrive.
static void burst_route(struct worker *w)
{
	struct burst *b = &w->burst;

	if (b->n == 0)
		return;
	for (unsigned int i = 0; i < b->n; i++)
		view_fill(&b->turn.view[i], b->m[i], &b->d[i]);
	b->turn.n = b->n;
	turn_route_begin(w->shard, &b->turn);
	for (unsigned int from = 0; from < b->n; from += TURN_CHUNK) {
		const unsigned int n = RTE_MIN(b->n - from, (unsigned int)TURN_CHUNK);

		turn_route_finish(w->shard, &b->turn, from, n);
		for (unsigned int i = from; i < from + n; i++)
			if (b->turn.plan[i].verdict == TURN_RELAY)
				rte_prefetch0(&w->template[b->turn.plan[i].flow]);
		for (unsigned int i = from; i < from + n; i++)
			apply(w, i);
		message_notes(w);
	}
}

// --- the round ----------------------------------------------------------------------------------

static unsigned int receive_port(struct worker *w, const struct rx_queue *q)
{
	struct burst *b = &w->burst;
	const unsigned int n = port_rx(w->dp->port[q->port].port, q->queue, b->m, DP_BURST);

	if (n == 0) {
		w->live.rx_empty++;
		return 0;
	}
	w->live.rx_bursts++;
	w->live.rx_hist[stats_bucket(n)]++;
	w->live.rx += n;
	for (unsigned int i = 0; i < n; i++)
		w->live.rx_bytes += b->m[i]->pkt_len;
	burst_parse(w, q->port, n);
	burst_route(w);
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
			b->d[b->n] = p->datagram;
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
	burst_route(w);
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
	tick(w);
	tx_flush(w);
	handover_flush(w);
	if (work > 0)
		w->since_publish++;
	if (w->since_publish >= PUBLISH_ROUNDS || (work == 0 && w->since_publish > 0))
		stats_publish(w);
	return work > 0 || w->more_due;
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
