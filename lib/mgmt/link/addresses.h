// SPDX-License-Identifier: BSD-3-Clause
// Logs changes of addresses that the network assigns. Private to lib/mgmt. Management lcore only.
#pragma once

#include "dp.h"

struct mgmt_addresses {
	struct dp_learned told[DP_LEARNED_MAX]; // the state that was logged last
	struct dp_learned seen[DP_LEARNED_MAX]; // the state at the last tick
	unsigned int same[DP_LEARNED_MAX]; // number of ticks for which `seen` has not changed
	unsigned int nb;
};

// Logs the addresses that the data path started with.
void mgmt_addresses_start(struct mgmt_addresses *a, const struct dp *d);
// Logs each change once it has lasted a second.
void mgmt_addresses_tick(struct mgmt_addresses *a, const struct dp *d);
