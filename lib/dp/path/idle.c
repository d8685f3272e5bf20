// SPDX-License-Identifier: BSD-3-Clause
// Chooses the state of a worker after each round (idle.h), by averages of the gap between two
// datagrams and of the cost of a sleep. The first row that applies decides:
//
//	after a round                                        state  ends
//	--------------------------------------------------   -----  ------------------------------
//	it found work, or the worker `never` rests           POLL   at once
//	gap and silence are shorter than `spin`, unless      POLL   at once
//	    the next row applies and prefers_doze()
//	messages of streams are frequent; ports can wake     DOZE   stream thread, doze_length()
//	    the worker; not `saving`
//	ports cannot wake the worker                         SLEEP  sleep_length(): about one gap
//	one sleep gathers many datagrams; the last one       SLEEP  gather_length()
//	    came less than that sleep ago
//	otherwise                                            WAIT   port, kick, timer (due.h)
//
// Every state ends in a round. Before DOZE and WAIT the worker shows its state to other threads and
// makes one more round, so that no wake is lost (workers/waiter.h). Where a WAIT is impossible,
// because a port cannot wake the worker or has woken it in vain, the worker sleeps instead.
#include "path/idle.h"

#define GAP_SHARE 8 // the last gap has 1 / GAP_SHARE of the weight in the average
#define GAP_MAX 4 // in units of the longest sleep or doze; a longer gap counts as this long
#define WORTH 10 // a sleep lasts this many times its cost
// in units of a doze: after this time without a message of a stream thread, a doze is shorter
#define THREADED 4
// the cost at which a sleep should last IDLE_SLEEP_US
#define CHEAP_NS (IDLE_SLEEP_US * 1000 / WORTH)

// A datagram that comes while the worker polls need not wait for the end of a sleep, but polling
// takes CPU time. Where sleeps are costly, the CPU is mostly shared. There a longer sleep spreads
// its cost over more datagrams, and the worker polls only through shorter gaps: twice the cost,
// half the gap.
static void update_lengths(struct idle *i)
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

	update_lengths(&i);
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

void idle_count_messages(struct idle *i, uint64_t now, uint64_t messages, bool threads)
{
	update_average(&i->stream_gap, now - i->streamed, messages, GAP_MAX * i->doze);
	i->streamed = now;
	if (threads)
		i->threaded = now;
}

uint64_t idle_sleep_length(const struct idle *i)
{
	const uint64_t sleep = i->gap < i->sleep_max ? i->gap : i->sleep_max;

	if (i->saving)
		return i->sleep_max;
	return sleep > i->sleep_min ? sleep : i->sleep_min;
}

// Length of a doze, or 0 for no doze. If a stream thread is active, that thread ends the doze. The
// worker's own timer is then a fallback, and late on purpose: only the earliest timer of a CPU is
// expensive, because the kernel programs the hardware for it.
static uint64_t doze_length(const struct idle *i, uint64_t now)
{
	const bool threaded = now - i->threaded < THREADED * i->doze;
	uint64_t worth = threaded ? i->doze : i->alone;

	if (i->saving || !i->wakes || IDLE_STREAMED * i->stream_gap > worth)
		return 0;
	if (threaded && !i->told)
		worth *= IDLE_DOZE_LATE;
	return now - i->streamed < worth ? worth : 0;
}

// Length of a sleep that gathers so many datagrams that it costs less than a wake for each of them.
// 0: no sleep gathers enough.
static uint64_t gather_length(const struct idle *i, uint64_t now)
{
	const uint64_t enough = i->saving ? 2 : IDLE_GATHER;
	uint64_t sleep = i->saving ? i->batch : i->sleep_min;

	if (i->saving && !i->told && sleep > IDLE_BATCH * i->gap)
		sleep = IDLE_BATCH * i->gap > i->sleep_min ? IDLE_BATCH * i->gap : i->sleep_min;
	return now - i->worked < sleep && enough * i->gap <= sleep ? sleep : 0;
}

// True if a doze is better than polling: most datagrams are messages, and a doze does not gather
// more of them than there is room for.
static bool prefers_doze(const struct idle *i)
{
	return i->stream_gap <= IDLE_MOSTLY * i->gap && i->doze <= IDLE_BATCH * i->gap;
}

static void count_datagrams(struct idle *i, uint64_t now, uint64_t datagrams)
{
	const uint64_t longest = i->saving && i->wakes ? i->batch : i->sleep_max;

	if (datagrams > 0)
		update_average(&i->gap, now - i->worked, datagrams, GAP_MAX * longest);
	i->worked = now;
}

struct idle_rest idle_choose_rest(struct idle *i, uint64_t now, bool busy, uint64_t datagrams)
{
	bool polls;
	uint64_t doze, gather;

	if (busy)
		count_datagrams(i, now, datagrams);
	if (busy || i->never)
		return (struct idle_rest){.state = IDLE_POLL};
	doze = doze_length(i, now);
	polls = !i->saving && i->gap < i->spin && now - i->worked < i->spin;
	if (polls && (doze == 0 || !prefers_doze(i)))
		return (struct idle_rest){.state = IDLE_POLL};
	if (doze > 0)
		return (struct idle_rest){.state = IDLE_DOZE, .length = doze};
	if (!i->wakes)
		return (struct idle_rest){.state = IDLE_SLEEP, .length = idle_sleep_length(i)};
	gather = gather_length(i, now);
	if (gather > 0)
		return (struct idle_rest){.state = IDLE_SLEEP, .length = gather};
	return (struct idle_rest){.state = IDLE_WAIT};
}

bool idle_measures_cost(struct idle *i)
{
	return sleep_cost_measures(&i->cost);
}

void idle_learn_cost(struct idle *i, uint64_t cost_ns)
{
	sleep_cost_learn(&i->cost, cost_ns);
	update_lengths(i);
}
