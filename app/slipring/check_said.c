// SPDX-License-Identifier: BSD-3-Clause
// Collects the problems of a configuration, and sorts them by file, line and column.
#include "check_said.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// A line is "FILE:LINE:COL: reason"; the line number is 0 without a place.
struct said_line {
	enum conf_weight weight;
	size_t file_len;
	unsigned int line, col;
	bool is_main;
	char *text;
};

static void end_without_memory(void)
{
	fprintf(stderr, "slipring: out of memory\n");
	exit(EXIT_FAILURE);
}

void check_said_keep(void *said, enum conf_weight weight, const char *line)
{
	struct check_said *s = said;
	struct said_line *l;

	if (s->nb == s->room) {
		s->room = 2 * s->room + 64;
		s->line = realloc(s->line, s->room * sizeof(*s->line));
		if (s->line == NULL)
			end_without_memory();
	}
	l = &s->line[s->nb];
	*l = (struct said_line){.weight = weight, .text = strdup(line)};
	if (l->text == NULL)
		end_without_memory();
	s->nb++;
	for (const char *colon = strchr(line, ':'); colon != NULL; colon = strchr(colon + 1, ':'))
		if (sscanf(colon, ":%u:%u: ", &l->line, &l->col) == 2) {
			l->file_len = (size_t)(colon - line);
			return;
		}
	l->line = l->col = 0;
}

static int by_number(unsigned int a, unsigned int b)
{
	return (a > b) - (a < b);
}

static int by_place(const void *a, const void *b)
{
	const struct said_line *x = a, *y = b;
	const size_t len = x->file_len < y->file_len ? x->file_len : y->file_len;
	int order = (int)y->is_main - (int)x->is_main;

	if (order == 0)
		order = memcmp(x->text, y->text, len);
	if (order == 0)
		order = (x->file_len > y->file_len) - (x->file_len < y->file_len);
	if (order == 0)
		order = by_number(x->line, y->line);
	if (order == 0)
		order = by_number(x->col, y->col);
	return order != 0 ? order : strcmp(x->text, y->text); // identical lines come together
}

void check_said_print(struct check_said *s, const char *file, FILE *out,
	const char *(*prefix)(enum conf_weight weight), unsigned int nb[2])
{
	const size_t len = strlen(file);

	for (unsigned int i = 0; i < s->nb; i++)
		s->line[i].is_main =
			s->line[i].file_len == len && memcmp(s->line[i].text, file, len) == 0;
	if (s->nb > 0)
		qsort(s->line, s->nb, sizeof(*s->line), by_place);
	for (unsigned int i = 0; i < s->nb; i++) {
		const struct said_line *l = &s->line[i];

		if (i > 0 && strcmp(l->text, l[-1].text) == 0)
			continue;
		nb[l->weight]++;
		fprintf(out, "%s%s: %s\n", prefix(l->weight),
			l->weight == CONF_ERROR ? "error" : "warning", l->text);
	}
}

void check_said_free(struct check_said *s)
{
	for (unsigned int i = 0; i < s->nb; i++)
		free(s->line[i].text);
	free(s->line);
	memset(s, 0, sizeof(*s));
}
