// SPDX-License-Identifier: BSD-3-Clause
// The picture of a search. scripts/plot (Python, matplotlib) draws it from the JSON object. Main
// lcore.
#pragma once

#include <stddef.h>

#include "measure/result.h"

// Checks before the search that its picture can be drawn: the script exists, finds its libraries
// (it is run with --check before the file's name) and may write the file. Returns 0, or -1 with the
// reason in error.
int plot_check(const char *file, char *error, size_t len);
// Draws the picture and writes it to the file c->plot. The environment variable SLIPRING_PLOT names
// the script. Without it the script is scripts/plot next to the build directory of this program,
// else slipring-plot in PATH. Its messages go to stderr. Returns 0, or -1 with the reason in error.
int plot_write(const struct config *c, const struct result *r, const struct search *s, char *error,
	size_t len);
