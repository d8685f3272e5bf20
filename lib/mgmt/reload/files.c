// SPDX-License-Identifier: BSD-3-Clause
// Asks the kernel, which knows all access rules.
#include "reload/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

#include "stream.h"

static bool is_denied(const char *path)
{
	return path != NULL && faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) != 0 && errno == EACCES;
}

const char *files_unreadable(const struct stream_identities *all)
{
	for (unsigned int i = 0; i < all->nb; i++) {
		const struct stream_tls *t = &all->list[i];
		const char *const paths[] = {t->certificate, t->key, t->chain};

		for (unsigned int k = 0; k < sizeof(paths) / sizeof(paths[0]); k++)
			if (is_denied(paths[k]))
				return paths[k];
	}
	return NULL;
}
