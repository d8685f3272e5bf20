// SPDX-License-Identifier: BSD-3-Clause
// Makes results, sums them up, and names the limits that they may show.
#include "measure/result.h"

#include <stdlib.h>

struct result *result_create(void)
{
	struct result *r = calloc(1, sizeof(*r));
	bool ok = r != NULL;

	for (unsigned int dir = 0; ok && dir < DIRECTION_NB; dir++) {
		r->direction[dir].latency = malloc(sizeof(*r->direction[dir].latency));
		ok = r->direction[dir].latency != NULL;
		if (ok)
			hist_reset(r->direction[dir].latency);
	}
	if (!ok) {
		result_free(r);
		return NULL;
	}
	return r;
}

void result_free(struct result *r)
{
	if (r == NULL)
		return;
	for (unsigned int dir = 0; dir < DIRECTION_NB; dir++)
		free(r->direction[dir].latency);
	free(r);
}

const char *result_bound_name(enum result_bound b)
{
	static const char *const names[RESULT_NB_BOUNDS] = {
#define X(id, name, text) name,
		RESULT_BOUNDS(X)
#undef X
	};

	return b < RESULT_NB_BOUNDS ? names[b] : "?";
}

const char *result_bound_text(enum result_bound b)
{
	static const char *const texts[RESULT_NB_BOUNDS] = {
#define X(id, name, text) text,
		RESULT_BOUNDS(X)
#undef X
	};

	return b < RESULT_NB_BOUNDS ? texts[b] : "?";
}

struct result_totals result_totals(const struct result *r)
{
	struct result_totals t = {0};

	for (unsigned int d = 0; d < DIRECTION_NB; d++) {
		if (!r->direction[d].used ||
			(d == DIRECTION_UP && r->direction[DIRECTION_ECHO].used))
			continue;
		t.sent += r->direction[d].sent;
		t.received += r->direction[d].delivered;
	}
	if (r->seconds > 0) {
		t.send_pps = (double)t.sent / r->seconds;
		t.recv_pps = (double)t.received / r->seconds;
	}
	return t;
}

double result_latency_us(const struct result *r, enum direction d, double quantile)
{
	const struct hist *h = r->direction[d].latency;

	if (h == NULL || h->n == 0 || r->hz <= 0)
		return -1;
	return (double)hist_quantile(h, quantile) / r->hz * 1e6;
}
