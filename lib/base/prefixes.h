// SPDX-License-Identifier: BSD-3-Clause
// Finds the longest of many prefixes that holds an address, by one binary search: the prefixes are
// made into ranges that do not overlap. Pure; any thread, as prefixes_make alone writes.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "addr.h"

struct prefixes;

// A prefix and what is kept with it. Host bits do not count.
struct prefixes_entry {
	struct prefix prefix;
	uint8_t value; // below 255; the lowest wins where a prefix is there more than once
};

// What was found.
struct prefixes_hit {
	uint8_t len; // of the prefix, over the 128-bit form
	uint8_t value;
};

// Makes the ranges of nb prefixes; sorts the list. Takes n log n steps. The caller frees the result
// with prefixes_free; NULL without memory.
struct prefixes *prefixes_make(struct prefixes_entry *list, uint32_t nb);
// NULL is fine.
void prefixes_free(struct prefixes *p);
// The longest prefix that holds *a. An IPv6 prefix never holds an IPv4 address, not even ::/0.
// False when there is none.
bool prefixes_find(const struct prefixes *p, const struct addr *a, struct prefixes_hit *hit);
// Whether both find the same for every address.
bool prefixes_same(const struct prefixes *a, const struct prefixes *b);
