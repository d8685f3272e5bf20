// SPDX-License-Identifier: BSD-3-Clause
// The result as one JSON object on one line (RFC 8259, UTF-8): the reference is in doc/loadgen.md.
// What was not measured is null, never NaN. Main lcore.
#pragma once

#include <stdio.h>

#include "options/config.h"
#include "measure/result.h"

// r: of the run, or of the last trial of a search. drops: differences by name, NULL = not asked
// for. s: NULL = no search. Write errors are the caller's to find (ferror).
void json_write(FILE *f, const struct config *c, const struct result *r,
	const struct server_drops *drops, const struct search *s);
