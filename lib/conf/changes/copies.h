// SPDX-License-Identifier: BSD-3-Clause
// adopt.c: copies of a running configuration. Private to lib/conf.
#pragma once

#include <stddef.h>

struct conf;
struct turn_config;

// A copy of n entries, with room for one more; NULL without memory.
void *copies_of(const void *list, size_t n, size_t size);
// Running once more, with arrays of its own where something in their entries may change, and
// nothing gathered from its ports. conf_merge_free frees it. NULL without memory.
struct conf *copies_arrays(const struct conf *running);
// Gives *to what was gathered from the ports of *from, and frees what *to had of it.
void copies_take_gathered(struct turn_config *dst, struct turn_config *src);
