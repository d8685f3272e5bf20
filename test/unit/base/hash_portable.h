// SPDX-License-Identifier: BSD-3-Clause
// The hash for machines without AES instructions, on any machine.
#pragma once

#include "hash.h"

uint64_t portable_hash_addr(const struct hash_key *key, const struct addr *a, uint64_t extra);
void portable_hash_addr_wide(
	const struct hash_key *key, const struct addr *a, uint64_t extra, uint8_t out[16]);
