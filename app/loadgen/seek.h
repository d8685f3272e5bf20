// SPDX-License-Identifier: BSD-3-Clause
// Searches. Main lcore.
#pragma once

#include "session.h"

// Makes all trials of a search, whose state is s->search. Returns the exit status, 0 or 1.
int seek_run(struct session *s);
