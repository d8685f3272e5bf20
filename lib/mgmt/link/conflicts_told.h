// SPDX-License-Identifier: BSD-3-Clause
// Address conflicts in the log: a warning for each address once a minute. Management lcore only.
// Private to lib/mgmt.
#pragma once

#include "dp.h"

#define MGMT_CONFLICTS 64 // addresses that are told of in a minute
#define MGMT_CONFLICTS_MS 60000

// Zeros: nothing has been told yet.
struct mgmt_conflicts {
	struct {
		struct addr addr;
		uint64_t until_ms; // it is not told again
	} told[MGMT_CONFLICTS];
};

// Logs what workers have noted. now_ms: of a monotonic clock.
void mgmt_conflicts_tick(struct mgmt_conflicts *m, struct dp *d, uint64_t now_ms);
// Whether an address is to be told of now; it then is told.
bool mgmt_conflicts_tell(struct mgmt_conflicts *m, const struct addr *a, uint64_t now_ms);
