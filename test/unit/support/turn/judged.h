// SPDX-License-Identifier: BSD-3-Clause
// The effect of a reload on the allocations of a fixture's shard: a new policy, and a walk that
// judges by it.
#pragma once

#include "turn_fixture.h"

// Makes a policy of c, which replaces `before` in the shard, and has all allocations judged by the
// differences (lower: by quotas, too). Sets *ended to the number of ended allocations. The caller
// owns the policy; `before` is not used afterwards.
struct turn_policy *judged_by(struct fixture *f, const struct turn_policy *before,
	const struct turn_config *c, bool lower, unsigned int *ended);
