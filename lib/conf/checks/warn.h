// SPDX-License-Identifier: BSD-3-Clause
// How many warnings on lists are told. conf.h has what warns.
#pragma once

#include <stdbool.h>

#include "conf.h"

#define CONF_WARNINGS_MAX 50 // warnings on lists, after which nobody looks for more

// True when there have been so many warnings.
static inline bool conf_warned(const struct conf_report *r)
{
	return r->nb[CONF_WARNING] >= CONF_WARNINGS_MAX;
}
