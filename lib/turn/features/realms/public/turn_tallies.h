// SPDX-License-Identifier: BSD-3-Clause
// Numbers and names of the further realms, and the totals of their allocations. One object for all
// workers, as long as the process lives: realms come and go by reloads, and their numbers and names
// outlast them, because later events refer to them.
#pragma once

#include <stdbool.h>

#include "turn_config.h"
#include "turn_usage.h"

struct turn_quota;
struct turn_tallies;

// Takes a few KB without further realms. NULL without memory.
struct turn_tallies *turn_tallies_create(unsigned int workers);
void turn_tallies_free(struct turn_tallies *t); // accepts NULL

// Gives each of c->realms its number: the one that the name has or had before, else a free one. A
// number is free if no realm of `before`, the configuration in use, has it, and q counts no
// allocation of it. before is NULL at the start. Returns 0, ENOMEM, or EAGAIN: too many realms have
// come and gone, and their allocations still live. Management thread, before the policy is made
// from c.
int turn_tallies_number(struct turn_tallies *t, struct turn_config *c,
	const struct turn_config *before, const struct turn_quota *q);
// The name of the realm that has this number, or had it last; NULL if no realm had it. It lives as
// long as t. Any thread.
const char *turn_tallies_name(const struct turn_tallies *t, uint8_t number);

// Adds to *out the totals of a realm on a worker. Number 0, the first realm's, returns those of
// realms whose number another realm has now. Any thread.
void turn_tallies_add(
	const struct turn_tallies *t, unsigned int worker, uint8_t number, struct turn_tally *out);
