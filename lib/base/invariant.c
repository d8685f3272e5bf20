// SPDX-License-Identifier: BSD-3-Clause
// The end of a process in which an ASSERT has failed. Only in builds that have ASSERT.
#include "invariant.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

char invariant_text[512];

void invariant_failed(const char *place, const char *function, const char *condition)
{
	const int len = snprintf(invariant_text, sizeof(invariant_text), "%s: %s: ASSERT(%s)",
		place, function, condition);

	if (len > 0)
		dprintf(STDERR_FILENO, "slipring: %s\n", invariant_text);
	abort();
}
