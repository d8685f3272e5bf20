// SPDX-License-Identifier: BSD-3-Clause
// Reads REST names as applications write them. The password is made from the whole name, so lenient
// reading admits nobody without a secret.
#include <string.h>

#include "turn_rest.h"

#define LEAST_DIGITS 9 // digits of a time since 1973
#define SINCE_2001_S UINT64_C(1000000000)

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

// Reads digits and optionally a fraction, up to the end. False if there is anything else, or the
// number is too large for milliseconds.
static bool read_time(const char *pos, const char *end, uint64_t *s)
{
	const char *begin = pos;

	for (*s = 0; pos < end && is_digit(*pos); pos++) {
		*s = 10 * *s + (uint64_t)(*pos - '0');
		if (*s >= TURN_REST_TIME_END)
			return false;
	}
	if (pos == begin)
		return false;
	if (pos < end && *pos == '.')
		for (pos++; pos < end && is_digit(*pos); pos++)
			;
	return pos == end;
}

bool turn_rest_read(const void *name, size_t len, struct turn_rest_name *out)
{
	const char *begin = name, *end = begin + len;
	const char *colon = len > 0 ? memchr(name, ':', len) : NULL;
	const char *first = colon != NULL ? colon : end;
	const char *second = colon != NULL ? colon + 1 : end;
	uint64_t s, second_s;

	if (read_time(begin, first, &s)) {
		// the first number is too small for a time: the ID precedes the time
		if (s > 0 && s < SINCE_2001_S && read_time(second, end, &second_s) &&
			second_s >= SINCE_2001_S)
			return false;
		*out = (struct turn_rest_name){s, second, (size_t)(end - second)};
		return true;
	}
	if (first == begin || !read_time(second, end, &s))
		return false;
	*out = (struct turn_rest_name){s, begin, (size_t)(first - begin)};
	return true;
}

bool turn_rest_looks_like(const void *name, size_t len)
{
	const char *c = name;
	unsigned int digits = 0;

	for (size_t i = 0; i < len && digits < LEAST_DIGITS; i++)
		digits = is_digit(c[i]) ? digits + 1 : 0;
	return digits == LEAST_DIGITS;
}
