// SPDX-License-Identifier: BSD-3-Clause
// What the configuration says of the state area, by which a restart keeps calls.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// What becomes of allocations at an ordinary stop.
enum conf_on_stop {
	CONF_ON_STOP_KEEP, // the next process takes them up
	CONF_ON_STOP_FORGET, // they end
};

struct conf_state {
	char *file; // NULL = no area
	enum conf_on_stop on_stop;
	uint32_t crashes; // so many young deaths in a row put the area aside; 0 = none do
};

// Whether calls go on over an ordinary restart.
static inline bool conf_restart_keeps(const struct conf_state *s)
{
	return s->file != NULL && s->on_stop == CONF_ON_STOP_KEEP;
}
