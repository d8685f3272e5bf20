// SPDX-License-Identifier: BSD-3-Clause
// The blocked users as lib/turn reads them; turn_blocks.h is the public part.
#pragma once

#include "turn_blocks.h"
#include "turn_config.h"

struct turn_request;
struct turn_shard;

// True if the user who has signed a request is blocked. Costs hashes if some user is blocked.
bool blocks_signer(const struct turn_request *r);
// True if the client or the user of a live allocation is blocked.
bool blocks_slot(const struct turn_blocks *b, const struct turn_shard *s, uint32_t slot);
// Steps that blocks_slot takes for the allocation of an access token.
uint32_t blocks_keys(const struct turn_blocks *b);
