// SPDX-License-Identifier: BSD-3-Clause
// Formats counts, rates, times and shares for people.
#include "report/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

struct text text_count(uint64_t v)
{
	char digits[24];
	struct text t;
	const int n = snprintf(digits, sizeof(digits), "%" PRIu64, v);
	char *out = t.s;

	for (int i = 0; i < n; i++) {
		if (i > 0 && (n - i) % 3 == 0)
			*out++ = ',';
		*out++ = digits[i];
	}
	*out = '\0';
	return t;
}

static struct text text_fixed(double v, int decimals)
{
	struct text t;

	snprintf(t.s, sizeof(t.s), "%.*f", decimals, v);
	return t;
}

static struct text text_word(const char *s)
{
	struct text t;

	snprintf(t.s, sizeof(t.s), "%s", s);
	return t;
}

struct text text_rate(double v)
{
	if (!isfinite(v) || v <= 0)
		return text_word(v == 0 ? "0" : "?");
	if (v < 9.995)
		return text_fixed(v, 2);
	return v < 1e18 ? text_count((uint64_t)(v + 0.5)) : text_word("?");
}

struct text text_percent(double share)
{
	const double p = share * 100;

	if (!isfinite(p) || p <= 0)
		return text_word(p == 0 ? "0" : "?");
	if (p < 1e-4)
		return text_word("<0.0001");
	if (p < 0.01)
		return text_fixed(p, 5);
	if (p < 1)
		return text_fixed(p, 3);
	return text_fixed(p, p < 10 ? 2 : 1);
}

struct text text_us(double us)
{
	if (!isfinite(us) || us < 0)
		return text_word("?");
	if (us < 999.95)
		return text_fixed(us, 1);
	return us < 1e18 ? text_count((uint64_t)(us + 0.5)) : text_word("?");
}

struct text text_seconds(double s)
{
	if (!isfinite(s) || s < 0)
		return text_word("?");
	if (s >= 1000)
		return text_count((uint64_t)(s + 0.5));
	if (s == floor(s))
		return text_fixed(s, 0);
	return text_fixed(s, s < 10 ? 2 : 1);
}
