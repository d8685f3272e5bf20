// SPDX-License-Identifier: BSD-3-Clause
// Configuration of draining.
#pragma once

#include <stdint.h>

struct conf_drain {
	uint32_t deadline_s; // 0 = no deadline
	uint32_t below; // a drain ends once no more allocations than this are left
	char **on_change; // program to run on each change, and its arguments
	uint32_t nb_on_change; // 0 = no program
	uint32_t on_change_s; // seconds until the program is killed
};
