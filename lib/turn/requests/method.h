// SPDX-License-Identifier: BSD-3-Clause
// The handlers of requests by method.
#pragma once

#include "limits/quota.h"
#include "requests/request.h"

// Each returns the reason of a refusal, or TURN_GRANTED after it has appended the attributes of the
// success response.
enum turn_refusal method_binding(struct turn_request *r);
enum turn_refusal method_allocate(struct turn_request *r);
enum turn_refusal method_refresh(struct turn_request *r);
// permit.c
enum turn_refusal method_create_permission(struct turn_request *r);
enum turn_refusal method_channel_bind(struct turn_request *r);

// The following parts of Allocate have other users, too.
//
// Appends the attributes of a success response, for a new allocation or a retransmitted request.
void method_put_allocation(struct turn_request *r, uint32_t slot);
// Counts one allocation of the requester, or returns the quota that is reached.
enum turn_refusal method_count_one(const struct turn_request *r, struct quota_ref *ref);
// Makes the allocation on a slot that is allocated and counted in the quota. If that fails, slot
// and quota are released.
enum turn_refusal method_allocate_on(
	struct turn_request *r, uint32_t slot, uint32_t lifetime_s, const struct quota_ref *quota);
// The kind of port that the request wants, by its EVEN-PORT, if any.
enum relay_ports_kind method_ports_kind(const struct turn_request *r);
