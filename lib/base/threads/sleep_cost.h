// SPDX-License-Identifier: BSD-3-Clause
// The CPU time of a sleep, which a thread measures: 3 to 5 us on bare metal, 10 to 50 us in a
// virtual machine. Pure arithmetic: the caller reads its CPU clock.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define SLEEP_COST_SHARE 4 // weight of the last cost in the average: one part in 4
#define SLEEP_COST_FIRST 16 // sleeps measured first: from 5 us to within 5 % of 50 us
#define SLEEP_COST_EVERY 64 // later, one sleep in this many is measured

// State of one thread. Set ns to the initial estimate.
struct sleep_cost {
	uint64_t ns; // CPU time of a sleep: a moving average
	uint32_t sleeps; // number of sleeps
};

// Call it before every sleep. True if the CPU time of the sleep should be measured, which takes a
// system call before and after it. All of the first sleeps are measured, then few.
static inline bool sleep_cost_measures(struct sleep_cost *c)
{
	const uint32_t n = c->sleeps++;

	return n < SLEEP_COST_FIRST || n % SLEEP_COST_EVERY == 0;
}

// Adds a measurement to the average. Some measurements are far off, in both directions: interrupts
// and the hypervisor add to them, and a sleep whose time is over before it begins costs almost
// nothing. A minimum would follow the low values, a plain average the high ones. So no measurement
// counts for more than twice the average: a single one moves it by at most a quarter, and later
// ones correct it.
static inline void sleep_cost_learn(struct sleep_cost *c, uint64_t ns)
{
	const uint64_t most = 2 * c->ns + 1000; // + 1000: from 0 it could not rise again

	c->ns = (c->ns * (SLEEP_COST_SHARE - 1) + (ns < most ? ns : most)) / SLEEP_COST_SHARE;
}
