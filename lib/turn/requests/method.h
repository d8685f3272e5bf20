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

// Parts of Allocate that others need, too. The first appends the attributes of a success response,
// both for a new allocation and for a retransmitted request. The second counts one allocation of
// the requester, or returns the quota that is reached. The third makes the allocation on a slot
// that is allocated and counted in the quota; if it fails, both are released. The fourth is what
// EVEN-PORT, if the request has it, asks for.
void method_put_allocation(struct turn_request *r, uint32_t slot);
enum turn_refusal method_count_one(const struct turn_request *r, struct quota_ref *ref);
enum turn_refusal method_allocate_on(
	struct turn_request *r, uint32_t slot, uint32_t lifetime_s, const struct quota_ref *quota);
enum relay_ports_kind method_ports_kind(const struct turn_request *r);
