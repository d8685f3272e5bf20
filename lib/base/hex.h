// SPDX-License-Identifier: BSD-3-Clause
// Hexadecimal text.
#pragma once

// The value of a digit, in either case; -1: it is none.
static inline int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}
