// SPDX-License-Identifier: BSD-3-Clause
// Turns text into a tree. YAML is far larger than a configuration file needs. The parser refuses
// features that cause surprises, by name: anchors, tags, several documents, values over several
// lines.
#include "reading/yaml.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "reading/ctx.h"
#include "reading/fail.h"
#include "reading/node.h"
#include "schema/schema.h"
#include "secret.h"

#define DEPTH_MAX 16

// --- memory of libyaml ---------------------------------------------------------------------------

// These replace libyaml's functions of these names, so that memory is wiped before it is freed:
// libyaml held the whole file and its secrets there. (The symbols are weak: if libyaml is linked
// statically, its own functions remain, and wipe nothing.)
void yaml_free(void *p);
void *yaml_realloc(void *p, size_t len);

__attribute__((weak)) void yaml_free(void *p)
{
	secret_wipe(p);
}

__attribute__((weak)) void *yaml_realloc(void *p, size_t len)
{
	const size_t old = p != NULL ? malloc_usable_size(p) : 0;
	void *grown = malloc(len > 0 ? len : 1);

	if (grown == NULL)
		return NULL;
	if (old > 0)
		memcpy(grown, p, old < len ? old : len);
	secret_wipe(p);
	return grown;
}

// --- reading -------------------------------------------------------------------------------------

struct reader {
	struct conf_ctx *x;
	const char *text;
	size_t len;
	yaml_parser_t parser;
	struct conf_node *root;
	struct conf_node *open; // the list or mapping being filled
	unsigned int depth; // depth of open
	unsigned int documents;
	char *key; // a key that waits for its value
	yaml_mark_t key_mark;
};

static int fail_at(struct reader *r, const yaml_mark_t *m, const char *reason)
{
	return conf_fail_yaml(r->x, m->line + 1, m->column + 1, "%s", reason);
}

// For bytes that are not UTF-8, libyaml reports only the offset.
static int fail_encoding(struct reader *r)
{
	const size_t end = r->parser.problem_offset < r->len ? r->parser.problem_offset : r->len;
	size_t line = 1, start = 0;

	if (r->len >= 2 &&
		(memcmp(r->text, "\xff\xfe", 2) == 0 || memcmp(r->text, "\xfe\xff", 2) == 0))
		return conf_fail_yaml(r->x, 1, 1, "UTF-16: the file must be UTF-8 text");
	for (size_t i = 0; i < end; i++) {
		if (r->text[i] == '\n') {
			line++;
			start = i + 1;
		}
	}
	return conf_fail_yaml(r->x, line, end - start + 1, "%s: the file must be UTF-8 text",
		r->parser.problem != NULL ? r->parser.problem : "unreadable");
}

// The most frequent causes of libyaml's errors; the first match is used. chars: one of these
// characters must stand at the problem; NULL = any.
static const struct hint {
	const char *problem, *chars, *advice;
} hints[] = {
	{"", "\t", "indent with blanks, never with tabs"},
	{"cannot start any token", NULL, "text that begins with this character needs quotes"},
	{"node content", ":", "text that begins with ':', like \"::1\", needs quotes"},
	{"node content", NULL, "a value is missing, or a closing bracket"},
	{"unexpected ':'", NULL,
		"text that ends with ':', like \"2001:db8::\", needs quotes, or a value is "
		"missing behind ':'"},
	{"expected ',' or ']'", NULL, "a ',' is missing, or the ']', or quotes around the text"},
	{"expected ',' or '}'", NULL, "a ',' is missing, or the '}', or quotes around the text"},
	{"expected ':'", NULL, "a key takes a ':' and a blank behind it"},
	{"mapping values", NULL,
		"text with ': ' in it needs quotes, and the keys of one section the same "
		"indentation"},
	{"expected key", NULL,
		"the keys of one section need the same indentation, and nothing may follow a "
		"closing quote"},
	{"expected '-'", NULL, "the entries of one list need the same indentation and a '-' each"},
	{"unknown escape", NULL, "'\\' begins an escape within double quotes: use single quotes"},
	{"end of stream", NULL, "the quote is never closed"},
};

// The text at a mark. Marks count characters, not bytes.
static const char *text_at(const struct reader *r, const yaml_mark_t *m)
{
	const char *p = r->text, *end = r->text + r->len;

	for (size_t i = 0; i < m->index && p < end; i++)
		for (p++; p < end && (*p & 0xc0) == 0x80;)
			p++;
	return p;
}

static const char *find_hint(const struct reader *r, const char *problem)
{
	const char *pos = text_at(r, &r->parser.problem_mark);
	const char c = pos < r->text + r->len ? *pos : '\0';

	if (c == '{' && pos > r->text && pos[-1] == '$')
		return "variables are not filled in here: write the value itself";
	for (size_t i = 0; i < sizeof(hints) / sizeof(hints[0]); i++)
		if (strstr(problem, hints[i].problem) != NULL &&
			(hints[i].chars == NULL ||
				(c != '\0' && strchr(hints[i].chars, c) != NULL)))
			return hints[i].advice;
	return "see https://yaml.org";
}

static int fail_syntax(struct reader *r)
{
	const yaml_parser_t *p = &r->parser;
	const char *problem = p->problem != NULL ? p->problem : "not well-formed";
	const yaml_mark_t *mark = &p->problem_mark;
	const char *hint;

	if (p->error == YAML_MEMORY_ERROR)
		return conf_fail_memory(r->x);
	if (p->error == YAML_READER_ERROR)
		return fail_encoding(r);
	hint = find_hint(r, problem);
	// for a key without ':' libyaml marks the next token, which may be lines below
	if (strstr(problem, "expected ':'") != NULL)
		mark = &p->context_mark;
	if (p->context == NULL)
		return conf_fail_yaml(
			r->x, mark->line + 1, mark->column + 1, "syntax: %s: %s", problem, hint);
	return conf_fail_yaml(r->x, mark->line + 1, mark->column + 1,
		"syntax: %s (%s that begins at line %zu): %s", problem, p->context,
		p->context_mark.line + 1, hint);
}

// Adds a node at its place in the tree, with the pending key. NULL without memory.
static struct conf_node *add_node(struct reader *r, enum conf_kind kind, const yaml_mark_t *m)
{
	struct conf_node *n = calloc(1, sizeof(*n));

	if (n == NULL) {
		conf_fail_memory(r->x);
		return NULL;
	}
	n->kind = kind;
	n->line = (uint32_t)m->line + 1;
	n->col = (uint32_t)m->column + 1;
	n->file = r->x->included;
	n->key = r->key;
	if (r->key != NULL) {
		n->key_line = (uint32_t)r->key_mark.line + 1;
		n->key_col = (uint32_t)r->key_mark.column + 1;
	}
	r->key = NULL;
	if (r->open != NULL)
		conf_node_append(r->open, n);
	else
		r->root = n;
	return n;
}

// Returns the key, of any section, that a text begins with, or NULL.
static const char *find_key(const struct conf_ctx *x, const char *text)
{
	const size_t len = strcspn(text, " =");
	const struct conf_key *k;

	for (unsigned int i = 0; (k = conf_schema_at(x->keys, i)) != NULL; i++) {
		const char *leaf = conf_schema_name(k);

		if (strlen(leaf) == len && strncmp(leaf, text, len) == 0)
			return leaf;
	}
	return NULL;
}

static int check_scalar(struct reader *r, const yaml_event_t *e)
{
	const unsigned char *s = e->data.scalar.value;

	// Without a space after its ':' an entry would silently become part of the previous value
	if (e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
		e->end_mark.line != e->start_mark.line) {
		const char *key = find_key(r->x, (const char *)s);

		if (key != NULL)
			return conf_fail_yaml(r->x, e->start_mark.line + 1,
				e->start_mark.column + 1,
				"there is no ':' behind the key: write '%s: VALUE'", key);
		return fail_at(r, &e->start_mark,
			"a value without quotes has several lines: check its closing bracket, and "
			"in the lines below it the indentation and the blank after ':'");
	}
	for (size_t i = 0; i < e->data.scalar.length; i++) {
		if (s[i] < 0x20 || s[i] == 0x7f)
			return fail_at(r, &e->start_mark,
				"control character (line feed, tab, NUL...) in a value: remove it");
	}
	return 0;
}

static int take_scalar(struct reader *r, const yaml_event_t *e)
{
	struct conf_node *n;
	char *text;
	int rc = check_scalar(r, e);

	if (rc != 0)
		return rc;
	text = strdup((const char *)e->data.scalar.value);
	if (text == NULL)
		return conf_fail_memory(r->x);
	if (r->open != NULL && r->open->kind == CONF_MAP && r->key == NULL) {
		r->key = text;
		r->key_mark = e->start_mark;
		return 0;
	}
	n = add_node(r, CONF_SCALAR, &e->start_mark);
	if (n == NULL) {
		secret_wipe(text);
		return -EINVAL;
	}
	n->text = text;
	n->plain = e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
	return 0;
}

static int take_open(struct reader *r, const yaml_event_t *e, enum conf_kind kind)
{
	struct conf_node *n;

	if (r->open != NULL && r->open->kind == CONF_MAP && r->key == NULL)
		return fail_at(r, &e->start_mark,
			kind == CONF_LIST
				? "a key must be a plain word, not a list: remove the brackets"
				: "a key must be a plain word, not a mapping: remove the braces "
				  "(fill in the {{...}} of a template first)");
	if (r->depth == DEPTH_MAX)
		return fail_at(r, &e->start_mark, "nested too deep");
	n = add_node(r, kind, &e->start_mark);
	if (n == NULL)
		return -EINVAL;
	r->open = n;
	r->depth++;
	return 0;
}

static int check_decoration(
	struct reader *r, const yaml_event_t *e, const yaml_char_t *anchor, const yaml_char_t *tag)
{
	if (anchor != NULL)
		return fail_at(r, &e->start_mark,
			"anchors (&name) are not supported: put text that begins with '&' in "
			"quotes");
	if (tag != NULL)
		return fail_at(r, &e->start_mark,
			"tags (!name) are not supported: put text that begins with '!' in quotes");
	return 0;
}

static int take_event(struct reader *r, const yaml_event_t *e)
{
	int rc;

	switch (e->type) {
	case YAML_DOCUMENT_START_EVENT:
		if (r->documents++ > 0)
			return fail_at(r, &e->start_mark,
				"a second document begins here: a file holds one");
		return 0;
	case YAML_ALIAS_EVENT:
		return fail_at(r, &e->start_mark,
			"aliases (*name) are not supported: put text that begins with '*' in "
			"quotes");
	case YAML_SCALAR_EVENT:
		rc = check_decoration(r, e, e->data.scalar.anchor, e->data.scalar.tag);
		return rc != 0 ? rc : take_scalar(r, e);
	case YAML_SEQUENCE_START_EVENT:
		rc = check_decoration(
			r, e, e->data.sequence_start.anchor, e->data.sequence_start.tag);
		return rc != 0 ? rc : take_open(r, e, CONF_LIST);
	case YAML_MAPPING_START_EVENT:
		rc = check_decoration(
			r, e, e->data.mapping_start.anchor, e->data.mapping_start.tag);
		return rc != 0 ? rc : take_open(r, e, CONF_MAP);
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		r->open = r->open->parent;
		r->depth--;
		return 0;
	default:
		return 0;
	}
}

static int read_events(struct reader *r)
{
	yaml_event_type_t type;
	yaml_event_t e;
	int rc;

	do {
		if (yaml_parser_parse(&r->parser, &e) == 0)
			return fail_syntax(r);
		type = e.type;
		rc = take_event(r, &e);
		yaml_event_delete(&e);
	} while (rc == 0 && type != YAML_STREAM_END_EVENT);
	if (rc == 0 && r->root == NULL && r->x->included == NULL)
		return conf_fail_yaml(r->x, 1, 1, "the file is empty");
	return rc;
}

struct conf_node *conf_yaml_parse(struct conf_ctx *x, const char *text, size_t len)
{
	// skip the byte order mark that some editors put before UTF-8
	const size_t bom = len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
	struct reader r = {.x = x, .text = text + bom, .len = len - bom};
	int rc;

	if (yaml_parser_initialize(&r.parser) == 0) {
		conf_fail_memory(x);
		return NULL;
	}
	yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&r.parser, (const unsigned char *)r.text, r.len);
	rc = read_events(&r);
	yaml_parser_delete(&r.parser);
	secret_wipe(r.key);
	if (rc != 0) {
		conf_yaml_free(r.root);
		return NULL;
	}
	return r.root;
}

void conf_yaml_free(struct conf_node *n)
{
	// DEPTH_MAX bounds the depth; nothing bounds the siblings
	while (n != NULL) {
		struct conf_node *next = n->next;

		conf_yaml_free(n->child);
		secret_wipe(n->key); // the key contains a password if a space is missing
		secret_wipe(n->text);
		free(n);
		n = next;
	}
}

void conf_yaml_strip(struct conf_node *n)
{
	for (; n != NULL; n = n->next) {
		conf_yaml_strip(n->child);
		if (n->text != NULL)
			explicit_bzero(n->text, strlen(n->text));
		free(n->text);
		n->text = NULL;
	}
}
