// SPDX-License-Identifier: BSD-3-Clause
// A picture of a search, drawn by scripts/plot (Python, matplotlib) from the JSON object. Main
// lcore.
#pragma once

#include <stddef.h>

#include "measure/result.h"

// Whether file can be drawn once there is something to draw: the script is there, has what it needs
// (it is run with --check before the name) and may write the file. 0, or -1 with the reason in
// error.
int plot_check(const char *file, char *error, size_t len);
// Writes file. The script is what the environment's SLIPRING_PLOT names, else the one of the source
// tree this program was built in (scripts/plot beside the build directory), else slipring-plot in
// PATH; what it has to say goes to stderr. 0, or -1 with the reason in error.
int plot_write(const char *file, const struct config *c, const struct result *r,
	const struct search *s, char *error, size_t len);
