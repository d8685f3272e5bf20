// SPDX-License-Identifier: BSD-3-Clause
// Copies parts of a running configuration for adopt.c. Private to lib/conf.
#pragma once

#include <stddef.h>

struct conf;
struct turn_config;

// Copies n entries into a new array with room for one more. NULL without memory.
void *copies_of(const void *list, size_t n, size_t size);
// Returns a copy of running, with its own copies of the arrays whose entries may change, and
// without the lists gathered from its ports. conf_merge_free frees it. NULL without memory.
struct conf *copies_arrays(const struct conf *running);
// Moves the lists gathered from ports from *src to *dst, and frees those that *dst had.
void copies_take_gathered(struct turn_config *dst, struct turn_config *src);
