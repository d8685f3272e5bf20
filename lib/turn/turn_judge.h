// SPDX-License-Identifier: BSD-3-Clause
// What a policy that takes the place of another means for allocations that live: those that it
// would not have let come to be are ended. The management side makes a judge; workers read it.
#pragma once

#include <stdbool.h>

struct turn_judge;
struct turn_policy;
struct turn_quota;
struct turn_shard;
struct turn_walk;

// So much a call does, as turn_listing.h counts: with a call a millisecond a hundred thousand
// allocations with three permissions each are judged, and ended, within a second.
#define TURN_JUDGE_BUDGET 2048

// Compares two policies, realm by realm: by users, by peers and by the realms that listeners serve,
// each only if who was let in before might not be any more. lower: not by these but by quotas:
// allocations past limits.allocations, per-user or per-source of after, or past those of their
// realm, are ended until there are no more than that. Both policies are only read here. NULL
// without memory.
struct turn_judge *turn_judge_create(const struct turn_policy *before,
	const struct turn_policy *after, const struct turn_quota *quota, bool lower);
// Whether there is anything to be judged: by quotas only if one is lower in after than in before.
// (Who is past one all the same came by a policy before these two.)
bool turn_judge_needed(const struct turn_judge *j);
// NULL is fine.
void turn_judge_free(struct turn_judge *j);
// Looks at some more allocations by the policy that the shard has now, and ends those that it
// denies, max at most; returns how many. As turn_listing_kill (turn_listing.h). Without users or
// peers to be judged the walk ends at once. The worker.
unsigned int turn_judge_walk(
	struct turn_shard *s, const struct turn_judge *j, struct turn_walk *w, unsigned int max);
