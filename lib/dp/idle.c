// SPDX-License-Identifier: BSD-3-Clause
// How long an idle worker polls and sleeps (idle.h): averages of the gap between two datagrams and
// of the cost of a sleep.
#include "idle.h"

#define GAP_SHARE 8 // the last gap has one part in this number of the average
#define GAP_MAX 4 // in sleeps; a longer silence counts as this long
#define WORTH 10 // a sleep lasts this many times its cost
// in dozes: without a message of a stream thread for this long, a doze is shorter
#define THREADED 4
// the cost at which a sleep should last IDLE_SLEEP_US
#define CHEAP_NS (IDLE_SLEEP_US * 1000 / WORTH)

// Polling spares a datagram the wait for the end of a sleep, at the price of CPU time. Where
// sleeping is costly the CPU is mostly shared, and a longer sleep spreads its cost over more
// datagrams. So there the worker polls only through gaps that are shorter in proportion.
static void weigh_costs(struct idle *i)
{
	const uint64_t cost_ns = i->cost.ns > CHEAP_NS ? i->cost.ns : CHEAP_NS;
	const uint64_t worth = WORTH * cost_ns * i->per_us / 1000;

	const uint64_t doze = worth / WORTH * IDLE_DOZE_WORTH;
	const uint64_t alone = worth / WORTH * IDLE_ALONE_WORTH;

	i->sleep_min = worth < i->worth_max ? worth : i->worth_max;
	i->doze = doze < i->worth_max ? doze : i->worth_max;
	i->alone = alone < i->worth_max ? alone : i->worth_max;
	i->spin = IDLE_SPIN_US * i->per_us * CHEAP_NS / cost_ns;
}

struct idle idle_init(uint64_t now, uint64_t per_us, uint32_t sleep_max_us)
{
	const uint64_t sleep_max = (sleep_max_us > 0 ? sleep_max_us : IDLE_SLEEP_US) * per_us;
	struct idle i = {.per_us = per_us,
		.sleep_max = sleep_max,
		.worth_max = sleep_max_us > 0 ? sleep_max : IDLE_COSTLY_US * per_us,
		.worked = now,
		.batch = sleep_max_us > 0 ? sleep_max : IDLE_BATCH_US * per_us,
		.told = sleep_max_us > 0,
		.gap = GAP_MAX * sleep_max,
		.stream_gap = GAP_MAX * sleep_max,
		.streamed = now,
		.threaded = now,
		.cost.ns = CHEAP_NS};

	weigh_costs(&i);
	return i;
}

// Datagrams that came while the worker slept are assumed to have come evenly, so they count as
// equal gaps.
static void update_average(uint64_t *average, uint64_t elapsed, uint64_t datagrams, uint64_t most)
{
	const uint64_t nb = datagrams < GAP_SHARE ? datagrams : GAP_SHARE;
	uint64_t gap = elapsed / datagrams;

	if (gap > most)
		gap = most;
	*average = (*average * (GAP_SHARE - nb) + gap * nb) / GAP_SHARE;
}

void idle_streamed(struct idle *i, uint64_t now, uint64_t messages, bool threads)
{
	update_average(&i->stream_gap, now - i->streamed, messages, GAP_MAX * i->doze);
	i->streamed = now;
	if (threads)
		i->threaded = now;
}

uint64_t idle_sleep(const struct idle *i)
{
	const uint64_t sleep = i->gap < i->sleep_max ? i->gap : i->sleep_max;

	if (i->saving)
		return i->sleep_max;
	return sleep > i->sleep_min ? sleep : i->sleep_min;
}

// Length of a doze, or 0 for no doze. A stream thread, if one is active, ends the doze. The
// worker's own timer is then only a late fallback, because the first timer of a CPU is expensive
// and more are not.
static uint64_t doze_cycles(const struct idle *i, uint64_t now)
{
	const bool threaded = now - i->threaded < THREADED * i->doze;
	uint64_t worth = threaded ? i->doze : i->alone;

	if (i->saving || !i->wakes || IDLE_STREAMED * i->stream_gap > worth)
		return 0;
	if (threaded && !i->told)
		worth *= IDLE_DOZE_LATE;
	return now - i->streamed < worth ? worth : 0;
}

// Sleeps only if enough datagrams will come in a sleep. A worker that has found nothing for the
// length of a sleep waits.
static uint64_t gather_cycles(const struct idle *i, uint64_t now)
{
	const uint64_t elapsed = now - i->worked;
	const uint64_t enough = i->saving ? 2 : IDLE_GATHER;
	uint64_t sleep = i->saving ? i->batch : i->sleep_min;

	if (i->saving && !i->told && sleep > IDLE_BATCH * i->gap)
		sleep = IDLE_BATCH * i->gap > i->sleep_min ? IDLE_BATCH * i->gap : i->sleep_min;
	return elapsed < sleep && enough * i->gap <= sleep ? sleep : IDLE_WAIT;
}

// True if a doze is better than polling: most datagrams are messages, and a doze does not gather
// more of them than there is room for.
static bool prefers_doze(const struct idle *i)
{
	return i->stream_gap <= IDLE_MOSTLY * i->gap && i->doze <= IDLE_BATCH * i->gap;
}

uint64_t idle_after(struct idle *i, uint64_t now, bool busy, uint64_t datagrams)
{
	const uint64_t elapsed = now - i->worked;
	uint64_t dozes;

	i->dozes = false;
	if (busy) {
		i->worked = now;
		if (datagrams > 0)
			update_average(&i->gap, elapsed, datagrams,
				GAP_MAX * (i->saving && i->wakes ? i->batch : i->sleep_max));
		return 0;
	}
	dozes = doze_cycles(i, now);
	if (!i->saving && i->gap < i->spin && elapsed < i->spin && (dozes == 0 || !prefers_doze(i)))
		return 0;
	i->dozes = dozes > 0;
	if (i->dozes)
		return dozes;
	return i->wakes ? gather_cycles(i, now) : idle_sleep(i);
}

bool idle_measures(struct idle *i)
{
	return sleep_cost_measures(&i->cost);
}

void idle_learn(struct idle *i, uint64_t cost_ns)
{
	sleep_cost_learn(&i->cost, cost_ns);
	weigh_costs(i);
}
