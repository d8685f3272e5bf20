// SPDX-License-Identifier: BSD-3-Clause
// What a sleep takes of the CPU, as a thread learns it from its own: 3 to 5 us on iron, 10 to 50 in
// a virtual machine. Pure arithmetic: the caller reads the clock of its CPU time.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define SLEEP_COST_SHARE 4 // the last cost is one part in so many of the average
#define SLEEP_COST_FIRST 16 // sleeps: from 5 us to within 5 % of ten times as much
#define SLEEP_COST_EVERY 64 // sleeps, from then on

// One thread's. Set ns to what is believed at first.
struct sleep_cost {
	uint64_t ns; // CPU time of a sleep: a moving average
	uint32_t sleeps; // how many have been asked about
};

// To be asked before every sleep: whether to measure the CPU time that it takes, which is a system
// call before it and one behind it. The first sleeps are measured each, then few.
static inline bool sleep_cost_measures(struct sleep_cost *c)
{
	const uint32_t n = c->sleeps++;

	return n < SLEEP_COST_FIRST || n % SLEEP_COST_EVERY == 0;
}

// To be told of each that was measured. Some measurements are far off, in both directions:
// interrupts and the hypervisor add to them, and a sleep whose time is over before it has begun
// costs next to nothing. A minimum would believe the latter, a plain average the former. So none
// counts for more than twice the average: one alone moves it by a quarter at most, and those that
// follow take it back.
static inline void sleep_cost_learn(struct sleep_cost *c, uint64_t ns)
{
	const uint64_t most = 2 * c->ns + 1000; // from 0, it could not rise again

	c->ns = (c->ns * (SLEEP_COST_SHARE - 1) + (ns < most ? ns : most)) / SLEEP_COST_SHARE;
}
