// SPDX-License-Identifier: BSD-3-Clause
// TCP allocations: the rules of RFC 6062 for Allocate, Connect and ConnectionBind. turn_tcp.h has
// the functions that lib/dp calls.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "turn_refusal.h"

struct turn_plan;
struct turn_request;

// Refuses an Allocate for TCP whose client did not come over TCP or TLS, or that has attributes
// which are only allowed for UDP (RFC 6062 5.1).
enum turn_refusal tcp_may_ask(const struct turn_request *r);
// Allocates a relayed transport address for TCP of a family. The order is to listen.
enum turn_refusal tcp_allocate(struct turn_request *r, bool is_v4, uint32_t lifetime_s);
// Handlers (requests/method.h). When granted, the request has an order.
enum turn_refusal method_connect(struct turn_request *r);
enum turn_refusal method_connection_bind(struct turn_request *r);
// Handles a Refresh with another access token than the allocation has, before it gets that token:
// the order is to use that token from now on.
void tcp_refreshed(struct turn_request *r);
// Signs the success response of a request with an order, and after it the answers for the other
// outcomes. Returns TURN_GRANTED, or TURN_REFUSED_INTERNAL if there is no answer.
enum turn_refusal tcp_answer(struct turn_request *r, struct turn_plan *plan);
