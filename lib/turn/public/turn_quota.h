// SPDX-License-Identifier: BSD-3-Clause
// Counts the allocations of each user, each source and each realm: one table for all workers, any
// thread.
#pragma once

#include <stddef.h>
#include <stdint.h>

struct hash_key;
struct turn_quota;

// Makes a table for up to capacity allocations; the counts are exact over all workers. *key is
// copied. NULL without memory.
struct turn_quota *turn_quota_create(uint32_t capacity, const struct hash_key *key);
void turn_quota_free(struct turn_quota *q);
// Bytes of memory that turn_quota_create takes.
size_t turn_quota_size(uint32_t capacity);
// Number of allocations counted now.
uint32_t turn_quota_total(const struct turn_quota *q);
// Number of allocations, including reservations, of the realm with this number; 0 for the first
// realm.
uint32_t turn_quota_realm(const struct turn_quota *q, uint8_t realm);
