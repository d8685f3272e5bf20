// SPDX-License-Identifier: BSD-3-Clause
// The names of the limits that a result may show.
#include "measure/result.h"

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
