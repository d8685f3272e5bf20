// SPDX-License-Identifier: BSD-3-Clause
// Additions to the public part of lib/turn for the redirection of clients to other servers
// (lib/features/meson.build).
#pragma once

#include <stdint.h>

#include "turn_alternates.h"

struct turn_alternate_config {
	struct turn_alternate *servers;
	uint32_t nb_servers; // 0 = no client is sent away, unless the box drains
	// Load from which on clients are sent away. 0 = this load does not count; all clients are
	// sent away if both are 0.
	uint32_t allocations;
	uint32_t datagrams; // relayed in a second
	struct turn_alternate *drain; // for a drain, in place of servers
	uint32_t nb_drain; // 0 = servers are for drains, too
};

#define ALTERNATES_FIELDS(X) X(struct turn_alternate_config, alternate)
#define ALTERNATES_INTAKE(X) X(struct turn_alternates, alternates, turn_alternates_free)
