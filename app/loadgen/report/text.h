// SPDX-License-Identifier: BSD-3-Clause
// Numbers as people read them. Each function returns the text by value: text_count(n).s is valid
// until the end of the full expression, so several fit into one printf.
#pragma once

#include <stdint.h>

struct text {
	char s[32];
};

struct text text_count(uint64_t v); // 1,234,567
struct text text_rate(double v); // 1,234,567, and 2.50 below ten
// A share in percent without the sign. "0" means exactly zero; other shares have two figures or
// more.
struct text text_percent(double share);
struct text text_us(double us); // 12.3, and 12,345 from a thousand on
struct text text_seconds(double s); // 0.25, 12.5, 3,600
