// SPDX-License-Identifier: BSD-3-Clause
// A ring of the newest events.
#include "events/recent.h"

void recent_put(struct recent *t, const struct record *r)
{
	t->ring[t->nb++ % RECENT] = *r;
}

unsigned int recent_take(const struct recent *t, uint64_t *next, uint64_t *lost, struct record *out,
	unsigned int max)
{
	const uint64_t first = t->nb > RECENT ? t->nb - RECENT : 0;
	unsigned int n = 0;

	if (*next < first) {
		*lost += first - *next;
		*next = first;
	}
	if (*next > t->nb)
		*next = t->nb;
	while (*next < t->nb && n < max)
		out[n++] = t->ring[(*next)++ % RECENT];
	return n;
}
