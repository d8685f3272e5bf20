// SPDX-License-Identifier: BSD-3-Clause
// events/tallies.c: the numbers and names of realms beside the first, and what their allocations
// have relayed. One for all workers, as long as the process lives: realms come and go by reloads,
// and their numbers and names outlast them, as events tell of them.
#pragma once

#include <stdbool.h>

#include "turn_config.h"
#include "turn_usage.h"

struct turn_quota;
struct turn_tallies;

// Without any realm it is a few KB. NULL without memory.
struct turn_tallies *turn_tallies_create(unsigned int workers);
void turn_tallies_free(struct turn_tallies *t); // NULL is fine

// Gives each of c->realms its number: the one that the name has or had before, else one that is
// free. A number is free when no realm of `before`, the configuration in use, has it, and q counts
// no allocation of it. before is NULL at the start. 0, ENOMEM, or EAGAIN: too many have come and
// gone, and allocations of them are still there. Management thread, before the policy is made of
// c.
int turn_tallies_number(struct turn_tallies *t, struct turn_config *c,
	const struct turn_config *before, const struct turn_quota *q);
// The name of the realm that has this number, or had it last; NULL when there was none. It lives as
// long as t. Any thread.
const char *turn_tallies_name(const struct turn_tallies *t, uint8_t number);

struct turn_tally {
	struct turn_sums sums; // of its allocations, ended ones included
	uint64_t allocations; // live
};

// Adds to *out what a realm has on a worker. Number 0, of the first realm, stands for those that
// have lost their number to another. Any thread.
void turn_tallies_add(
	const struct turn_tallies *t, unsigned int worker, uint8_t number, struct turn_tally *out);
