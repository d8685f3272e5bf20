// SPDX-License-Identifier: BSD-3-Clause
// New allocations that clients must make on other servers.
#pragma once

#include "requests/request.h"

// The reason to send a new allocation to another server, or TURN_GRANTED. The requester is
// authenticated. reserved: the request is for a port that this server has reserved for it.
enum turn_refusal alternates_refusal(const struct turn_request *r, bool reserved);
// Appends to an answer with code 300 the servers to try (RFC 8489 10).
void alternates_put(struct turn_request *r);
