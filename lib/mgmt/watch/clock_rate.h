// SPDX-License-Identifier: BSD-3-Clause
// Whether the workers' clock runs as fast as the system's. It is the CPU's time stamp counter,
// whose rate was measured at the start: a machine that is moved to another host may get
// another one. Private to lib/mgmt.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// All zero at first.
struct clock_rate {
	bool begun;
	uint64_t worker_ms, system_ms; // where the window has begun
	unsigned int wrong; // windows in a row
	int off; // thousandths that the workers' clock is too fast, or below 0 too slow; 0 = right
};

// Takes a look at both clocks: the workers' (dp_clock_ms) and CLOCK_MONOTONIC, in milliseconds.
// True when what is to be told has changed. PURE.
bool clock_rate_look(struct clock_rate *c, uint64_t worker_ms, uint64_t system_ms);
// Does so for the process, and logs what has changed. Management lcore.
void clock_rate_tick(uint64_t worker_ms, uint64_t system_ms);
// Whether it is wrong now, in the words of a warning in buf (len bytes). Any thread.
bool clock_rate_trouble(char *buf, size_t len);
