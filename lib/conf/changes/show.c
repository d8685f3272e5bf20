// SPDX-License-Identifier: BSD-3-Clause
// Writes a configuration as YAML, from the values that were recorded when its files were read.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "changes/said.h"
#include "conf.h"
#include "conf_changes.h"
#include "reading/value.h"
#include "schema/schema.h"

struct showing {
	const struct conf *conf;
	const struct conf_show *how;
	void (*tell)(void *ctx, const char *line);
	void *ctx;
	size_t bytes; // of the lines
	bool begins; // the next line is the first one of an entry
	const struct said *left_out; // a head: its keys are not written, either
};

// True if the values are written without quotes: numbers and words.
static bool is_bare(enum conf_type type)
{
	switch (type) {
	case CONF_NUMBER:
	case CONF_SIZE:
	case CONF_BITS:
	case CONF_TIME:
	case CONF_BOOL:
	case CONF_CHOICE:
	case CONF_DSCP:
	case CONF_PORT_RANGE:
		return true;
	default:
		return false;
	}
}

// Writes len bytes of a value. Values have no control characters.
static void put_value(FILE *out, const struct conf_key *k, const char *text, size_t len)
{
	if (is_bare(k->type)) {
		fprintf(out, "%.*s", (int)len, text);
		return;
	}
	putc('"', out);
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '"' || text[i] == '\\')
			putc('\\', out);
		putc(text[i], out);
	}
	putc('"', out);
}

static void put_origin(FILE *out, const struct showing *w, const struct said *s)
{
	if (!w->how->origin)
		return;
	if (s->line > 0)
		fprintf(out, " # %s:%u", s->file != NULL ? s->file : w->conf->path, s->line);
	else if (!s->head)
		fputs(s->derived != NULL ? " # derived" : " # default", out);
}

// Ends a line that was written to a stream of memory, and passes it on.
static void end_line(struct showing *w, FILE *out, char **line)
{
	if (fclose(out) == 0) {
		w->tell(w->ctx, *line);
		w->bytes += strlen(*line) + 1;
	}
	free(*line);
}

// Begins a line at this depth. The first line of an entry has its '-'.
static void put_indent(struct showing *w, FILE *out, unsigned int depth)
{
	if (w->begins)
		fprintf(out, "%*s- ", (int)(2 * depth - 2), "");
	else
		fprintf(out, "%*s", (int)(2 * depth), "");
	w->begins = false;
}

// Writes "key: [value, value]" or "key: value".
static void put_text(FILE *out, const struct said *s, const char *text)
{
	const char *item = text;

	if (!s->elements) {
		put_value(out, s->key, text, strlen(text));
		return;
	}
	putc('[', out);
	while (*item != '\0') {
		const size_t len = strcspn(item, "\n");

		put_value(out, s->key, item, len);
		item += len + (item[len] != '\0');
		if (*item != '\0')
			fputs(", ", out);
	}
	putc(']', out);
}

// Writes the digits of a secret's SHA-256, or of each one of a list.
static void put_hashes(FILE *out, const struct showing *w, const struct said *s)
{
	const char *item = s->text;

	if (!w->how->hashes)
		fputs("(hidden)", out);
	while (w->how->hashes && *item != '\0') {
		const size_t len = strcspn(item, "\n"), sum = strcspn(item, " ");

		if (len > sum)
			fprintf(out, "sha256:%.*s", (int)(len - sum - 1), item + sum + 1);
		item += len + (item[len] != '\0');
		if (*item != '\0')
			fputs(", ", out);
	}
}

// True if there is a secret in the value, which may be an empty list.
static bool has_secret(const struct said *s)
{
	return s->secret && s->text[0] != '\0';
}

// True if a key is left out of a file of the same values: secrets, and files that are merged.
static bool is_comment(const struct said *s)
{
	return has_secret(s) || strcmp(s->key->path, "include") == 0 ||
		strcmp(s->key->path, "include-holds") == 0;
}

static void show_value(struct showing *w, const struct said *s)
{
	const bool comment = is_comment(s), begins = w->begins;
	size_t len;
	char *line;
	FILE *out = open_memstream(&line, &len);

	if (out == NULL)
		return;
	if (comment)
		w->begins = false; // a comment is no line of the entry
	put_indent(w, out, s->depth);
	w->begins = comment && begins;
	fprintf(out, "%s%s: ", comment ? "# " : "", conf_schema_name(s->key));
	if (has_secret(s))
		put_hashes(out, w, s);
	else
		put_text(out, s, s->derived != NULL ? s->derived : s->text);
	put_origin(out, w, s);
	end_line(w, out, &line);
}

// Writes the line of a section, or of a list of entries, which follow.
static void show_head(struct showing *w, const struct said *s, bool empty)
{
	size_t len;
	char *line;
	FILE *out = open_memstream(&line, &len);

	if (out == NULL)
		return;
	put_indent(w, out, s->depth);
	fprintf(out, "%s:%s", conf_schema_name(s->key),
		empty && conf_value_kind(s->key->type) == CONF_LIST ? " []" : "");
	put_origin(out, w, s);
	end_line(w, out, &line);
}

// Writes an address of a port. It is a mapping if a key follows.
static void show_address(struct showing *w, const struct said *s, bool maps)
{
	const char *begin = strrchr(s->path, '[') + 1;
	size_t len;
	char *line;
	FILE *out = open_memstream(&line, &len);

	if (out == NULL)
		return;
	w->begins = true;
	put_indent(w, out, s->depth + 1u);
	if (maps)
		fputs("address: ", out);
	put_value(out, s->key, begin, strcspn(begin, "]"));
	put_origin(out, w, s);
	end_line(w, out, &line);
}

// True if the key is not written. Sections of an entry stand for something that the entry may do
// without, such as a bond: one that the file leaves out is no section with defaults.
static bool is_left_out(struct showing *w, const struct said *s)
{
	const size_t hidden = strlen(CONF_TEST_CONSTANTS);

	if (w->left_out != NULL && s->depth > w->left_out->depth)
		return true;
	w->left_out = s->inner && s->line == 0 ? s : NULL;
	if (s->line > 0)
		return false;
	return w->left_out != NULL || !w->how->effective ||
		strncmp(s->key->path, CONF_TEST_CONSTANTS, hidden) == 0;
}

static void show_one(struct showing *w, const struct said *s, const struct said *next)
{
	const bool deeper = next != NULL && next->depth > s->depth;

	if (is_left_out(w, s))
		return;
	if (s->head)
		show_head(w, s, !deeper);
	else if (s->text == NULL && s->key->type == CONF_PORT_ADDRS)
		show_address(w, s, deeper);
	else if (s->text == NULL)
		w->begins = true;
	else
		show_value(w, s);
}

uint32_t conf_show(const struct conf *c, const struct conf_show *how, uint32_t first,
	void (*tell)(void *ctx, const char *line), void *ctx)
{
	struct showing w = {.conf = c, .how = how, .tell = tell, .ctx = ctx};
	const struct conf_said *all = c->said;

	for (uint32_t i = first; i < all->nb; i++) {
		if (w.bytes >= how->max)
			return i;
		show_one(&w, &all->list[i], i + 1 < all->nb ? &all->list[i + 1] : NULL);
	}
	return 0;
}
