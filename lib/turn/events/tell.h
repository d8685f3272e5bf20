// SPDX-License-Identifier: BSD-3-Clause
// Makes events (turn_event.h) of what happens to requests, for whoever the shard was made for.
// Nothing here is on the way of a relayed datagram.
#pragma once

#include "requests/request.h"
#include "turn_event.h"

// Counts a refused request, and folds it into an event. A request that has come before, on the same
// 5-tuple with the same transaction id, is counted in stats.refused only.
void tell_refused(struct turn_request *r, enum turn_refusal why);
