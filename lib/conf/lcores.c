// SPDX-License-Identifier: BSD-3-Clause
// Enough of EAL's --lcores syntax to count: "SET[@CPUS],..." where a set is 3, 1-4 or (0,2-3). What
// else EAL may find wrong (a CPU that is not there) it says itself.
#include "conf_int.h"

#include <errno.h>
#include <stdlib.h>

#define LCORES_MAX 1024

struct lcore_set {
	uint64_t bits[LCORES_MAX / 64];
};

// Each of these takes its part off the front of text; NULL when it is not there.

static const char *take_number(const char *text, unsigned int *out)
{
	unsigned long v;
	char *end;

	if (*text < '0' || *text > '9')
		return NULL;
	v = strtoul(text, &end, 10);
	*out = (unsigned int)v;
	return v < LCORES_MAX ? end : NULL;
}

static const char *take_range(const char *text, struct lcore_set *set)
{
	unsigned int from, to;

	text = take_number(text, &from);
	if (text == NULL)
		return NULL;
	to = from;
	if (*text == '-')
		text = take_number(text + 1, &to);
	if (text == NULL)
		return NULL;
	if (from > to) {
		const unsigned int swap = from;

		from = to;
		to = swap;
	}
	for (; from <= to; from++)
		set->bits[from / 64] |= 1ull << from % 64;
	return text;
}

static const char *take_set(const char *text, struct lcore_set *set)
{
	if (*text != '(')
		return take_range(text, set);
	do
		text = take_range(text + 1, set);
	while (text != NULL && *text == ',');
	return text != NULL && *text == ')' ? text + 1 : NULL;
}

int conf_lcores_count(const char *text)
{
	struct lcore_set lcores = {{0}}, cpus = {{0}};
	int count = 0;

	for (;;) {
		text = take_set(text, &lcores);
		if (text != NULL && *text == '@')
			text = take_set(text + 1, &cpus);
		if (text == NULL || (*text != '\0' && *text != ','))
			return -EINVAL;
		if (*text == '\0')
			break;
		text++;
	}
	for (unsigned int i = 0; i < LCORES_MAX / 64; i++)
		count += __builtin_popcountll(lcores.bits[i]);
	return count;
}
