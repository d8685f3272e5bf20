// SPDX-License-Identifier: BSD-3-Clause
// What is likely wrong, by the last attempts of a user or an address. Pure. Private to lib/mgmt.
#pragma once

#include "attempts.h"

struct cause {
	int row; // the attempt that says so, by its place; -1 = none does
	bool wrong; // else all is as it should be
	const char *text, *advice; // for people; static
};

// The likely cause among n attempts, the newest first.
struct cause cause_find(const struct attempt *a, unsigned int n);
// What to do about an attempt; "" = nothing is wrong.
const char *cause_advice(const struct attempt *a);
