// SPDX-License-Identifier: BSD-3-Clause
// Names of what events tell.
#include "turn_event.h"

static const struct {
	const char *name, *text;
} ends[TURN_END_END] = {
#define X(id, name, text) [id] = {name, text},
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
