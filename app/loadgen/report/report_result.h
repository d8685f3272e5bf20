// SPDX-License-Identifier: BSD-3-Clause
// The result of a run in words. Main lcore.
#pragma once

#include <stdio.h>

#include "measure/result.h"

// Prints the summary of a run. drops: the server's drops during the run, by name; NULL = not known.
void report_result(
	FILE *f, const struct config *c, const struct result *r, const struct server_drops *drops);
