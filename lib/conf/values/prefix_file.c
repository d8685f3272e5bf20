// SPDX-License-Identifier: BSD-3-Clause
// Reads a file of prefixes: one per line, '#' begins a comment, empty lines are skipped.
#include "values/prefix_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "addr.h"
#include "conf.h"
#include "hash.h"
#include "values/addrs.h"
#include "reading/fail.h"
#include "reading/node.h"
#include "reading/value.h"
#include "schema/schema.h"

#define BYTES_MAX (64u << 20) // of a file
#define BLANKS " \t\r"
#define PER_LINE_MAX 254 // prefixes that one range can need

// --- the file ------------------------------------------------------------------------------------

// Resolves the file's name. A relative name belongs to the directory of the file that contains it.
static bool resolve_path(const struct conf_ctx *x, const struct conf_node *n, char path[PATH_MAX])
{
	const char *in = n->file != NULL ? n->file : x->path, *slash = strrchr(in, '/');
	const int dir = n->text[0] != '/' && slash != NULL ? (int)(slash + 1 - in) : 0;

	return snprintf(path, PATH_MAX, "%.*s%s", dir, in, n->text) < PATH_MAX;
}

// Opens a regular file, or returns -1 after reporting the reason.
static int open_file(struct conf_ctx *x, const struct conf_node *n, const char *path, off_t *size)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); // FIFOs block
	struct stat st;

	if (fd < 0) {
		conf_fail(x, n, "%s: %s", path, strerror(errno));
		return -1;
	}
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
		conf_fail(x, n, "%s is not a regular file: name one", path);
	else if (st.st_size > (off_t)BYTES_MAX)
		conf_fail(x, n, "%s has more than %u bytes: name a list of prefixes", path,
			BYTES_MAX);
	else {
		*size = st.st_size;
		return fd;
	}
	close(fd);
	return -1;
}

// Reads the whole file. The caller frees the text. NULL after reporting the reason.
static char *read_text(struct conf_ctx *x, const struct conf_node *n, const char *path)
{
	off_t size = 0, len = 0;
	const int fd = open_file(x, n, path, &size);
	char *text = fd >= 0 ? malloc((size_t)size + 1) : NULL;
	ssize_t got = 1;

	if (fd >= 0 && text == NULL)
		conf_fail_memory(x);
	while (text != NULL && len < size && got > 0) {
		got = read(fd, text + len, (size_t)(size - len));
		len += got > 0 ? got : 0;
	}
	if (fd >= 0)
		close(fd);
	if (text == NULL)
		return NULL;
	text[len] = '\0';
	if (got >= 0 && strlen(text) == (size_t)len)
		return text;
	conf_fail(x, n, "%s: %s", path,
		got < 0 ? strerror(errno) : "has NUL bytes: name a list of prefixes");
	free(text);
	return NULL;
}

// --- its lines -----------------------------------------------------------------------------------

// Prefixes read from a file. The array grows by doubling.
struct list {
	struct prefix *prefixes;
	uint32_t nb, room, most;
};

static bool make_room(struct list *l)
{
	const uint32_t room = 2 * l->room + PER_LINE_MAX;
	struct prefix *grown;

	if (l->room - l->nb >= PER_LINE_MAX)
		return true;
	grown = realloc(l->prefixes, room * sizeof(*grown));
	if (grown == NULL)
		return false;
	l->prefixes = grown;
	l->room = room;
	return true;
}

// True if a line of an IPv6 list covers all IPv4-mapped addresses.
static bool is_all_mapped(const char *text, const struct addr_range *r)
{
	return strchr(text, ':') != NULL && addr_is_v4(&r->lo) && r->lo.w[3] == 0 &&
		r->hi.w[3] == UINT32_MAX;
}

// Appends the prefixes of a line. line_node: the line, with its place.
static int add_line(struct conf_ctx *x, struct list *l, const struct conf_node *line_node)
{
	struct addr_range r;

	if (conf_addrs_range(x, line_node, &r) != 0)
		return -EINVAL;
	if (!make_room(l))
		return conf_fail_memory(x);
	if (is_all_mapped(line_node->text, &r))
		return conf_fail(x, line_node,
			"'%s' would deny all IPv4 peers, because an IPv4-mapped address counts as "
			"the IPv4 address: remove the line, or write 0.0.0.0/0",
			line_node->text);
	l->nb += addr_range_prefixes(&r, l->prefixes + l->nb, PER_LINE_MAX);
	return l->nb <= l->most
		? 0
		: conf_fail(x, line_node, "one too many: at most %u prefixes are allowed", l->most);
}

static int read_lines(struct conf_ctx *x, struct list *l, struct conf_node *line_node, char *text)
{
	char *rest = text, *line;
	int rc = 0;

	for (line_node->line = 1; (line = strsep(&rest, "\n")) != NULL && !conf_fail_enough(x);
		line_node->line++) {
		size_t len;

		line[strcspn(line, "#")] = '\0';
		line_node->text = line + strspn(line, BLANKS);
		line_node->col = (uint32_t)(line_node->text - line) + 1;
		for (len = strlen(line_node->text);
			len > 0 && strchr(BLANKS, line_node->text[len - 1]) != NULL;)
			line_node->text[--len] = '\0';
		if (len > 0 && add_line(x, l, line_node) != 0)
			rc = -EINVAL;
		if (l->nb > l->most)
			break;
	}
	return rc;
}

// --- the key -------------------------------------------------------------------------------------

static uint64_t hash_of(const struct list *l)
{
	static const struct hash_key key; // a zero key is fine: prefixes are not secret
	uint64_t hash = 0;

	for (uint32_t i = 0; i < l->nb; i++) {
		const struct {
			struct addr addr;
			uint64_t len, before;
		} one = {l->prefixes[i].addr, l->prefixes[i].len, hash};

		hash = hash_bytes(&key, &one, sizeof(one));
	}
	return hash;
}

// Appends the number of prefixes and a hash of them to the name, so that comparing the texts finds
// changes of the file.
static int append_summary(struct conf_ctx *x, struct conf_node *n, const struct list *l)
{
	char *text;

	if (asprintf(&text, "%s (%u prefixes, %016llx)", n->text, l->nb,
		    (unsigned long long)hash_of(l)) < 0)
		return conf_fail_memory(x);
	free(n->text);
	n->text = text;
	return 0;
}

static bool note_path(struct conf *c, const char *path)
{
	char **paths = realloc(c->prefix_files, (c->nb_prefix_files + 1) * sizeof(*paths));

	if (paths == NULL)
		return false;
	c->prefix_files = paths;
	paths[c->nb_prefix_files] = strdup(path);
	return paths[c->nb_prefix_files] != NULL && ++c->nb_prefix_files > 0;
}

int conf_prefix_file_read(
	struct conf_ctx *x, const struct conf_key *k, struct conf_node *n, void *base)
{
	struct list l = {.most = k->max};
	struct conf_node line_node = *n;
	struct prefix *out = NULL;
	char path[PATH_MAX];
	char *text;
	int rc;

	if (!resolve_path(x, n, path))
		return conf_fail(x, n, "the name is too long: shorten it");
	text = read_text(x, n, path);
	if (text == NULL)
		return -EINVAL;
	line_node.file = path;
	rc = note_path(x->conf, path) ? read_lines(x, &l, &line_node, text) : conf_fail_memory(x);
	if (rc == 0)
		rc = append_summary(x, n, &l);
	if (rc == 0)
		out = conf_value_grow(x, k, n, base, l.nb);
	if (out != NULL && l.nb > 0)
		memcpy(out, l.prefixes, l.nb * sizeof(*out));
	free(l.prefixes);
	free(text);
	return out != NULL ? 0 : -EINVAL;
}
