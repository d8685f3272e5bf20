// SPDX-License-Identifier: BSD-3-Clause
// Logs what becomes of addresses that the network has given. Private to lib/mgmt. Management lcore.
#pragma once

#include "dp.h"

struct mgmt_addresses {
	struct dp_learned told[DP_LEARNED_MAX]; // what the log knows
	struct dp_learned seen[DP_LEARNED_MAX]; // by the last tick
	unsigned int same[DP_LEARNED_MAX]; // ticks for which that has been so
	unsigned int nb;
};

// Logs the addresses that the data path has started with.
void mgmt_addresses_start(struct mgmt_addresses *a, const struct dp *d);
// Logs what has changed since, once it has stayed so for a second.
void mgmt_addresses_tick(struct mgmt_addresses *a, const struct dp *d);
