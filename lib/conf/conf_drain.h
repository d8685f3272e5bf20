// SPDX-License-Identifier: BSD-3-Clause
// Configuration of draining.
#pragma once

#include <stdint.h>

#include "turn_alternates.h"

struct conf_drain {
	struct turn_alternate *alternates;
	uint32_t nb_alternates;
	uint32_t deadline_s; // 0 = no deadline
	uint32_t below; // allocations at which a drain ends
	char **on_change; // a program and its arguments
	uint32_t nb_on_change; // 0 = no program
	uint32_t on_change_s; // how long it may run
};
