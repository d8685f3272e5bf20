// SPDX-License-Identifier: BSD-3-Clause
// Workers on their own lcores. A NIC drops frames that a worker does not fetch, and a worker drops
// packets that another one does not take from its ring. Nothing may be dropped here, so a queue
// waits instead.
#include "lcores.h"
#include "datapath.h"
#include "dp_burst.h"
#include "replay.h"
#include "path/worker.h"

#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_pause.h>
#include <rte_ring.h>

#define CHUNK 64 // rounds between looks at the clock and the gateway
#define HAND_CHUNK 8 // rounds between looks at the rings to other workers
#define HAND_ROOM (HAND_CHUNK * DP_BURST + 64) // most entries they put there, messages included

// Written by all runners.
struct gates {
	unsigned int waiting; // runners that have yet to begin
	unsigned int receiving;
};

// A worker's lcore.
struct runner {
	struct box *b;
	struct worker *w;
	struct gates *gates;
	uint16_t queue;
	bool handover;
	unsigned int waiting_most; // in all rings to which it hands packets
	uint64_t length; // TSC cycles to run
	uint64_t cycles; // that it actually ran
	uint64_t held; // part of these cycles without its queue
} __rte_cache_aligned;

static void rounds(struct runner *r, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		worker_round(r->w, rte_rdtsc() - r->b->tsc_lost);
}

// True if every other worker's ring has room for the next rounds, and not too many buffers wait in
// the rings.
static bool room(const struct runner *r)
{
	unsigned int waiting = 0;

	for (unsigned int target = 0; target < r->b->workers; target++) {
		if (target == r->queue)
			continue;
		if (rte_ring_free_count(r->w->out[target]) < HAND_ROOM)
			return false;
		waiting += rte_ring_count(r->w->out[target]);
	}
	return waiting <= r->waiting_most;
}

static void hand_rounds(struct runner *r)
{
	const bool receives = room(r);
	const uint64_t start = rte_rdtsc();

	port_replay_limit(r->b->port, r->queue, receives ? PORT_REPLAY_FOREVER : 0);
	rounds(r, HAND_CHUNK);
	if (!receives)
		r->held += rte_rdtsc() - start;
}

// Ends when no worker receives any more and this one has all packets handed to it.
static void hand_end(struct runner *r)
{
	bool empty = false;

	port_replay_limit(r->b->port, r->queue, 0);
	__atomic_sub_fetch(&r->gates->receiving, 1, __ATOMIC_RELEASE);
	while (__atomic_load_n(&r->gates->receiving, __ATOMIC_ACQUIRE) > 0) {
		rounds(r, 1);
		box_answer_worker(r->b, r->queue);
	}
	while (!empty) {
		rounds(r, 1);
		empty = true;
		for (unsigned int sender = 0; sender < r->b->workers; sender++)
			empty &= rte_ring_empty(r->w->in[sender]) == 1;
	}
}

static int runner_main(void *arg)
{
	struct runner *r = arg;
	uint64_t start;

	__atomic_sub_fetch(&r->gates->waiting, 1, __ATOMIC_RELAXED);
	while (__atomic_load_n(&r->gates->waiting, __ATOMIC_RELAXED) > 0)
		rte_pause();
	start = rte_rdtsc();
	while (rte_rdtsc() - start < r->length) {
		if (r->handover)
			for (unsigned int i = 0; i < CHUNK / HAND_CHUNK; i++)
				hand_rounds(r);
		else
			rounds(r, CHUNK);
		box_answer_worker(r->b, r->queue);
	}
	r->cycles = rte_rdtsc() - start;
	if (r->handover)
		hand_end(r);
	return 0;
}

uint64_t lcores_run(struct box *b, const struct options *o, double seconds, double *held)
{
	const uint64_t length = (uint64_t)(seconds * (double)rte_get_tsc_hz());
	struct gates gates = {b->workers, b->workers};
	struct runner r[OPTIONS_WORKERS_MAX];
	uint64_t cycles = 0, all = 0, without = 0;

	// the first worker runs on this lcore, last of all
	for (unsigned int w = b->workers; w-- > 0;) {
		const unsigned int lcore = box_lcore(o, w);

		r[w] = (struct runner){.b = b,
			.w = b->dp->worker[w],
			.gates = &gates,
			.queue = (uint16_t)w,
			.handover = o->handover,
			.waiting_most = o->mbufs / 2 / b->workers,
			.length = length};
		if (w == 0)
			runner_main(&r[w]);
		else if (rte_eal_remote_launch(runner_main, &r[w], lcore) != 0)
			box_die("lcore %u is busy", lcore);
	}
	rte_eal_mp_wait_lcore();
	for (unsigned int w = 0; w < b->workers; w++) {
		cycles = RTE_MAX(cycles, r[w].cycles);
		all += r[w].cycles;
		without += r[w].held;
	}
	*held = all > 0 ? (double)without / (double)all : 0;
	return cycles;
}
