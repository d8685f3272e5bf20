// SPDX-License-Identifier: BSD-3-Clause
// Sets the place of the state area: under systemd, calls survive a restart without a key in the
// file.
#include "expanding/state_place.h"

#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>

#include "conf.h"
#include "reading/ctx.h"
#include "reading/fail.h"

#define RUNTIME "RUNTIME_DIRECTORY"

int conf_state_place(struct conf_ctx *x)
{
	struct conf_state *s = &x->conf->state;
	const char *dirs = getenv(RUNTIME);
	struct statfs fs;
	char *dir;
	int rc;

	if (s->file != NULL) {
		if (s->file[0] == '\0') {
			free(s->file);
			s->file = NULL;
		}
		return 0;
	}
	if (dirs == NULL || dirs[0] != '/')
		return 0;
	dir = strndup(dirs, strcspn(dirs, ":"));
	if (dir == NULL)
		return conf_fail_memory(x);
	rc = 0;
	if (statfs(dir, &fs) == 0 && fs.f_type == TMPFS_MAGIC &&
		asprintf(&s->file, "%s/state", dir) < 0) {
		s->file = NULL;
		rc = conf_fail_memory(x);
	}
	free(dir);
	return rc;
}
