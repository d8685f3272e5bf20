// SPDX-License-Identifier: BSD-3-Clause
// Codes, names and texts of the reasons for which requests are refused.
#include "turn_refusal.h"

#include <stddef.h>

static const struct turn_refusal_info refusals[] = {[TURN_GRANTED] = {0},
#define X(id, answer, n, p, t, a) \
	[id] = {.code = answer, .name = n, .phrase = p, .text = t, .advice = a},
	TURN_REFUSALS(X)
#undef X
};

const struct turn_refusal_info *turn_refusal_info(unsigned int refusal)
{
	return refusal > TURN_GRANTED && refusal < TURN_REFUSAL_END ? &refusals[refusal] : NULL;
}
