// SPDX-License-Identifier: BSD-3-Clause
// Edits of conf_good that add a section.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf_section.h"
#include "test.h"

// conf_good with the section; the caller frees it.
static char *text_of(const char *name, const char *text)
{
	char replacement[1024];

	assert_in_range(snprintf(replacement, sizeof(replacement), CONF_SECTION_AT "%s: {%s}\n",
				name, text),
		1, sizeof(replacement) - 1);
	return conf_file_edit(CONF_SECTION_AT, replacement);
}

struct conf *conf_section(const char *name, const char *text)
{
	char error[CONF_ERROR_LEN] = "";
	char *all = text_of(name, text);
	struct conf *c = conf_file_load(all, strlen(all), error);

	free(all);
	if (c == NULL)
		fail_msg("%s", error);
	return c;
}

struct conf *conf_section_said(const char *name, const char *text)
{
	char *all = text_of(name, text);
	struct conf *c = conf_file_said(all);

	free(all);
	return c;
}

// Collected warnings about a section.
struct heard {
	const char *name;
	char text[2048];
};

static void hear(void *ctx, enum conf_weight weight, const char *line)
{
	struct heard *h = ctx;
	const size_t used = strlen(h->text);

	assert_int_equal(weight, CONF_WARNING);
	if (strstr(line, h->name) != NULL)
		snprintf(h->text + used, sizeof(h->text) - used, "%s\n", line);
}

void conf_section_doubts(const char *name, const struct conf_section_doubt *t, size_t nb)
{
	for (size_t i = 0; i < nb; i++) {
		struct heard h = {.name = name};
		struct conf_report r = {.say = hear, .ctx = &h};
		struct conf *c = conf_section(name, t[i].text);

		conf_warnings(c, &r);
		if (strstr(h.text, t[i].want) == NULL ||
			(h.text[0] == '\0') != (t[i].want[0] == '\0'))
			fail_msg("%s: wanted: %s\n   got: %s", t[i].text, t[i].want, h.text);
		conf_free(c);
	}
}

void conf_section_count(void *ctx, const struct conf_change *c)
{
	((unsigned int *)ctx)[c->hot]++;
}

void conf_section_changes(const char *name, const char *before, const char *after,
	unsigned int nb_hot, unsigned int nb_cold)
{
	struct conf *a = conf_section_said(name, before), *b = conf_section_said(name, after);
	unsigned int nb[2] = {0, 0};

	conf_changes(a, b, conf_section_count, nb);
	assert_int_equal(nb[true], nb_hot);
	assert_int_equal(nb[false], nb_cold);
	conf_free(a);
	conf_free(b);
}

void conf_section_adopt(struct conf *running, struct conf *fresh)
{
	struct conf *merged = conf_merge(running, fresh);

	assert_non_null(merged);
	conf_adopt(running, fresh, merged);
	conf_merge_free(merged);
	conf_free(fresh);
}
