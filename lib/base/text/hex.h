// SPDX-License-Identifier: BSD-3-Clause
// Hexadecimal text.
#pragma once

// Returns the value of a digit, in upper or lower case, or -1 if it is not a digit.
static inline int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}
