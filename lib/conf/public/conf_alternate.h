// SPDX-License-Identifier: BSD-3-Clause
// Configuration of sending clients to other servers.
#pragma once

#include <stdint.h>

#include "turn_alternates.h"

struct conf_alternate {
	struct turn_alternate *servers;
	uint32_t nb_servers; // 0 = no client is sent away, unless the box drains
	// Load from which on clients are sent away. 0 = this load does not count; all clients are
	// sent away if both are 0.
	uint32_t allocations;
	uint32_t datagrams; // relayed in a second
};
