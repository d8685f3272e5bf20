// SPDX-License-Identifier: BSD-3-Clause
// Dual allocations (RFC 8656 5, 7.2 (9), 8.1): one request about relayed transport addresses of
// both families.
#pragma once

#include "relayed/relay_ports.h"
#include "requests/request.h"

#define FAMILY_IPV4 1 // RFC 8489 14.1
#define FAMILY_IPV6 2

// Checks ADDITIONAL-ADDRESS-FAMILY, which the Allocate has, and the attributes that must not
// accompany it.
enum turn_refusal dual_wanted(const struct turn_request *r, enum relay_ports_kind kind);
// Makes an allocation of each family, or only one if the other is not available. r->slot gets the
// first of them.
enum turn_refusal dual_allocate(
	struct turn_request *r, enum relay_ports_kind kind, uint32_t lifetime_s);
// Appends the relayed transport addresses of a client's allocations to an Allocate response, and
// the reason if a requested one is missing.
void dual_put_relayed(struct turn_request *r, uint32_t slot);
// Milliseconds until the earlier one of a client's allocations expires.
uint32_t dual_left(const struct turn_shard *s, uint32_t slot);
// Refreshes the allocation of a family, or both if family is 0; ends them if lifetime_s is 0.
// TURN_REFUSED_PEER_FAMILY if the client has no allocation of that family.
enum turn_refusal dual_refresh(struct turn_request *r, uint8_t family, uint32_t lifetime_s);
