// SPDX-License-Identifier: BSD-3-Clause
// Names and meanings of the reasons for which allocations end.
#include "turn_event.h"

static const struct {
	const char *name, *text;
} ends[] = {
#define X(id, n, t) [id] = {n, t},
	TURN_ENDS(X)
#undef X
};

const char *turn_end_name(unsigned int end)
{
	return end < TURN_END_END ? ends[end].name : NULL;
}

const char *turn_end_text(unsigned int end)
{
	return end < TURN_END_END ? ends[end].text : NULL;
}
