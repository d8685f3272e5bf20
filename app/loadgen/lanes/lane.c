// SPDX-License-Identifier: BSD-3-Clause
// One lcore of the generator. The path of a measured datagram:
//
//	pacer -> media.c (stamp, payload, front) -> headers.c -> port ... server ... port
//	      -> receiver.c (parse, unwrap, verify the stamp) -> track and histogram
//	                |                   |
//	            link_host.c: ARP,   control ring -> client.c of its sender -> port
//	            ND, echo
//
// A round reads every queue once, sends the datagrams that are due, and flushes the outboxes.
// Nothing here allocates, logs or locks. A lane without work yields the CPU, and sleeps when no
// media flows.
#include "lanes/lane.h"

#include <openssl/rand.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

#include <rte_cycles.h>
#include <rte_malloc.h>
#include <rte_pause.h>

#include "lanes/gso.h"
#include "lanes/receiver.h"
#include "lanes/sender.h"
#include "links/links.h"

#define TX_RETRIES 8 // a virtual port may take the rest of a burst in further calls
#define IDLE_PAUSES 64 // empty rounds before the lane yields the CPU or sleeps
#define IDLE_SLEEP_NS (50 * 1000) // in phases in which nothing is measured

// --- output --------------------------------------------------------------------------------------

struct rte_mbuf *lane_alloc(struct lane *l)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(l->engine->pool);

	if (unlikely(m == NULL))
		l->stats.no_mbuf++;
	return m;
}

// Direction in which a kind of frame counts; -1 for frames that are not measured.
static int direction_of(uint8_t kind)
{
	switch ((enum frame_kind)kind) {
	case FRAME_UP:
		return DIRECTION_UP;
	case FRAME_DOWN:
		return DIRECTION_DOWN;
	case FRAME_ECHO:
		return DIRECTION_ECHO;
	case FRAME_CONTROL:
	case FRAME_REFLECTED:
		break;
	}
	return -1;
}

static void flush_side(struct lane *l, unsigned int side)
{
	struct outbox *o = &l->out[side];
	uint8_t frame_of[LANE_BURST];
	const unsigned int frames = gso_make(l, side, frame_of);
	unsigned int sent = 0;

	for (unsigned int tries = 0; sent < frames && tries <= TX_RETRIES;) {
		const uint16_t n = port_tx(l->engine->port[side], (uint16_t)l->number, o->m + sent,
			(uint16_t)(frames - sent));

		sent += n;
		tries += n == 0;
	}
	for (unsigned int i = 0; i < o->n; i++) {
		const int dir = direction_of(o->kind[i]);

		if (frame_of[i] >= sent) {
			l->stats.tx_full += dir >= 0;
			l->stats.reflect_full += o->kind[i] == FRAME_REFLECTED;
		} else if (dir >= 0) {
			l->stats.sent[dir]++;
			l->stats.sent_bytes[dir] += o->len[i];
		}
	}
	if (unlikely(frames < o->n))
		gso_sent(l, frame_of, o->n, sent);
	rte_pktmbuf_free_bulk(o->m + sent, frames - sent);
	o->n = 0;
}

void lane_put(
	struct lane *l, unsigned int side, struct rte_mbuf *m, enum frame_kind kind, uint16_t len)
{
	struct outbox *o = &l->out[side];

	o->m[o->n] = m;
	o->kind[o->n] = (uint8_t)kind;
	o->len[o->n] = len;
	if (++o->n == LANE_BURST)
		flush_side(l, side);
}

void lane_reserve(struct lane *l, unsigned int side, unsigned int n)
{
	if (l->out[side].n + n > LANE_BURST)
		flush_side(l, side);
}

void lane_flush(struct lane *l)
{
	for (unsigned int side = 0; side < SIDE_NB; side++)
		if (l->out[side].n > 0)
			flush_side(l, side);
}

// --- the round ----------------------------------------------------------------------------------

static void wait_idle(uint32_t phase, unsigned int empty)
{
	const struct timespec ts = {.tv_nsec = IDLE_SLEEP_NS};

	rte_pause();
	if (empty < IDLE_PAUSES)
		return;
	if (phase == PHASE_TRAFFIC)
		sched_yield(); // a sleep would show in all latencies
	else
		nanosleep(&ts, NULL);
}

static bool lane_round(struct lane *l)
{
	bool busy = false;

	if (l->links != NULL)
		busy |= links_round(l);
	if (l->receiver != NULL)
		busy |= receiver_round(l);
	if (l->sender != NULL)
		busy |= sender_round(l);
	if (l->number == 0)
		hop_tick(l);
	lane_flush(l);
	return busy;
}

int lane_run(void *lane)
{
	struct lane *l = lane;
	struct engine *e = l->engine;
	const uint64_t per_ms = e->hz / 1000;
	uint32_t phase, trial = 0;
	unsigned int empty = 0;
	bool busy;

	prctl(PR_SET_TIMERSLACK, 1000, 0, 0, 0);
	l->now = rte_rdtsc();
	while ((phase = __atomic_load_n(&e->phase, __ATOMIC_ACQUIRE)) != PHASE_END) {
		const uint64_t before = l->now;

		l->phase = phase;
		l->now = rte_rdtsc();
		l->now_ms = (l->now - e->tsc_start) / per_ms;
		if (unlikely(e->trial != trial)) {
			trial = e->trial;
			l->stats.max_gap = 0;
		} else if (l->now - before > l->stats.max_gap) {
			l->stats.max_gap = l->now - before;
		}
		l->stats.rounds++;
		busy = lane_round(l);
		__atomic_store_n(&l->followed, phase, __ATOMIC_RELEASE);
		if (busy) {
			l->stats.busy_rounds++;
			empty = 0;
		} else {
			wait_idle(phase, ++empty);
		}
	}
	return 0;
}

bool lane_all_follow(const struct engine *e)
{
	for (unsigned int i = 0; i < e->nb_lanes; i++)
		if (__atomic_load_n(&e->lane[i]->followed, __ATOMIC_ACQUIRE) != e->phase)
			return false;
	return true;
}

// --- created and freed by the main lcore ---------------------------------------------------------

static void random_fill(void *ctx, void *buf, size_t len)
{
	if (RAND_bytes(buf, (int)len) != 1)
		abort();
}

struct lane *lane_create(struct engine *e, unsigned int lcore)
{
	struct lane *l =
		rte_zmalloc_socket("lane", sizeof(*l), 0, (int)rte_lcore_to_socket_id(lcore));

	if (l == NULL)
		return NULL;
	l->engine = e;
	l->lcore = lcore;
	l->number = e->nb_lanes;
	csprng_init(&l->rng, random_fill, NULL);
	return l;
}

void lane_free(struct lane *l)
{
	if (l == NULL)
		return;
	for (unsigned int side = 0; side < SIDE_NB; side++)
		rte_pktmbuf_free_bulk(l->out[side].m, l->out[side].n);
	links_free(l);
	receiver_free(l->receiver);
	sender_free(l->sender);
	rte_free(l);
}
