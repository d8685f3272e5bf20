// SPDX-License-Identifier: BSD-3-Clause
// Realms by number and by name, and the traffic of each.
#include "ask/realm_numbers.h"

#include <string.h>

#include "conf.h"
#include "datapath.h"
#include "dp.h"
#include "dp_realms.h"
#include "turn_tallies.h"

int realms_number(struct dp *d, const struct conf *c, const struct conf *before)
{
	struct turn_config t = c->turn; // realms still points to c's own array

	return turn_tallies_number(d->tallies, &t, before != NULL ? &before->turn : NULL, d->quota);
}

const char *dp_realm_name(const struct dp *d, unsigned int number)
{
	const char *name = NULL;

	if (number == 0)
		return d->conf->turn.first.name;
	if (number < TURN_REALM_NUMBERS)
		name = turn_tallies_name(d->tallies, (uint8_t)number);
	return name != NULL ? name : "";
}

bool dp_realm_find(const struct dp *d, const char *name, uint8_t *number)
{
	for (unsigned int i = 0; i < TURN_REALM_NUMBERS; i++) {
		if (strcmp(dp_realm_name(d, i), name) != 0)
			continue;
		*number = (uint8_t)i;
		return true;
	}
	return false;
}

static void add_tally(const struct dp *d, unsigned int number, int worker, struct turn_tally *out)
{
	for (unsigned int w = 0; w < d->nb_workers; w++)
		if (worker < 0 || w == (unsigned int)worker)
			turn_tallies_add(d->tallies, w, (uint8_t)number, out);
}

void dp_realm_stats(
	const struct dp *d, const struct dp_stats *total, unsigned int number, struct dp_realm *out)
{
	struct turn_tally t = {0};

	if (number != 0) {
		add_tally(d, number, -1, &t);
		*out = (struct dp_realm){t.sums, t.allocations};
		return;
	}
	for (unsigned int i = 1; i < TURN_REALM_NUMBERS; i++)
		add_tally(d, i, -1, &t);
	*out = (struct dp_realm){total->turn.sums,
		total->turn.allocations > t.allocations ? total->turn.allocations - t.allocations
							: 0};
}

void dp_realm_sums(
	const struct dp *d, const struct dp_stats *total, int worker, struct turn_sums *out)
{
	struct turn_tally t = {.sums = total->turn.sums};

	for (unsigned int i = 0; i < TURN_REALM_NUMBERS; i++)
		add_tally(d, i, worker, &t);
	*out = t.sums;
}
