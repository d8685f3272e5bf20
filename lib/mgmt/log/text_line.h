// SPDX-License-Identifier: BSD-3-Clause
// A line of text that is built piece by piece. Private to lib/mgmt.
#pragma once

#include <stddef.h>

struct mgmt_line {
	char *buf; // len bytes, at least 1; ends with a NUL once something was added
	size_t len, used; // used: the length of the text
};

// Appends formatted text. Text that does not fit is cut.
__attribute__((format(printf, 2, 3))) void mgmt_line_add(struct mgmt_line *l, const char *fmt, ...);
