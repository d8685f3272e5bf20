// SPDX-License-Identifier: BSD-3-Clause
// Makes results, and names the limits that they may show.
#include "measure/result.h"

#include <stdlib.h>

struct result *result_create(void)
{
	struct result *r = calloc(1, sizeof(*r));
	bool ok = r != NULL;

	for (unsigned int way = 0; ok && way < DIRECTION_NB; way++) {
		r->way[way].latency = malloc(sizeof(*r->way[way].latency));
		ok = r->way[way].latency != NULL;
		if (ok)
			hist_reset(r->way[way].latency);
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
	for (unsigned int way = 0; way < DIRECTION_NB; way++)
		free(r->way[way].latency);
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
