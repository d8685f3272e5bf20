// SPDX-License-Identifier: BSD-3-Clause
// A line of text that is made piece by piece. Private to lib/mgmt.
#pragma once

#include <stddef.h>

struct mgmt_line {
	char *buf; // len bytes, at least 1, always with a NUL once something was added
	size_t len, used; // at: the length so far
};

// Appends what printf would print. A line that is full stays as it is: what has no room is cut.
__attribute__((format(printf, 2, 3))) void mgmt_line_add(struct mgmt_line *l, const char *fmt, ...);
