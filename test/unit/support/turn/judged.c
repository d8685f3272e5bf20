// SPDX-License-Identifier: BSD-3-Clause
// Replaces a policy and judges allocations by the new one.
#include "judged.h"

#include "turn_judge.h"
#include "turn_listing.h"

struct turn_policy *judged_by(struct fixture *f, const struct turn_policy *before,
	const struct turn_config *c, bool lower, unsigned int *ended)
{
	static const uint8_t key[32];
	struct turn_policy *after = turn_policy_create(c, f->crypto, key);
	struct turn_judge *j;
	struct turn_walk w = {0};

	assert_non_null(after);
	j = turn_judge_create(before, after, f->quota, lower);
	assert_non_null(j);
	turn_shard_set_policy(f->shard, after);
	*ended = 0;
	for (unsigned int calls = 0; !w.end; calls++) {
		assert_true(calls < 1000);
		*ended += turn_judge_walk(f->shard, j, &w, 1000);
	}
	turn_judge_free(j);
	return after;
}
