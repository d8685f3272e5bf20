// SPDX-License-Identifier: BSD-3-Clause
// The accounts of users and realms: one table for all workers, any thread. A worker opens a user's
// account when the first of the user's allocations on this worker relays data, and closes it when
// the last of them ends. turn_meter.h is the public part.
//
// Who can exhaust the table, from which addresses, and which clients suffer? Only clients with an
// allocation have an account, and there is room for the users of all possible allocations. A closed
// account keeps its debt until its entry is reused; the account that was closed first is reused
// first. So a user who ends all allocations and makes new ones still has the old debt. If a stripe
// of the table is full of open accounts, later parties share one account of that stripe. No
// realistic distribution of hashes fills a stripe.
#pragma once

#include "features/rates/account.h"
#include "turn_meter.h"

#define ACCOUNTS_REALMS 256 // entries in addition to those for users

// Opens the account of a user or realm, given by a keyed hash. It takes a short lock, as quota_take
// does.
uint32_t accounts_open(struct turn_accounts *a, uint64_t party_hash);
void accounts_close(struct turn_accounts *a, uint32_t account);
// The `due` words of an account, by leg and kind.
_Atomic uint64_t (*accounts_due(struct turn_accounts *a, uint32_t account))[ACCOUNT_KINDS];
// The hash of the realm with this name, for accounts_open.
uint64_t accounts_realm(const struct turn_accounts *a, const char *realm);
