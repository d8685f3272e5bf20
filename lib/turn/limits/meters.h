// SPDX-License-Identifier: BSD-3-Clause
// The meters of a shard, as the rest of lib/turn sees them; turn_meter.h has what others may know.
//
// An allocation draws from its own account in its meter. For its user and its realm the worker has
// a party, which draws from an account that all workers share. A datagram takes from what the three
// have drawn. They draw small parts of a burst, which make little of a difference to the rate,
// however a user's datagrams fall on workers.
#pragma once

#include "turn_meter.h"
#include "turn_usage.h"

// Makes meters follow the policy that the shard has now.
void meters_policy(struct turn_shard *s);
#define METERS_NO_ACCOUNT UINT32_MAX // what is not limited
#define METERS_SHUT (UINT32_MAX - 1) // nothing passes: there is no room to count it
// The accounts (limits/accounts.h) of the user and the realm of a live allocation, by the rates
// that hold now. They are open until its meter is given back, or the rates change. The shard has
// meters.
void meters_accounts(struct turn_shard *s, uint32_t slot, uint32_t account[2]);
// Gives a slot's meter back; its allocation ends. The shard has meters.
void meters_end(struct turn_shard *s, uint32_t slot);
// Counts a datagram that a rate has held back; loss is TURN_LOSS_KEPT or above.
void meters_lost(struct turn_shard *s, uint32_t slot, unsigned int loss);
// Adds what was counted so to an allocation's usage.
void meters_usage(const struct turn_shard *s, uint32_t slot, struct turn_usage *out);
