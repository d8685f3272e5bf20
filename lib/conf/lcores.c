// SPDX-License-Identifier: BSD-3-Clause
// Parses EAL's --lcores syntax: "SET[@CPUS],..." where a set is 3, 1-4 or (0,2-3). Without CPUS,
// the lcores of a set run on the CPUs with these numbers.
#include <errno.h>
#include <stdlib.h>

#include "conf.h"
#include "conf_lcores.h"

// Each of these functions consumes its part at the front of text and returns the rest, or NULL if
// the part is missing.

static const char *take_number(const char *text, unsigned int *out)
{
	unsigned long v;
	char *end;

	if (*text < '0' || *text > '9')
		return NULL;
	v = strtoul(text, &end, 10);
	*out = (unsigned int)v;
	return v < CONF_LCORES_MAX ? end : NULL;
}

static const char *take_range(const char *text, uint64_t *set)
{
	unsigned int first, last;

	text = take_number(text, &first);
	if (text == NULL)
		return NULL;
	last = first;
	if (*text == '-')
		text = take_number(text + 1, &last);
	if (text == NULL)
		return NULL;
	if (first > last) {
		const unsigned int swap = first;

		first = last;
		last = swap;
	}
	for (; first <= last; first++)
		set[first / 64] |= 1ull << first % 64;
	return text;
}

static const char *take_set(const char *text, uint64_t *set)
{
	if (*text != '(')
		return take_range(text, set);
	do
		text = take_range(text + 1, set);
	while (text != NULL && *text == ',');
	return text != NULL && *text == ')' ? text + 1 : NULL;
}

int conf_lcores_parse(const char *text, struct conf_lcores *out)
{
	*out = (struct conf_lcores){{0}, {0}};
	for (;;) {
		const char *set = text;

		text = take_set(text, out->ids);
		if (text != NULL)
			text = take_set(*text == '@' ? text + 1 : set, out->cpus);
		if (text == NULL || (*text != '\0' && *text != ','))
			return -EINVAL;
		if (*text == '\0')
			return 0;
		text++;
	}
}

int conf_lcores_count(const char *text)
{
	struct conf_lcores lcores;
	int count = 0;

	if (conf_lcores_parse(text, &lcores) != 0)
		return -EINVAL;
	for (unsigned int i = 0; i < CONF_LCORES_MAX / 64; i++)
		count += __builtin_popcountll(lcores.ids[i]);
	return count;
}
