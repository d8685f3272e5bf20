// SPDX-License-Identifier: BSD-3-Clause
// Allocates that reserve a port, and those that name a reserved one (RFC 8656 7.2).
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "turn_refusal.h"

struct turn_request;

// Check 5 of RFC 8656 7.2, for a request with a RESERVATION-TOKEN.
enum turn_refusal reserve_wanted(const struct turn_request *r);
// Makes the allocation on the port that the token of a request names, or hands the request to the
// worker of that port.
enum turn_refusal reserve_named(struct turn_request *r, uint32_t lifetime_s);
// Makes the allocation on an even port of this family, and reserves the odd one above it. Both
// count in the quota.
enum turn_refusal reserve_pair(struct turn_request *r, bool is_v4, uint32_t lifetime_s);
// Call it when a request with EVEN-PORT has made an allocation, before its answer is made.
void reserve_made(const struct turn_request *r, uint32_t slot);
// Appends the token of such an allocation to the answer.
void reserve_put(struct turn_request *r, uint32_t slot);
