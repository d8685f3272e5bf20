// SPDX-License-Identifier: BSD-3-Clause
// Timed and counted runs: the worker relaying, or the same port and frames received and sent
// straight away.
#pragma once

#include "box.h"

struct measurement {
	uint64_t packets, rounds;
	double seconds;
	// Of the parts of a run, of 2,048 packets for each worker that the lcore runs, the one in
	// the middle: what a stretch of somebody else's work on the core does not move. 0 with
	// several lcores.
	double ns_median;
};

// False for what only a single lcore can do: workers on lcores of their own neither count packets
// nor forward.
bool measure_possible(const struct options *o, bool forward, bool by_packets);

// n rounds of full bursts, of every worker in turn: what instructions are counted of.
void measure_rounds(struct box *b, bool forward, uint64_t n);

// Runs for the seconds or packets (the one that is not 0), the former after a warm-up. Ends the
// process when a packet was lost or the box is not as it was (box_check).
struct measurement measure_run(
	struct box *b, const struct options *o, bool forward, double seconds, uint64_t packets);
