// SPDX-License-Identifier: BSD-3-Clause
// What the configuration says of the state area, by which a restart keeps calls.
#pragma once

// What becomes of allocations at an ordinary stop.
enum conf_on_stop {
	CONF_ON_STOP_KEEP, // the next process takes them up
	CONF_ON_STOP_FORGET, // they end
};

struct conf_state {
	char *file; // NULL = no area
	enum conf_on_stop on_stop;
};
