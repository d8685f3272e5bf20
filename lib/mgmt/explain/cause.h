// SPDX-License-Identifier: BSD-3-Clause
// Finds the likely cause of trouble from the last attempts of a user or an address. Pure. Private
// to lib/mgmt.
#pragma once

#include "explain/attempts.h"

struct cause {
	int row; // index of the attempt that shows it; -1 = no attempt does
	bool wrong; // false: everything is in order
	const char *text, *advice; // for people; static
};

// Finds the likely cause among n attempts, the newest first.
struct cause cause_find(const struct attempt *a, unsigned int n);
// Advice on an attempt; "" = nothing is wrong.
const char *cause_advice(const struct attempt *a);
