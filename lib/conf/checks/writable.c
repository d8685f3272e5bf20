// SPDX-License-Identifier: BSD-3-Clause
// Warns of files that other users may change. The configuration decides about a process that starts
// with privileges, usually as root.
#include "checks/checks.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "conf.h"
#include "expanding/include.h"

#define AT(c, f, key) ((struct conf_at){c, &(c)->f, 0, key})

struct looking {
	const struct conf *c;
	struct conf_report *r;
	char told[PATH_MAX]; // the path of the last warning
};

static bool is_others(const struct stat *st)
{
	return !S_ISLNK(st->st_mode) &&
		((st->st_mode & S_IWOTH) != 0 || ((st->st_mode & S_IWGRP) != 0 && st->st_gid != 0));
}

// True if others may replace an entry of a directory. In a sticky directory only the owner of the
// entry may.
static bool may_change(const struct stat *dir, const struct stat *entry)
{
	return is_others(dir) &&
		((dir->st_mode & S_ISVTX) == 0 ||
			(entry->st_uid != 0 && entry->st_uid != geteuid()));
}

// Checks an absolute path and all its parent directories. Writes the first that others may write to
// `writable`.
static bool find_writable(const char *path, char writable[PATH_MAX])
{
	struct stat entry, dir;
	char *slash;

	snprintf(writable, PATH_MAX, "%s", path);
	if (lstat(writable, &entry) != 0)
		return false;
	if (is_others(&entry))
		return true;
	while ((slash = strrchr(writable, '/')) != NULL && strcmp(writable, "/") != 0) {
		slash[slash == writable] = '\0';
		if (lstat(writable, &dir) != 0)
			return false;
		if (may_change(&dir, &entry))
			return true;
		entry = dir;
	}
	return false;
}

static void warn_writable(
	struct looking *l, struct conf_at location, const char *writable, const char *path)
{
	if (strcmp(writable, l->told) == 0 || conf_warned(l->r))
		return;
	snprintf(l->told, sizeof(l->told), "%s", writable);
	conf_tell(l->r, CONF_WARNING, location,
		"other users may write %s, and so change %s: "
		"chmod go-w",
		writable, path);
}

// Checks the directories of a link, and those of its target.
static void check_path(struct looking *l, struct conf_at location, const char *path)
{
	char real[PATH_MAX], writable[PATH_MAX];

	if (path[0] == '/' && find_writable(path, writable))
		return warn_writable(l, location, writable, path);
	if (realpath(path, real) != NULL && find_writable(real, writable))
		warn_writable(l, location, writable, path);
}

// Others may also add files to an included directory.
static void look_at_included(struct looking *l)
{
	const struct conf_at location = AT(l->c, include, "include");
	char path[PATH_MAX];
	struct stat st;

	for (uint32_t i = 0; i < l->c->nb_included; i++)
		check_path(l, location, l->c->included[i]);
	if (!conf_include_path(l->c->path, l->c->include, path) || stat(path, &st) != 0)
		return;
	check_path(l, location, path);
	if (is_others(&st))
		warn_writable(l, location, path, path);
}

void conf_warn_writable(const struct conf *c, struct conf_report *r)
{
	struct looking l = {.c = c, .r = r};

	check_path(&l, (struct conf_at){.conf = c, .key = "file"}, c->path);
	look_at_included(&l);
	for (uint32_t i = 0; i < c->nb_secret_files; i++)
		check_path(&l, (struct conf_at){.conf = c, .key = "auth"}, c->secret_files[i]);
}
