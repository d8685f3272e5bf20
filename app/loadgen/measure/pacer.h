// SPDX-License-Identifier: BSD-3-Clause
// Open-loop rate control: packet k is due at start + k / rate, whatever became of the packets
// before it: over days it is right to within a tick and a thousandth of a packet. What is later
// than the slack is given up and counted as missed, never sent in one heap. PURE; time is an
// argument in ticks (of the TSC). One owner.
#pragma once

#include <stdint.h>

#define PACER_FLOOD 0.0 // as a rate: always due

// done, missed and slack may be read by the owner; due so far = done + what waits within the slack.
struct pacer {
	uint64_t start; // tick of the last change of rate
	uint64_t per_tick; // rate as 64-bit fraction of a packet per tick; 0 = flood
	uint64_t phase; // 64-bit fraction of a packet already due at start
	uint64_t base; // packets due up to and including start
	uint64_t slack; // packets that may be overdue
	uint64_t done; // packets sent or given up since pacer_start
	uint64_t missed; // of these, given up
};

// rate in packets per second (0 < rate < hz; anything that is not above 0 is a flood), hz ticks
// per second, not 0. now may lie ahead (lanes that start one after the other): nothing is due
// before, and packet 0 then. slack_s: a packet is given up only when it is more than that many
// seconds late, and the latest one never.
void pacer_start(struct pacer *p, uint64_t now, uint64_t hz, double rate, double slack_s);
// Another rate from now on; the phase, the counts and what is overdue carry on. Nothing becomes due
// by the change: after a flood the first packet is due after 1 / rate.
void pacer_set_rate(struct pacer *p, uint64_t now, uint64_t hz, double rate, double slack_s);
// Packets to send now, at most max. Those overdue beyond the slack are given up first. The caller
// sends exactly this number (or counts what the port refused). A now before an earlier one is
// harmless.
uint32_t pacer_due(struct pacer *p, uint64_t now, uint32_t max);
