// SPDX-License-Identifier: BSD-3-Clause
// New allocations while the box drains.
#pragma once

#include "requests/request.h"

// Why a new allocation is refused because the box drains; TURN_GRANTED when it does not. The
// requester has proved who they are.
enum turn_refusal alternates_refusal(const struct turn_request *r);
// Appends to the answer of TURN_REFUSED_ALTERNATE the servers that it tells of (RFC 8489 10).
void alternates_put(struct turn_request *r);
