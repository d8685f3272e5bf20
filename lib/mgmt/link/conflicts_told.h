// SPDX-License-Identifier: BSD-3-Clause
// Logs address conflicts: a warning for each address once a minute. Management lcore only. Private
// to lib/mgmt.
#pragma once

#include "dp.h"

#define MGMT_CONFLICTS 64 // at most this number of addresses is logged in a minute
#define MGMT_CONFLICTS_MS 60000

// Zero-initialised: nothing was logged yet.
struct mgmt_conflicts {
	struct {
		struct addr addr;
		uint64_t until_ms; // not logged again until then
	} told[MGMT_CONFLICTS];
};

// Logs conflicts that workers have noted. now_ms: monotonic.
void mgmt_conflicts_tick(struct mgmt_conflicts *m, struct dp *d, uint64_t now_ms);
// True if a conflict about the address should be logged now. Then it counts as logged.
bool mgmt_conflicts_tell(struct mgmt_conflicts *m, const struct addr *a, uint64_t now_ms);
