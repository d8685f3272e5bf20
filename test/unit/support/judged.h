// SPDX-License-Identifier: BSD-3-Clause
// What a reload does to the allocations of a fixture's shard: another policy, and a judge that
// walks.
#pragma once

#include "turn_fixture.h"

// Makes a policy of c, gives it to the shard in the place of `before`, and has all allocations
// judged by what is another then (lower: by quotas). *ended gets how many have ended. The policy is
// the caller's; `before` is not used any more.
struct turn_policy *judged_by(struct fixture *f, const struct turn_policy *before,
	const struct turn_config *c, bool lower, unsigned int *ended);
