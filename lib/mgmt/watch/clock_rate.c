// SPDX-License-Identifier: BSD-3-Clause
// Compares the workers' clock with the system's in windows of ten seconds. A single window proves
// nothing: this thread may lose its CPU between the two readings, and a machine may be stopped for
// a while.
#include "watch/clock_rate.h"

#include <stdio.h>
#include <stdlib.h>

#include "log/log.h"

#define WINDOW_MS 10000
#define WINDOWS 3 // wrong windows in a row before the log says so
#define WRONG 20 // thousandths; NTP slews by less
#define RIGHT 10

static struct clock_rate clocks; // used by the management lcore
static int told; // clocks.off, for any thread

// Thousandths by which the workers' clock is faster.
static int faster_by(int64_t worker_ms, int64_t system_ms)
{
	const int64_t drift = (worker_ms - system_ms) * 1000 / system_ms;

	return (int)(drift > 1000 ? 1000 : drift < -1000 ? -1000 : drift);
}

bool clock_rate_look(struct clock_rate *c, uint64_t worker_ms, uint64_t system_ms)
{
	const uint64_t took_ms = system_ms - c->system_ms;
	const bool was = c->off != 0;
	int drift;

	if (c->begun && took_ms < WINDOW_MS)
		return false;
	drift = c->begun ? faster_by((int64_t)(worker_ms - c->worker_ms), (int64_t)took_ms) : 0;
	c->begun = true;
	c->worker_ms = worker_ms;
	c->system_ms = system_ms;
	if (abs(drift) <= RIGHT)
		c->wrong = 0;
	else if (abs(drift) >= WRONG)
		c->wrong++;
	if (c->wrong == 0)
		c->off = 0;
	else if (c->wrong >= WINDOWS && abs(drift) >= WRONG)
		c->off = drift;
	return (c->off != 0) != was;
}

static void describe_drift(int off, char *buf, size_t len)
{
	snprintf(buf, len,
		"the workers' clock (TSC) is %d.%d %% too %s: lifetimes and rates are wrong by "
		"that; a restart measures it again (has this machine moved to another host?)",
		abs(off) / 10, abs(off) % 10, off > 0 ? "fast" : "slow");
}

void clock_rate_tick(uint64_t worker_ms, uint64_t system_ms)
{
	char text[200];

	if (clock_rate_look(&clocks, worker_ms, system_ms)) {
		describe_drift(clocks.off, text, sizeof(text));
		if (clocks.off != 0)
			LOG(WORKERS, WARNING, "%s", text);
		else
			LOG(WORKERS, NOTICE, "the workers' clock is right again");
	}
	__atomic_store_n(&told, clocks.off, __ATOMIC_RELAXED);
}

bool clock_rate_trouble(char *buf, size_t len)
{
	const int off = __atomic_load_n(&told, __ATOMIC_RELAXED);

	if (off != 0)
		describe_drift(off, buf, len);
	return off != 0;
}
