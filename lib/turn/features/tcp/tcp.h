// SPDX-License-Identifier: BSD-3-Clause
// Helpers of RFC 6062 requests for the handlers in method.h. turn_tcp.h has the functions that
// lib/dp calls.
#pragma once

#include "requests/request.h"

// True if the client came over TCP or TLS (RFC 6062 5.1, 5.4).
bool tcp_is_client(const struct turn_request *r);
// True if an Allocate for TCP has no attributes that are only allowed for UDP (RFC 6062 5.1).
bool tcp_may_ask(const struct turn_request *r);
// Allocates a relayed transport address for TCP of a family. The order is to listen.
enum turn_refusal tcp_allocate(struct turn_request *r, bool is_v4, uint32_t lifetime_s);
// Handles a Refresh with another access token than the allocation has: the order is to use that
// token from now on.
void tcp_rekey(struct turn_request *r);
// True if an order can have this outcome, enum turn_answer.
bool tcp_may_end(const struct turn_order *o, unsigned int answer);
