// SPDX-License-Identifier: BSD-3-Clause
// Appends to a line of text.
#include "log/text_line.h"

#include <stdarg.h>
#include <stdio.h>

void mgmt_line_add(struct mgmt_line *l, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(l->buf + l->used, l->len - l->used, fmt, ap);
	va_end(ap);
	if (n > 0)
		l->used = l->used + (size_t)n < l->len ? l->used + (size_t)n : l->len - 1;
}
