// SPDX-License-Identifier: BSD-3-Clause
// Open-loop rate control: packet k is due at start + k / rate, independent of the packets before
// it. Over days the error is at most a tick and a thousandth of a packet. A packet that is later
// than the slack is given up and counted as missed; it is never sent in a burst with others. PURE;
// time is an argument in TSC ticks. One owner.
#pragma once

#include <stdint.h>

#define PACER_FLOOD 0.0 // as a rate: a packet is always due

// The owner may read done, missed and slack. Packets due until now = done + those late within the
// slack.
struct pacer {
	uint64_t start; // tick of the last change of rate
	uint64_t per_tick; // rate as 64-bit fraction of a packet per tick; 0 = flood
	uint64_t phase; // 64-bit fraction of a packet that was due at start already
	uint64_t base; // packets due up to and including start
	uint64_t slack; // most packets that may be overdue
	uint64_t done; // packets sent or given up since pacer_start
	uint64_t missed; // packets given up; done includes them
};

// Starts at `now`. rate: packets per second, 0 < rate < hz; a rate that is not above 0 is a flood.
// hz: ticks per second, not 0. now may lie in the future (lanes that start one after the other):
// nothing is due before it, and packet 0 is due then. slack_s: a packet is given up only when it is
// more than that many seconds late; the latest packet due is never given up.
void pacer_start(struct pacer *p, uint64_t now, uint64_t hz, double rate, double slack_s);
// Changes the rate from now on. The phase, the counts and overdue packets carry on. The change
// itself makes no packet due: after a flood the first packet is due after 1 / rate.
void pacer_set_rate(struct pacer *p, uint64_t now, uint64_t hz, double rate, double slack_s);
// Returns the number of packets to send now, at most max. Packets overdue beyond the slack are
// given up first. The caller sends exactly this number (or counts those that the port refused). A
// `now` before that of an earlier call does no harm.
uint32_t pacer_due(struct pacer *p, uint64_t now, uint32_t max);
