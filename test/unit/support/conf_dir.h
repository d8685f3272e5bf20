// SPDX-License-Identifier: BSD-3-Clause
// A directory of files, for tests of what a configuration names.
#pragma once

#include <stddef.h>
#include <sys/types.h>

extern char conf_dir[32]; // its path

// Makes the directory: set-up of a test or a group. Returns 0 or -1.
int conf_dir_open(void **state);
// Removes it with all that is in it: teardown. Returns 0 or -1.
int conf_dir_close(void **state);
// Makes a file of len bytes; name may begin with that of a directory in it, which is made.
void conf_dir_write(const char *name, mode_t mode, const void *bytes, size_t len);
// The same with a text, and mode 0600.
void conf_dir_put(const char *name, const char *text);
// Removes a file or a directory with all that is in it.
void conf_dir_remove(const char *name);
// The path of a file. Static: each call overwrites the last one's.
const char *conf_dir_path(const char *name);
