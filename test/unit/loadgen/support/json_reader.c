// SPDX-License-Identifier: BSD-3-Clause
// A strict reader of JSON by recursive descent, and the value at a path.
#include "json_reader.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

struct json_reader {
	const char *at;
	const char *path; // what is looked for; NULL = nothing
	char *found; // text of the value
};

static void json_value(struct json_reader *r, const char *path);

static void json_value(struct json_reader *r, const char *path);

static inline void json_wrong(const struct json_reader *r)
{
	fail_msg("no JSON at: %.60s", r->at);
}

static void json_expect(struct json_reader *r, const char *text)
{
	if (strncmp(r->at, text, strlen(text)) != 0)
		json_wrong(r);
	r->at += strlen(text);
}

static void json_hex(struct json_reader *r)
{
	for (unsigned int i = 0; i < 4; i++, r->at++)
		if (strchr("0123456789abcdefABCDEF", *r->at) == NULL || *r->at == '\0')
			json_wrong(r);
}

static void json_string(struct json_reader *r)
{
	json_expect(r, "\"");
	while (*r->at != '"') {
		if ((unsigned char)*r->at < 0x20)
			json_wrong(r);
		if (*r->at++ != '\\')
			continue;
		if (*r->at == '\0' || strchr("\"\\/bfnrtu", *r->at) == NULL)
			json_wrong(r);
		if (*r->at++ == 'u')
			json_hex(r);
	}
	r->at++;
}

static void json_digits(struct json_reader *r)
{
	if (*r->at < '0' || *r->at > '9')
		json_wrong(r);
	while (*r->at >= '0' && *r->at <= '9')
		r->at++;
}

static void json_number(struct json_reader *r)
{
	r->at += *r->at == '-' ? 1 : 0;
	if (*r->at == '0')
		r->at++;
	else
		json_digits(r);
	if (*r->at == '.') {
		r->at++;
		json_digits(r);
	}
	if (*r->at == 'e' || *r->at == 'E') {
		r->at++;
		r->at += *r->at == '-' || *r->at == '+' ? 1 : 0;
		json_digits(r);
	}
}

// The rest of the path behind one member; NULL when it leads elsewhere.
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

	r->at++;
	while (*r->at != end) {
		char number[16];
		const char *name = number;
		size_t len = (size_t)snprintf(number, sizeof(number), "%u", n);

		if (n++ > 0)
			json_expect(r, ",");
		if (end == '}') {
			name = r->at + 1;
			json_string(r);
			len = (size_t)(r->at - name) - 1;
			json_expect(r, ":");
		}
		json_value(r, json_path_behind(path, name, len));
	}
	r->at++;
}

static void json_value(struct json_reader *r, const char *path)
{
	const char *from = r->at;

	if (*r->at == '{')
		json_members(r, path, '}');
	else if (*r->at == '[')
		json_members(r, path, ']');
	else if (*r->at == '"')
		json_string(r);
	else if (*r->at == 't')
		json_expect(r, "true");
	else if (*r->at == 'f')
		json_expect(r, "false");
	else if (*r->at == 'n')
		json_expect(r, "null");
	else
		json_number(r);
	if (path == NULL || *path != '\0')
		return;
	if (r->found != NULL)
		fail_msg("%s is there twice", r->path);
	r->found = strndup(from, (size_t)(r->at - from));
}

char *json_reader_find(const char *json, const char *path)
{
	struct json_reader reader = {.at = json, .path = path};

	json_value(&reader, path);
	assert_string_equal(reader.at, "\n");
	return reader.found;
}
