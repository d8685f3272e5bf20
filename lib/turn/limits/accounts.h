// SPDX-License-Identifier: BSD-3-Clause
// The accounts of users and realms: one table for all workers, any thread. A worker opens the
// account of a user with the first allocation of the user that relays there, and closes it with the
// last. turn_meter.h has what others may know.
//
// Who can exhaust it, with whose address, and who suffers? Only clients with an allocation have an
// account, and there is room for the users of as many as can exist. An account that nobody has open
// stays as it is until its place is needed, the oldest first: who ends all his allocations and
// makes others owes what he has owed. Where a stripe of the table is full of open ones, which takes
// a distribution that does not occur, who comes later shares one account of that stripe.
#pragma once

#include "limits/account.h"
#include "turn_meter.h"

#define ACCOUNTS_REALMS 256 // places beside those for users

// Opens the account of a user or realm, a keyed hash. It takes a short lock, as quota_take does.
uint32_t accounts_open(struct turn_accounts *a, uint64_t party_hash);
void accounts_close(struct turn_accounts *a, uint32_t account);
// What is due of an account, by leg and kind.
_Atomic uint64_t (*accounts_due(struct turn_accounts *a, uint32_t account))[ACCOUNT_KINDS];
// What a realm of this name is called in accounts_open.
uint64_t accounts_realm(const struct turn_accounts *a, const char *realm);
