// SPDX-License-Identifier: BSD-3-Clause
// Numbers, names and counts of the further realms (turn_tallies.h), at the points of
// lib/features/meson.build.
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct conf;
struct dp;
struct turn_tallies;
struct turn_tally;

bool realms_open(struct dp *d);
void realms_close(struct dp *d);
// Numbers the realms of c, before a policy is made from it. before is the configuration in use;
// NULL at the start. False after writing to error why there is no number now. Call it while no
// worker reads c.
bool realms_number(
	struct dp *d, const struct conf *c, const struct conf *before, char *error, size_t len);
// Name of the realm that has this number, or had it last; NULL if no realm had it.
const char *realms_name(const struct dp *d, unsigned int number);
// Adds the counts of a realm's allocations on a worker to *out; worker -1: on all workers.
void realms_add(const struct dp *d, unsigned int number, int worker, struct turn_tally *out);
