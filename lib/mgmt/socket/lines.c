// SPDX-License-Identifier: BSD-3-Clause
// Splits a stream of bytes into requests, with limits on the memory that a client can use.
#include <stdlib.h>
#include <string.h>

#include "socket/lines.h"

#define ROOM_FIRST 1024 // bytes: most requests are short

static bool make_room(struct lines *l, size_t more)
{
	size_t room = l->room != 0 ? l->room : ROOM_FIRST;
	char *buf;

	if (l->taken > 0)
		memmove(l->buf, l->buf + l->taken, l->len - l->taken);
	l->len -= l->taken;
	l->taken = 0;
	while (room < l->len + more + 1)
		room *= 2;
	if (room == l->room)
		return true;
	buf = realloc(l->buf, room);
	if (buf == NULL)
		return false;
	l->buf = buf;
	l->room = room;
	return true;
}

enum lines_put lines_put(struct lines *l, const void *data, size_t len)
{
	const char *end = memchr(data, '\n', len);
	const size_t rest = l->len - l->taken;

	// The buffered bytes are at most the beginning of a line, which ends in data, or later.
	if (rest + (end != NULL ? (size_t)(end - (const char *)data) : len) > LINES_MAX)
		return LINES_LONG;
	if (!make_room(l, len))
		return LINES_NO_MEMORY;
	memcpy(l->buf + l->len, data, len);
	l->len += len;
	return LINES_OK;
}

static char *end_of_next(const struct lines *l)
{
	return l->len > l->taken ? memchr(l->buf + l->taken, '\n', l->len - l->taken) : NULL;
}

bool lines_wait(const struct lines *l)
{
	return end_of_next(l) != NULL;
}

char *lines_next(struct lines *l, size_t *len)
{
	char *line = l->buf + l->taken, *end = end_of_next(l);

	if (end == NULL)
		return NULL;
	*end = '\0';
	*len = (size_t)(end - line);
	l->taken += *len + 1;
	return line;
}

void lines_free(struct lines *l)
{
	free(l->buf);
	*l = (struct lines){0};
}

unsigned int lines_depth(const char *text, size_t len)
{
	unsigned int depth = 0, most = 0;
	bool string = false;

	for (size_t i = 0; i < len; i++) {
		if (string && text[i] == '\\')
			i++;
		else if (text[i] == '"')
			string = !string;
		else if (string)
			continue;
		else if (text[i] == '{' || text[i] == '[')
			most = ++depth > most ? depth : most;
		else if ((text[i] == '}' || text[i] == ']') && depth > 0)
			depth--;
	}
	return most;
}
