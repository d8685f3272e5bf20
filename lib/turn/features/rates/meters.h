// SPDX-License-Identifier: BSD-3-Clause
// The meters of a shard for the rest of lib/turn; turn_meter.h is the public part.
//
// An allocation draws from its own account in its meter. For its user and its realm the worker has
// a party each, which draws from an account that all workers share. A datagram takes from the
// credit that all three have drawn. They draw small parts of a burst, so the rate hardly depends on
// how a user's datagrams are distributed over workers.
#pragma once

#include "turn_config.h"
#include "turn_meter.h"
#include "turn_usage.h"

struct turn_plan;
struct turn_view;

// The time of which the rate may come at once.
static inline uint32_t meters_burst_ms(const struct turn_rates *r)
{
	return r->burst_ms != 0 ? r->burst_ms : TURN_BURST_MS;
}

// Makes meters follow the current policy of the shard, if it has meters.
void meters_policy(struct turn_shard *s);
// Replaces a plan to relay a datagram by a drop if a rate is exceeded. The shard has meters.
void meters_judge(struct turn_shard *s, const struct turn_view *v, struct turn_plan *plan);
#define METERS_NO_ACCOUNT UINT32_MAX // no limit
#define METERS_SHUT (UINT32_MAX - 1) // nothing passes: there is no room to count it
// The accounts (accounts.h) of the user and the realm of a live allocation, at the current rates.
// They are open until its meter is released, or the rates change. The shard has meters.
void meters_accounts(struct turn_shard *s, uint32_t slot, uint32_t account[2]);
// Releases a slot's meter; its allocation ends. The shard has meters.
void meters_end(struct turn_shard *s, uint32_t slot);
// Counts a datagram that was dropped by a rate, if the shard has meters; loss is TURN_LOSS_KEPT or
// above.
void meters_lost(struct turn_shard *s, uint32_t slot, unsigned int loss);
// Adds these counts to an allocation's usage.
void meters_usage(const struct turn_shard *s, uint32_t slot, struct turn_usage *out);
