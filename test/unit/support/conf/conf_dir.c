// SPDX-License-Identifier: BSD-3-Clause
// A directory of files below /tmp.
#include "conf_dir.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

char conf_dir[32];

const char *conf_dir_path(const char *name)
{
	static char path[512];

	snprintf(path, sizeof(path), "%s/%s", conf_dir, name);
	return path;
}

int conf_dir_open(void **state)
{
	(void)state;
	strcpy(conf_dir, "/tmp/conf-XXXXXX");
	return mkdtemp(conf_dir) != NULL ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *f)
{
	(void)st;
	(void)type;
	(void)f;
	return remove(path);
}

int conf_dir_close(void **state)
{
	(void)state;
	return nftw(conf_dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

void conf_dir_write(const char *name, mode_t mode, const void *bytes, size_t len)
{
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s", conf_dir_path(name));
	if (strchr(name, '/') != NULL) {
		*strrchr(path, '/') = '\0';
		mkdir(path, 0700);
	}
	fd = open(conf_dir_path(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
	if (fd < 0 || fchmod(fd, mode) != 0 || write(fd, bytes, len) != (ssize_t)len)
		abort();
	close(fd);
}

void conf_dir_put(const char *name, const char *text)
{
	conf_dir_write(name, 0600, text, strlen(text));
}

void conf_dir_remove(const char *name)
{
	nftw(conf_dir_path(name), remove_one, 8, FTW_DEPTH | FTW_PHYS);
}
