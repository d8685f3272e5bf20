// SPDX-License-Identifier: BSD-3-Clause
// Additions to struct turn_config for NAT behaviour discovery (RFC 5780)
// (lib/features/meson.build).
#pragma once

#include <stdint.h>

#include "addr.h"

struct turn_discovery {
	struct addr *addresses; // our addresses that take part
	uint32_t nb; // two per family; 0 = discovery is off
	uint16_t ports[2];
};

#define DISCOVERY_FIELDS(X) X(struct turn_discovery, discovery)
