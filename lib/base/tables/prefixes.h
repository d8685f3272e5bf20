// SPDX-License-Identifier: BSD-3-Clause
// Finds the longest of many prefixes that contains an address, by one binary search: the prefixes
// are converted to ranges that do not overlap. Pure; any thread, because only prefixes_make writes.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "addr.h"

struct prefixes;

// A prefix and its value. Host bits are ignored.
struct prefixes_entry {
	struct prefix prefix;
	uint8_t value; // below 255; the lowest value wins if a prefix is listed more than once
};

// The result of a search.
struct prefixes_hit {
	uint8_t len; // length of the prefix, in the 128-bit form
	uint8_t value;
};

// Makes the ranges of nb prefixes; sorts the list. Takes n log n steps. The caller frees the result
// with prefixes_free; NULL without memory.
struct prefixes *prefixes_make(struct prefixes_entry *list, uint32_t nb);
// NULL is fine.
void prefixes_free(struct prefixes *p);
// Finds the longest prefix that contains *a. An IPv6 prefix never contains an IPv4 address, not
// even ::/0. False if no prefix contains it.
bool prefixes_find(const struct prefixes *p, const struct addr *a, struct prefixes_hit *hit);
// True if both give the same result for every address.
bool prefixes_same(const struct prefixes *a, const struct prefixes *b);
