// SPDX-License-Identifier: BSD-3-Clause
// New allocations that other servers are to make.
#pragma once

#include "requests/request.h"

// Why a new allocation is refused for another server's sake; TURN_GRANTED when it is not. The
// requester has proved who they are. reserved: it asks for a port that this server holds back for
// it.
enum turn_refusal alternates_refusal(const struct turn_request *r, bool reserved);
// Appends to the answer of a refusal with code 300 the servers that it tells of (RFC 8489 10).
void alternates_put(struct turn_request *r);
