// SPDX-License-Identifier: BSD-3-Clause
// REST secrets that are not in the configuration: the program that looks up users sends them.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "turn_lookup.h"

struct lookup_secrets;
struct turn_policy;
struct turn_shard;

// Bytes of memory for the secrets of all realms, zeroed.
size_t lookup_secrets_size(void);
// The secrets of a realm: *nb of them, which change between two rounds only.
const char *const *lookup_secrets_of(
	const struct turn_shard *s, const struct turn_policy *p, uint32_t *nb);
// Forgets the secrets of realms that the policy does not have any more.
void lookup_secrets_policy(struct turn_shard *s);
