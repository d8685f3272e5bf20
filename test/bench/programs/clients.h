// SPDX-License-Identifier: BSD-3-Clause
// The clients of all flows. They allocate, and permit traffic to their peers, with a client's
// requests, given to the shard one by one. Ends the process when a request is refused.
#pragma once

#include "box.h"

// Makes an allocation for each flow, with a channel (or, for indications, a permission) for its
// peer, and stores the relayed transport addresses in the flows. Prints progress on stderr when
// there are many.
void clients_make(struct box *b, const struct options *o);
// Starts the workers' clock again after a pause. Refreshes all allocations if that is due, and
// makes sure that the gateway is known, so that neither happens during a measurement.
void clients_wake(struct box *b, const struct options *o);
