// SPDX-License-Identifier: BSD-3-Clause
// What --help shows.
#pragma once

#include <stdio.h>

// Prints it. Any thread.
void help_print(FILE *out);
