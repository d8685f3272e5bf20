// SPDX-License-Identifier: BSD-3-Clause
// What the configuration says of sending clients to other servers.
#pragma once

#include <stdint.h>

#include "turn_alternates.h"

struct conf_alternate {
	struct turn_alternate *servers;
	uint32_t nb_servers; // 0 = nobody is sent away, unless the box drains
	// From which load on; where both are 0, all clients are. 0 = whatever there is of it.
	uint32_t allocations;
	uint32_t datagrams; // relayed in a second
};
