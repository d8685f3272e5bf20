// SPDX-License-Identifier: BSD-3-Clause
// Configuration of the state area, which keeps calls across a restart.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Fate of allocations at an ordinary stop.
enum conf_on_stop {
	CONF_ON_STOP_KEEP, // the next process restores them
	CONF_ON_STOP_FORGET, // the allocations end
};

struct conf_state {
	char *file; // NULL = no state area
	enum conf_on_stop on_stop;
	uint32_t crashes; // early deaths in a row that set the area aside; 0 = never
};

// True if calls survive an ordinary restart.
static inline bool conf_restart_keeps(const struct conf_state *s)
{
	return s->file != NULL && s->on_stop == CONF_ON_STOP_KEEP;
}
