// SPDX-License-Identifier: BSD-3-Clause
// A strict parser of JSON by recursive descent, and the value at a path.
#include <stdio.h>
#include <string.h>

#include "json_reader.h"
#include "test.h"

struct json_reader {
	const char *cursor;
	const char *path; // path to find; NULL = no path
	char *found; // text of the value
};

static void json_value(struct json_reader *r, const char *path);

static void json_value(struct json_reader *r, const char *path);

static inline void json_wrong(const struct json_reader *r)
{
	fail_msg("no JSON at: %.60s", r->cursor);
}

static void json_expect(struct json_reader *r, const char *text)
{
	if (strncmp(r->cursor, text, strlen(text)) != 0)
		json_wrong(r);
	r->cursor += strlen(text);
}

static void json_hex(struct json_reader *r)
{
	for (unsigned int i = 0; i < 4; i++, r->cursor++)
		if (strchr("0123456789abcdefABCDEF", *r->cursor) == NULL || *r->cursor == '\0')
			json_wrong(r);
}

static void json_string(struct json_reader *r)
{
	json_expect(r, "\"");
	while (*r->cursor != '"') {
		if ((unsigned char)*r->cursor < 0x20)
			json_wrong(r);
		if (*r->cursor++ != '\\')
			continue;
		if (*r->cursor == '\0' || strchr("\"\\/bfnrtu", *r->cursor) == NULL)
			json_wrong(r);
		if (*r->cursor++ == 'u')
			json_hex(r);
	}
	r->cursor++;
}

static void json_digits(struct json_reader *r)
{
	if (*r->cursor < '0' || *r->cursor > '9')
		json_wrong(r);
	while (*r->cursor >= '0' && *r->cursor <= '9')
		r->cursor++;
}

static void json_number(struct json_reader *r)
{
	r->cursor += *r->cursor == '-' ? 1 : 0;
	if (*r->cursor == '0')
		r->cursor++;
	else
		json_digits(r);
	if (*r->cursor == '.') {
		r->cursor++;
		json_digits(r);
	}
	if (*r->cursor == 'e' || *r->cursor == 'E') {
		r->cursor++;
		r->cursor += *r->cursor == '-' || *r->cursor == '+' ? 1 : 0;
		json_digits(r);
	}
}

// The rest of the path after one member, or NULL if the path leads elsewhere.
static const char *json_path_behind(const char *path, const char *name, size_t len)
{
	if (path == NULL || strncmp(path, name, len) != 0)
		return NULL;
	if (path[len] == '\0')
		return path + len;
	return path[len] == '/' ? path + len + 1 : NULL;
}

static void json_members(struct json_reader *r, const char *path, char end)
{
	unsigned int n = 0;

	r->cursor++;
	while (*r->cursor != end) {
		char number[16];
		const char *name = number;
		size_t len = (size_t)snprintf(number, sizeof(number), "%u", n);

		if (n++ > 0)
			json_expect(r, ",");
		if (end == '}') {
			name = r->cursor + 1;
			json_string(r);
			len = (size_t)(r->cursor - name) - 1;
			json_expect(r, ":");
		}
		json_value(r, json_path_behind(path, name, len));
	}
	r->cursor++;
}

static void json_value(struct json_reader *r, const char *path)
{
	const char *start = r->cursor;

	if (*r->cursor == '{')
		json_members(r, path, '}');
	else if (*r->cursor == '[')
		json_members(r, path, ']');
	else if (*r->cursor == '"')
		json_string(r);
	else if (*r->cursor == 't')
		json_expect(r, "true");
	else if (*r->cursor == 'f')
		json_expect(r, "false");
	else if (*r->cursor == 'n')
		json_expect(r, "null");
	else
		json_number(r);
	if (path == NULL || *path != '\0')
		return;
	if (r->found != NULL)
		fail_msg("%s is there twice", r->path);
	r->found = strndup(start, (size_t)(r->cursor - start));
}

char *json_reader_find(const char *json, const char *path)
{
	struct json_reader reader = {.cursor = json, .path = path};

	json_value(&reader, path);
	assert_string_equal(reader.cursor, "\n");
	return reader.found;
}
