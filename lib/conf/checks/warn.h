// SPDX-License-Identifier: BSD-3-Clause
// Limits the number of warnings on lists. conf.h has the functions that warn.
#pragma once

#include <stdbool.h>

#include "conf.h"

#define CONF_WARNINGS_MAX 50 // warnings on lists, after which the search stops

// True if that number of warnings has been reported.
static inline bool conf_warned(const struct conf_report *r)
{
	return r->nb[CONF_WARNING] >= CONF_WARNINGS_MAX;
}
