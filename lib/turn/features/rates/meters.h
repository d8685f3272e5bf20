// SPDX-License-Identifier: BSD-3-Clause
// The meters of a shard for the rest of lib/turn; turn_meter.h is the public part.
//
// An allocation draws credit from its own account, in its meter. The worker has a party for the
// user and one for the realm; both draw from accounts that all workers share. A datagram takes from
// all three credits. They are small parts of a burst, so the rate hardly depends on how a user's
// datagrams are distributed over workers.
#pragma once

#include "turn_config.h"
#include "turn_meter.h"
#include "turn_usage.h"

struct turn_plan;
struct turn_view;

// Length of a burst in milliseconds at the rate.
static inline uint32_t meters_burst_ms(const struct turn_rates *r)
{
	return r->burst_ms != 0 ? r->burst_ms : TURN_BURST_MS;
}

// Makes meters follow the current policy of the shard, if it has meters.
void meters_policy(struct turn_shard *s);
// Replaces a plan to relay a datagram by a drop if a rate is exceeded. The shard has meters.
void meters_judge(struct turn_shard *s, const struct turn_view *v, struct turn_plan *plan);
#define METERS_NO_ACCOUNT UINT32_MAX // no limit
#define METERS_SHUT (UINT32_MAX - 1) // nothing passes: there was no room for an account
// The accounts (accounts.h) of the user and the realm of a live allocation, at the current rates.
// They are open until its meter is released, or the rates change. The shard has meters.
void meters_accounts(struct turn_shard *s, uint32_t slot, uint32_t account[2]);
// Releases a slot's meter; its allocation ends. The shard has meters.
void meters_end(struct turn_shard *s, uint32_t slot);
// Counts a datagram that was dropped by a rate, if the shard has meters; loss is TURN_LOSS_KEPT or
// above.
void meters_lost(struct turn_shard *s, uint32_t slot, unsigned int loss);
// Writes the counts of meters_lost to an allocation's usage.
void meters_usage(const struct turn_shard *s, uint32_t slot, struct turn_usage *out);
