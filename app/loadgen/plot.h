// SPDX-License-Identifier: BSD-3-Clause
// A picture of a search, drawn by scripts/plot (Python, matplotlib) from the JSON object. Main
// lcore.
#pragma once

#include <stddef.h>

#include "result.h"

// Writes file. The script is what the environment's SLIPRING_PLOT names, else the one of the source
// tree this program was built in (scripts/plot beside the build directory), else slipring-plot in
// PATH; what it has to say goes to stderr. 0, or -1 with the reason in error.
int plot_write(const char *file, const struct config *c, const struct result *r,
	const struct search *s, char *error, size_t len);
