// SPDX-License-Identifier: BSD-3-Clause
// Checks of options against each other. Only the files of options/ include it.
#pragma once

#include "options/option.h"

// Sets the defaults that depend on other options, then checks all options against each other.
// Returns OPTS_RUN, or OPTS_ERROR with the reason written.
int opts_check(struct opts *o);
