// SPDX-License-Identifier: BSD-3-Clause
// New allocations that clients must make on other servers.
#pragma once

#include <stdbool.h>

#include "turn_refusal.h"

struct turn_request;

// The reason to send a new allocation to another server, or TURN_GRANTED. The requester is
// authenticated, and the shard has alternates. reserved: the request is for a port that this server
// has reserved for it.
enum turn_refusal alternates_refuse(const struct turn_request *r, bool reserved);
// Appends to an answer with code 300 the servers to try (RFC 8489 10).
void alternates_put(struct turn_request *r);
