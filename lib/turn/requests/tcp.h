// SPDX-License-Identifier: BSD-3-Clause
// What requests of RFC 6062 need beside their handlers (method.h). turn_tcp.h has what lib/dp
// calls.
#pragma once

#include "requests/request.h"

// Whether the client came by TCP or TLS (RFC 6062 5.1, 5.4).
bool tcp_is_client(const struct turn_request *r);
// Whether an Allocate for TCP has nothing that only those for UDP may have (RFC 6062 5.1).
bool tcp_may_ask(const struct turn_request *r);
// Allocates a relayed transport address of TCP, of a family that is wanted. The order is to listen.
enum turn_refusal tcp_allocate(struct turn_request *r, bool is_v4, uint32_t lifetime_s);
// A Refresh with another access token than the allocation has: the order is to take that one from
// now on.
void tcp_rekey(struct turn_request *r);
// Whether an order may have an outcome, enum turn_answer.
bool tcp_may_end(const struct turn_order *o, unsigned int answer);
