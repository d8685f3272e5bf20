// SPDX-License-Identifier: BSD-3-Clause
// The kernel's clocks, each as one number. The name of a function has the clock and the unit.
// Reading CPU time is a system call; the other clocks are read in the vdso. Any thread, and signal
// handlers.
//
// No pure library includes this header: its functions take the time as an argument.
#pragma once

#include <stdint.h>
#include <time.h>

// Reads any clock of the kernel, in nanoseconds.
static inline uint64_t clock_read_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

// CLOCK_MONOTONIC: time since the machine started, without suspended time.
static inline uint64_t clock_monotonic_ns(void)
{
	return clock_read_ns(CLOCK_MONOTONIC);
}

static inline uint64_t clock_monotonic_ms(void)
{
	return clock_read_ns(CLOCK_MONOTONIC) / 1000000;
}

static inline uint64_t clock_monotonic_s(void)
{
	return clock_read_ns(CLOCK_MONOTONIC) / 1000000000;
}

// CLOCK_BOOTTIME: time since the machine started, with suspended time.
static inline uint64_t clock_boot_ms(void)
{
	return clock_read_ns(CLOCK_BOOTTIME) / 1000000;
}

// CLOCK_REALTIME: the time of day, since 1970 in UTC. It jumps when it is set.
static inline uint64_t clock_wall_ns(void)
{
	return clock_read_ns(CLOCK_REALTIME);
}

static inline uint64_t clock_wall_ms(void)
{
	return clock_read_ns(CLOCK_REALTIME) / 1000000;
}

static inline uint64_t clock_wall_s(void)
{
	return clock_read_ns(CLOCK_REALTIME) / 1000000000;
}

// CLOCK_THREAD_CPUTIME_ID: CPU time that the calling thread has used.
static inline uint64_t clock_cpu_ns(void)
{
	return clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
}

// Converts milliseconds to the C library's struct.
static inline struct timespec clock_timespec(uint64_t ms)
{
	return (struct timespec){
		.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000};
}
