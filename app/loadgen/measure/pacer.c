// SPDX-License-Identifier: BSD-3-Clause
// Open-loop rate control in 128-bit fixed point.
#include "measure/pacer.h"

// Returns the packets due since p->start, in 64.64 fixed point. p->per_tick is off by at most 2^-64
// of a packet: that makes one packet in two centuries.
static inline unsigned __int128 due_since(const struct pacer *p, uint64_t now)
{
	return (unsigned __int128)(now - p->start) * p->per_tick + p->phase;
}

static void set_speed(struct pacer *p, uint64_t hz, double rate, double slack_s)
{
	const double per_tick = rate / (double)hz * 0x1p64;
	const double slack = rate * slack_s;

	if (!(rate > 0)) {
		p->per_tick = 0;
		p->slack = 0;
		return;
	}
	p->per_tick = per_tick < 0x1p64 ? (uint64_t)per_tick : UINT64_MAX;
	if ((double)p->per_tick < per_tick && p->per_tick != UINT64_MAX)
		p->per_tick++; // rounded up: a packet due exactly at a tick is due then, not later
	p->slack = slack < 0x1p62 ? (slack > 0 ? (uint64_t)slack : 0) + 1 : 1ull << 62;
}

void pacer_start(struct pacer *p, uint64_t now, uint64_t hz, double rate, double slack_s)
{
	*p = (struct pacer){.start = now, .base = 1};
	set_speed(p, hz, rate, slack_s);
}

void pacer_set_rate(struct pacer *p, uint64_t now, uint64_t hz, double rate, double slack_s)
{
	if ((int64_t)(now - p->start) >= 0) {
		const unsigned __int128 due = due_since(p, now);

		p->base = p->per_tick != 0 ? p->base + (uint64_t)(due >> 64) : p->done;
		p->phase = p->per_tick != 0 ? (uint64_t)due : 0;
		p->start = now;
	}
	set_speed(p, hz, rate, slack_s);
}

uint32_t pacer_due(struct pacer *p, uint64_t now, uint32_t max)
{
	uint64_t due;

	if ((int64_t)(now - p->start) < 0)
		return 0;
	if (p->per_tick == 0) {
		p->done += max;
		return max;
	}
	due = p->base + (uint64_t)(due_since(p, now) >> 64) - p->done;
	if ((int64_t)due <= 0)
		return 0;
	if (due > p->slack) {
		p->missed += due - p->slack;
		p->done += due - p->slack;
		due = p->slack;
	}
	if (due > max)
		due = max;
	p->done += due;
	return (uint32_t)due;
}
