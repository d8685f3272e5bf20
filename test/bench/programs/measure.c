// SPDX-License-Identifier: BSD-3-Clause
// Timed and counted runs of the worker, or of the port alone.
#include "clients.h"
#include "datapath.h"
#include "dp_burst.h"
#include "lcores.h"
#include "measure.h"
#include "replay.h"
#include "path/worker.h"

#include <stdlib.h>

#include <rte_cycles.h>

#define CHUNK 64 // rounds between looks at the clock and the gateway
#define PACKET_CHUNK 16384 // chunk of runs that count packets, of all workers together
#define WARM_UP_S 0.1
#define PARTS_MAX (1u << 20)
// No other function has this name: valgrind counts in it. Clang clones no external function.
#if __has_attribute(noclone)
#define WHOLE __attribute__((noinline, noclone))
#else
#define WHOLE __attribute__((noinline))
#endif

// Counted by the port when its two ends are connected directly.
static uint64_t forwarded, lost;

static void forward_round(struct box *b)
{
	struct rte_mbuf *m[DP_BURST];

	for (uint16_t q = 0; q < b->workers; q++) {
		const uint16_t n = port_rx(b->port, q, m, DP_BURST);
		const uint16_t sent = port_tx(b->port, q, m, n);

		forwarded += sent;
		lost += n - sent;
	}
}

WHOLE void measure_rounds(struct box *b, bool forward, uint64_t n)
{
	if (forward)
		for (uint64_t i = 0; i < n; i++)
			forward_round(b);
	else
		for (uint64_t i = 0; i < n; i++)
			box_round(b);
}

// --- by time ------------------------------------------------------------------------------------

struct parts {
	uint32_t *cycles; // TSC cycles of each chunk
	uint32_t nb;
	unsigned int per_round; // workers that a round serves
};

static int cycles_cmp(const void *a, const void *b)
{
	const uint32_t l = *(const uint32_t *)a, r = *(const uint32_t *)b;

	return (l > r) - (l < r);
}

// Runs chunks until the time is over; returns the cycles it took.
static uint64_t run_for(struct box *b, bool forward, double seconds, struct parts *parts)
{
	const uint64_t hz = rte_get_tsc_hz(), start = rte_rdtsc();
	const uint64_t end = start + (uint64_t)(seconds * (double)hz);
	uint64_t last = start;

	parts->nb = 0;
	while (last < end) {
		uint64_t now;

		measure_rounds(b, forward, CHUNK);
		box_answer(b);
		now = rte_rdtsc();
		if (parts->nb < PARTS_MAX)
			parts->cycles[parts->nb++] =
				(uint32_t)RTE_MIN(now - last, (uint64_t)UINT32_MAX);
		last = now;
	}
	return last - start;
}

static double median_ns(struct parts *parts)
{
	const double per_packet =
		(double)rte_get_tsc_hz() / 1e9 * CHUNK * DP_BURST * parts->per_round;

	qsort(parts->cycles, parts->nb, sizeof(parts->cycles[0]), cycles_cmp);
	return parts->nb > 0 ? parts->cycles[parts->nb / 2] / per_packet : 0;
}

bool measure_possible(const struct options *o, bool forward, bool by_packets)
{
	return o->workers == 1 || o->one_lcore || (!forward && !by_packets);
}

// --- a run --------------------------------------------------------------------------------------

// Returns the number of media packets relayed, after all output has been received and checked.
static uint64_t through(struct box *b, const struct options *o, bool forward)
{
	struct dp_stats s;

	box_limit(b, 0);
	if (!forward)
		box_drain(b);
	s = box_check(b, o);
	return forward ? forwarded : s.rx - s.consumed;
}

// Runs exactly `packets` packets, in full bursts. Returns the cycles it took.
static uint64_t run_packets(struct box *b, bool forward, uint64_t packets)
{
	const uint64_t rounds = packets / DP_BURST / b->workers, chunk = PACKET_CHUNK / b->workers;
	uint64_t left = rounds, start = rte_rdtsc();

	box_limit(b, packets);
	while (left > 0) {
		const uint64_t n = RTE_MIN(left, chunk);

		measure_rounds(b, forward, n);
		box_answer(b);
		left -= n;
	}
	start = rte_rdtsc() - start;
	// a round that received the gateway's answer has received no burst: make up for it
	for (unsigned int i = 0; !forward && i <= rounds / chunk; i++)
		box_round(b);
	return start;
}

// Runs for a time, after a warm-up.
static uint64_t run_seconds(
	struct box *b, const struct options *o, bool forward, double seconds, struct measurement *m)
{
	struct parts parts = {
		.cycles = malloc(PARTS_MAX * sizeof(*parts.cycles)), .per_round = b->workers};
	const bool alone = b->workers == 1 || o->one_lcore;
	uint64_t before, cycles;

	if (parts.cycles == NULL)
		box_die("no memory for the parts of a run");
	box_limit(b, PORT_REPLAY_FOREVER);
	run_for(b, forward, WARM_UP_S, &parts);
	before = through(b, o, forward);
	box_limit(b, PORT_REPLAY_FOREVER);
	parts.nb = 0;
	cycles = alone ? run_for(b, forward, seconds, &parts) : lcores_run(b, o, seconds, &m->held);
	m->packets = through(b, o, forward) - before;
	m->rounds = (uint64_t)parts.nb * CHUNK;
	m->ns_median = median_ns(&parts);
	free(parts.cycles);
	return cycles;
}

struct measurement measure_run(
	struct box *b, const struct options *o, bool forward, double seconds, uint64_t packets)
{
	struct measurement m = {.rounds = packets / DP_BURST / b->workers};
	uint64_t cycles;

	if (!forward)
		clients_wake(b, o);
	if (packets != 0) {
		const uint64_t before = through(b, o, forward);

		cycles = run_packets(b, forward, packets);
		m.packets = through(b, o, forward) - before;
	} else {
		cycles = run_seconds(b, o, forward, seconds, &m);
	}
	m.seconds = (double)cycles / (double)rte_get_tsc_hz();
	if (!forward)
		box_clock_stop(b);
	if (lost != 0 || m.packets == 0 || (packets != 0 && m.packets != packets))
		box_die("%llu of %llu packets came through", (unsigned long long)m.packets,
			(unsigned long long)(packets != 0 ? packets : m.packets + lost));
	return m;
}
