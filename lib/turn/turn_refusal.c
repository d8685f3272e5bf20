// SPDX-License-Identifier: BSD-3-Clause
// The table of reasons for which requests are refused.
#include "turn_refusal.h"

#include <stddef.h>

static const struct turn_refusal_info refusals[TURN_REFUSAL_END] = {
#define X(id, code, name, phrase, text, advice) [id] = {code, name, phrase, text, advice},
	TURN_REFUSALS(X)
#undef X
};

const struct turn_refusal_info *turn_refusal_info(unsigned int refusal)
{
	return refusal != TURN_GRANTED && refusal < TURN_REFUSAL_END ? &refusals[refusal] : NULL;
}
