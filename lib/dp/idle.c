// SPDX-License-Identifier: BSD-3-Clause
#include "idle.h"

#define GAP_SHARE 8 // of the last gap in the average: one in so many
#define GAP_MAX 4 // sleeps; a longer silence is not remembered for longer

struct idle idle_init(uint64_t now, uint64_t per_us, uint32_t sleep_max_us)
{
	return (struct idle){.spin = IDLE_SPIN_US * per_us,
		.sleep_min = (sleep_max_us < IDLE_SLEEP_US ? sleep_max_us : IDLE_SLEEP_US) * per_us,
		.sleep_max = sleep_max_us * per_us,
		.worked = now,
		.gap = GAP_MAX * sleep_max_us * per_us};
}

// What came while the worker slept is taken to have come evenly: as many gaps, all of them alike.
static void see(struct idle *i, uint64_t elapsed, uint64_t datagrams)
{
	const uint64_t nb = datagrams < GAP_SHARE ? datagrams : GAP_SHARE;
	uint64_t gap = elapsed / datagrams;

	if (gap > GAP_MAX * i->sleep_max)
		gap = GAP_MAX * i->sleep_max;
	i->gap = (i->gap * (GAP_SHARE - nb) + gap * nb) / GAP_SHARE;
}

uint64_t idle_after(struct idle *i, uint64_t now, bool busy, uint64_t datagrams)
{
	const uint64_t elapsed = now - i->worked;

	if (busy) {
		i->worked = now;
		if (datagrams > 0)
			see(i, elapsed, datagrams);
		return 0;
	}
	if (i->saving)
		return i->sleep_max;
	if (i->gap < i->spin && elapsed < i->spin)
		return 0;
	if (i->gap < i->sleep_min)
		return i->sleep_min;
	return i->gap < i->sleep_max ? i->gap : i->sleep_max;
}
