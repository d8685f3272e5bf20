// SPDX-License-Identifier: BSD-3-Clause
// Reads secrets from separate files.
#include "values/secret_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "conf.h"
#include "reading/ctx.h"
#include "reading/fail.h"
#include "reading/node.h"
#include "reading/opaque.h"
#include "reading/value.h"
#include "schema/schema.h"
#include "secret.h"

#define SECRET_MAX 1023 // bytes
#define CREDENTIALS "CREDENTIALS_DIRECTORY" // systemd sets it for a unit with LoadCredential=

// Writes the path of the file to path. For errors, place says where a relative name was looked for.
static bool resolve_path(const struct conf_ctx *x, const struct conf_node *n, char path[PATH_MAX],
	const char **place)
{
	const char *in = n->file != NULL ? n->file : x->path, *slash = strrchr(in, '/');
	const char *credentials = getenv(CREDENTIALS);
	int len;

	if (n->text[0] == '/') {
		*place = "";
		len = snprintf(path, PATH_MAX, "%s", n->text);
	} else if (credentials != NULL && credentials[0] != '\0') {
		*place = " (looked for in $" CREDENTIALS ")";
		len = snprintf(path, PATH_MAX, "%s/%s", credentials, n->text);
	} else {
		*place = " (looked for beside the configuration: $" CREDENTIALS " is not set)";
		len = snprintf(path, PATH_MAX, "%.*s%s", slash != NULL ? (int)(slash + 1 - in) : 0,
			in, n->text);
	}
	return len < PATH_MAX;
}

// Records the path, for warnings about files that other users can read. False without memory.
static bool note_path(struct conf *c, const char *path)
{
	char **paths = realloc(c->secret_files, (c->nb_secret_files + 1) * sizeof(*paths));

	if (paths == NULL)
		return false;
	c->secret_files = paths;
	paths[c->nb_secret_files] = strdup(path);
	if (paths[c->nb_secret_files] == NULL)
		return false;
	c->nb_secret_files++;
	return true;
}

// Opens the file, or returns -1 after reporting the reason.
static int open_file(struct conf_ctx *x, struct conf_node *n)
{
	char path[PATH_MAX];
	const char *place;
	struct stat st;
	int fd;

	if (!resolve_path(x, n, path, &place)) {
		conf_fail(x, n, "the name is too long: shorten it");
		return -1;
	}
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); // a FIFO would wait
	if (fd < 0) {
		conf_fail(x, n, "the file cannot be opened: %s%s", strerror(errno), place);
		return -1;
	}
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
		n->open = (st.st_mode & S_IROTH) != 0;
		if (x->conf == NULL || note_path(x->conf, path))
			return fd;
		conf_fail_memory(x);
		close(fd);
		return -1;
	}
	conf_fail(x, n, "is %s: name a file%s",
		S_ISDIR(st.st_mode) ? "a directory" : "not a regular file", place);
	close(fd);
	return -1;
}

// Reports why a text of len bytes cannot be a secret.
static int check_secret(struct conf_ctx *x, const struct conf_node *n, const char *text, size_t len)
{
	if (len == 0)
		return conf_fail(x, n, "the file is empty: put the secret into it");
	if (len > SECRET_MAX)
		return conf_fail(x, n,
			"the file has more than %u bytes: name a file with one secret", SECRET_MAX);
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
			return conf_fail(x, n,
				"byte %zu of the file is a control character (line feed, carriage "
				"return, NUL...): write one line, which may end in a line feed",
				i + 1);
	return 0;
}

// Replaces the file's name by the secret in it.
static int load_secret(struct conf_ctx *x, struct conf_node *n)
{
	const size_t most = SECRET_MAX + 2; // a line feed, and one byte too many
	const int fd = open_file(x, n);
	char *text = fd >= 0 ? calloc(1, most + 1) : NULL;
	size_t len = 0;
	ssize_t got = 1;

	if (fd >= 0 && text == NULL)
		conf_fail_memory(x);
	while (text != NULL && len < most && got > 0) {
		got = read(fd, text + len, most - len);
		len += got > 0 ? (size_t)got : 0;
	}
	if (got < 0)
		conf_fail(x, n, "the file cannot be read: %s", strerror(errno));
	if (fd >= 0)
		close(fd);
	if (len > 0 && text[len - 1] == '\n')
		text[--len] = '\0';
	if (text == NULL || got < 0 || check_secret(x, n, text, len) != 0) {
		secret_wipe(text);
		return -EINVAL;
	}
	secret_wipe(n->text);
	n->text = text;
	return 0;
}

// Returns the name of the key whose text key k reads from a file: its name without "-file".
static const char *other_key(const struct conf_ctx *x, const struct conf_key *k)
{
	const size_t len = strlen(k->path) - strlen("-file");
	const struct conf_key *sibling;

	for (unsigned int i = 0; (sibling = conf_schema_at(x->keys, i)) != NULL; i++)
		if (strlen(sibling->path) == len && strncmp(sibling->path, k->path, len) == 0)
			return conf_schema_name(sibling);
	return NULL;
}

static int check_name(struct conf_ctx *x, const struct conf_node *n)
{
	return n->text[0] != '\0' ? 0 : conf_fail(x, n, "must not be empty");
}

int conf_secret_file_read(
	struct conf_ctx *x, const struct conf_key *k, struct conf_node *n, void *base)
{
	char **field = (char **)((char *)base + k->offset);

	if (check_name(x, n) != 0 || load_secret(x, n) != 0)
		return -EINVAL;
	if ((k->flags & CONF_OPAQUE) != 0 && conf_opaque_read(x, k, n) != 0)
		return -EINVAL;
	n->meant = other_key(x, k);
	return conf_value_set_text(x, n, field);
}

int conf_secret_file_read_list(
	struct conf_ctx *x, const struct conf_key *k, struct conf_node *n, void *base)
{
	char **item;

	if (check_name(x, n) != 0 || load_secret(x, n) != 0)
		return -EINVAL;
	item = conf_value_grow(x, k, n, base, 1);
	return item != NULL ? conf_value_set_text(x, n, item) : -EINVAL;
}
