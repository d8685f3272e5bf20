// SPDX-License-Identifier: BSD-3-Clause
// How many allocations each user and each source has: one table for all workers.
#pragma once

#include <stddef.h>
#include <stdint.h>

struct hash_key;
struct turn_quota;

// For up to capacity allocations; counters are exact over all workers.
struct turn_quota *turn_quota_create(uint32_t capacity, const struct hash_key *key);
void turn_quota_free(struct turn_quota *q);
// Bytes of memory that turn_quota_create takes.
size_t turn_quota_size(uint32_t capacity);
// Allocations now counted.
uint32_t turn_quota_total(const struct turn_quota *q);
