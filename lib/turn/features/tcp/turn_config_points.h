// SPDX-License-Identifier: BSD-3-Clause
// Additions to the public part of lib/turn for TCP to peers (RFC 6062) (lib/features/meson.build).
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "rates/bucket.h"
#include "turn_order.h"

// TCP allocations.
struct turn_tcp {
	bool enabled;
	uint16_t ports_lo, ports_hi; // of relayed transport addresses
	uint32_t connections, per_user, per_allocation; // limits of concurrent connections to peers
	struct limit connects; // Connect requests of a user
	uint32_t timeout_s; // for a Connect, and for a connection that no client binds
	uint32_t buffer; // bytes buffered per direction of each connection
};

#define TCP_FIELDS(X) X(struct turn_tcp, tcp)
#define TCP_TCP_PORTS(X) X(tcp.enabled, tcp.ports_lo, tcp.ports_hi, "relay.tcp.ports")
#define TCP_SIDE(X) X(struct turn_order, order)
