// SPDX-License-Identifier: BSD-3-Clause
// Applies a new policy to live allocations: ends those that it would not have granted. The
// management side makes a judge; workers read it.
#pragma once

#include <stdbool.h>

struct turn_blocks;
struct turn_judge;
struct turn_policy;
struct turn_quota;
struct turn_shard;
struct turn_walk;

// Work of a call, in units of turn_listing.h: with a call per millisecond a hundred thousand
// allocations with three permissions each are judged, and ended, within a second.
#define TURN_JUDGE_BUDGET 2048

// Compares two policies, realm by realm. It checks addresses of clients, users, peers and the
// realms of listeners, each only if the new policy may be stricter. If lower is true, it checks
// quotas instead: allocations above limits.allocations, per-user or per-source of after, or above
// the limits of their realm, are ended until the limits are met. Both policies are only read here.
// NULL without memory.
struct turn_judge *turn_judge_create(const struct turn_policy *before,
	const struct turn_policy *after, const struct turn_quota *quota, bool lower);
// Makes a judge that only ends the allocations that a set blocks. The set must outlive it. NULL
// without memory.
struct turn_judge *turn_judge_blocks(const struct turn_blocks *blocks);
// True if there is anything to judge. Quotas count only if one is lower in after than in before. (A
// user above an unchanged quota got there by an earlier policy.)
bool turn_judge_needed(const struct turn_judge *j);
// Accepts NULL.
void turn_judge_free(struct turn_judge *j);
// Checks some more allocations against the policy that the shard has now, and ends those that it
// denies, at most max; returns their number. Works like turn_listing_kill (turn_listing.h). If
// neither clients, users nor peers must be judged, the walk ends at once. Worker's lcore.
unsigned int turn_judge_walk(
	struct turn_shard *s, const struct turn_judge *j, struct turn_walk *w, unsigned int max);
