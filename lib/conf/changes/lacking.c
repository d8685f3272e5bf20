// SPDX-License-Identifier: BSD-3-Clause
// Looks up each element of one list in a sorted copy of the other. Either may have many thousands.
#include "changes/lacking.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// An element within the text: it ends at '\n' or at the end of the text.
struct element {
	const char *text;
	size_t len;
};

static int by_text(const void *a, const void *b)
{
	const struct element *x = a, *y = b;
	const int order = memcmp(x->text, y->text, x->len < y->len ? x->len : y->len);

	return order != 0 ? order : (x->len > y->len) - (x->len < y->len);
}

// Gets the element at *cursor and moves *cursor past it. False at the end.
static bool next_element(const char **cursor, struct element *e)
{
	if (**cursor == '\0')
		return false;
	e->text = *cursor;
	e->len = strcspn(*cursor, "\n");
	*cursor += e->len;
	*cursor += **cursor == '\n';
	return true;
}

// Returns the elements of a text, sorted. The caller frees the result. NULL without memory.
static struct element *sort_elements(const char *text, size_t *nb)
{
	struct element e, *list;
	const char *cursor = text;

	for (*nb = 0; next_element(&cursor, &e);)
		++*nb;
	list = calloc(*nb + 1, sizeof(*list));
	cursor = text;
	for (size_t i = 0; list != NULL && next_element(&cursor, &list[i]);)
		i++;
	if (list != NULL)
		qsort(list, *nb, sizeof(*list), by_text);
	return list;
}

const char *lacking(const char *list, const char *reference, char buf[LACKING_LEN])
{
	size_t nb, used = 0, more = 0;
	struct element *has = sort_elements(reference, &nb), e;

	if (has == NULL)
		return "(no memory to compare)";
	while (next_element(&list, &e)) {
		if (bsearch(&e, has, nb, sizeof(e), by_text) != NULL)
			continue;
		if (used + e.len + 24 < LACKING_LEN && more == 0)
			used += (size_t)snprintf(buf + used, LACKING_LEN - used, "%s%.*s",
				used > 0 ? ", " : "", (int)e.len, e.text);
		else
			more++;
	}
	free(has);
	if (more > 0)
		snprintf(buf + used, LACKING_LEN - used, "%s%zu more", used > 0 ? " and " : "",
			more);
	return used > 0 || more > 0 ? buf : NULL;
}
