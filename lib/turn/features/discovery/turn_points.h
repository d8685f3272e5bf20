// SPDX-License-Identifier: BSD-3-Clause
// Additions to lib/turn for NAT behaviour discovery (lib/features/meson.build).
#pragma once

#include "features/discovery/discovery.h"

#define DISCOVERY_POLICY_ADDRESSES(X) X(struct discovery, discovery, discovery_make, discovery_free)
#define DISCOVERY_REQUEST(X) X(struct discovery_ask, discovery)
#define DISCOVERY_BINDING(X) X(discovery_knows, discovery_read, discovery_put, discovery_plan)
