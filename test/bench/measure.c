// SPDX-License-Identifier: BSD-3-Clause
#include "measure.h"

#include <stdlib.h>

#include "clients.h"
#include "replay.h"

#define CHUNK 64 // rounds between looks at the clock and the gateway
#define PACKET_CHUNK 16384 // likewise where packets are counted
#define WARM_UP_S 0.1
#define PARTS_MAX (1u << 20)

// What the port counts when nothing stands between its two ends.
static uint64_t forwarded, lost;

static void forward_round(struct box *b)
{
	struct rte_mbuf *m[DP_BURST];
	const uint16_t n = port_rx(b->port, 0, m, DP_BURST);
	const uint16_t sent = port_tx(b->port, 0, m, n);

	forwarded += sent;
	lost += n - sent;
}

__attribute__((noinline, noclone)) void measure_rounds(struct box *b, bool forward, uint64_t n)
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
	uint32_t *cycles; // of each chunk
	uint32_t nb;
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
	const double per_packet = (double)rte_get_tsc_hz() / 1e9 * CHUNK * DP_BURST;

	qsort(parts->cycles, parts->nb, sizeof(parts->cycles[0]), cycles_cmp);
	return parts->nb > 0 ? parts->cycles[parts->nb / 2] / per_packet : 0;
}

// --- a run --------------------------------------------------------------------------------------

// Media that went through so far, once nothing more comes in and all counters have been checked.
static uint64_t through(struct box *b, const struct options *o, bool forward)
{
	struct dp_stats s;

	port_replay_limit(b->port, 0);
	if (!forward)
		box_round(b); // takes the gateway's answer, if one waits
	s = box_check(b, o);
	return forward ? forwarded : s.rx - s.consumed;
}

// Exactly so many packets, in full bursts; returns the cycles it took.
static uint64_t run_packets(struct box *b, bool forward, uint64_t packets)
{
	uint64_t left = packets / DP_BURST, start = rte_rdtsc();

	port_replay_limit(b->port, packets);
	while (left > 0) {
		const uint64_t n = RTE_MIN(left, (uint64_t)PACKET_CHUNK);

		measure_rounds(b, forward, n);
		box_answer(b);
		left -= n;
	}
	start = rte_rdtsc() - start;
	// a round that took the gateway's answer has left its burst behind
	for (unsigned int i = 0; !forward && i <= packets / DP_BURST / PACKET_CHUNK; i++)
		box_round(b);
	return start;
}

// By time, after a warm-up.
static uint64_t run_seconds(
	struct box *b, const struct options *o, bool forward, double seconds, struct measurement *m)
{
	struct parts parts = {.cycles = malloc(PARTS_MAX * sizeof(*parts.cycles))};
	uint64_t before, cycles;

	if (parts.cycles == NULL)
		box_die("no memory for the parts of a run");
	port_replay_limit(b->port, PORT_REPLAY_FOREVER);
	run_for(b, forward, WARM_UP_S, &parts);
	before = through(b, o, forward);
	port_replay_limit(b->port, PORT_REPLAY_FOREVER);
	cycles = run_for(b, forward, seconds, &parts);
	m->packets = through(b, o, forward) - before;
	m->rounds = (uint64_t)parts.nb * CHUNK;
	m->ns_median = median_ns(&parts);
	free(parts.cycles);
	return cycles;
}

struct measurement measure_run(
	struct box *b, const struct options *o, bool forward, double seconds, uint64_t packets)
{
	struct measurement m = {.rounds = packets / DP_BURST};
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
