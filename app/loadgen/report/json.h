// SPDX-License-Identifier: BSD-3-Clause
// The result as one JSON object on one line (RFC 8259, UTF-8); doc/loadgen.md describes it. A value
// that was not measured is null, never NaN. Main lcore.
#pragma once

#include <stdio.h>

#include "options/config.h"
#include "measure/result.h"

// Writes the object to f. r: result of the run, or of the last trial of a search. drops: the
// server's drops during the run, by name; NULL = not requested. s: NULL = no search. Returns 0, or
// -1 without memory or when f cannot be written.
int json_write(FILE *f, const struct config *c, const struct result *r,
	const struct server_drops *drops, const struct search *s);
