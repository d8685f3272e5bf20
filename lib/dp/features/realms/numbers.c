// SPDX-License-Identifier: BSD-3-Clause
// The further realms by number and by name, and the traffic of each.
#include "features/realms/numbers.h"

#include <errno.h>
#include <stdio.h>

#include "conf.h"
#include "datapath.h"
#include "turn_tallies.h"

bool realms_open(struct dp *d)
{
	d->tallies = turn_tallies_create(d->nb_workers);
	return d->tallies != NULL;
}

void realms_close(struct dp *d)
{
	turn_tallies_free(d->tallies);
}

bool realms_number(
	struct dp *d, const struct conf *c, const struct conf *before, char *error, size_t len)
{
	struct turn_config t = c->turn; // realms still points to c's own array
	const int rc = turn_tallies_number(
		d->tallies, &t, before != NULL ? &before->turn : NULL, d->quota);

	if (rc != 0)
		snprintf(error, len, "realms: %s",
			rc == EAGAIN
				? "too many were added and removed: try again when allocations of "
				  "removed realms have ended"
				: "no memory left for the counters of another realm");
	return rc == 0;
}

const char *realms_name(const struct dp *d, unsigned int number)
{
	return turn_tallies_name(d->tallies, (uint8_t)number);
}

void realms_add(const struct dp *d, unsigned int number, int worker, struct turn_tally *out)
{
	for (unsigned int w = 0; w < d->nb_workers; w++)
		if (worker < 0 || w == (unsigned int)worker)
			turn_tallies_add(d->tallies, w, (uint8_t)number, out);
}
