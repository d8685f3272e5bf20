// SPDX-License-Identifier: BSD-3-Clause
// Names and texts of the drop reasons.
#include <stddef.h>

#include "turn_drop.h"

static const struct {
	const char *name, *text;
} drops[] = {[TURN_OK] = {NULL, NULL},
#define X(id, n, t) [id] = {n, t},
	TURN_DROPS(X)
#undef X
};

const char *turn_drop_name(enum turn_drop reason)
{
	return (unsigned int)reason < TURN_DROP_END ? drops[reason].name : NULL;
}

const char *turn_drop_text(enum turn_drop reason)
{
	return (unsigned int)reason < TURN_DROP_END ? drops[reason].text : NULL;
}
