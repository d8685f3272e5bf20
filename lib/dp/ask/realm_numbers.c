// SPDX-License-Identifier: BSD-3-Clause
// Realms by number and by name, and the traffic of each.
#include <string.h>

#include "conf.h"
#include "datapath.h"
#include "dp.h"
#include "dp_features.h"
#include "dp_realms.h"

const char *dp_realm_name(const struct dp *d, unsigned int number)
{
	const char *name = number == 0 ? d->conf->turn.first.name : NULL;

#define X(name_of, add)                                \
	if (number > 0 && number < TURN_REALM_NUMBERS) \
		name = name_of(d, number);
	DP_REALM_NUMBERS(X)
#undef X
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
#define X(name_of, add) add(d, number, worker, out);
	DP_REALM_NUMBERS(X)
#undef X
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
