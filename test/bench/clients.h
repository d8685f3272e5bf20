// SPDX-License-Identifier: BSD-3-Clause
// The clients of all flows: they allocate, and open the way to their peers, with the requests that
// a client sends, given to the shard one by one. Ends the process when one is refused.
#pragma once

#include "box.h"

// An allocation for each flow with a channel (or, for indications, a permission) for its peer; the
// relays are noted in the flows. Progress on stderr when there are many.
void clients_make(struct box *b, const struct options *o);
// The worker's clock goes on after a pause: prolongs all of them when it is time to, and makes sure
// that the gateway is known, so that neither happens in the midst of what comes now.
void clients_wake(struct box *b, const struct options *o);
