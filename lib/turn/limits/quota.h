// SPDX-License-Identifier: BSD-3-Clause
// Counts allocations by user and source; turn_quota.h is the public part.
#pragma once

#include "turn_config.h"
#include "turn_quota.h"
#include "turn_refusal.h"

struct quota_ref {
	uint64_t user; // opaque, except for the realm's number: quota_realm
	uint64_t source; // quota_source of the client
};

// The number of the realm is in 8 bits of the user half. They are not among those that distinguish
// users of a stripe, so users of two realms are different users even if their names are equal.
#define QUOTA_REALM_SHIFT 40

static inline uint8_t quota_realm(uint64_t user)
{
	return TURN_REALM_NUMBERS > 1 ? (uint8_t)(user >> QUOTA_REALM_SHIFT) : 0;
}

// Replaces the realm's number in a user half, since a restart may renumber a realm.
static inline uint64_t quota_renumber(uint64_t user, uint8_t realm)
{
	return (user & ~(UINT64_C(0xff) << QUOTA_REALM_SHIFT)) |
		(uint64_t)realm << QUOTA_REALM_SHIFT;
}

// Counts one allocation of a user of l->realm from a source address (for IPv6 from its /64, and
// from its /48, which may have eight times as many) and writes to *ref the data for quota_give. If
// a limit of l is reached, nothing is counted, and the result names the limit: of the user, of the
// source or its /48, of the realm or of all, in this order. (A full table counts as a limit, too:
// see quota.c.) Exact with any number of workers at once; any thread.
enum turn_refusal quota_take(struct turn_quota *q, const struct turn_limits *l,
	const uint8_t ident[TURN_IDENT_LEN], const struct addr *source, struct quota_ref *ref);
// quota_take() for an allocation that was counted as *ref by a table with the same key.
enum turn_refusal quota_take_ref(
	struct turn_quota *q, const struct turn_limits *l, const struct quota_ref *ref);
// True if quota_take would count a user of the realm of ref and this source as ref.
bool quota_is(const struct turn_quota *q, const uint8_t ident[TURN_IDENT_LEN],
	const struct addr *source, const struct quota_ref *ref);
// Takes back one count of quota_take.
void quota_give(struct turn_quota *q, const struct quota_ref *ref);
// Checks for counts above a limit of l: of the user, of the source or its /48, of the realm, or of
// all, in this order. TURN_GRANTED if no limit is exceeded.
enum turn_refusal quota_over(
	struct turn_quota *q, const struct turn_limits *l, const struct quota_ref *ref);
// The user half of a ref for a user of a realm.
uint64_t quota_user(const struct turn_quota *q, uint8_t realm, const uint8_t ident[TURN_IDENT_LEN]);
// The source half of a ref: 64 bits that identify an IPv4 address or the /64 of an IPv6 one. It
// follows from the address alone, so it need not be stored.
uint64_t quota_source(const struct addr *source);
