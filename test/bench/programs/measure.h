// SPDX-License-Identifier: BSD-3-Clause
// Timed and counted runs. Either the workers relay, or the port receives the frames and sends them
// straight away (forward).
#pragma once

#include "box.h"

struct measurement {
	uint64_t packets, rounds;
	double seconds;
	// A run has parts of 2,048 packets for each worker that the lcore runs. This is the time
	// per packet of the median part, which other programs on the core do not affect. 0 with
	// several lcores.
	double ns_median;
	// The share of time in which a worker received nothing because another one, to which it
	// would have handed packets, had not kept up. 0 without hand-over, and with one lcore.
	double held;
};

// True if such a run is possible: workers on their own lcores neither count packets nor forward.
bool measure_possible(const struct options *o, bool forward, bool by_packets);

// Runs n rounds of full bursts, of every worker in turn. Instructions are counted over it.
void measure_rounds(struct box *b, bool forward, uint64_t n);

// Runs for `seconds`, after a warm-up, or for `packets` packets (the one that is not 0). Ends the
// process when a packet was lost or the box has changed (box_check).
struct measurement measure_run(
	struct box *b, const struct options *o, bool forward, double seconds, uint64_t packets);
