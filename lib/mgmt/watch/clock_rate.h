// SPDX-License-Identifier: BSD-3-Clause
// Checks whether the workers' clock runs as fast as the system's. It is the CPU's time stamp
// counter, whose rate was measured at the start: a virtual machine that moves to another host may
// get a different rate. Private to lib/mgmt.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Zero-initialised.
struct clock_rate {
	bool begun;
	uint64_t worker_ms, system_ms; // start of the window
	unsigned int wrong; // wrong windows in a row
	int off; // thousandths that the workers' clock is too fast, or below 0 too slow; 0 = right
};

// Takes a reading of both clocks: the workers' (dp_clock_ms) and CLOCK_MONOTONIC, in milliseconds.
// True if `off` has changed. PURE.
bool clock_rate_look(struct clock_rate *c, uint64_t worker_ms, uint64_t system_ms);
// Does so for the process, and logs changes. Management lcore.
void clock_rate_tick(uint64_t worker_ms, uint64_t system_ms);
// True if the rate is wrong now; buf (len bytes) then has a warning. Any thread.
bool clock_rate_trouble(char *buf, size_t len);
