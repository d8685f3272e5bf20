// SPDX-License-Identifier: BSD-3-Clause
// The text of --help.
#pragma once

#include <stdio.h>

// Prints this text. Any thread.
void help_print(FILE *out);
