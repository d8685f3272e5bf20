// SPDX-License-Identifier: BSD-3-Clause
// TCP ports of listeners that another program has.
#pragma once

#include "conf.h"

// Tells an error for each listener over TCP whose port the start could not take, and which program
// has it. A slipring that runs is no matter of a check.
void check_taken(const struct conf *c, struct conf_report *r);
