// SPDX-License-Identifier: BSD-3-Clause
// Counting allocations by user and source; turn_quota.h has what others may know.
#pragma once

#include "turn_config.h"
#include "turn_quota.h"

struct quota_ref {
	uint64_t user, source; // opaque
};

// Counts one allocation of a user from a source address (IPv6: its /64). False (nothing counted)
// when a limit of l is reached. Exact with any number of workers at once.
bool quota_take(struct turn_quota *q, const struct turn_limits *l,
	const uint8_t ident[TURN_IDENT_LEN], const struct addr *source, struct quota_ref *ref);
// Whether quota_take would count a user and a source as ref.
bool quota_is(const struct turn_quota *q, const uint8_t ident[TURN_IDENT_LEN],
	const struct addr *source, const struct quota_ref *ref);
void quota_give(struct turn_quota *q, const struct quota_ref *ref);
// The source half of a ref, which the address tells at any time.
uint64_t quota_source(const struct turn_quota *q, const struct addr *source);
