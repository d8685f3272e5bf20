// SPDX-License-Identifier: BSD-3-Clause
// TCP ports of listeners that another program uses.
#pragma once

#include "conf.h"

// Reports an error for each TCP listener whose port cannot be bound, and the program that uses the
// port. A running slipring is no error.
void check_taken(const struct conf *c, struct conf_report *r);
