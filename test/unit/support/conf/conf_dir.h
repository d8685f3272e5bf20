// SPDX-License-Identifier: BSD-3-Clause
// A directory of files, for tests of files that a configuration names.
#pragma once

#include <stddef.h>
#include <sys/types.h>

extern char conf_dir[32]; // its path

// Set-up of a test or a group: makes the directory. Returns 0 or -1.
int conf_dir_open(void **state);
// Teardown: removes it with its contents. Returns 0 or -1.
int conf_dir_close(void **state);
// Makes a file of len bytes. If name contains a directory, that is made, too.
void conf_dir_write(const char *name, mode_t mode, const void *bytes, size_t len);
// Makes a file with this text, and mode 0600.
void conf_dir_put(const char *name, const char *text);
// Removes a file, or a directory with its contents.
void conf_dir_remove(const char *name);
// The path of a file, in a static buffer that each call overwrites.
const char *conf_dir_path(const char *name);
